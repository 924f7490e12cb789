"""Immutable objects over obstore: created once, optionally encrypted, listed in pages."""

import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, from_url

from touchstone.ops.store.archive.encryption import OVERHEAD_BYTES, Cipher, Undecipherable
from touchstone.scorers.base import ConfigError
from touchstone.streams.account.archive_port import ArchiveAway

__all__ = ["ArchiveAway", "Entry", "Missing", "NoArchive", "Objects", "Put", "TooLarge"]

SCHEMES = ("file", "s3", "gs", "az", "memory")
#: Objects listed at a time.
PAGE = 1_000
#: How often a server that does not answer is asked within one call, and for how long: who writes waits and asks again by itself, and says so meanwhile.
_ASKED: dict[str, Any] = {"retry_config": {"max_retries": 3, "retry_timeout": timedelta(seconds=15)}}
#: Below this folder objects are written and deleted, to see whether the store takes writes. It is no folder of cases.
_PROBES = "probes"
#: Names of files that are being written, and how old one is when nobody can be writing it any more.
_STAGED = re.compile(r"\.json#\d+$")
_ABANDONED_S = 3600
Put = Literal["created", "same", "other"]


class Missing(Exception):
    """There is no such object."""


class NoArchive(ConfigError):
    """The archive's folder is not there: nothing was ever kept in it, or it is elsewhere. Reading does not make it."""


class TooLarge(Exception):
    """An object is larger than the caller allows."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An object in a listing. `size`: bytes as stored."""

    path: str
    size: int
    at: datetime


class Objects:
    """The objects of an archive. All methods block: call them in a thread. Safe to use from several threads.

    A folder is made by the first `put`; until then, whatever reads raises `NoArchive`.
    """

    def __init__(self, store: Any, cipher: Cipher | None = None, *, absent: str = "") -> None:
        """`absent`: the URL of a folder that is not there, instead of a store."""
        self._store = store
        self._absent = absent
        self._cipher = cipher
        self._creates_once = False
        self._asked: dict[object, float] = {}
        #: When a call has ended last, by the monotonic clock.
        self.answered_at = time.monotonic()

    def asked_at(self) -> float | None:
        """Since when the oldest call under way has lasted, by the monotonic clock; None if there is none. Read from another thread."""
        return min(self._asked.copy().values(), default=None)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """One call: noted while it lasts, its errors as `ArchiveAway`, but not that an object is there or not."""
        key = object()
        self._asked[key] = time.monotonic()
        try:
            yield
        except (FileNotFoundError, AlreadyExistsError):
            raise
        except (BaseError, OSError) as error:
            raise ArchiveAway(type(error).__name__) from None
        finally:
            del self._asked[key]
            self.answered_at = time.monotonic()

    @property
    def _folder(self) -> Path | None:
        return Path(self._store.prefix) if isinstance(self._store, LocalStore) and self._store.prefix else None

    @classmethod
    def open(cls, url: str, cipher: Cipher | None = None) -> "Objects":
        """Open by URL: `file:///folder`, `s3://bucket/prefix`, `gs://…`, `az://…`. Raises `ConfigError`.

        One request to a server takes 5 s to connect and 30 s in all, at the most, unless its variables say otherwise (`AWS_TIMEOUT`).
        """
        scheme = urlsplit(url).scheme
        if scheme not in SCHEMES:
            raise ConfigError(f"archive.url: begins with {', '.join(f'{one}://' for one in SCHEMES[:-1])}")
        if scheme == "file" and not _is_folder(url):
            return cls(None, cipher, absent=url)
        return cls(_opened(url, **({} if scheme in {"file", "memory"} else _ASKED)), cipher)

    def is_there(self) -> bool:
        """False while the folder of a local archive is not there. Of a bucket, only asking it would tell: True."""
        return self._store is not None or _is_folder(self._absent)

    def check_there(self) -> None:
        """Raise `NoArchive` where `is_there` is false."""
        self._there()

    def _there(self) -> Any:
        """The store, to read from. Raises `NoArchive`."""
        if self._store is None:
            if not _is_folder(self._absent):
                raise NoArchive(f"{self._absent}: there is no archive; `touchstone archive` makes it, and archive.url must be the same here (docs/archive.md)")
            self._store = _opened(self._absent)
        return self._store

    def _made(self) -> Any:
        """The store, to write to. Raises `ArchiveAway` where the folder cannot be made now: its disk may come back."""
        if self._store is None:
            try:
                # Cases are patient data: nobody else on this machine reads them. A folder that is there keeps its rights.
                Path(unquote(urlsplit(self._absent).path)).mkdir(mode=0o700, parents=True, exist_ok=True)
                self._store = from_url(self._absent)
            except (BaseError, OSError) as error:
                raise ArchiveAway(type(error).__name__) from None
        return self._store

    def put(self, path: str, data: bytes) -> Put:
        """Create an object; tells whether it was there before with the same content, or with other content, which stays."""
        stored = data if self._cipher is None else self._cipher.encrypt(data, path)
        with self._asking():
            store = self._made()
        try:
            with self._asking():
                obstore.put(store, path, stored, mode="create")
        except AlreadyExistsError:
            is_new = False
        except (ArchiveAway, FileNotFoundError) as error:
            # A server that refuses before it has read a large body closes the connection, and its refusal is often lost.
            if not self.exists(path):
                raise error if isinstance(error, ArchiveAway) else ArchiveAway(type(error).__name__) from None
            is_new = False
        else:
            is_new = True
        self._clear_staged(path)
        return "created" if is_new else "same" if self._holds(path, data) else "other"

    def _holds(self, path: str, data: bytes) -> bool:
        """True if an object has this content. One that no key here decrypts counts as other content: it stays, and hurts no other case."""
        try:
            return self.get(path) == data
        except Undecipherable:
            return False
        except Missing:
            raise ArchiveAway("deleted_meanwhile") from None

    def check_writable(self) -> None:
        """Write an object, try to write another in its place, and delete it. Raises `ArchiveAway`, and `ConfigError` where the second replaces the first."""
        path = f"{_PROBES}/{uuid.uuid4()}"
        self.put(path, b"first")
        second = self.put(path, b"second")
        self.delete(path)
        if second == "created":
            raise ConfigError(
                "archive.url: this store of objects replaces an object that is there already, so cases would not be safe in it; "
                "use one with conditional writes (If-None-Match: *)"
            )
        self._creates_once = True

    def check_readable(self) -> None:
        """See whether the store answers, by a list of what is next to nothing. Raises `ArchiveAway`, for a folder that is gone, too."""
        try:
            with self._asking():
                store = self._made()
                if self._folder is not None and not self._folder.is_dir():
                    raise NotADirectoryError
                next(iter(obstore.list(store, _PROBES, chunk_size=1)), None)
        except FileNotFoundError as error:  # there is no such bucket
            raise ArchiveAway(type(error).__name__) from None

    def check_creates_once(self) -> None:
        """The same, once for a process."""
        if not self._creates_once:
            self.check_writable()

    def _clear_staged(self, path: str) -> None:
        """Delete the files that killed writers have left: they write to `NAME#1`, or the next free number, and link it to `NAME` when it is whole."""
        if self._folder is None:
            return
        with self._asking(), suppress(OSError):  # until there is none, or it is not ours to delete: it is in no list
            for number in count(1):
                (self._folder / f"{path}#{number}").unlink()

    def get(self, path: str, bytes_max: int | None = None) -> bytes:
        """An object's content. Raises `Missing`, `TooLarge`, `Undecipherable`, `ArchiveAway`."""
        try:
            with self._asking():
                found = obstore.get(self._there(), path)
                if bytes_max is not None and found.meta["size"] > bytes_max + (OVERHEAD_BYTES if self._cipher is not None else 0):
                    raise TooLarge
                stored = bytes(found.bytes())
        except FileNotFoundError:
            raise Missing from None
        if self._cipher is not None:
            return self._cipher.decrypt(stored, path)
        if Cipher.is_encrypted(stored):
            raise Undecipherable("no key is set")
        return stored

    def exists(self, path: str) -> bool:
        """True if there is such an object."""
        try:
            with self._asking():
                obstore.head(self._there(), path)
        except FileNotFoundError:
            return False
        return True

    def sweep(self) -> int:
        """Delete what killed writers left longer than an hour ago, also of objects that nobody wrote again; returns how many files. It reads every name."""
        before = time.time() - _ABANDONED_S
        found = 0
        for one in self._folder.rglob("*.json#*") if self._folder is not None else ():
            with suppress(FileNotFoundError):  # its writer has just finished
                if _STAGED.search(one.name) and one.stat().st_mtime < before:
                    one.unlink()
                    found += 1
        return found

    def delete(self, path: str) -> bool:
        """Remove an object, and what killed writers have left of it; False if there was none."""
        store = self._there()
        self._clear_staged(path)
        try:
            with self._asking():
                obstore.head(store, path)
                obstore.delete(store, path)
        except FileNotFoundError:
            return False
        return True

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[Entry]:
        """Objects below a folder, in pages, so that memory does not grow with their number. `after`: only paths behind it, where the store sorts them."""
        try:
            for page in obstore.list(self._there(), prefix or None, offset=after, chunk_size=PAGE):
                for one in page:
                    yield Entry(one["path"], one["size"], one["last_modified"])
        except (BaseError, OSError) as error:
            raise ArchiveAway(type(error).__name__) from None


def _is_folder(url: str) -> bool:
    return Path(unquote(urlsplit(url).path)).is_dir()


def _opened(url: str, **options: Any) -> Any:
    """The store of a URL. Raises `ConfigError`."""
    try:
        return from_url(url, **options)
    except (BaseError, ValueError, OSError) as error:
        raise ConfigError(f"archive.url: cannot be opened ({type(error).__name__}); check scheme, bucket and credentials") from None
