"""`python -m touchstone.ops.cli`."""

from touchstone.ops.cli import main

main()
