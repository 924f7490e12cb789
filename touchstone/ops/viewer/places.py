"""Where a viewer's traces come from: a folder, a bucket, or another Touchstone's API. Each gives documents, and a line for what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote, unquote, urlencode, urlsplit

import orjson

from touchstone.ops.batch.sources import UnreadableError, find_sources
from touchstone.ops.reviews.exchange import documents_of
from touchstone.ops.store.archive.encryption import Undecipherable
from touchstone.ops.store.archive.objects import ArchiveAway, Missing, Objects, TooLarge
from touchstone.scorers.base import ConfigError
from touchstone.scorers.http.blocking_client import BlockingHttpClient

DEFAULT: Final = Path("eval-results/traces")
#: Folders of an archive that hold no traces.
_OTHERS: Final = ("results/", "cases/", "probes/")
_TIMEOUT_S: Final = 30.0
_PAGE: Final = 200
_OK: Final = 200
#: Traces of one place.
TRACES_MAX: Final = 100_000


class Found(NamedTuple):
    """A document of a place: `name` says where it is, `data` is how it is written. `fault`: why it cannot be read, and then there is none."""

    name: str
    document: Any
    data: bytes = b""
    fault: str = ""


class TracePlace(Protocol):
    """A place of traces. `shown`: its name for people. `is_remote`: other people may annotate there, and what is said here does not go there."""

    shown: str
    is_remote: bool

    def names(self) -> list[str]:
        """What there is to read. Raises `ConfigError`."""
        ...

    def read(self, name: str) -> Iterator[Found]:
        """The documents of one of them."""
        ...


def place_of(target: str | None, *, bytes_max: int, token: str | None = None) -> TracePlace:
    """The place that a command names; without a name, `eval-results/traces`. Raises `ConfigError`."""
    if target is None:
        if not DEFAULT.is_dir():
            raise ConfigError(f"name a folder of traces, or a URL: there is no {DEFAULT} here")
        return Folder(DEFAULT)
    scheme = urlsplit(target).scheme if "://" in target else ""
    if scheme == "file":
        return Folder(Path(unquote(urlsplit(target).path)))
    if scheme in {"s3", "gs", "az"}:
        return Bucket(target, bytes_max)
    if scheme in {"http", "https"}:
        return Service(target, bytes_max, token)
    if scheme:
        raise ConfigError(f"{scheme}://: no place that traces are read from; give a folder, or file://, s3://, gs://, az:// or https://…/api/traces")
    return Folder(Path(target))


class Folder:
    """A folder of trace files, or one file."""

    is_remote = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shown = str(path)

    def names(self) -> list[str]:
        """See `TracePlace`."""
        self._sources = {one.file: one for one in find_sources([self.path], any_file=False, hint="name a folder of trace files (*.json)")}
        return list(self._sources)

    def read(self, name: str) -> Iterator[Found]:
        """See `TracePlace`."""
        try:
            yield from (Found(f"{name}{place}", document, data) for place, document, data in documents_of(self._sources[name]))
        except UnreadableError as error:
            yield Found(name, None, fault=str(error))


class Bucket:
    """Traces as objects, as an archive or an application's blob store has them: `traces/trace-ID.json`, or any other `*.json`."""

    is_remote = True

    def __init__(self, url: str, bytes_max: int) -> None:
        self.shown = urlsplit(url)._replace(query="", fragment="").geturl()
        self._bytes_max = bytes_max
        try:
            self._objects = Objects.open(url)
        except ConfigError as error:
            raise ConfigError(str(error).replace("archive.url", self.shown)) from None

    def names(self) -> list[str]:
        """See `TracePlace`."""
        try:
            paths = [one.path for one in self._objects.list() if one.path.endswith(".json") and not one.path.startswith(_OTHERS)]
        except ArchiveAway as error:
            raise ConfigError(f"{self.shown}: cannot be listed ({error.code}); check the address, and the credentials in the environment") from None
        if not paths:
            raise ConfigError(f"{self.shown}: holds no trace (*.json); check the address")
        return sorted(paths)

    def read(self, name: str) -> Iterator[Found]:
        """See `TracePlace`."""
        shown = f"{self.shown.rstrip('/')}/{name}"
        try:
            data = self._objects.get(name, self._bytes_max)
            yield Found(shown, orjson.loads(data), data)
        except orjson.JSONDecodeError as error:
            yield Found(shown, None, fault=f"is not JSON (line {error.lineno})")
        except Missing:
            yield Found(shown, None, fault="is no longer there")
        except TooLarge:
            yield Found(shown, None, fault=f"has more than {self._bytes_max:,} bytes")
        except Undecipherable:
            yield Found(shown, None, fault="is encrypted; start `touchstone serve` where its key is, and name that address")
        except ArchiveAway as error:
            yield Found(shown, None, fault=f"cannot be read ({error.code})")


class Service:
    """The traces of another Touchstone, or of anything that answers /api/traces as the specification says."""

    is_remote = True

    def __init__(self, url: str, bytes_max: int, token: str | None) -> None:
        parts = urlsplit(url)
        path = parts.path.rstrip("/")
        base = parts._replace(path=path if path.endswith("/api/traces") else f"{path}/api/traces", query="", fragment="").geturl()
        self.shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], path=urlsplit(base).path, query="", fragment="").geturl()
        if token is not None and parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
            raise ConfigError(f"{self.shown}: a token is sent over https only")
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token is not None else {})
        try:
            self._client = BlockingHttpClient(base, headers, timeout_s=_TIMEOUT_S, bytes_max=bytes_max, keeps_connections=True)
        except (ValueError, UnicodeError):
            raise ConfigError(f"{self.shown}: not an address that can be asked; write https://HOST/api/traces") from None

    def names(self) -> list[str]:
        """See `TracePlace`."""
        found: dict[str, None] = {}
        cursor: str | None = None
        while len(found) < TRACES_MAX:
            page, _ = self._asked("?" + urlencode({"limit": _PAGE} | ({"cursor": cursor} if cursor else {})))
            listed = page.get("traces") if isinstance(page, Mapping) else page
            ids = [one.get("traceId") for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else None
            if ids is None:
                raise ConfigError(f"{self.shown}: does not answer with a list of traces; write https://HOST/api/traces of a Touchstone")
            before = len(found)
            found |= dict.fromkeys(str(one) for one in ids if one)
            cursor = page.get("next") if isinstance(page, Mapping) else None
            if not cursor or len(found) == before:
                break
        if not found:
            raise ConfigError(f"{self.shown}: has no trace that may be read here")
        return list(found)

    def read(self, name: str) -> Iterator[Found]:
        """See `TracePlace`."""
        shown = f"{self.shown}/{quote(name, safe='')}"
        try:
            document, data = self._asked(f"/{quote(name, safe='')}")
            yield Found(shown, document, data)
        except ConfigError as error:
            yield Found(shown, None, fault=str(error).removeprefix(f"{self.shown}: "))

    def _asked(self, path: str) -> tuple[Any, bytes]:
        """The JSON at an address, and as it is written. Raises `ConfigError`."""
        try:
            answer = self._client.send("GET", path)
        except TimeoutError:
            raise ConfigError(f"{self.shown}: does not answer within {_TIMEOUT_S:g} s; check the address") from None
        except ConnectionError as error:
            raise ConfigError(f"{self.shown}: cannot be reached ({error}); check the address") from None
        if answer.status in {401, 403}:
            raise ConfigError(f"{self.shown}: needs a token with the scopes results and text (status {answer.status}); name its file with --token-file")
        if answer.status != _OK or answer.body is None:
            raise ConfigError(f"{self.shown}: answers with status {answer.status}; write https://HOST/api/traces of a Touchstone")
        try:
            return orjson.loads(answer.body), answer.body
        except orjson.JSONDecodeError:
            raise ConfigError(f"{self.shown}: does not answer with JSON; write https://HOST/api/traces of a Touchstone") from None
