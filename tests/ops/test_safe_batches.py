"""Batches on disk: every form, every fault, and the event id."""

import io
import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.safe.cases import record
from touchstone.ops.batch.batch_scoring import Selection
from touchstone.ops.batch.batches import BatchEntry, BatchFile, BatchProblem, event_id_for, find_batches, given_files, read_batches
from touchstone.ops.json_documents import read_document, without_comments
from touchstone.ops.local.samples import safe_batches
from touchstone.schemas.case import SafeCase
from touchstone.scorers.base import ConfigError
from touchstone.scorers.safe.settings import resolve

ONE, TWO = record("T1"), record("T2")


def read(path: Path, **place: Any) -> list[BatchEntry | BatchProblem]:
    return list(read_batches([BatchFile(path, **place)]))


def ids(entries: list[BatchEntry | BatchProblem]) -> list[str]:
    return [entry.record["test_id"] if isinstance(entry, BatchEntry) else f"{entry.where.rpartition('/')[2]}: {entry.what}" for entry in entries]


def written(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps([ONE, TWO])),
        ("a.json", json.dumps([ONE, TWO], indent=2)),
        ("a.jsonl", f"{json.dumps(ONE)}\n\n{json.dumps(TWO)}"),
        ("a.json", f"\n{json.dumps(ONE)}\r\n{json.dumps(TWO)}\n"),
        ("a.json", json.dumps({"batch_id": "B", "concern_id": "C", "cases": [ONE, TWO]})),
        ("a.json", json.dumps({"cases": [ONE, TWO]}, indent=1)),
        ("a.txt", "\ufeff" + json.dumps([ONE, TWO])),
    ],
)
def test_every_form_of_batch_is_read(tmp_path: Path, name: str, text: str) -> None:
    assert ids(read(written(tmp_path / name, text))) == ["T1", "T2"]


def test_a_single_case_is_a_batch_of_one(tmp_path: Path) -> None:
    assert ids(read(written(tmp_path / "a.json", json.dumps(ONE, indent=2)))) == ["T1"]


def test_a_wrapper_hands_its_ids_to_cases_without(tmp_path: Path) -> None:
    bare = {key: value for key, value in ONE.items() if key != "batch_id"} | {"concern_id": None}
    entries = read(written(tmp_path / "a.json", json.dumps({"batch_id": "B", "concern_id": "C", "cases": [bare, TWO]})))
    assert [(e.record["concern_id"], e.record["batch_id"]) for e in entries if isinstance(e, BatchEntry)] == [("C", "B"), ("I25", "I25_batch_1")]


def test_the_place_in_a_data_directory_completes_cases(tmp_path: Path) -> None:
    bare = {key: value for key, value in ONE.items() if key not in {"batch_id", "concern_id"}}
    written(tmp_path / "I30" / "golden_set.jsonl", json.dumps(bare))
    (entry,) = read_batches(find_batches(tmp_path, "I30", "golden*"))
    assert isinstance(entry, BatchEntry)
    assert (entry.record["concern_id"], entry.record["batch_id"]) == ("I30", "golden_set")


def test_a_case_under_another_concern_is_a_problem(tmp_path: Path) -> None:
    written(tmp_path / "I30" / "b.jsonl", json.dumps(ONE))
    (problem,) = read_batches(find_batches(tmp_path, "I30", "*"))
    assert isinstance(problem, BatchProblem)
    assert "another concern" in problem.what


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.jsonl", f'{{"secret-canary": \n{json.dumps(ONE)}', ["a.jsonl, line 1: is not valid JSON", "T1"]),
        ("a.jsonl", f"{json.dumps(ONE)}\n[1]\n{json.dumps(TWO)}", ["T1", "a.jsonl, line 2: is no case object", "T2"]),
        ("a.json", json.dumps([ONE, "secret-canary", TWO]), ["T1", "a.json, case 2: is no case object", "T2"]),
        ("a.json", '[\n{"a": 1},\nsecret-canary]', ["a.json, line 3: is not valid JSON"]),
        ("a.json", "", ["a.json: is empty"]),
        ("a.json", " \n \n", ["a.json: is empty"]),
        ("a.json", "[" * 10_000 + "]" * 10_000, ["a.json, line 1: is not valid JSON"]),
        ("a.jsonl", b'{"test_id": "\xff\xfe"}', ["a.jsonl, line 1: is not valid JSON"]),
        ("a.jsonl", '{"test_id": "\\ud800"}', ["a.jsonl, line 1: is not valid JSON"]),
        ("a.json", '{"cases": 5}', ["a.json, line 1: has a field `cases` that is no list"]),
    ],
)
def test_a_fault_names_its_place_quotes_nothing_and_spares_the_others(tmp_path: Path, name: str, text: str | bytes, expected: list[str]) -> None:
    told = ids(read(written(tmp_path / name, text)))
    assert len(told) == len(expected)
    assert all(line.startswith(start) for line, start in zip(told, expected, strict=True)), told
    assert "secret-canary" not in str(told)


def test_an_overlong_line_ends_the_file_with_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.batch.batches.LINE_BYTES_MAX", 1_000)
    told = ids(read(written(tmp_path / "a.jsonl", json.dumps(ONE) + "\n" + "x" * 5_000)))
    assert told[0] == "T1"
    assert "longer than 1000 bytes" in told[1]


def test_a_document_past_the_bound_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.batch.batches.DOCUMENT_BYTES_MAX", 100)
    assert "write it as JSON lines" in ids(read(written(tmp_path / "a.json", json.dumps([ONE]))))[0]


def test_a_file_that_cannot_be_opened_is_a_problem(tmp_path: Path) -> None:
    assert "cannot be read (No such file" in ids(read(tmp_path / "absent.json"))[0]


def test_json_lines_are_read_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            line = (json.dumps(ONE) + "\n").encode()
            buffer[: len(line)] = line
            return len(line)

    class Input:
        buffer = io.BufferedReader(Endless())

    monkeypatch.setattr("sys.stdin", Input)
    entries = read_batches(given_files([Path("-")], "I25"))
    assert ids([next(entries) for _ in range(1_000)]) == ["T1"] * 1_000


@pytest.mark.parametrize(
    ("concern", "pattern", "told"),
    [
        ("I99", "*", "unknown concern 'I99': .* holds I25, I30, I41, I52; check --concern"),
        ("../safe/I25", "*", "unknown concern"),
        ("I25", "nope*", "no batch of I25 matches 'nope\\*': .* holds I25_batch_1, I25_batch_2; check --batch"),
        (None, "*", "holds I25, I30, I41, I52; choose one with --concern"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(concern: str | None, pattern: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        find_batches(safe_batches(), concern, pattern)


def test_patterns_choose_batches_in_name_order() -> None:
    assert [file.batch_id for file in find_batches(safe_batches(), "I25", "I25_batch_*")] == ["I25_batch_1", "I25_batch_2"]


def test_the_only_concern_needs_no_name(tmp_path: Path) -> None:
    written(tmp_path / "I30" / "b.json", "[]")
    assert [file.concern_id for file in find_batches(tmp_path, None, "*")] == ["I30"]


def test_a_missing_data_directory_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read .* check --data"):
        find_batches(tmp_path / "absent", "I25", "*")


def test_given_directories_stand_for_their_files(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.json", ".hidden.json", "notes.md"):
        written(tmp_path / name, "[]")
    assert [file.path.name for file in given_files([tmp_path])] == ["a.json", "b.jsonl"]


def test_given_files_that_are_missing_or_empty_of_batches_are_refused(tmp_path: Path) -> None:
    for path, told in ((tmp_path / "x.json", "no such file"), (tmp_path, "holds no batch file")):
        with pytest.raises(ConfigError, match=told):
            given_files([path])
    with pytest.raises(ConfigError, match="named twice"):
        given_files([Path("-"), Path("-")])


def test_an_explicit_id_is_the_event_id() -> None:
    assert event_id_for(ONE | {"id": "mine"}) == "mine"


def test_a_derived_event_id_is_a_stable_uuid_of_content() -> None:
    first = event_id_for(ONE)
    assert uuid.UUID(first).version == 5
    assert event_id_for(dict(reversed(ONE.items()))) == first
    assert event_id_for(ONE | {"timestamp": "2025-01-01T00:00:00Z", "batch_size": 3, "correlation": {"a": "b"}}) == first
    changed = [{"test_id": "T9"}, {"batch_id": "x"}, {"concern_id": "x"}, {"archetype": "x"}, {"output": {}}, {"expectations": {}}]
    assert len({first, *(event_id_for(ONE | change) for change in changed)}) == len(changed) + 1


def selected(entries: list[dict[str, Any]], concern: str | None = None, pattern: str = "*") -> tuple[list[str], Selection]:
    selection = Selection(concern, pattern, by_case=True)
    cases = selection.cases(BatchEntry(f"line {n}", entry | {"id": event_id_for(entry)}) for n, entry in enumerate(entries, 1))
    return [case.test_id for case in cases], selection


def test_a_repeated_event_counts_once() -> None:
    taken, selection = selected([ONE, TWO, ONE])
    assert taken == ["T1", "T2"]
    assert selection.repeated == ["line 3"]


def test_named_files_are_filtered_by_case() -> None:
    taken, selection = selected([ONE, record("T3", concern="I30"), record("T4", batch="other")], "I25", "I25_*")
    assert (taken, selection.passed_over) == (["T1"], 2)


def test_two_concerns_need_a_choice() -> None:
    with pytest.raises(ConfigError, match="line 2: a second concern, I30, beside I25; choose one with --concern"):
        selected([ONE, record("T3", concern="I30")])


def test_an_invalid_case_is_explained_without_its_text() -> None:
    bad = record("T5", signals=[" "], summary="secret-canary") | {"correlation": {"secret-canary": 5}}
    taken, selection = selected([bad, ONE])
    assert taken == ["T1"]
    (error,) = selection.errors
    assert "expectations.signal_generation.must_find_signals.0 is an empty or blank expected string; remove it" in error.what
    assert "secret-canary" not in error.what


def test_the_samples_are_valid_and_varied() -> None:
    entries = [entry for concern in safe_batches().iterdir() for entry in read_batches(find_batches(safe_batches(), concern.name, "*"))]
    cases = [SafeCase.model_validate(entry.record) for entry in entries if isinstance(entry, BatchEntry)]
    assert len(cases) == len(entries) >= 40
    assert len({case.id for case in cases}) == len(cases)
    assert len({case.concern_id for case in cases}) >= 3
    assert len({case.archetype for case in cases}) >= 5


def test_comments_are_allowed_in_documents_but_not_inside_strings(tmp_path: Path) -> None:
    path = written(tmp_path / "safe.config.json", '// ours\n{"a": "http://x \\"//", // why\n "b": 1}')
    assert read_document(path) == {"a": 'http://x "//', "b": 1}
    assert without_comments("a // b") == "a "


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1,\n}', "line 2: not valid JSON"),
        ('{"a": 1, "a": 2}', "a: given twice"),
        ("[]", "holds no JSON object"),
        (b"\xff{}", "not UTF-8"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "nested too deep"),
        (" " * 1_048_577, "larger than"),
    ],
)
def test_bad_documents_are_one_line(tmp_path: Path, text: str | bytes, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        read_document(written(tmp_path / "c.json", text))


def test_a_missing_document_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_document(tmp_path / "absent.json")


def test_the_examples_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "safe.md").read_text(encoding="utf-8")
    blocks = {language: text.split(f"```{language}\n")[1].split("```")[0] for language in ("python", "json")}
    exec(blocks["python"], {})
    assert "Pass=10 Review=4 Fail=4" in capsys.readouterr().out
    settings = resolve({}, read_document(written(tmp_path / "c.json", blocks["json"])))
    assert settings.rules_of("Safety_Signal").weights.AH == 3.0
    assert settings.rules_of("other").weights.AH == 1.5
