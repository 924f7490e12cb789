import gzip
import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.ops.batch.files import ONE, QUOTING, TWO, lines, read, told, written
from touchstone.ops.batch.reading import read_source, records_of
from touchstone.ops.batch.sources import Source
from touchstone.schemas.result import Problem
from touchstone.schemas.settings.house import FilesSettings
from touchstone.scorers.base import Document, Found
from touchstone.scorers.safe import SUITE

PACKED: dict[str, Callable[[bytes], bytes]] = {".gz": lambda data: gzip.compress(data, mtime=0), ".zst": zstandard.compress}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps([ONE, TWO])),
        ("a.json", json.dumps([ONE, TWO], indent=2)),
        ("a.jsonl", f"{json.dumps(ONE)}\n\n{json.dumps(TWO)}"),
        ("a.ndjson", f"{json.dumps(ONE)}\n{json.dumps(TWO)}"),
        ("a.json", f"\n{json.dumps(ONE)}\r\n{json.dumps(TWO)}\n"),
        ("a.json", json.dumps({"batch_id": "B", "concern_id": "C", "cases": [ONE, TWO]})),
        ("a.json", json.dumps({"cases": [ONE, TWO]}, indent=1)),
        ("a.txt", "\ufeff" + json.dumps([ONE, TWO])),
    ],
)
def test_every_form_of_batch_is_read(tmp_path: Path, name: str, text: str) -> None:
    assert told(read(written(tmp_path / name, text))) == ["T1", "T2"]


def test_a_single_case_is_a_batch_of_one(tmp_path: Path) -> None:
    assert told(read(written(tmp_path / "a.json", json.dumps(ONE, indent=2)))) == ["T1"]


def test_a_wrapper_hands_its_ids_to_cases_without(tmp_path: Path) -> None:
    bare = {key: value for key, value in ONE.items() if key != "batch_id"} | {"concern_id": None}
    entries = read(written(tmp_path / "a.json", json.dumps({"batch_id": "B", "concern_id": "C", "cases": [bare, TWO]})))
    assert [(one[1]["concern_id"], one[1]["batch_id"]) for one in entries if not isinstance(one, Problem)] == [("C", "B"), ("I25", "I25_batch_1")]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.jsonl", f'{{"secret-canary": \n{json.dumps(ONE)}', ["a.jsonl, line 1: is not valid JSON (unexpected end of data, column 19)", "T1"]),
        ("a.jsonl", f"{json.dumps(ONE)}\n[1]\n{json.dumps(TWO)}", ["T1", "a.jsonl, line 2: is not a case object", "T2"]),
        ("a.json", json.dumps([ONE, "secret-canary", TWO]), ["T1", "a.json, case 2: is not a case object", "T2"]),
        ("a.json", '[\n{"a": 1},\nsecret-canary]', ["a.json, line 3: is not valid JSON"]),
        ("a.json", "", ["a.json: is empty"]),
        ("a.json", " \n \n", ["a.json: is empty"]),
        ("a.json", "[" * 10_000 + "]" * 10_000, ["a.json, line 1: is not valid JSON"]),
        ("a.jsonl", b'{"test_id": "\xff\xfe"}', ["a.jsonl, line 1: is not UTF-8; save it as UTF-8"]),
        ("a.jsonl", '{"test_id": "\\ud800"}', ["a.jsonl, line 1: is not valid JSON"]),
        ("a.json", "[]", ["a.json: holds no case, only an empty list"]),
        ("a.json", ' {"cases": []} ', ["a.json, line 1: holds no case, only an empty list"]),
        ("a.json", '{"cases":\n []}', ["a.json: holds no case, only an empty list"]),
        ("a.jsonl", f'{{"cases": []}}\n{json.dumps(ONE)}', ["a.jsonl, line 1: holds no case, only an empty list", "T1"]),
        ("a.jsonl", f"{json.dumps(ONE)}\n{json.dumps(TWO)}".encode("utf-16"), ["a.jsonl: is not UTF-8; save it as UTF-8"]),
        ("a.jsonl", f"{json.dumps(ONE)}\n{json.dumps(TWO)}".encode("utf-16-be"), ["a.jsonl: is not UTF-8; save it as UTF-8"]),
        ("a.jsonl", f"{json.dumps(ONE)}\n{json.dumps(TWO)}".encode("utf-32"), ["a.jsonl: is not UTF-8; save it as UTF-8"]),
        ("a.json", json.dumps([ONE, TWO]).encode("utf-16-le"), ["a.json: is not UTF-8; save it as UTF-8"]),
        ("a.json", '{"cases": 5}', ["a.json, line 1: has a field `cases` that is not a list"]),
        ("a.json", "secret-canary\nand more", ["a.json, line 1: is not valid JSON"]),
        ("a.json", '"secret-canary"', ["a.json: is not a case object"]),
    ],
)
def test_a_fault_names_its_place_quotes_nothing_and_spares_the_others(tmp_path: Path, name: str, text: str | bytes, expected: list[str]) -> None:
    found = told(read(written(tmp_path / name, text)))
    assert len(found) == len(expected)
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True)), found
    assert "secret-canary" not in str(found)


def test_an_overlong_line_ends_the_file_with_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.batch.reading.LINE_BYTES_MAX", 1_000)
    found = told(read(written(tmp_path / "a.jsonl", json.dumps(ONE) + "\n" + "x" * 5_000)))
    assert found[0] == "T1"
    assert "longer than 1000 bytes" in found[1]


def test_a_document_past_the_bound_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.batch.reading.JSON_BYTES_MAX", 100)
    assert "write it as JSON lines" in told(read(written(tmp_path / "a.json", json.dumps([ONE]))))[0]


def test_a_file_that_cannot_be_opened_is_a_problem(tmp_path: Path) -> None:
    assert told(read(tmp_path / "absent.json")) == ["absent.json: no such file; check the path"]


class Endless(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        line = (json.dumps(ONE) + "\n").encode()
        buffer[: len(line)] = line
        return len(line)


def test_json_lines_are_read_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BufferedReader(Endless())

    monkeypatch.setattr("sys.stdin", Input)
    entries = records_of(SUITE, Source(Path("-")), QUOTING)
    assert told([next(entries) for _ in range(1_000)]) == ["T1"] * 1_000


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a"])
def test_packed_files_hold_the_same_cases(tmp_path: Path, name: str, suffix: str) -> None:
    text = "\n".join(map(json.dumps, [ONE, TWO])) if name == "a.jsonl" else json.dumps([ONE, TWO])
    assert told(read(written(tmp_path / f"{name}{suffix}", PACKED[suffix](text.encode())))) == ["T1", "T2"]


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_standard_input_is_unpacked(monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    packed = PACKED[suffix](f"{json.dumps(ONE)}\n{json.dumps(TWO)}\n".encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert told(read(Path("-"))) == ["T1", "T2"]


@pytest.mark.parametrize("suffix", PACKED)
def test_several_packed_parts_are_one_file(tmp_path: Path, suffix: str) -> None:
    parts = [PACKED[suffix]((json.dumps(one) + "\n").encode()) for one in (ONE, TWO)]
    assert told(read(written(tmp_path / f"a.jsonl{suffix}", b"".join(parts)))) == ["T1", "T2"]


def many() -> bytes:
    return "".join(json.dumps(ONE | {"test_id": f"T{number}", "note": f"{number * 7919:x}"}) + "\n" for number in range(3_000)).encode()


@pytest.mark.parametrize("suffix", PACKED)
def test_of_an_archive_that_was_cut_off_the_cases_before_are_read_and_one_problem_says_so(tmp_path: Path, suffix: str) -> None:
    packed = PACKED[suffix](many())
    found = told(read(written(tmp_path / f"a.jsonl{suffix}", packed[: len(packed) * 2 // 3])))
    assert found[-1] == f"a.jsonl{suffix}: is compressed and cannot be decompressed (cut off); compress it again"
    assert [one for one in found if one.startswith("a.jsonl")] == found[-1:]


@pytest.mark.parametrize("suffix", PACKED)
def test_a_damaged_archive_is_one_problem(tmp_path: Path, suffix: str) -> None:
    packed = bytearray(PACKED[suffix](many()))
    if suffix == ".gz":
        packed[-6] ^= 0xFF  # of the sum over all
    else:
        packed[len(packed) // 2 :] = b"\xff" * (len(packed) - len(packed) // 2)
    found = [one for one in told(read(written(tmp_path / f"a.jsonl{suffix}", bytes(packed)))) if ": " in one]
    assert found[-1] == f"a.jsonl{suffix}: is compressed and cannot be decompressed (damaged); compress it again"


def bomb(suffix: str, begin: bytes) -> bytes:
    """An archive of a few kilobytes that unpacks to 256 MiB without a line break."""
    return PACKED[suffix](begin) + PACKED[suffix](b"0" * 2**20) * 256


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("begin", [b'{"a": "', b"[0", b"0"], ids=["object", "array", "number"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_an_archive_that_unpacks_to_far_more_than_it_is_costs_no_more_than_the_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, begin: bytes, suffix: str
) -> None:
    monkeypatch.setattr("touchstone.ops.batch.reading.LINE_BYTES_MAX", 2**20)
    monkeypatch.setattr("touchstone.ops.batch.reading.JSON_BYTES_MAX", 8 * 2**20)
    path = written(tmp_path / f"{name}{suffix}", bomb(suffix, begin))
    assert path.stat().st_size < 2**20
    tracemalloc.start()
    try:
        (found,) = read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(found, Problem)
    assert peak < 48 * 2**20


def reader(document: Document, _: Any) -> Iterator[Found | Problem] | None:
    """Reads documents that begin with `T:`; the rest of such a line is a test id."""
    if not document.data.startswith(b"T:"):
        return None
    return iter([Found(ONE | {"test_id": part.decode()}, f"part {number}") for number, part in enumerate(document.data[2:].split(b","), 1)])


READING = replace(SUITE, read=reader)


def through(path: Path, suite: Any = READING) -> list[str]:
    return told(list(read_source(Source(path), suite, QUOTING)))


def test_a_suite_reads_documents_of_its_own_and_case_json_stays_what_it_is(tmp_path: Path) -> None:
    assert through(written(tmp_path / "a.txt", "T:x,y")) == ["x", "y"]
    assert through(lines(tmp_path / "a.jsonl", ONE, TWO)) == ["T1", "T2"]


@pytest.mark.parametrize("suffix", PACKED)
def test_a_suite_is_given_packed_documents_unpacked(tmp_path: Path, suffix: str) -> None:
    assert through(written(tmp_path / f"a{suffix}", PACKED[suffix](b"T:x,y"))) == ["x", "y"]


def test_a_reader_that_fails_costs_its_document_and_quotes_nothing(tmp_path: Path) -> None:
    def broken(document: Document, _: Any) -> None:
        raise RuntimeError(document.data.decode())

    (line,) = through(written(tmp_path / "a.txt", "secret-canary"), replace(SUITE, read=broken))
    assert line.startswith("a.txt: the reader of safe_v0 failed (RuntimeError at test_reading.py:")
    assert "secret-canary" not in line


def test_a_document_beyond_the_bound_is_not_read_further_than_tells_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.batch.reading.DOCUMENT_BYTES_MAX", 1_000)
    assert through(written(tmp_path / "a.txt", "T:" + "x" * 2_000)) == ["a.txt: larger than 100 MiB: not read"]


def test_a_document_beyond_the_bound_counts_wherever_it_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.batch.reading.DOCUMENT_BYTES_MAX", 1_000)
    for text in ("T:" + "x" * 2_000, "y" * 2_000):
        (problem,) = read_source(Source(written(tmp_path / "a.txt", text), named=False), READING, QUOTING)
        assert isinstance(problem, Problem)
        assert (problem.kind, problem.what) == ("unknown", "larger than 100 MiB: not read")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_case_json_beyond_the_bound_of_documents_is_read_line_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.setattr("touchstone.ops.batch.reading.DOCUMENT_BYTES_MAX", 1_000)
    monkeypatch.setattr("touchstone.ops.batch.reading._HEAD_BYTES", 100)
    data = "\n".join(json.dumps(ONE | {"test_id": f"T{number}"}) for number in range(50)).encode()
    path = written(tmp_path / f"a.jsonl{suffix}", PACKED[suffix](data) if suffix else data)
    assert through(path) == [f"T{number}" for number in range(50)]


def bounded(path: Path, **bounds: Any) -> list[Any]:
    return list(records_of(SUITE, Source(path), QUOTING, FilesSettings(**bounds)))


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst"])
@pytest.mark.parametrize("line", ["{}", ""])
def test_a_file_of_more_lines_than_it_may_have_is_read_up_to_there(tmp_path: Path, ending: str, line: str) -> None:
    data = (json.dumps(ONE) + "\n" + f"{line}\n" * 1_000).encode()
    path = tmp_path / f"a.{ending}"
    path.write_bytes(PACKED.get(path.suffix, bytes)(data))
    found = bounded(path, records_max=10)
    assert len(found) == (11 if line else 2)
    assert isinstance(found[-1], Problem)
    assert found[-1].what.startswith("holds more than 10 records")
    assert "files.records_max" in found[-1].what


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 1_000 + json.dumps(ONE),
        json.dumps([ONE] * 11),
        json.dumps({"cases": [ONE] * 11}),
        json.dumps({"cases": [ONE] * 11}, indent=1),
        "[" + "[]," * 1_000 + "[]]",
    ],
)
def test_a_document_of_more_records_than_it_may_have_gives_none(tmp_path: Path, text: str) -> None:
    (problem,) = bounded(written(tmp_path / "a.json", text), records_max=10)
    assert isinstance(problem, Problem)
    assert "files.records_max" in problem.what


def test_one_case_of_many_objects_is_one_record(tmp_path: Path) -> None:
    case = ONE | {"output": ONE["output"] | {"signals": [{"text": "{["}] * 200}}
    ((_, record),) = bounded(written(tmp_path / "a.json", json.dumps(case, indent=1)), records_max=1)
    assert record == case


def test_reading_a_file_ends_in_time_and_the_time_of_scoring_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("touchstone.ops.batch.reading.time.perf_counter", lambda: now)
    reading = records_of(SUITE, Source(written(tmp_path / "a.jsonl", f"{json.dumps(ONE)}\n" * 3)), QUOTING, FilesSettings(read_timeout_s=5))
    next(reading)
    now = 100.0  # scored meanwhile
    assert not isinstance(next(reading), Problem)
    monkeypatch.undo()
    (problem,) = bounded(written(tmp_path / "b.jsonl", "{}\n{}"), read_timeout_s=1e-9)
    assert isinstance(problem, Problem)
    assert "files.read_timeout_s" in problem.what


def test_an_object_with_a_key_twice_is_a_problem_in_its_place(tmp_path: Path) -> None:
    twice = json.dumps(ONE).replace('"test_id"', '"test_id": "other", "test_id"')
    first, second, third = read(written(tmp_path / "a.jsonl", f"{json.dumps(ONE)}\n{twice}\n{json.dumps(TWO)}"))
    assert isinstance(second, Problem)
    assert (second.source.place, second.what) == ("line 2", "has an object with a key twice; keep one")
    assert not isinstance(first, Problem)
    assert not isinstance(third, Problem)
    (problem,) = read(written(tmp_path / "b.json", f"[{twice}]"))
    assert isinstance(problem, Problem)
