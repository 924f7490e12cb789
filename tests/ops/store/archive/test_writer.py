"""What the archiver writes for an event that several suites have scored, in whatever order their results come."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ops.store.archive.test_archive import Sent, event, result, store_all
from touchstone.ops.store.archive.archive import Archive, open_archive
from touchstone.ops.store.archive.policy import Policy
from touchstone.ops.store.archive.writer import ArchiveWriter
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.result import ScoreResult
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.streams.account.projection import project

PASSED, FAILED = result("e-1", "a", "Pass"), result("e-1", "b", "Fail")
BOTH = {PASSED.result_id, FAILED.result_id}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResultStore]:
    opened = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True)
    yield opened
    opened.close()


@pytest.fixture
def archive(tmp_path: Path, store: ResultStore) -> Archive:
    return open_archive(ArchiveSettings(url=f"file://{tmp_path / 'archive'}"), CaseIndex(store.engine))


def read(archive: Archive, *batches: ScoreResult) -> None:
    """What an archiver does with results that come one by one. The first suite's Pass is not wanted."""
    writer = ArchiveWriter(archive, Policy.of(["failed"]))
    for offset, one in enumerate(batches):
        known, wanted = writer.sort(project("results", {0: offset}, {0: [Sent(offset, one)]}).results)
        writer.keep_results(known)
        writer.keep_cases([type(case)(case.event_id, case.results, case.place, case.checksum, event("e-1")) for case in wanted])
    writer.close()


def listed(store: ResultStore) -> set[str]:
    found = History(store.engine).case("e-1")
    assert found is not None
    assert found.kept is not None
    return {row.result_id for row in found.results}


def copied(archive: Archive) -> set[str]:
    return {entry.path.rpartition("/")[2].removesuffix(".json") for entry in archive.objects.list("results")}


@pytest.mark.parametrize("order", [(PASSED, FAILED), (FAILED, PASSED)], ids=["the wanted one last", "the wanted one first"])
def test_every_result_of_a_kept_case_is_listed_and_copied_in_either_order(archive: Archive, store: ResultStore, order: tuple[ScoreResult, ...]) -> None:
    store_all(store, *order)
    read(archive, *order)
    assert listed(store) == copied(archive) == BOTH


@pytest.mark.parametrize("order", [(PASSED, FAILED), (FAILED, PASSED)], ids=["the wanted one last", "the wanted one first"])
def test_a_projector_that_comes_after_the_archiver_lists_every_result(archive: Archive, store: ResultStore, order: tuple[ScoreResult, ...]) -> None:
    read(archive, *order)
    assert FAILED.result_id in copied(archive)
    store_all(store, *order)
    assert listed(store) == BOTH
