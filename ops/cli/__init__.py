"""The `touchstone` command. Each module here holds one group; heavy imports stay inside the command functions."""

import logging
import sys
from importlib import import_module
from typing import Annotated, Any

import typer

from ops.cli.shared import EXIT_ERROR

app = typer.Typer(
    name="touchstone",
    help="Score what language models generate: live on Kafka, in batch, and in CI.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Typer carries its own copy of click and exports only the leaf exceptions; their common base is found from there.
_UsageError: Any = typer.BadParameter.__base__
_ClickException: Any = _UsageError.__base__

#: Modules of this package; each registers its commands on import, in the order in which help shows them.
COMMANDS = ("demo", "up", "safe", "topics", "produce", "tail", "dlq", "explain", "config", "doctor", "worker", "projector", "report", "reconcile", "kafka")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"touchstone {version('touchstone')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Score what language models generate: live on Kafka, in batch, and in CI."""


for _name in COMMANDS:
    import_module(f"{__name__}.{_name}")


def main() -> None:
    """Run the command line. Usage errors exit 3, because 2 means Review (SAFE v0 §7.3)."""
    # Without a handler of ours, the standard library prints the client libraries' warnings beside our one line.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        code = app(standalone_mode=False)
    except _ClickException as error:
        error.show()
        code = 0 if type(error).__name__ == "NoArgsIsHelpError" else EXIT_ERROR
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        # The reader of a pipe (head, less) has gone: not an error, and no traceback at exit.
        sys.stdout = None
        code = 0
    sys.exit(code if isinstance(code, int) else 0)
