"""Opening a result store: URL → engine, its durability settings, and its errors in one line without secrets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from touchstone.ops.store.migration import migrate
from touchstone.ops.store.schema import SCHEMA_VERSION, metadata, schema_version
from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_extras
from touchstone.streams.account.store_port import StoreAway, StoreRefused, StoreUnavailable

BUSY_TIMEOUT_S = 10
#: A server that is gone without a word is noticed within half a minute, and not after the system's two hours.
POSTGRES_OPTIONS = {"connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000}
#: Any fixed number: names the lock under which PostgreSQL's tables are made and changed.
_SCHEMA_LOCK = 7_263_114
_NEWEST = select(func.max(schema_version.c.version))

#: Parts of drivers' messages about what passes by itself, or once the server, its disk or the name service is well again.
_PASSING = (
    "Connection refused",
    "No route to host",
    "Network is unreachable",
    "timeout expired",
    "Connection timed out",
    "Connection reset by peer",
    "server closed the connection",
    "Temporary failure in name resolution",
    "too many clients",
    "connection slots are reserved",
    "starting up",
    "shutting down",
    "in recovery mode",
    "not yet accepting connections",
    "not currently accepting connections",
    "No space left on device",
    # PostgreSQL's words to who connects while its disk is full, without a code.
    "could not write init file",
    # SQLite's, the first for a file that another process is writing to.
    "database is locked",
    "database or disk is full",
)
#: Parts of messages about what a person must change. All of these quote nothing: psycopg's own text may carry values of the URL.
_REASONS = (
    *_PASSING,
    "No such file or directory",
    "Name or service not known",
    "failed to resolve host",
    "password authentication failed",
    "no password supplied",
    # One end speaks TLS and the other does not; `sslmode` in the URL decides.
    "server does not support SSL",
    "invalid response to SSL negotiation",
    "no encryption",
    "does not exist",
)


def parse(url: str) -> URL:
    """The parts of a store URL. Raises `ConfigError`, which never quotes it."""
    backend, _, rest = url.partition("://")
    if not backend.startswith("sqlite") and rest.count("@") > 1:
        # All after the first @ would be taken for a host name, the rest of the password with it, and shown.
        raise ConfigError("store.url: it has more than one @; write the @ of a user name or password as %40")
    try:
        parsed = make_url(url)
        parsed.get_backend_name()
    except (ArgumentError, ValueError):
        raise ConfigError("store.url: not a database URL; write sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE") from None
    if backend.startswith("sqlite") and (parsed.host or parsed.username):
        raise ConfigError("store.url: a SQLite URL has three slashes, and a fourth for an absolute path: sqlite:///FILE")
    return parsed


def shown(url: str) -> str:
    """A store URL for display: without its password, and without its query, which can carry one."""
    try:
        return parse(url).set(query={}).render_as_string(hide_password=True)
    except ConfigError:
        return "(not a database URL)"


def open_engine(url: str) -> Engine:
    """An engine for `sqlite:///FILE` or `postgresql[+psycopg]://…`; connects to nothing yet. Raises `ConfigError`."""
    parsed = parse(url)
    backend = parsed.get_backend_name()
    try:
        if backend == "postgresql":
            return _open_postgres(parsed.set(drivername="postgresql+psycopg"))
        if backend == "sqlite":
            return _open_sqlite(parsed)
    except (ArgumentError, TypeError, ValueError):
        raise ConfigError("store.url: the options after its ? cannot be used; check their names and values") from None
    raise ConfigError(f"store.url: {backend} is not supported; use sqlite:///FILE or postgresql+psycopg://…")


def _open_postgres(url: URL) -> Engine:
    """PostgreSQL through psycopg. `pool_pre_ping` finds a connection that the server has dropped while it was idle."""
    arguments: dict[str, Any] = {name: value for name, value in POSTGRES_OPTIONS.items() if name not in url.query}
    try:
        return create_engine(url, hide_parameters=True, pool_pre_ping=True, pool_size=4, max_overflow=4, connect_args=arguments)
    except (ImportError, NoSuchModuleError):
        raise ConfigError(f"store.url: PostgreSQL needs psycopg; {install_extras('postgres')}") from None


def _open_sqlite(url: URL) -> Engine:
    """SQLite in WAL mode: readers never block the projector, and a killed process leaves whole transactions only."""
    if url.database in {None, "", ":memory:"}:
        raise ConfigError("store.url: an in-memory SQLite store would be lost; name a file: sqlite:///FILE")
    engine = create_engine(url, hide_parameters=True, connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: Any) -> None:
        # The driver must not open transactions of its own: SQLAlchemy's "begin" below does, and says which kind.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", f"busy_timeout={BUSY_TIMEOUT_S * 1000}", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A transaction that reads first and writes later could find the database changed in between; a writer locks at once.
        writes = connection.get_execution_options().get("touchstone_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One write transaction: all of it or nothing. Raises `StoreUnavailable`, or `StoreRefused` for a damaged file."""
    with translated(), engine.connect().execution_options(touchstone_writes=True) as connection, connection.begin():
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One read transaction, all of it at one moment. Raises `StoreUnavailable`."""
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with translated(), engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def translated() -> Iterator[None]:
    """Database errors that waiting can resolve as `StoreUnavailable`, a damaged file as `StoreRefused`; a defect stays as it is."""
    try:
        yield
    except PoolTimeoutError:
        raise StoreUnavailable("pool_exhausted") from None
    except DBAPIError as error:
        name = type(error).__name__
        if name in {"OperationalError", "InterfaceError", "InternalError"} or error.connection_invalidated:
            raise StoreUnavailable(_code(error)) from error
        if name == "DatabaseError":  # the base class itself: SQLite's word for a file that is damaged
            raise StoreRefused(f"the store is damaged ({_code(error)}); restore its file, or let `touchstone projector` fill a new one") from error
        raise


def _code(error: DBAPIError) -> str:
    """A stable short name of a database error: PostgreSQL's SQLSTATE, SQLite's error name, else the class."""
    original = error.orig
    code = getattr(original, "sqlstate", None) or getattr(original, "sqlite_errorname", None)
    return str(code) if code else type(original).__name__


def _reason(engine: Engine, error: DBAPIError) -> str:
    """Why a database cannot be opened, without the text that may quote the URL."""
    message = str(error.orig).strip().partition("\n")[0]
    if engine.dialect.name == "sqlite":
        return message  # fixed texts, which quote nothing
    reason = next((reason for reason in _REASONS if reason in message), None)
    return reason or _code(error)


def integrity(engine: Engine) -> None:
    """Read a whole SQLite file and check its pages. Raises `StoreRefused` for a damaged one; other databases check themselves."""
    if engine.dialect.name == "sqlite":
        with reading(engine) as connection:
            if connection.execute(text("PRAGMA quick_check(1)")).scalar() != "ok":
                raise StoreRefused("the store is damaged (quick_check); restore its file, or let `touchstone projector` fill a new one")


def prepare(engine: Engine, *, create: bool) -> None:
    """Make the tables if there are none (`create`), check their version, and bring those of an older version up to date.

    Raises `StoreRefused` for a store that is missing, of another program or newer than this program; `StoreAway` if its server does
    not answer now; `ConfigError` if it cannot be opened.
    """
    where = shown(engine.url.render_as_string(hide_password=False))
    _check_file(engine, create)
    try:
        version = _version(engine, where, create=create)
        if version is not None and version < SCHEMA_VERSION:
            version = _migrate(engine)
    except DBAPIError as error:
        reason = _reason(engine, error)
        kind = StoreAway if reason in _PASSING else ConfigError
        raise kind(f"the store {where} cannot be opened: {reason}; check store.url (--store, TOUCHSTONE_STORE_URL)") from None
    except (SQLAlchemyError, TypeError, ValueError) as error:  # the last two: a driver's, for a value in the URL
        raise ConfigError(f"the store {where} cannot be opened ({type(error).__name__}); check store.url (--store, TOUCHSTONE_STORE_URL)") from None
    if version is None or version > SCHEMA_VERSION:
        has = "an unfinished schema" if version is None else f"schema version {version}, newer than the {SCHEMA_VERSION} of this program"
        raise StoreRefused(f"the store {where} has {has}; upgrade touchstone, or use another store")


def _version(engine: Engine, where: str, *, create: bool) -> int | None:
    """The version of the tables, which are made first if they are missing (`create`); None if none is noted."""
    with engine.connect().execution_options(touchstone_writes=create) as connection, connection.begin():
        if create:
            _lock_schema(connection)
            metadata.create_all(connection)
        elif not inspect(connection).has_table(schema_version.name):
            raise StoreRefused(f"the store {where} has no results yet: run `touchstone projector` on it first, or check --store")
        version: int | None = connection.execute(_NEWEST).scalar()
        if version is None and create:
            connection.execute(schema_version.insert().values(version=SCHEMA_VERSION))
            return SCHEMA_VERSION
        return version


def _migrate(engine: Engine) -> int:
    """Bring the tables up to date in one transaction, so that a crash leaves the old ones whole. Returns their version then."""
    with engine.connect().execution_options(touchstone_writes=True) as connection, connection.begin():
        _lock_schema(connection)
        version: int = connection.execute(_NEWEST).scalar_one()
        if version < SCHEMA_VERSION:  # another process may have done it meanwhile
            migrate(connection, version)
            return SCHEMA_VERSION
        return version


def _lock_schema(connection: Connection) -> None:
    """Let one process at a time change the tables. SQLite's write transactions do so anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SCHEMA_LOCK})


def _check_file(engine: Engine, create: bool) -> None:
    """Check the path first: SQLite creates missing files, and its own errors say little."""
    if engine.dialect.name != "sqlite":
        return
    path = Path(str(engine.url.database))
    try:
        exists, has_folder = path.exists(), path.parent.is_dir()
    except OSError as error:
        raise ConfigError(f"the store {path} cannot be opened ({error.strerror}); check its folder's permissions, or --store (store.url)") from None
    if not exists and not create:
        raise StoreRefused(f"there is no store {path}: run `touchstone projector` first, or check --store (store.url)")
    if not has_folder:
        raise ConfigError(f"the store {path} cannot be created: {path.parent} is not a directory; create it, or check --store (store.url)")
