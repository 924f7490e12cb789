"""`python -m touchstone.ops.cli.child_command PARENT COMMAND …`: a `touchstone` command that ends with the process whose id is PARENT."""

import sys

from touchstone.ops.cli import main
from touchstone.scorers.process import end_with_parent

if __name__ == "__main__":
    end_with_parent(int(sys.argv.pop(1)))
    main()
