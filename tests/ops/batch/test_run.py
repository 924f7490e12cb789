import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.ops.batch.files import ONE, QUOTING, TWO, lines
from tests.scorers.safe.cases import record
from touchstone.ops.batch.cases import Wanted
from touchstone.ops.batch.pool import CHUNK_BYTES, Work, _Pool, in_processes
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import Source, find_sources
from touchstone.ops.batch.worst import WorstCases
from touchstone.schemas.result import Problem, ScoreResult, place_of
from touchstone.scorers.base import ConfigError
from touchstone.scorers.reporting.report import Entry
from touchstone.scorers.safe import SUITE
from touchstone.scorers.safe.view import SafeReport
from touchstone.scorers.scoring import Scoring


def sources(*paths: Path) -> Iterator[Source]:
    return find_sources(paths, any_file=False)


def scored(*paths: Path, **how: Any) -> Run:
    run = Run(SUITE, QUOTING, **how)
    run.score(sources(*paths))
    return run


def told(run: Run) -> list[str]:
    """Test ids in order, problems as `file, place: what`."""
    return [str(one.case_id) if isinstance(one, ScoreResult) else f"{one.where.rpartition('/')[2]}: {one.what}" for one in run.entries]


def plain(entry: Entry) -> Any:
    return entry.model_dump(exclude={"scored_at", "duration_ms"})


def test_a_repeated_event_counts_once_and_its_place_is_told(tmp_path: Path) -> None:
    run = scored(lines(tmp_path / "a.jsonl", ONE, TWO, ONE))
    assert told(run) == ["T1", "T2"]
    assert run.repeated == [f"{tmp_path / 'a.jsonl'}, line 3"]


def test_a_suite_that_reports_by_file_counts_an_event_as_often_as_it_is_met(tmp_path: Path) -> None:
    run = Run(replace(SUITE, by_file=True), QUOTING)
    run.score(sources(lines(tmp_path / "a.jsonl", ONE), lines(tmp_path / "b.jsonl", ONE)))
    assert told(run) == ["T1", "T1"]


def test_a_directory_stands_for_its_files_in_name_order_and_the_folders_inside(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/z.jsonl", "a/y.jsonl", "c.jsonl"):
        lines(tmp_path / name, record(name))
    assert told(scored(tmp_path)) == ["a/y.jsonl", "a/z.jsonl", "b.jsonl", "c.jsonl"]


def test_a_pattern_stands_for_the_files_that_fit(tmp_path: Path) -> None:
    for name in ("b1.jsonl", "b2.jsonl", "c.jsonl"):
        lines(tmp_path / name, record(name))
    assert told(scored(tmp_path / "b*.jsonl")) == ["b1.jsonl", "b2.jsonl"]


def test_named_files_are_filtered_by_case(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", ONE, record("T3", concern="I30"), record("T4", batch="other"))
    run = scored(path, admit=Wanted("I25", "I25_*"))
    assert (told(run), run.passed_over) == (["T1"], 2)


def test_two_concerns_need_a_choice(tmp_path: Path) -> None:
    run = Run(SUITE, QUOTING)
    facts = run.score(sources(lines(tmp_path / "a.jsonl", ONE, record("T3", concern="I30"))))
    with pytest.raises(ConfigError, match="line 2: a second concern, I30, beside I25; choose one with --concern"):
        SUITE.report(run.entries, facts)


def test_progress_is_told_by_file_and_by_case(tmp_path: Path) -> None:
    begun: list[int] = []
    done: list[int] = []
    scored(lines(tmp_path / "a.jsonl", ONE, "nonsense", TWO), lines(tmp_path / "b.jsonl", record("T3")), on_source=begun.append, on_case=done.append)
    assert (begun, done) == ([1, 2], [1, 2, 3])


def test_each_result_is_handed_on_in_order_and_what_that_raises_ends_the_run(tmp_path: Path) -> None:
    seen: list[str] = []

    def note(result: ScoreResult) -> None:
        seen.append(str(result.case_id))
        if len(seen) == 2:
            raise ConfigError("the disk is full")

    with pytest.raises(ConfigError, match="the disk is full"):
        scored(lines(tmp_path / "a.jsonl", ONE, TWO, record("T3")), on_result=note)
    assert seen == ["T1", "T2"]


def test_several_processes_give_the_same_entries_in_the_same_order_and_the_same_report(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    for number in range(90):  # more than the files that one process is given at a time
        lines(folder / f"{number:02}.jsonl", record(f"T{number:02}a"), "nonsense" if number % 10 == 7 else record(f"T{number:02}b"), ONE)
    alone, together = Run(SUITE, QUOTING, worst=WorstCases(SUITE, 7)), Run(SUITE, QUOTING, jobs=2, worst=WorstCases(SUITE, 7))
    facts = [run.score(sources(folder)) for run in (alone, together)]
    assert [plain(entry) for entry in together.entries] == [plain(entry) for entry in alone.entries]
    assert (together.repeated, len(together.repeated)) == (alone.repeated, 89)
    reports = [SUITE.report(run.entries, one) for run, one in zip((alone, together), facts, strict=True)]
    assert all(isinstance(one, SafeReport) for one in reports)
    assert reports[0].batch == reports[1].batch
    assert list(together.readings()) == list(alone.readings())
    assert len(list(alone.readings())) == 7


def test_what_is_not_asked_for_is_counted_over_all_processes(tmp_path: Path) -> None:
    paths = [lines(tmp_path / f"{number}.jsonl", record(f"T{number}"), record(f"U{number}", batch="other")) for number in range(4)]
    run = scored(*paths, jobs=2, admit=Wanted(None, "I25_*"))
    assert (told(run), run.passed_over) == (["T0", "T1", "T2", "T3"], 4)


def test_standard_input_is_read_in_its_place_between_files_of_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(record("IN")).encode())))
    first, last = lines(tmp_path / "a.jsonl", ONE), lines(tmp_path / "b.jsonl", TWO)
    assert told(scored(first, Path("-"), last, jobs=2)) == ["T1", "IN", "T2"]


@dataclass(frozen=True)
class Deadly:
    """Asks for every case; a process of a pool that meets the named one is killed, as the system kills one that takes all memory."""

    test_id: str

    def __call__(self, case: Mapping[str, Any]) -> bool:
        if case["test_id"] == self.test_id and multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return True


def test_a_process_that_is_lost_costs_the_file_that_it_was_lost_over(tmp_path: Path) -> None:
    for number in range(5):
        lines(tmp_path / f"{number}.jsonl", record(f"T{number}"))
    run = scored(tmp_path, jobs=2, admit=Deadly("T2"))
    assert told(run) == ["T0", "T1", "2.jsonl: the process that scored it was lost (out of memory?); try it alone", "T3", "T4"]
    (problem,) = [entry for entry in run.entries if isinstance(entry, Problem)]
    assert place_of(problem.source) == str(tmp_path / "2.jsonl")


@dataclass(frozen=True)
class BuiltHereAlone:
    """Settings that another process refuses, and counts its refusals."""

    process: int
    log: Path

    def __setstate__(self, state: dict[str, Any]) -> None:
        with state["log"].open("a") as stream:
            stream.write("refused\n")
        raise RuntimeError("secret-canary")


def test_a_scorer_that_other_processes_cannot_build_ends_the_run_with_one_clear_line(tmp_path: Path) -> None:
    paths = [lines(tmp_path / f"{number}.jsonl", record(f"T{number}")) for number in range(40)]
    log = tmp_path / "log"
    suite = replace(SUITE, fingerprint=lambda _: {}, build=lambda _: SUITE.build(QUOTING))
    with pytest.raises(ConfigError, match=r"cannot be built in a process of its own \(RuntimeError at test_run\.py:\d+\)") as raised:
        Run(suite, BuiltHereAlone(os.getpid(), log), jobs=2).score(sources(*paths))
    assert "secret-canary" not in str(raised.value)
    assert log.read_text().count("refused") <= 2


def test_settings_that_cannot_be_sent_to_other_processes_are_one_clear_line(tmp_path: Path) -> None:
    suite = replace(SUITE, fingerprint=lambda _: {}, build=lambda _: SUITE.build(QUOTING))
    with pytest.raises(ConfigError, match=r"cannot be sent to other processes.*--jobs 1"):
        Run(suite, lambda: None, jobs=2).score(sources(lines(tmp_path / "a.jsonl", ONE)))


def endless(begun: Path) -> None:
    begun.touch()
    time.sleep(600)


def test_a_run_that_is_stopped_does_not_wait_for_the_file_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Pool, "submit", lambda self, _: self._pool.submit(endless, tmp_path / "begun"))
    files = lines(tmp_path / "a.jsonl", record("a" * CHUNK_BYTES)), lines(tmp_path / "b.jsonl", ONE)

    def stopped() -> Iterator[Source]:
        yield from sources(*files)
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(in_processes(stopped(), Scoring(SUITE, QUOTING), Work(SUITE.name, QUOTING), 2))
    assert time.monotonic() - begun < 300
    assert not multiprocessing.active_children()


def test_an_interrupt_that_reaches_a_process_while_it_starts_does_not_end_it() -> None:
    pool = _Pool(Work(SUITE.name, QUOTING), 1)
    try:
        answer = pool.submit([])
        for child in multiprocessing.active_children():
            assert child.pid is not None
            os.kill(child.pid, signal.SIGINT)
        assert answer.result(timeout=120) == []
    finally:
        pool.close()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
