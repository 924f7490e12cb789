import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import orjson
import pytest

from tests.ops.batch.files import ONE, QUOTING, TWO, lines, written
from tests.ops.loss_cases import CANARY, gold, summary
from tests.scorers.safe.cases import record
from tests.streams.fakes import FakeRecord
from touchstone.ops.batch.call import open_suite, score
from touchstone.ops.batch.cases import Admit, BatchCase, cases_of
from touchstone.ops.batch.outgoing import Outgoings, Way
from touchstone.ops.batch.sources import Source
from touchstone.schemas.case import Case, SafeCase
from touchstone.schemas.result import Problem
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import NoSettings, Place
from touchstone.scorers.identity import event_id
from touchstone.scorers.safe import SUITE as SAFE
from touchstone.scorers.suite import Suite
from touchstone.scorers.summary import SUITE as SUMMARY
from touchstone.streams.wire.codec import Codec, Read


def read(path: Path, suite: Suite = SAFE, admit: Admit | None = None, place: Place | None = None) -> list[BatchCase | Problem | None]:
    return list(cases_of(Source(path, place=place or Place()), suite, QUOTING if suite is SAFE else NoSettings(), admit))


def ids(path: Path, suite: Suite = SAFE) -> list[str]:
    return [one.event_id for one in read(path, suite) if isinstance(one, BatchCase)]


def problems(path: Path, suite: Suite = SAFE) -> list[Problem]:
    return [one for one in read(path, suite) if isinstance(one, Problem)]


def test_an_explicit_id_is_the_event_id(tmp_path: Path) -> None:
    assert ids(lines(tmp_path / "a.jsonl", ONE | {"id": "mine"})) == ["mine"]


def test_a_derived_event_id_is_a_stable_uuid_of_content() -> None:
    first = event_id(SafeCase, ONE)
    assert uuid.UUID(first).version == 5
    assert event_id(SafeCase, dict(reversed(ONE.items()))) == first
    assert event_id(SafeCase, ONE | {"timestamp": "2025-01-01T00:00:00Z", "batch_size": 3, "correlation": {"a": "b"}}) == first
    changed: list[dict[str, Any]] = [
        {"test_id": "T9"},
        {"batch_id": "x"},
        {"concern_id": "x"},
        {"archetype": "x"},
        {"output": {}},
        {"expectations": {}},
    ]
    assert len({first, *(event_id(SafeCase, ONE | change) for change in changed)}) == len(changed) + 1


def test_the_id_of_a_summary_is_that_of_its_content(tmp_path: Path) -> None:
    cases = [summary(), summary(generated="Other."), summary(model="m"), summary(timestamp="2026-01-01T00:00:00Z")]
    first, second, third, again = ids(lines(tmp_path / "a.jsonl", *cases), SUMMARY)
    assert first == again
    assert len({first, second, third}) == 3


@pytest.mark.parametrize(("suite", "event"), [(SAFE, ONE), (SAFE, TWO | {"id": "mine"}), (SUMMARY, summary())], ids=["safe", "own-id", "summary"])
def test_ids_are_the_same_from_a_file_from_kafka_and_from_python(tmp_path: Path, suite: Suite, event: dict[str, Any]) -> None:
    path = lines(tmp_path / "a.jsonl", event)
    (of_file,) = read(path, suite)
    assert isinstance(of_file, BatchCase)
    outgoing = Outgoings(Settings(), [suite], [Source(path)], {}, Way(None))
    outgoing.check()
    (sent,) = outgoing.events()
    step = Codec(suite.cases).read(FakeRecord(0, sent.value))
    assert isinstance(step, Read)
    assert step.event_id == of_file.event_id
    if suite is SAFE:
        opened = open_suite(suite, QUOTING)
        given = score(opened, event), score(opened, orjson.loads(sent.value or b"")), score(opened, SafeCase.model_validate(event))
        assert {result.event_id for result in given} == {of_file.event_id}


def test_a_record_that_is_not_asked_for_leaves_a_gap(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", ONE, TWO)
    first, second = read(path, admit=lambda record: record["test_id"] == "T2")
    assert first is None
    assert isinstance(second, BatchCase)


def test_an_invalid_case_is_explained_without_its_text(tmp_path: Path) -> None:
    bad = record("T5", signals=[" "], summary="secret-canary") | {"correlation": {"secret-canary": 5}}
    path = lines(tmp_path / "a.jsonl", bad, ONE)
    assert ids(path) == [event_id(SafeCase, ONE)]
    (problem,) = problems(path)
    assert "expectations.signal_generation.must_find_signals.0 is an empty or blank expected string; remove it" in problem.what
    assert "secret-canary" not in problem.what


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (json.dumps(summary("x", datum=gold(key_facts=[CANARY] * 9))), "datum.summary.key_facts holds too few items (9); a gold has 10 to 20 key facts"),
        (json.dumps(summary("x", datum={"entry": {CANARY: 1}})), "datum.entry.category is missing; add it"),
        (json.dumps(summary("x", generated=[CANARY])), "generated is not a string"),
        (json.dumps(summary("x" * 300, generated=CANARY)), "id is too long; at most 256 characters are read; shorten it"),
        (json.dumps({"kind": "safe", "test_id": CANARY}), "kind is not `summary`"),
        (json.dumps({"kind": [CANARY]}), "kind is not `summary`"),
        (json.dumps({"test_id": CANARY}), "is not a summary"),
        (json.dumps([CANARY]), "is not a case object"),
        (json.dumps(CANARY), "is not a case object"),
        ('{"generated": "' + CANARY, "is not valid JSON"),
    ],
)
def test_a_bad_case_is_told_by_place_and_spares_the_others(tmp_path: Path, bad: str, told: str) -> None:
    path = lines(tmp_path / "a.jsonl", summary("a"), bad, summary("b"))
    assert ids(path, SUMMARY) == ["a", "b"]
    (problem,) = problems(path, SUMMARY)
    assert problem.where == f"{path}, line 2"
    assert told in problem.what
    assert CANARY not in problem.what


@pytest.mark.parametrize("number", ["123456789012345678901234567890", "1e999"])
def test_a_number_that_json_cannot_carry_is_a_problem_of_its_case(tmp_path: Path, number: str) -> None:
    text = json.dumps(summary("T")).replace('"T"', number, 1).replace('"id"', '"extra"', 1)
    path = written(tmp_path / "a.jsonl", text + "\n" + json.dumps(summary("b")))
    assert "b" in ids(path, SUMMARY)
    assert all(problem.where.endswith("line 1") for problem in problems(path, SUMMARY))


def test_a_kind_without_batches_keeps_the_batch_of_its_file_in_what_it_is_correlated_with(tmp_path: Path) -> None:
    wrapped = {"batch_id": "B", "concern_id": "C", "cases": [summary("a"), summary("b", correlation={"batch_id": "mine", "run": "7"})]}
    first, second = read(written(tmp_path / "a.json", json.dumps(wrapped)), SUMMARY)
    assert isinstance(first, BatchCase)
    assert isinstance(second, BatchCase)
    assert first.case.correlation == {"batch_id": "B", "concern_id": "C"}
    assert second.case.correlation == {"batch_id": "mine", "concern_id": "C", "run": "7"}


class ToyCase(Case):
    """A kind of which all that is not common to every kind is content."""

    kind: Literal["toy"] = "toy"
    text: str


TOY = replace(SUMMARY, name="toy", cases={"toy": ToyCase}, complete=None)


@pytest.mark.parametrize(("suite", "event"), [(SUMMARY, summary()), (TOY, {"text": "One."})], ids=["summary", "toy"])
def test_the_batch_of_a_file_changes_no_id(tmp_path: Path, suite: Suite, event: dict[str, Any]) -> None:
    bare = lines(tmp_path / "a.jsonl", event)
    wrapped = written(tmp_path / "b.json", json.dumps({"batch_id": "B", "cases": [event]}))
    assert ids(bare, suite) == ids(wrapped, suite)


def test_a_kind_with_batches_takes_them_as_its_own(tmp_path: Path) -> None:
    bare = {key: value for key, value in ONE.items() if key != "batch_id"}
    (found,) = read(written(tmp_path / "a.json", json.dumps({"batch_id": "B", "cases": [bare]})))
    assert isinstance(found, BatchCase)
    assert isinstance(found.case, SafeCase)
    assert (found.case.batch_id, found.case.correlation) == ("B", {})


def test_a_suite_of_several_kinds_tells_them_by_their_keys(tmp_path: Path) -> None:
    both = replace(SAFE, cases={**SAFE.cases, **SUMMARY.cases}, complete=None)
    found = read(lines(tmp_path / "a.jsonl", ONE, summary("s"), {"nothing": 1}), both)
    assert [one.case.kind if isinstance(one, BatchCase) else one.what if one else "" for one in found] == [
        "safe",
        "summary",
        "kind is not `safe` or `summary`; leave the case out or correct it",
    ]


def test_a_record_of_another_suites_kind_is_told_as_such_and_not_by_what_it_lacks(tmp_path: Path) -> None:
    trace = {"traceId": "t1", "outputs": {"fhir": {"content": "{}"}}}
    found = read(lines(tmp_path / "a.jsonl", trace, {"test_id": "T1"}, ONE))
    assert (found[0].what if isinstance(found[0], Problem) else "") == "is of the kind `trace`, which safe_v0 does not score; leave it out"
    assert isinstance(found[1], Problem)
    assert "kind" not in found[1].what
    assert isinstance(found[2], BatchCase)


@pytest.mark.parametrize(
    ("raised", "told"),
    [(ValueError("names no batch"), "names no batch"), (KeyError("secret-canary"), "the suite failed on it (KeyError at test_cases.py:")],
)
def test_a_record_on_which_the_suite_fails_is_a_problem_and_the_others_are_read(tmp_path: Path, raised: Exception, told: str) -> None:
    def complete(record: dict[str, Any], _: Place) -> dict[str, Any]:
        if record["test_id"] == "T1":
            raise raised
        return record

    (problem, case) = cases_of(Source(lines(tmp_path / "a.jsonl", ONE, TWO)), replace(SAFE, complete=complete), QUOTING)
    assert isinstance(problem, Problem)
    assert problem.what.startswith(told)
    assert "secret-canary" not in problem.what
    assert isinstance(case, BatchCase)
