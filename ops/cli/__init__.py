"""The `touchstone` command. Each module here holds one group; heavy imports stay inside the command functions."""

import sys

import click
import typer

from ops.cli.shared import EXIT_ERROR

app = typer.Typer(
    name="touchstone",
    help="Score what language models generate: live on Kafka, in batch, and in CI.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line. Usage errors exit 3, because 2 means Review (SAFE v0 §7.3)."""
    try:
        code = app(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = 0
    except click.UsageError as error:
        error.show()
        code = EXIT_ERROR
    except click.ClickException as error:
        error.show()
        code = EXIT_ERROR
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        # The reader of a pipe (head, less) has gone: not an error, and no traceback at exit.
        sys.stdout = None  # type: ignore[assignment]
        code = 0
    sys.exit(code if isinstance(code, int) else 0)
