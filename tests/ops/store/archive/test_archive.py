"""The archive over files: what is kept, forgotten, removed, found and indexed anew."""

import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from touchstone.ops.store.archive import reindexing
from touchstone.ops.store.archive.archive import Archive, open_archive
from touchstone.ops.store.archive.documents import NotKept
from touchstone.ops.store.archive.encryption import OVERHEAD_BYTES, Undecipherable
from touchstone.ops.store.archive.objects import Missing, NoArchive
from touchstone.ops.store.archive.policy import Policy, point_of
from touchstone.ops.store.case_filter import CaseFilter, FilterError
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.engine import reading
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import cases, results
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.scorers.registry import usable_suites
from touchstone.streams.account.projection import Position, project
from touchstone.streams.wire.codec import encode_result

NOON = datetime(2026, 2, 4, 12, tzinfo=UTC)
CANARY = "Zebulon Quintessa"


def result(event_id: str, suite: str = "x", label: str = "Fail", offset: int = 0, case_id: str | None = None, kind: str = "safe") -> ScoreResult:
    return ScoreResult(
        result_id=f"{suite}-{event_id}", event_id=event_id, case_id=case_id, kind=kind, suite=suite, suite_version="1", config_digest="d", label=label,
        values={"a": 0.5}, source=SourceRef(topic="in", partition=0, offset=offset, topic_id="t"), scored_at=NOON + timedelta(minutes=offset),
    )  # fmt: skip


class Sent:
    """A record of the results topic."""

    topic, partition, timestamp = "results", 0, 0

    def __init__(self, offset: int, scored: ScoreResult) -> None:
        self.offset = offset
        self.key, self.value, self.headers = encode_result(scored)


def store_all(store: ResultStore, *scored: ScoreResult) -> None:
    reached = store.positions("results").get(0)
    store.apply(project("results", {0: reached}, {0: [Sent((reached or 0) + place, one) for place, one in enumerate(scored)]}), 0.0)


@pytest.fixture
def archive(tmp_path: Path, store: ResultStore) -> Archive:
    return open_archive(ArchiveSettings(url=f"file://{tmp_path / 'archive'}", depth_max=8), CaseIndex(store.engine))


def paths(archive: Archive) -> list[str]:
    return sorted(entry.path for entry in archive.objects.list())


def event(identifier: str, text: str = "text") -> bytes:
    return json.dumps({"kind": "safe", "id": identifier, "timestamp": "2026-02-04T12:00:00Z", "output": text}).encode()


def trace(trace_id: str, prompt: str = "a prompt", **more: str) -> bytes:
    return json.dumps({"kind": "trace", "traceId": trace_id, "source": "production", "prompt": prompt, "outputs": {}, **more}).encode()


def test_a_case_is_kept_byte_for_byte_and_named_in_the_index(archive: Archive) -> None:
    data = b'{ "kind": "safe", "id": "e/1",  "output": "\\u00e4" }'
    assert archive.keep("e/1", "safe", "", data, at=NOON, place=Position("in", "t", 2, 7)) == "created"
    assert archive.keep("e/1", "safe", "", data, at=NOON) == "same"
    assert archive.document("e/1") == data
    row = archive.index.row("e/1")
    assert row is not None
    assert (row.path, row.bytes, row.state, row.at) == ("cases/safe/e%2F1.json", len(data), "kept", NOON)


def test_two_events_of_one_trace_id_are_both_kept(archive: Archive) -> None:
    assert archive.keep("e-1", "trace", "t-1", trace("t-1")) == "created"
    assert archive.keep("e-2", "trace", "t-1", trace("t-1", "another")) == "other"
    assert json.loads(archive.document("e-1"))["prompt"] == "a prompt"
    assert json.loads(archive.document("e-2"))["prompt"] == "another"


def test_a_trace_sent_again_is_the_same_whatever_its_layout_and_another_is_refused(archive: Archive) -> None:
    assert archive.put_trace(trace("t-1")) == ("created", "t-1")
    assert archive.put_trace(json.dumps(json.loads(trace("t-1")), indent=2).encode()) == ("same", "t-1")
    assert archive.put_trace(trace("t-1", "another")) == ("other", "t-1")
    assert paths(archive) == ["traces/trace-t-1.json"]


def test_a_trace_that_came_by_kafka_keeps_its_event_id_when_it_is_sent_over_http(archive: Archive) -> None:
    archive.keep("e-1", "trace", "t-1", trace("t-1"))
    assert archive.put_trace(trace("t-1")) == ("same", "e-1")


@pytest.mark.parametrize(
    ("data", "state"),
    [(b"{", "unreadable"), (b"[]", "unreadable"), (b'{"a":' * 9 + b"1" + b"}" * 9, "too_large"), (b'{"a":' * 100_000, "too_large"), (b"{}", None)],
)
def test_what_cannot_be_kept_says_why_without_its_text(archive: Archive, data: bytes, state: str | None) -> None:
    if state is None:
        assert archive.keep("e", "safe", "", data) == "created"
        return
    with pytest.raises(NotKept) as refused:
        archive.keep("e", "safe", "", data)
    assert refused.value.state in {state, "unreadable"}
    assert archive.index.row("e") is None


def test_results_that_are_in_the_store_are_kept_with_their_case(archive: Archive, store: ResultStore) -> None:
    store_all(store, result("e-1"), result("e-1", "y", "Pass"))
    assert archive.keep_results_of("e-1") == 2
    assert paths(archive) == ["results/e-1/x-e-1.json", "results/e-1/y-e-1.json"]


def test_forgetting_removes_every_place_and_names_it_first(archive: Archive, store: ResultStore) -> None:
    store_all(store, result("e-1", case_id="t-1", kind="trace"))
    archive.keep("e-1", "trace", "t-1", trace("t-1", CANARY), place=Position("in", "t", 0, 3))
    archive.keep("e-2", "trace", "t-1", trace("t-1", f"{CANARY} II"))
    archive.keep("e-3", "trace", "t-3", trace("t-3"))
    archive.keep_results_of("e-1")
    archive.index.rate("t-1", "down", NOON)
    planned = archive.forget("t-1")
    assert [place.is_removed for place in planned] == [False] * len(planned)
    assert len(paths(archive)) == 4
    removed = archive.forget("t-1", dry_run=False)
    assert {(place.kind, place.name) for place in removed} == {(place.kind, place.name) for place in planned}
    assert ("topic", "in[0]@3", False) in removed
    assert paths(archive) == ["traces/trace-t-3.json"]
    assert archive.index.feedback(["t-1"]) == {}
    with pytest.raises(Missing):
        archive.document("e-1")


def test_a_forgotten_case_does_not_come_back(archive: Archive) -> None:
    archive.keep("e-1", "trace", "t-1", trace("t-1"))
    archive.forget("e-1", dry_run=False)
    for again in (lambda: archive.keep("e-1", "trace", "t-1", trace("t-1")), lambda: archive.put_trace(trace("t-1", id="e-1"))):
        with pytest.raises(NotKept, match="forgotten"):
            again()
    assert paths(archive) == []


@pytest.mark.parametrize("identifier", ["t-1", "x-e-1"], ids=["trace", "result"])
def test_results_of_a_trace_that_was_not_kept_lose_their_quotes_by_the_id_of_the_trace_or_of_a_result(
    archive: Archive, store: ResultStore, identifier: str
) -> None:
    quoting = result("e-1", case_id="t-1", kind="trace").model_copy(update={"details": {"quote": CANARY}})
    store_all(store, quoting, result("e-2", case_id="t-2", kind="trace", offset=1).model_copy(update={"details": {"quote": CANARY}}))
    archive.index.rate("t-1", "down", NOON)
    planned, removed = (archive.forget(identifier, dry_run=dry_run) for dry_run in (True, False))
    assert [(place.kind, place.name) for place in planned] == [("row", "e-1"), ("results", "1"), ("feedback", "1")]
    assert [(place.kind, place.name) for place in removed] == [(place.kind, place.name) for place in planned]
    with reading(store.engine) as connection:
        quotes = {row.event_id: CANARY in row.document for row in connection.execute(select(results))}
    assert quotes == {"e-1": False, "e-2": True}
    found = History(store.engine).case("t-1")
    assert (found.event_id, len(found.results)) == ("e-1", 1) if found is not None else False


def test_a_forgotten_trace_is_not_taken_again_under_another_event_id(archive: Archive) -> None:
    archive.keep("e-1", "trace", "t-1", trace("t-1"))
    archive.forget("t-1", dry_run=False)
    for again in (trace("t-1"), trace("t-1", id="e-2")):
        with pytest.raises(NotKept, match="forgotten"):
            archive.put_trace(again)
    assert paths(archive) == []


def test_retention_shows_first_and_removes_objects_then(archive: Archive) -> None:
    for number in range(5):
        archive.keep(f"e-{number}", "safe", "", event(f"e-{number}"), at=NOON + timedelta(days=number))
    assert archive.retention(before=NOON + timedelta(days=1))[0] == 1
    assert archive.retention(keep_newest=2)[0] == 3
    assert len(paths(archive)) == 5
    assert archive.retention(keep_newest=2, dry_run=False)[0] == 3
    assert paths(archive) == ["cases/safe/e-3.json", "cases/safe/e-4.json"]
    row = archive.index.row("e-0")
    assert row is not None
    assert row.state == "removed"


def test_an_index_that_was_lost_is_written_anew_with_the_results(archive: Archive, store: ResultStore, tmp_path: Path) -> None:
    store_all(store, result("e-1", case_id="t-1", kind="trace"), result("e-2", label="Pass", offset=1), result("e-9", case_id="t-1", kind="trace", offset=2))
    archive.keep("e-1", "trace", "t-1", trace("t-1"), at=NOON, place=Position("in", "t", 0, 0))
    archive.keep("e-9", "trace", "t-1", trace("t-1", "another"), at=NOON + timedelta(minutes=2), place=Position("in", "t", 0, 2))
    archive.keep("e-2", "safe", "", event("e-2"), at=NOON + timedelta(minutes=1), place=Position("in", "t", 0, 1))
    for identifier in ("e-1", "e-2", "e-9"):
        archive.keep_results_of(identifier)
    before = {identifier: archive.index.row(identifier) for identifier in ("e-1", "e-2", "e-9")}
    fresh = ResultStore.open(f"sqlite:///{tmp_path / 'fresh.db'}", create=True)
    anew = Archive(archive.objects, CaseIndex(fresh.engine), archive.settings)
    assert anew.reindex() == {"cases": 3, "results": 3, "unreadable": 0}
    for identifier, row in before.items():
        found = anew.index.row(identifier)
        assert row is not None
        assert found is not None
        assert (found.kind, found.path, found.at, found.case_id, found.source, found.offset) == (
            row.kind,
            row.path,
            row.at,
            row.case_id,
            row.source,
            row.offset,
        )
    assert anew.reindex()["results"] == 0
    fresh.close()


def test_a_reindex_passes_over_what_is_there_and_reads_only_what_is_missing(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindexing, "_AT_A_TIME", 3)
    for number in range(8):
        archive.keep(f"e-{number}", "safe", "", event(f"e-{number}"), at=NOON)
        archive.keep_result(f"e-{number}", f"x-e-{number}", encode_result(result(f"e-{number}", offset=number))[1])
        archive.keep(f"t-{number}", "trace", f"trace-{number}", trace(f"trace-{number}"), at=NOON)
    assert archive.reindex() == {"cases": 16, "results": 8, "unreadable": 0}
    with archive.index.engine.begin() as connection:
        connection.execute(cases.delete().where(cases.c.event_id.in_(["e-3", "t-5"])))
        connection.execute(results.delete().where(results.c.event_id == "e-6"))
    read, told, get = list[str](), list[int](), archive.objects.get
    monkeypatch.setattr(archive.objects, "get", lambda path, *rest: read.append(path) or get(path, *rest))  # type: ignore[func-returns-value]
    assert archive.reindex(told.append) == {"cases": 16, "results": 1, "unreadable": 0}
    assert sorted(read) == ["cases/safe/e-3.json", "results/e-6/x-e-6.json", "traces/trace-trace-5.json"]
    assert told == [3, 6, 8, 11, 14, 16, 19, 22, 24]


def test_a_restored_result_is_in_its_suites_batch_and_is_as_good_as_before(archive: Archive, store: ResultStore) -> None:
    scored = result("t", "clinical", kind="trace").model_copy(update={"values": {"overall": 80.0}, "attributes": {"source": "eval", "day": "2026-02-04"}})
    store.apply(project("results", {0: None}, {0: [Sent(0, scored)]}, usable_suites()), 0.0)
    archive.keep("t", "trace", "t", trace("t"))
    archive.keep_results_of("t")
    with store.engine.begin() as connection:
        before = connection.execute(select(results)).one()
        assert (before.overall, before.batch_id is not None) == (0.8, True)
        connection.execute(results.delete())
    archive.reindex()
    with store.engine.begin() as connection:
        assert connection.execute(select(results)).one() == before


def test_a_dry_run_of_retention_names_what_a_run_removes(archive: Archive) -> None:
    for number in range(9):
        archive.keep(f"e-{number}", "safe", "", event(f"e-{number}", "x" * number), at=NOON + timedelta(days=number))
    for before, keep_newest in ((NOON + timedelta(days=2), None), (None, 6), (NOON + timedelta(days=4), 8), (NOON, 20)):
        planned = archive.retention(before=before, keep_newest=keep_newest)
        assert archive.retention(before=before, keep_newest=keep_newest, dry_run=False) == planned


def test_text_is_found_in_steps_whatever_its_case_and_its_spelling_in_json(archive: Archive, store: ResultStore) -> None:
    store_all(store, *(result(f"e-{number}", offset=number) for number in range(120)))
    for number in range(120):
        archive.keep(f"e-{number}", "safe", "", event(f"e-{number}", "Größe\n9" if number == 3 else "nothing"), at=NOON)
    first = archive.search_text(CaseFilter(), "GRÖSSE\n9", budget_s=0.0)
    assert (first.rows, first.searched, first.total) == ((), 50, 120)
    second = archive.search_text(CaseFilter(), "grösse\n9", first.next, budget_s=60.0)
    assert ([row.event_id for row in second.rows], second.next, second.searched) == (["e-3"], None, 120)
    assert archive.search_text(CaseFilter(label=("Pass",)), "größe").rows == ()
    for text in ("", " ", "x" * 1_001):
        with pytest.raises(FilterError):
            archive.search_text(CaseFilter(), text)


def test_the_policy_keeps_what_failed_and_the_same_share_in_every_suite() -> None:
    policy = Policy.of(("0.25", "quiet=none", "every=all", "only=failed"))
    ids = [f"e-{number}" for number in range(2_000)]
    kept = {one for one in ids if policy.keeps("a", "Pass", one)}
    assert 400 < len(kept) < 600
    assert kept == {one for one in ids if policy.keeps("b", "Review", one)} == {one for one in ids if point_of(one) < 0.25}
    assert all(policy.keeps("a", label, one) for label in ("Fail", "unscored") for one in ids)
    assert not any(policy.keeps("quiet", "Fail", one) or policy.keeps("only", "Pass", one) for one in ids)
    assert all(policy.keeps("every", "Pass", one) for one in ids)


@pytest.mark.parametrize("entries", [("most",), ("1.5",), ("a=",), ("all", "none"), ("a=0.1", "a=0.2"), ("-1",)])
def test_a_policy_that_cannot_be_read_is_refused(entries: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="entry"):
        ArchiveSettings(policy=entries)


def test_no_word_of_a_case_is_in_a_path_or_a_row(archive: Archive) -> None:
    archive.keep("e-1", "trace", "t-1", trace("t-1", CANARY, name=CANARY))
    assert CANARY not in "".join(paths(archive)) + repr(archive.index.row("e-1")) + repr(archive.forget("e-1"))


def test_what_a_killed_writer_left_of_a_case_goes_with_the_next_write_and_when_it_is_forgotten(archive: Archive, tmp_path: Path) -> None:
    folder = tmp_path / "archive" / "cases" / "safe"
    folder.mkdir(parents=True)
    left = [folder / f"e%2F1.json#{number}" for number in (1, 2)]
    for one in left:
        one.write_bytes(event("e/1")[:9])
    assert paths(archive) == []
    assert archive.keep("e/1", "safe", "", event("e/1"), at=NOON) == "created"
    assert [one.name for one in folder.iterdir()] == ["e%2F1.json"]
    left[0].write_bytes(event("e/1")[:9])
    archive.forget("e/1", dry_run=False)
    assert list(folder.iterdir()) == []


def test_of_fifty_writers_of_a_large_file_one_creates_it(archive: Archive, tmp_path: Path) -> None:
    large = [b"0" * 2_000_000, b"1" * 2_000_000]
    with ThreadPoolExecutor(50) as pool:
        outcomes = Counter(pool.map(lambda number: archive.objects.put("cases/safe/e.json", large[number % 2]), range(50)))
    assert outcomes == {"created": 1, "same": 24, "other": 25}
    assert [one.name for one in (tmp_path / "archive" / "cases" / "safe").iterdir()] == ["e.json"]


@pytest.mark.parametrize(("kind", "case_id", "path"), [("safe", None, "cases/safe/e.json"), ("trace", "t", "traces/trace-t.json")])
def test_forgetting_finds_the_object_of_an_archiver_that_was_killed_before_it_wrote_the_row(
    archive: Archive, store: ResultStore, tmp_path: Path, kind: str, case_id: str | None, path: str
) -> None:
    store_all(store, result("e", kind=kind, case_id=case_id))
    assert archive.put("e", kind, case_id or "", event("e") if kind == "safe" else trace("t")).row.path == path
    half = tmp_path / "archive" / f"{path}#1"
    half.write_bytes(b"half")
    assert path in [place.name for place in archive.forget("e")]
    archive.forget("e", dry_run=False)
    assert paths(archive) == []
    assert not half.exists()


def test_reindex_counts_an_object_whose_id_nobody_can_tell(archive: Archive, tmp_path: Path) -> None:
    archive.keep("e" * 300, "safe", "", b"{}")
    archive.keep("e-1", "safe", "", b"{}")
    fresh = ResultStore.open(f"sqlite:///{tmp_path / 'fresh.db'}", create=True)
    try:
        assert open_archive(archive.settings, CaseIndex(fresh.engine)).reindex() == {"cases": 1, "results": 0, "unreadable": 1}
    finally:
        fresh.close()


def with_keys(archive: Archive, folder: Path, *keys: bytes) -> Archive:
    """The same archive with a key file of its own."""
    key_file = folder / f"keys-{keys[0][:1].hex()}"
    key_file.write_text("\n".join(key.hex() for key in keys))
    return open_archive(archive.settings.model_copy(update={"key_file": key_file, "case_bytes_max": 4_096}), archive.index)


def test_a_case_that_no_key_here_opens_hurts_no_other_and_a_search_says_that_it_could_not_read_it(archive: Archive, store: ResultStore, tmp_path: Path) -> None:
    first, second = (with_keys(archive, tmp_path, key * 32) for key in (b"1", b"2"))
    store_all(store, result("e-1"), result("e-2", offset=1))
    assert first.keep("e-1", "safe", "", event("e-1", "needle")) == "created"
    for again in (second, archive):
        assert again.keep("e-1", "safe", "", event("e-1", "needle")) == "other"
        assert again.keep_result("e-1", "r", b"{}") == ("created" if again is second else "other")
    assert second.keep("e-2", "safe", "", event("e-2", "needle")) == "created"
    found = second.search_text(CaseFilter(), "needle")
    assert ([row.event_id for row in found.rows], found.searched, found.total, found.unread) == (["e-2"], 2, 2, 1)
    assert with_keys(archive, tmp_path, b"3" * 32, b"1" * 32, b"2" * 32).search_text(CaseFilter(), "needle").unread == 0


def test_an_encrypted_object_that_was_cut_off_is_no_crash_and_one_of_the_largest_size_is_read(archive: Archive, tmp_path: Path) -> None:
    encrypted = with_keys(archive, tmp_path, b"1" * 32)
    largest = event("e", "x" * (4_096 - len(event("e", ""))))
    encrypted.keep("e", "safe", "", largest)
    assert encrypted.document("e") == largest
    whole = (tmp_path / "archive" / "cases" / "safe" / "e.json").read_bytes()
    assert len(whole) == len(largest) + OVERHEAD_BYTES
    for length in (6, 10, 14, 15, 26, 41, len(whole) - 1):
        (tmp_path / "archive" / "cases" / "safe" / "e.json").write_bytes(whole[:length])
        with pytest.raises(Undecipherable):
            encrypted.document("e")


@pytest.mark.parametrize(
    ("sent", "again", "outcome"),
    [
        ("1", "true", "other"), ("0", "false", "other"), ("123456789012345678901", "123456789012345678902", "other"),
        ("0.1", "0.10000000000000000001", "other"),
        ("1", "1.0", "same"), ("1e2", "100", "same"), ("[1, {}]", "[1,{}]", "same"), ('"\\u00e9"', '"é"', "same"), ("1e-999999999999999999999", "0", "other"),
    ],
)  # fmt: skip
def test_a_trace_sent_again_is_the_same_only_if_its_json_is(archive: Archive, sent: str, again: str, outcome: str) -> None:
    archive.put_trace(f'{{"traceId": "t", "outputs": {{}}, "a": {sent}}}'.encode())
    assert archive.put_trace(f'{{"a": {again}, "outputs": {{}}, "traceId": "t"}}'.encode())[0] == outcome


def test_reading_makes_no_folder_and_says_that_there_is_no_archive(store: ResultStore, tmp_path: Path) -> None:
    archive = open_archive(ArchiveSettings(url=f"file://{tmp_path / 'nothing here'}"), CaseIndex(store.engine))
    for reads in (
        lambda: archive.document("e-1"),
        lambda: archive.objects.exists("a"),
        lambda: archive.objects.delete("a"),
        lambda: list(archive.objects.list()),
        lambda: archive.search_text(CaseFilter(), "text"),
        archive.reindex,
    ):
        with pytest.raises(NoArchive, match=r"nothing here: there is no archive; .* archive\.url must be the same here"):
            reads()
    assert archive.forget("e-1") == []
    assert not (tmp_path / "nothing here").exists()
    archive.keep("e-1", "safe", "c-1", b"{}")
    assert archive.document("e-1") == b"{}"
    assert (tmp_path / "nothing here").is_dir()


def test_an_archive_that_is_made_later_is_read(store: ResultStore, tmp_path: Path) -> None:
    settings = ArchiveSettings(url=f"file://{tmp_path / 'later'}")
    reader, writer = (open_archive(settings, CaseIndex(store.engine)) for _ in range(2))
    with pytest.raises(NoArchive):
        reader.document("e-1")
    writer.keep("e-1", "safe", "c-1", b"{}")
    assert reader.document("e-1") == b"{}"


def test_a_case_that_is_kept_elsewhere_is_not_called_forgotten(store: ResultStore, tmp_path: Path) -> None:
    open_archive(ArchiveSettings(url=f"file://{tmp_path / 'right'}"), CaseIndex(store.engine)).keep("e-1", "safe", "c-1", b"{}")
    wrong = open_archive(ArchiveSettings(url=f"file://{tmp_path / 'wrong'}"), CaseIndex(store.engine))
    with pytest.raises(NoArchive):
        wrong.forget("e-1", dry_run=False)
    assert not (tmp_path / "wrong").exists()


def test_reindex_deletes_what_was_left_long_ago_and_leaves_what_is_being_written(archive: Archive, tmp_path: Path) -> None:
    archive.keep("e", "safe", "", event("e"), at=NOON)
    old, new = (tmp_path / "archive" / "cases" / "safe" / f"another.json#{number}" for number in (1, 2))
    for one in (old, new):
        one.write_bytes(b"half")
    os.utime(old, (0, 0))
    archive.reindex()
    assert (old.exists(), new.exists(), paths(archive)) == (False, True, ["cases/safe/e.json"])
