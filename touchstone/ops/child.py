"""`python -m touchstone.ops.child …`: a `touchstone` command that ends with the program that started it."""

from touchstone.streams.process.parent import end_with_parent

if __name__ == "__main__":
    # First of all: a parent that dies during the import below must be noticed as well.
    end_with_parent()
    from touchstone.ops.cli import main

    main()
