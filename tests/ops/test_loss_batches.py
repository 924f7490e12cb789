"""Summaries in files: which are read, under which ids, and what is said of the others."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.ops.loss_cases import CANARY, gold, summary
from touchstone.ops.batch.batches import given_files
from touchstone.ops.batch.loss_batches import SummaryEntry, SummarySelection, count_cases
from touchstone.ops.batch.outgoing import Outgoings, Way, batch_files
from touchstone.ops.local.samples import expected_summaries, golds, summaries
from touchstone.schemas.gold import GoldStandardDatum
from touchstone.schemas.settings.house import Settings
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.base import Suite


def read(path: Path) -> tuple[list[SummaryEntry], SummarySelection]:
    selection = SummarySelection()
    return list(selection.entries(given_files([path]))), selection


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


FORMS = {
    "array.json": json.dumps,
    "pretty.json": lambda cases: json.dumps(cases, indent=1),
    "lines.jsonl": lambda cases: "\n".join(json.dumps(case) for case in cases),
    "cases.json": lambda cases: json.dumps({"batch_id": "b", "cases": cases}),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_file_holds_the_same_cases(tmp_path: Path, name: str) -> None:
    entries, selection = read(write(tmp_path / name, FORMS[name]([summary("a"), summary("b", kind="summary")])))
    assert [entry.event_id for entry in entries] == ["a", "b"]
    assert not selection.errors


def test_a_directory_stands_for_its_files(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.jsonl", json.dumps(summary(f"e{number}")))
    assert [entry.event_id for entry in read(tmp_path)[0]] == ["e0", "e1", "e2"]


def test_an_event_without_id_gets_one_of_its_content(tmp_path: Path) -> None:
    cases = [summary(), summary(generated="Other."), summary(model="m"), summary(timestamp="2026-01-01T00:00:00Z")]
    entries, selection = read(write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, cases))))
    assert len({entry.event_id for entry in entries}) == 3
    assert selection.repeated == [f"{tmp_path / 'a.jsonl'}, line 4"]


def test_produce_sends_summaries_under_the_ids_of_the_batch_command(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, [summary(), summary("mine"), summary(kind="summary", generated="Other.")])))
    suite: Any = Suite("summary_loss", "3.0", ("generations",), {"summary": SummaryCase}, lambda *_: None, lambda _: None, lambda _: {})  # type: ignore[arg-type, return-value]
    outgoing = Outgoings(Settings(), [suite], batch_files([path]), {}, Way(None))
    assert outgoing.check().topics == {Settings().topics.generations}
    sent = [orjson.loads(event.value) for event in outgoing.events()]
    assert [event["id"] for event in sent] == [entry.event_id for entry in read(path)[0]]
    assert {event["kind"] for event in sent} == {"summary"}


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (json.dumps(summary("x", datum=gold(key_facts=[CANARY] * 9))), "datum.summary.key_facts holds too few items; a gold has 10 to 20 key facts"),
        (json.dumps(summary("x", datum={"entry": {CANARY: 1}})), "datum.entry.category is missing; add it"),
        (json.dumps(summary("x", generated=[CANARY])), "generated is no string"),
        (json.dumps({"kind": "safe", "test_id": CANARY}), "is no summary"),
        (json.dumps([CANARY]), "is no case object"),
        (json.dumps(CANARY), "is no case object"),
        ('{"generated": "' + CANARY, "is not valid JSON"),
    ],
)
def test_a_bad_case_is_told_by_place_and_spares_the_others(tmp_path: Path, bad: str, told: str) -> None:
    entries, selection = read(write(tmp_path / "a.jsonl", "\n".join([json.dumps(summary("a")), bad, json.dumps(summary("b"))])))
    assert [entry.event_id for entry in entries] == ["a", "b"]
    (error,) = selection.errors
    assert error.where == f"{tmp_path / 'a.jsonl'}, line 2"
    assert told in error.what
    assert CANARY not in error.what


def test_cases_are_counted_where_they_can_be_read_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, [summary("a"), summary("b")])))
    assert count_cases(given_files([path])) == 2
    assert count_cases(given_files([Path("-")])) is None


def test_the_samples_are_valid_and_each_has_an_expectation() -> None:
    entries, selection = read(summaries())
    assert not selection.errors
    assert {entry.event_id for entry in entries} == expected_summaries().keys()
    known = {GoldStandardDatum.model_validate_json(line).entry.source_id for line in golds().read_text(encoding="utf-8").splitlines()}
    referred = {entry.case.gold_ref for entry in entries if entry.case.gold_ref} - {"incident-larkspur-99"}
    assert referred <= known
    assert len(known) == 4
