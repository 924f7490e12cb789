"""Shared by the laboratory's commands: the parser of their arguments, and the output of a result as text or JSON."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

PROGRAM = "python -m touchstone.ops.lab"
EXIT_USAGE = 2


class Arguments(argparse.ArgumentParser):
    """The arguments of one command. A wrong one is one line on standard error, and exit 2."""

    def __init__(self, name: str, description: str | None, *, epilog: str | None = None) -> None:
        super().__init__(prog=f"{PROGRAM} {name}", description=description, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter)

    def data(self, help: str, *, required: bool = False) -> None:
        """Add `--data DIR`."""
        self.add_argument("--data", type=Path, metavar="DIR", required=required, help=help)

    def output(self, default: str) -> None:
        """Add `--output FILE`."""
        self.add_argument("--output", type=Path, default=Path(default), metavar="FILE", help=f"file for the report (default: {default})")

    def json(self) -> None:
        """Add `--json`."""
        self.add_argument("--json", action="store_true", help="print JSON, for machines")

    def error(self, message: str) -> NoReturn:
        """End with one line."""
        self.exit(EXIT_USAGE, f"touchstone: {message}; see {self.prog} --help\n")


def at_least(lowest: int) -> Callable[[str], int]:
    """The type of an argument that is a whole number of this size or more."""

    def number(text: str) -> int:
        if (value := int(text)) < lowest:
            raise argparse.ArgumentTypeError(f"{value} is less than {lowest}")
        return value

    return number


def show(found: dict[str, Any], as_text: Callable[[dict[str, Any]], str], *, as_json: bool) -> None:
    """Print a result: as JSON, or as text that ends with a newline."""
    if as_json:
        import orjson

        print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    else:
        print(as_text(found), end="")
