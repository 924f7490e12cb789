"""A result store with cases for tests of the API, and an archive in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from tests.ops.store.histories import AT, add, scored
from touchstone.ops.store.archive.archive import Archive
from touchstone.ops.store.archive.objects import Objects
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.api.sources import Opened
from touchstone.schemas.settings.house import ArchiveSettings

CANARY = "Zanzibar Canary"


@contextmanager
def history(folder: Path, archive_url: str = "memory://", store_url: str | None = None) -> Iterator[Opened]:
    """Five results of four events; the events e-0 and t-0 are kept, with a patient's name in them."""
    store = ResultStore.open(store_url or f"sqlite:///{folder / 'store.db'}", create=True)
    index = CaseIndex(store.engine)
    archive = Archive(Objects.open(archive_url), index, ArchiveSettings())
    add(
        store,
        scored("e-0", 0, suite="one", label="Fail", codes=("too_long", "missing_signal"), case="case-0"),
        scored("e-1", 1, suite="one", label="Pass"),
        scored("e-2", 2, suite="one", label="Review", codes=("too_long",)),
        scored("e-0", 3, suite="two", label="Pass"),
        scored("t-0", 4, suite="two", label="Fail", kind="trace", case="trace/0"),
    )
    for event_id, kind, document in (
        ("e-0", "safe", {"kind": "safe", "id": "e-0", "test_id": "case-0", "concern_id": "I25", "batch_id": "b1", "output": {"summary": CANARY}}),
        ("t-0", "trace", {"kind": "trace", "id": "t-0", "traceId": "trace/0", "persona": {"name": CANARY}, "outputs": {}}),
    ):
        archive.keep(event_id, kind, document.get("traceId", ""), orjson.dumps(document | {"source": "production"}), at=AT)
    try:
        yield Opened(History(store.engine), index, lambda: archive)
    finally:
        store.close()
