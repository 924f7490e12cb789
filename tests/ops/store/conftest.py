"""Each store test runs on SQLite and on a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import postgres_socket_dir, postgres_url
from touchstone.ops.store.results import ResultStore

__all__ = ["postgres_socket_dir", "postgres_url"]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty store of the test's own."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def store(store_url: str) -> Iterator[ResultStore]:
    opened = ResultStore.open(store_url, create=True)
    yield opened
    opened.close()
