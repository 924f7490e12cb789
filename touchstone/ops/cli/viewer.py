"""`touchstone viewer`: the page on local traces, without Kafka."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.archived import archive_errors
from touchstone.ops.cli.common.shared import ConfigOption, fail, one_line, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import store_errors

if TYPE_CHECKING:
    from touchstone.ops.viewer.places import TracePlace
    from touchstone.schemas.settings.house import Settings


@app.command()
def viewer(
    traces: Annotated[
        str | None,
        typer.Argument(metavar="[DIR|URL]", help="A folder of traces, s3://…, or https://…/api/traces. Default: eval-results/traces.", show_default=False),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the store and the archive. Default: .touchstone beside the folder of traces.", show_default=False)
    ] = None,
    suite: Annotated[
        list[str] | None, typer.Option("--suite", "-s", help="Suites that score. Default: all for traces that need no judge.", show_default=False)
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port (default: 8321; 0: a free one, printed).", show_default=False)] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on (default: loopback; any other needs serve.tokens).", show_default=False)] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="File with the token for https://…/api/traces (scopes results and text).", show_default=False)
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Open the page on traces, without Kafka: read, score and review them here.

    Traces are read and never changed. Annotations are kept in the folder's store; `touchstone annotations export --data FOLDER` writes them to files.
    What was read before is not scored again. Ctrl-C ends it.

    Example: touchstone viewer eval-results/traces --open
    """
    import structlog
    import uvloop

    from touchstone.ops.local.data_folder import FOLDER, addresses_in
    from touchstone.ops.reports.files import check_directory
    from touchstone.ops.viewer.places import Folder, place_of
    from touchstone.streams.telemetry.logs import configure

    settings = settings_from(config, serve__host=host, serve__port=port)
    with one_line_errors(), store_errors(), archive_errors():
        place = place_of(traces, bytes_max=settings.archive.case_bytes_max, token=_token(token_file))
        beside = None
        if isinstance(place, Folder):
            place.names()  # a folder that is not there must not get one beside it
            around = place.path.resolve().parent
            beside = around / "annotations.json"
        folder = data if data is not None else (around if isinstance(place, Folder) else Path()) / FOLDER
        with _private(folder):
            check_directory(folder, "--data")
            store, archive = addresses_in(folder)
            settings = settings_from(config, serve__host=host, serve__port=port, store__url=store, archive__url=archive)
            configure(settings.log)
            structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
            taken = beside if beside is not None and beside.is_file() else None
            uvloop.run(_run(settings, place, tuple(suite or ()), folder, taken, open_page=open_page))


@contextmanager
def _private(folder: Path) -> Iterator[None]:
    """Make the folder, unless it is there, for its owner alone: cases are patient data. It goes again if nothing came into it."""
    was_there = folder.exists()
    if not was_there:
        with suppress(OSError):  # the check inside says what is wrong
            folder.mkdir(mode=0o700, parents=True)
    try:
        yield
    finally:
        if not was_there:
            with suppress(OSError):  # it is not empty, or was never made
                folder.rmdir()


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        return file.read_text(encoding="utf-8").strip() or fail(f"{file}: is empty; put the token into it")
    except (OSError, UnicodeError):
        fail(f"{file}: cannot be read; --token-file names a file that holds the token")


async def _run(settings: "Settings", place: "TracePlace", suites: tuple[str, ...], folder: Path, beside: Path | None, *, open_page: bool) -> None:
    """Serve until a signal."""
    import asyncio
    import signal

    from touchstone.ops.cli.common.progress import Progress
    from touchstone.ops.viewer.session import Session

    def tell(line: str) -> None:
        typer.echo(one_line(line), err=True)

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    session = Session(settings, place, suites, tell)
    try:
        address, names = await session.start()
    except BaseException:
        await session.close()
        raise

    def opened(_: Any) -> None:
        tell(f"{place.shown}: open {address} (Ctrl-C ends)")
        if place.is_remote:
            tell(f"annotations are kept here, in {folder}, and are not sent to {place.shown}")
        if open_page:
            _open_browser(address)

    with Progress("files", total=len(names), every=1, lines=True) as progress:
        await session.run(names, beside, stop, opened, progress.step)


def _open_browser(address: str) -> None:
    """Open the page, if there is a browser; its address is printed anyway."""
    import webbrowser

    try:
        webbrowser.get().open(address)
    except webbrowser.Error:
        typer.echo(one_line("no browser was found; open the address yourself"), err=True)
