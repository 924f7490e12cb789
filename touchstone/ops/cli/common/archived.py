"""Shared by the commands on the archive."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from touchstone.ops.cli.common.shared import fail

ArchiveOption = Annotated[
    str | None,
    typer.Option("--archive", help="Where objects are: file:///FOLDER, s3://BUCKET/PREFIX, gs://…, az://… (overrides archive.url).", show_default=False),
]


@contextmanager
def archive_errors() -> Iterator[None]:
    """Turn an archive that went away in the middle of a command into one line and exit 3."""
    from touchstone.streams.account.archive_port import ArchiveAway

    try:
        yield
    except ArchiveAway as error:
        fail(f"the archive cannot be used now ({error.code}); check archive.url, and that its store of objects answers and takes writes")
