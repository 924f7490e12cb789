"""What the API reads and writes: the result store and the archive, opened when they are first needed."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from touchstone.ops.store.archive.archive import Archive
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.guidelines import Guidelines
from touchstone.ops.store.history import History
from touchstone.ops.store.queues import Queues
from touchstone.scorers.suite import Suite


@dataclass(frozen=True, slots=True)
class Opened:
    """The opened store. `open_archive`: opens the archive beside it, or raises `ConfigError`; lists need none."""

    history: History
    index: CaseIndex
    open_archive: Callable[[], Archive]

    @property
    def queues(self) -> Queues:
        """The review queues."""
        return Queues(self.history.engine)

    @property
    def guidelines(self) -> Guidelines:
        """The guidelines of the queues."""
        return Guidelines(self.history.engine)


class Sources:
    """Opens the store and the archive at the first request, and again after a failure: the projector may make the store later than this service starts."""

    def __init__(self, opening: Callable[[], Opened], suites: Mapping[str, Suite]) -> None:
        self._opening = opening
        self._opened: Opened | None = None
        self._archive: Archive | None = None
        self._lock = threading.Lock()
        self.suites = suites

    def get(self) -> Opened:
        """The opened store. Raises `ConfigError` or `StoreUnavailable`."""
        with self._lock:
            if self._opened is None:
                self._opened = self._opening()
            return self._opened

    def archive(self) -> Archive:
        """The archive. Raises `ConfigError` or `StoreUnavailable`."""
        opened = self.get()
        with self._lock:
            if self._archive is None:
                self._archive = opened.open_archive()
            return self._archive
