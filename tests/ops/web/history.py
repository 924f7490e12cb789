"""A result store with cases for tests of the API, and an archive in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from tests.ops.store.histories import AT, add, scored
from touchstone.ops.store.archive.objects import Missing
from touchstone.ops.store.case_rows import CaseRow
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.api.sources import Opened

CANARY = "Zanzibar Canary"


class ArchiveInMemory:
    def __init__(self) -> None:
        self.documents: dict[str, bytes] = {}

    def document(self, event_id: str) -> bytes:
        if event_id not in self.documents:
            raise Missing
        return self.documents[event_id]


@contextmanager
def history(folder: Path) -> Iterator[Opened]:
    """Five results of four events; the events e-0 and t-0 are kept, with a patient's name in them."""
    store = ResultStore.open(f"sqlite:///{folder / 'store.db'}", create=True)
    index, archive = CaseIndex(store.engine), ArchiveInMemory()
    add(
        store,
        scored("e-0", 0, suite="one", label="Fail", codes=("too_long", "missing_signal"), case="case-0"),
        scored("e-1", 1, suite="one", label="Pass"),
        scored("e-2", 2, suite="one", label="Review", codes=("too_long",)),
        scored("e-0", 3, suite="two", label="Pass"),
        scored("t-0", 4, suite="two", label="Fail", kind="trace", case="trace/0"),
    )
    for event_id, kind, document in (
        ("e-0", "safe", {"kind": "safe", "id": "e-0", "output": {"summary": CANARY}}),
        ("t-0", "trace", {"kind": "trace", "id": "t-0", "traceId": "trace/0", "persona": {"name": CANARY}, "outputs": {}}),
    ):
        kept(index, archive, event_id, kind, document)
    try:
        yield Opened(History(store.engine), index, archive)
    finally:
        store.close()


def kept(index: CaseIndex, archive: ArchiveInMemory, event_id: str, kind: str, document: dict[str, Any]) -> None:
    archive.documents[event_id] = data = orjson.dumps(document)
    trace_id = document.get("traceId", "")
    index.keep([CaseRow(event_id, kind, AT, AT, case_id=trace_id, trace_id=trace_id, source="production", path=f"cases/{event_id}", bytes=len(data))])
