import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from tests.ops.judge_folders import GOOD, calibrated, decided, digest_of_labels, label, source_of
from tests.streams.results_topic import BEGAN, projection, result
from touchstone.ops.store.guidelines import Guidelines
from touchstone.ops.store.judges import JudgeStore
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.calibration import Counts
from touchstone.schemas.prevalence import JudgeStatus
from touchstone.schemas.result import ScoreResult
from touchstone.schemas.settings.house import JudgesSettings, Settings
from touchstone.scorers.calibration.folder import recalls_of
from touchstone.scorers.calibration.prevalence import corrected
from touchstone.scorers.reporting.intervals import Rate
from touchstone.streams.account.judge_looks import JudgeLooks
from touchstone.streams.account.judge_watch import JudgeWatch, Looked
from touchstone.streams.telemetry.service_counts import ProjectorCounts

NOW = BEGAN.timestamp() + 60


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ResultStore]:
    opened = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True)
    yield opened
    opened.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "judges"


class Watched:
    """A watch of a folder and a store, as the projector keeps it."""

    def __init__(self, store: ResultStore, folder: Path) -> None:
        self.store, self.source = store, source_of(store)
        self.watch = JudgeWatch(JudgesSettings(folder=folder), self.source)

    def add(self, *events: ScoreResult) -> None:
        first = self.store.positions("touchstone.results").get(0)
        made = projection(*events, first=first or 0, expected=first)
        self.store.apply(made, 0.0)
        self.watch.touch(made.results)

    def look(self, now: float = NOW) -> Looked:
        looked = self.watch.look(now)
        assert looked is not None
        self.source.keep_states(looked.changed, now)
        self.source.drop_states(looked.gone)
        self.watch.kept(looked)
        return looked

    def judge(self) -> JudgeStatus:
        (one,) = self.look().judges
        return one


def results(count: int, fails: int, **told: Any) -> list[ScoreResult]:
    first = told.pop("first", 0)
    return [result(event=f"e{n}", offset=n, label="Fail" if n < first + fails else "Pass", **told) for n in range(first, first + count)]


def of_mode(number: int, value: float, judges: dict[str, Any], digest: str = "d1") -> ScoreResult:
    made = result(event=f"e{number}", offset=number, suite="modes", digest=digest, details={"judges": judges})
    return made.model_copy(update={"values": {"missing": value}})


def test_the_rate_is_the_one_that_the_same_counts_give(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    calibrated(folder)
    watched.add(*results(200, 40))
    looked = watched.look()
    (rate,) = looked.rates
    expected = corrected(Rate(40, 200), recalls_of(GOOD))
    assert (rate.corrected, rate.low, rate.high) == (expected.corrected, expected.interval.low, expected.interval.high)
    assert (rate.seen.count, rate.seen.total, rate.others, rate.stale, rate.refused) == (40, 200, 0, (), None)


def test_news_is_told_once_and_again_only_when_figures_change(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    calibrated(folder)
    watched.add(*results(10, 2))
    assert len(watched.look().rates) == 1
    assert watched.look(NOW + 3600).changed == ()
    again = Watched(store, folder)
    assert again.look(NOW + 3600).changed == (), "a restart is no news either"
    again.add(*results(1, 1, first=10))
    assert [rate.seen.count for rate in again.look(NOW + 3600).rates] == [3]


def test_results_of_another_configuration_are_not_counted_and_make_the_calibration_stale(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    calibrated(folder)
    watched.add(*results(10, 2), *results(5, 5, first=10, digest="d2", seconds=5))
    one = watched.judge()
    assert one.state == "stale"
    assert one.prevalence is not None
    assert (one.prevalence.seen.count, one.prevalence.seen.total, one.prevalence.others) == (2, 10, 5)
    assert one.stale == one.prevalence.stale
    assert "from 0.1/d1 to 0.1/d2" in one.stale[0]


def test_without_a_result_by_the_measured_judge_there_is_no_rate_and_a_reason(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    calibrated(folder, judge="d0")
    watched.add(*results(5, 1))
    rate = watched.judge().prevalence
    assert rate is not None
    assert rate.corrected is None
    assert rate.refused == "in this window no result is of the judge that was measured"


@pytest.mark.parametrize(
    ("test", "reason"),
    [(None, "the test set was never read"), (Counts(failed=10, failed_found=5, passed=10, passed_found=5), "knows no more than chance")],
)
def test_a_judge_that_cannot_be_corrected_says_why(store: ResultStore, folder: Path, test: Counts | None, reason: str) -> None:
    watched = Watched(store, folder)
    calibrated(folder, test=test)
    watched.add(*results(5, 1))
    rate = watched.judge().prevalence
    assert rate is not None
    assert reason in (rate.refused or "")


def test_a_mode_in_the_shadow_is_counted_by_its_value(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    now = {"judge": "j1", "prompt": "p1", "model": "m1"}
    calibrated(folder, "modes/missing", judge="j1", prompt="p1", model="m1")
    told = {"missing": {"state": "shadow", **now}}
    watched.add(*(of_mode(n, 0.0 if n < 3 else 1.0, told) for n in range(12)), of_mode(12, 0.0, {"missing": {**now, "prompt": "p2"}}, digest="d2"))
    one = watched.judge()
    assert (one.state, one.decides) == ("stale", False), "the newest result is by another prompt"
    assert one.prevalence is not None
    assert (one.prevalence.seen.count, one.prevalence.seen.total, one.prevalence.others) == (3, 12, 1)


def test_a_judge_that_was_not_asked_about_the_newest_trace_is_known_by_the_newest_that_it_answered(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    calibrated(folder, "modes/missing", judge="j1", prompt="p1", model="m1")
    told = {"missing": {"judge": "j1", "prompt": "p1", "model": "m1"}}
    not_asked = result(event="e9", offset=9, suite="modes", seconds=9)
    watched.add(of_mode(0, 0.0, told), not_asked)
    rate = watched.judge().prevalence
    assert rate is not None
    assert (rate.seen.total, rate.stale) == (1, ())


def test_a_judge_with_a_prompt_stays_in_the_shadow_until_its_promotion_even_without_results(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    calibrated(folder, "modes/missing", judge="j1", prompt="p1", model="m1")
    assert (watched.judge().state, watched.judge().decides) == ("shadow", False)


def test_a_new_label_makes_a_calibration_stale(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    label(store, 1)
    calibrated(folder, labels=digest_of_labels(store))
    watched.add(*results(10, 2))
    assert watched.judge().stale == ()
    label(store, 2, "pass")
    looked = watched.look()
    assert looked.judges[0].stale == ("the labels changed since the calibration",)
    assert not looked.judges[0].outdated
    assert [rate.stale for rate in looked.rates] == [("the labels changed since the calibration",)]


def test_labels_that_are_in_a_file_and_not_in_the_store_are_not_compared(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    calibrated(folder, labels="f" * 16)
    assert watched.judge().stale == ()


def test_annotations_are_read_again_only_after_one_was_written(store: ResultStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(store, folder)
    label(store, 1)
    calibrated(folder)
    reads: list[int] = []
    whole = watched.source.annotations
    monkeypatch.setattr(watched.source, "annotations", lambda: reads.append(1) or whole())
    watched.look(), watched.look()
    assert len(reads) == 1
    label(store, 2)
    watched.look()
    assert len(reads) == 2


def test_a_judge_below_its_floor_says_so(store: ResultStore, folder: Path) -> None:
    calibrated(folder, test=Counts(failed=50, failed_found=20, passed=100, passed_found=90))
    assert Watched(store, folder).judge().below_floor == ("fail_recall is 0.400; 0.80 is needed",)


def test_a_demoted_judge_decides_nothing(store: ResultStore, folder: Path) -> None:
    calibrated(folder)
    decided(folder, "demote")
    one = Watched(store, folder).judge()
    assert (one.state, one.decides, [each.action for each in one.history]) == ("shadow", False, ["demote"])


def test_where_no_judge_was_ever_measured_nothing_is_missing(store: ResultStore, folder: Path) -> None:
    assert Watched(store, folder).look() == Looked(())


def test_a_damaged_file_is_counted_and_hides_no_other_judge(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    calibrated(folder)
    decided(folder, "promote")
    calibrated(folder, "other")
    watched.look()
    (folder / "safe_v0" / "history.jsonl").write_text("{\n", encoding="utf-8")
    with capture_logs() as logs:
        looked = watched.look()
        watched.look()
    assert [one.subject for one in looked.judges] == ["other"]
    assert (looked.failures, looked.gone) == ({"folder": 1}, ()), "a judge whose file is damaged is not gone"
    assert len(logs) == 1, "it is said once"
    assert "history.jsonl, line 1" in logs[0]["message"]


def test_a_folder_that_is_away_takes_no_judge_with_it(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    calibrated(folder)
    watched.look()
    folder.rename(folder.with_name("elsewhere"))
    looked = watched.look()
    assert (looked.failures, looked.gone) == ({"folder": 1}, ())
    assert [one.subject for one, _ in JudgeStore(store.engine).states()] == ["safe_v0"]


def test_a_judge_that_was_removed_is_forgotten(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    calibrated(folder)
    calibrated(folder, "other")
    watched.look()
    (folder / "other" / "calibration.json").unlink()
    assert watched.look().gone == ("other",)
    assert [one.subject for one, _ in JudgeStore(store.engine).states()] == ["safe_v0"]


def test_a_new_version_of_the_guideline_makes_a_calibration_stale(store: ResultStore, folder: Path) -> None:
    watched = Watched(store, folder)
    label(store, 1, guideline="clinical@1")
    calibrated(folder, labels=digest_of_labels(store), guideline="clinical@1")
    Guidelines(store.engine).save("clinical", "…", "ana", datetime(2026, 1, 1, tzinfo=UTC))
    assert watched.judge().stale == ()
    Guidelines(store.engine).save("clinical", "… …", "ana", datetime(2026, 1, 1, tzinfo=UTC))
    assert watched.judge().stale == ("the guideline changed to clinical@2 since the calibration",)
    assert watched.judge().outdated


class NoBroker:
    """A producer whose broker is away, until it is back."""

    def __init__(self) -> None:
        self.is_away = True
        self.sent: list[bytes] = []

    async def send_and_wait(self, _topic: str, *, value: bytes, **_told: Any) -> None:
        if self.is_away:
            raise KafkaConnectionError
        self.sent.append(value)


async def test_a_look_that_fails_is_counted_and_what_it_would_have_sent_comes_later(store: ResultStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched, producer, metrics = Watched(store, folder), NoBroker(), ProjectorCounts(registry := CollectorRegistry())
    calibrated(folder)
    watched.add(*results(10, 2))
    settings = Settings(judges=JudgesSettings(folder=folder, interval_s=0.1))
    looks = JudgeLooks(settings, watched.source, metrics, asyncio.Lock(), lambda: NOW)

    def failed(reason: str) -> float:
        return registry.get_sample_value("touchstone_judges_failures_total", {"reason": reason}) or 0.0

    with monkeypatch.context() as broken:
        broken.setattr(watched.source, "states", lambda: 1 / 0)
        running = asyncio.create_task(looks.run(cast("AIOKafkaProducer", producer)))
        await until(lambda: failed("defect") >= 2)
    await until(lambda: failed("kafka") >= 1)
    assert watched.source.states() == [], "what was not sent is news still"
    producer.is_away = False
    await until(lambda: bool(watched.source.states()))
    running.cancel()
    assert [json.loads(value)["seen"] for value in producer.sent] == [{"count": 2, "total": 10}]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 -- a thread has no event for it
            await asyncio.sleep(0.02)
