"""The `touchstone` command. Each module here holds one group; heavy imports stay inside the command functions."""

import errno
import io
import logging
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.shared import EXIT_ERROR, EXIT_STOPPED, one_line, until_read_no_more

app = Group(
    name="touchstone",
    help="Score what language models generate: live on Kafka, in batch, and in CI.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

# Typer carries its own copy of click and exports only the leaf exceptions; their common base is found from there.
_UsageError: Any = typer.BadParameter.__base__
_ClickException: Any = _UsageError.__base__

#: Modules of this package; each registers its commands on import, in the order in which help shows them.
COMMANDS = (
    "demo", "up", "score", "show", "safe", "loss", "eval", "eval_samples", "judge", "models", "topics", "produce", "tail", "dlq", "explain", "config", "doctor",
    "worker", "projector", "archive", "serve", "viewer", "report", "annotations", "errors", "errors_cases", "judges", "judges_new",
    "judges_prevalence", "queues", "reconcile", "replay", "kafka", "fhir_validator", "schemas", "selftest",
)  # fmt: skip


EXIT_INTERNAL = 70  # sysexits.h EX_SOFTWARE
#: A full disk or device: for the user to fix, wherever the write was made.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_ROOT = Path(__file__).parents[2]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"touchstone {version('touchstone-stream')}")
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
    _open_closed_streams()
    _outlive_readers()
    # Without a handler, the standard library prints the client libraries' warnings beside the one-line error.
    if not any(isinstance(handler, _OwnWords) for handler in logging.getLogger().handlers):
        logging.getLogger().addHandler(_OwnWords(logging.WARNING))
    code = _code_of_run()
    if _Discarding.is_used:
        typer.echo(one_line("standard output is closed, so what this command printed is lost; send it to a file, or to /dev/null"), err=True)
    sys.exit(code)


class _OwnWords(logging.Handler):
    """Prints Touchstone's own log lines until a long-running command sets up its log. An example: which setting to fix when a judge refuses its key."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line. Lines of libraries are dropped."""
        if record.name.startswith("touchstone."):
            typer.echo(one_line(record.getMessage()), err=True)


def _code_of_run() -> int:
    """Run one command and flush what it wrote, so that a write that fails at the very end is reported like any other."""
    try:
        code = app(standalone_mode=False)
        with until_read_no_more():
            if sys.stdout is not None:
                sys.stdout.flush()
    except _ClickException as error:
        return _misused(error)
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_STOPPED
    except SystemExit as error:
        # If the reader of a pipe (head, less) has gone, Click exits with 1, which is a verdict here.
        return _reader_gone() if isinstance(error.__context__, BrokenPipeError) else error.code if isinstance(error.code, int) else EXIT_ERROR
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:
        return _cannot_write(error) if error.errno in _FULL else _internal(error)
    except Exception as error:  # noqa: BLE001  # the last stop of every defect
        return _internal(error)
    return code if isinstance(code, int) else 0


def _misused(error: Any) -> int:
    """Print one line for options or arguments that a command does not take; for a command without any, its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 0
    # Pydantic, which reads options for Typer, puts this before Typer's own messages.
    error.message = error.message.removeprefix("Value error, ")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "touchstone"
    command = path.removeprefix("touchstone").strip()
    what = " ".join(error.format_message().split()).rstrip(".")
    typer.echo(one_line(f"{f'{command}: ' if command else ''}{what}; see {path} --help"), err=True)
    return EXIT_ERROR


def _open_closed_streams() -> None:
    """Give a process that was started with a closed stream (`2>&-`) one that discards, before another file takes its number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            file = _Discarding(os.devnull, "w") if name == "stdout" else io.FileIO(os.devnull, "w")
            setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(file), "utf-8"))  # open until the end


class _Discarding(io.FileIO):
    """The null device in place of a closed standard output. `is_used`: something was written to it."""

    is_used: ClassVar[bool] = False

    def write(self, data: Any) -> int:
        """Note that something is lost."""
        type(self).is_used = True
        return super().write(data)


class _Lossy(io.FileIO):
    """Standard error that ignores write errors: the output is lost, the exit code stays."""

    def write(self, data: Any) -> int:
        """Write; on an error the text is lost."""
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _outlive_readers() -> None:
    """Keep write errors on standard error from ending a command: its reader (`2>&1 | head`) may be gone before the verdict is printed, or its disk full."""
    if sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        stream = io.BufferedWriter(_Lossy(sys.stderr.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(stream, sys.stderr.encoding, sys.stderr.errors, line_buffering=True)


def _reader_gone() -> int:
    """End without an error after the reader has gone; nothing is left to flush at exit."""
    sys.stdout = None  # the interpreter's own word for no stream
    return 0


def _cannot_write(error: OSError) -> int:
    """Print one line for output that could not be written."""
    sys.stdout = None  # what is left in its buffer cannot be written at exit either
    typer.echo(one_line(f"the output cannot be written: {error.strerror}; free some space, or send it elsewhere"), err=True)
    return EXIT_ERROR


def _internal(error: Exception) -> int:
    """Print one line for a defect: its type and place. Its message is left out, because it may quote a payload."""
    if os.environ.get("TOUCHSTONE_DEBUG") == "1":
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if any(Path(frame.filename).is_relative_to(_ROOT / name) for name in ("ops", "streams", "scorers", "schemas"))]
    where = "an unknown place"
    if frames:
        frame = (ours or frames)[-1]
        path = Path(frame.filename)
        where = f"{path.relative_to(_ROOT) if ours else path.name}:{frame.lineno}"
    typer.echo(one_line(f"internal error: {type(error).__name__} at {where}; TOUCHSTONE_DEBUG=1 shows the traceback, which may quote payloads"), err=True)
    return EXIT_INTERNAL
