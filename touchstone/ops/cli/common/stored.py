"""Shared by the commands on the result store."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from touchstone.ops.cli.common.shared import fail

StoreOption = Annotated[
    str | None, typer.Option("--store", help="Result store, sqlite:///FILE or postgresql+psycopg://… (overrides store.url).", show_default=False)
]


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn a store that went away in the middle of a command into one line and exit 3."""
    from touchstone.streams.account.store_port import StoreUnavailable

    try:
        yield
    except StoreUnavailable as error:
        fail(f"the store cannot be used now ({error.code}); check that its database runs, has space and is not locked")
