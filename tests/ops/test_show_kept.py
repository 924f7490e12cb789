import asyncio
from pathlib import Path

import orjson
import pytest
import typer

from tests.ops.commands import Commands
from tests.ops.store.histories import add
from tests.scorers.safe.cases import record
from touchstone.ops.store.archive.archive import open_archive
from touchstone.ops.store.archive.objects import Missing
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.history import History
from touchstone.ops.store.results import ResultStore
from touchstone.ops.web.api.sources import Opened
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.schemas.settings.house import ArchiveSettings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.safe import SUITE
from touchstone.scorers.safe.settings import SafeSettings
from touchstone.scorers.scoring import Scoring

CANARY = "Xylander Quiborax"
EVENT = record("I25-001", signals=[f"{CANARY} fell"], found=["nothing"]) | {"kind": "safe", "id": "event-1"}


class Kept:
    """An archive that holds the event, or does not."""

    def __init__(self, document: bytes | None) -> None:
        self._document = document

    def document(self, event_id: str) -> bytes:
        if self._document is None or event_id != "event-1":
            raise Missing
        return self._document


@pytest.fixture
def stored(tmp_path: Path) -> tuple[str, ScoreResult]:
    """A store with one SAFE result that failed: its address, and the result."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    source = SourceRef(topic="touchstone.generations", partition=0, offset=0)
    result = asyncio.run(Scoring(SUITE, SafeSettings()).result(SafeCase.model_validate(EVENT), "event-1", source))
    store = ResultStore.open(url, create=True)
    add(store, result)
    store.close()
    return url, result


def keep(monkeypatch: pytest.MonkeyPatch, url: str, document: bytes | None) -> None:
    def opened(_: object) -> Opened:
        store = ResultStore.open(url)
        return Opened(History(store.engine), CaseIndex(store.engine), lambda: Kept(document))  # type: ignore[arg-type, return-value]

    monkeypatch.setattr("touchstone.ops.web.api.api.open_sources", opened)


def test_the_archive_can_be_named(run: Commands, stored: tuple[str, ScoreResult], tmp_path: Path) -> None:
    url, result = stored
    store, folder = ResultStore.open(url), f"file://{tmp_path / 'objects'}"
    open_archive(ArchiveSettings(url=folder), CaseIndex(store.engine)).keep(result.event_id, "safe", "I25-001", orjson.dumps(EVENT))
    store.close()
    assert CANARY not in run("show", "event-1", "--store", url).out
    shown = run("show", "event-1", "--store", url, "--archive", folder)
    assert CANARY in shown.out


def test_a_failed_case_of_the_archive_is_read_by_the_id_of_its_event_or_result(
    run: Commands, monkeypatch: pytest.MonkeyPatch, stored: tuple[str, ScoreResult]
) -> None:
    url, result = stored
    keep(monkeypatch, url, orjson.dumps(EVENT))
    for identifier in ("event-1", result.result_id):
        ran = run("show", identifier, "--store", url)
        assert ran.code == 0
        assert f"○ signal 1 {CANARY} fell  [missing; cr_missing]" in ran.out
        assert CANARY not in ran.err


@pytest.mark.parametrize("identifier", ["runs/1", "event.json", "e" * 400])
def test_an_id_that_looks_like_a_path_is_one_of_the_store(run: Commands, stored: tuple[str, ScoreResult], identifier: str) -> None:
    url, result = stored
    store = ResultStore.open(url)
    add(store, result.model_copy(update={"event_id": identifier, "result_id": "another"}))
    store.close()
    ran = run("show", identifier, "--store", url)
    assert (ran.code, "FAIL" in ran.out) == (0, True), ran.err
    absent = run("show", f"{identifier}/absent.json", "--store", url)
    assert (absent.code, "no such file or folder" in absent.err) == (3, True)


def test_without_the_event_the_result_is_read_and_why_is_said(run: Commands, monkeypatch: pytest.MonkeyPatch, stored: tuple[str, ScoreResult]) -> None:
    url, _ = stored
    keep(monkeypatch, url, None)
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    ran = run("show", "event-1", "--store", url)
    assert "○ signal 1  [missing; cr_missing]" in ran.out
    assert "not in the archive" in ran.one_line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nobody"], "no such file, and no such event, trace or result"),
        (["event-1", "--suite", "summary_loss"], "no result of summary_loss for it (of: safe_v0)"),
    ],
)
def test_an_unknown_id_is_one_line(run: Commands, stored: tuple[str, ScoreResult], arguments: list[str], told: str) -> None:
    ran = run("show", *arguments, "--store", stored[0])
    assert (ran.code, ran.out) == (3, "")
    assert told in ran.one_line


def test_show_makes_no_archive_and_says_that_there_is_none(
    run: Commands, monkeypatch: pytest.MonkeyPatch, stored: tuple[str, ScoreResult], tmp_path: Path
) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    ran = run("show", "event-1", "--store", stored[0])
    assert ran.code == 0
    assert "touchstone-archive: there is no archive; " in ran.one_line
    assert not list((tmp_path / "here").iterdir())


@pytest.mark.parametrize("raised", [ConfigError("the record was deleted (retention)"), typer.Exit(3)], ids=["gone", "no broker"])
def test_where_the_record_is_gone_too_the_result_is_read_and_why_is_said(
    run: Commands, monkeypatch: pytest.MonkeyPatch, stored: tuple[str, ScoreResult], raised: Exception
) -> None:
    def gone(*_: object) -> None:
        raise raised

    keep(monkeypatch, stored[0], None)
    monkeypatch.setattr("touchstone.ops.cli.common.from_topic.case_at", gone)
    ran = run("show", "event-1", "--store", stored[0], "--bootstrap", "127.0.0.1:1")
    assert ran.code == 0
    assert "○ signal 1  [missing; cr_missing]" in ran.out
    assert "the event is not in the archive" in ran.one_line
