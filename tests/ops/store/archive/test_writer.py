"""What the archiver writes for an event that several suites have scored, in whatever order their results come."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import literal, select

from tests.ops.store.archive.test_archive import Sent, event, result, store_all, trace
from touchstone.ops.store import cases
from touchstone.ops.store.archive.archive import Archive, open_archive
from touchstone.ops.store.archive.documents import NotKept
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


@pytest.fixture(params=["before", "after"])
def forgotten_around(request: pytest.FixtureRequest, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Forget an event in the moment before or after an object below a folder is put: the writer has looked at its row before."""

    def arrange(event_id: str, folder: str) -> None:
        put, is_done = archive.objects.put, False

        def meanwhile(path: str, data: bytes) -> str:
            nonlocal is_done
            if not path.startswith(folder) or is_done:
                return put(path, data)
            is_done = True
            if request.param == "after":
                put(path, data)
            archive.forget(event_id, dry_run=False)
            return put(path, data)

        monkeypatch.setattr(archive.objects, "put", meanwhile)

    return arrange


def objects_of(archive: Archive) -> list[str]:
    return [entry.path for entry in archive.objects.list()]


def test_a_case_that_is_forgotten_while_it_is_written_leaves_no_object(
    archive: Archive, store: ResultStore, forgotten_around: Callable[[str, str], None]
) -> None:
    store_all(store, PASSED, FAILED)
    forgotten_around("e-1", "cases/")
    read(archive, FAILED)
    row = archive.index.row("e-1")
    assert row is not None
    assert row.state == "forgotten"
    assert objects_of(archive) == []


def test_a_result_of_a_kept_case_that_is_forgotten_while_it_is_written_leaves_no_object(
    archive: Archive, store: ResultStore, forgotten_around: Callable[[str, str], None]
) -> None:
    store_all(store, PASSED, FAILED)
    read(archive, FAILED)
    forgotten_around("e-1", "results/")
    read(archive, result("e-1", "c", "Pass"))
    assert objects_of(archive) == []


@pytest.mark.parametrize("is_known", [False, True], ids=["a new trace", "a trace that is kept"])
def test_a_posted_trace_that_is_forgotten_while_it_is_written_leaves_no_object(
    archive: Archive, store: ResultStore, forgotten_around: Callable[[str, str], None], is_known: bool
) -> None:
    store_all(store, result("t-1", kind="trace", case_id="t-1"))
    if is_known:
        archive.put_trace(trace("t-1"))
    forgotten_around("t-1", "traces/")
    with pytest.raises(NotKept) as refused:
        archive.put_trace(trace("t-1"))
    assert refused.value.state == "forgotten"
    assert objects_of(archive) == []


def test_what_a_killed_writer_left_of_a_forgotten_case_is_deleted_when_its_results_come_again(archive: Archive, store: ResultStore) -> None:
    store_all(store, PASSED, FAILED)
    archive.forget("e-1", dry_run=False)
    archive.put("e-1", "safe", "", event("e-1"))
    archive.keep_results_of("e-1")
    read(archive, FAILED)
    assert objects_of(archive) == []


def test_a_trace_of_another_event_stays_when_one_with_the_same_content_is_taken_back(archive: Archive, store: ResultStore) -> None:
    archive.keep("e-2", "trace", "t-1", trace("t-1"))
    store_all(store, result("e-1", kind="trace"))
    archive.forget("e-1", dry_run=False)
    row = archive.put("e-1", "trace", "t-1", trace("t-1")).row
    assert archive.take_back(["e-1"], [row]) == {"e-1"}
    assert archive.document("e-2") == trace("t-1")


def test_a_row_whose_state_was_read_before_the_case_was_forgotten_does_not_bring_it_back(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    row = archive.put("e-1", "safe", "", event("e-1")).row
    archive.index.keep([row])
    archive.forget("e-1", dry_run=False)
    monkeypatch.setattr(cases, "_states", lambda _: select(literal("e-1").label("event_id"), literal("kept").label("state")))
    archive.index.keep([row])
    assert archive.index.rows(["e-1"])["e-1"].state == "forgotten"


def keep_trace(archive: Archive, event_id: str) -> None:
    """What an archiver does with a failed result of a trace's event."""
    writer = ArchiveWriter(archive, Policy.of(["failed"]))
    _, wanted = writer.sort(project("results", {0: 0}, {0: [Sent(0, result(event_id, kind="trace"))]}).results)
    writer.keep_cases([type(case)(case.event_id, case.results, case.place, case.checksum, trace("t-1")) for case in wanted])
    writer.close()


def test_a_new_event_of_a_forgotten_trace_is_not_kept(archive: Archive) -> None:
    keep_trace(archive, "e-1")
    archive.forget("t-1", dry_run=False)
    keep_trace(archive, "e-2")
    assert {event: row.state for event, row in archive.index.rows(["e-1", "e-2"]).items()} == {"e-1": "forgotten", "e-2": "forgotten"}
    assert objects_of(archive) == []


def test_a_new_event_of_a_trace_that_is_forgotten_meanwhile_is_not_kept(archive: Archive, forgotten_around: Callable[[str, str], None]) -> None:
    keep_trace(archive, "e-1")
    forgotten_around("e-1", "traces/")
    keep_trace(archive, "e-2")
    assert {event: row.state for event, row in archive.index.rows(["e-1", "e-2"]).items()} == {"e-1": "forgotten", "e-2": "forgotten"}
    assert objects_of(archive) == []


def test_only_its_owner_reads_a_folder_that_the_archive_makes(archive: Archive, tmp_path: Path) -> None:
    archive.keep("e-1", "safe", "", event("e-1"))
    assert (tmp_path / "archive").stat().st_mode & 0o077 == 0


def test_a_forgotten_trace_is_not_written_again_for_another_event(archive: Archive) -> None:
    keep_trace(archive, "e-1")
    archive.forget("t-1", dry_run=False)
    with pytest.raises(NotKept, match="forgotten"):
        archive.keep("e-2", "trace", "t-1", trace("t-1"))
