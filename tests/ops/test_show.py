import json
import re
from pathlib import Path

import pytest

from tests.ops.commands import Commands
from tests.scorers.safe.cases import record
from touchstone.ops.reports.console_reading import Drawing, reading_pieces
from touchstone.ops.reports.reading_parts import headline
from touchstone.schemas.reading import (
    Bar,
    BarsSection,
    CaseReading,
    ChecksSection,
    CodeSection,
    Entry,
    Item,
    Mark,
    MarkState,
    Pair,
    PairsSection,
    Row,
    TableSection,
    TextSection,
    TimelineSection,
)
from touchstone.schemas.result import Label

CANARY = "Xylander Quiborax"


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """A case that passes, one that fails and one to review."""
    records = [
        record("passes", signals=["fever"], found=["fever"]),
        record("fails", signals=[f"{CANARY} fell"], terms=["policy"], questions=["Which policy?"]),
        record("reviews", signals=["fever", "cough", "rash", "pain"], found=["fever, cough, rash"]),
    ]
    file = tmp_path / "batch.json"
    file.write_text(json.dumps(records), encoding="utf-8")
    return file


def test_the_worst_case_of_a_file_says_what_is_missing_and_wrong(run: Commands, batch: Path) -> None:
    ran = run("show", batch)
    assert ran.code == 0
    assert ran.out.startswith("FAIL fails safe_v0\n")
    assert f"○ signal 1 {CANARY} fell  [missing; cr_missing]" in ran.out
    assert "Which [✗ policy]?" in ran.out
    assert "others that did not pass" in ran.err
    assert CANARY not in ran.err


def test_a_case_is_chosen_by_its_name(run: Commands, batch: Path) -> None:
    assert run("show", batch, "--case", "passes").out.startswith("PASS passes safe_v0\n")


def test_several_cases_come_worst_first(run: Commands, batch: Path) -> None:
    out = run("show", batch, "--cases", 3).out
    assert [line.split()[1] for line in out.splitlines() if line.endswith(" safe_v0")] == ["fails", "reviews", "passes"]


def test_withheld_texts_are_blocks_and_states_stay(run: Commands, batch: Path) -> None:
    out = run("show", batch, "--withhold").out
    assert CANARY not in out
    assert "○ signal 1 ░░░░░░░░  [missing; cr_missing]" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.json"], "no such file or folder"),
        (["{batch}", "--case", "nobody"], "holds no case 'nobody' that safe_v0 scores"),
        (["-"], "name the suite with --suite"),
    ],
)
def test_what_cannot_be_shown_is_one_line(run: Commands, batch: Path, arguments: list[str], told: str) -> None:
    ran = run("show", *(argument.format(batch=batch) for argument in arguments))
    assert (ran.code, ran.out) == (3, "")
    assert told in ran.one_line


EVERY_SECTION = CaseReading(
    suite="toy",
    name="case \x1b[31m1",
    label="Fail",
    sections=(
        TextSection(id="t", title="Text", text="one\x1b]0;x\x07 two three", marks=(Mark(state="bad", start=0, end=3), Mark(state="good", start=2, end=999))),
        CodeSection(
            id="c",
            title="Code",
            format="json",
            text="\n".join(f"line {n}" for n in range(1, 1001)),
            marks=(Mark(state="bad", line=500, column=2, code="x.y", note="wrong"),),
        ),
        ChecksSection(id="k", title="Checks", items=(Item(id="i", state="missing", label="fact 1", text="a fact"),)),
        PairsSection(id="p", title="Pairs", pairs=(Pair(key="name", value="Ada", state="unsure"),)),
        TableSection(id="b", title="Table", columns=("Drug", "Dose"), rows=(Row(id="r", cells=("apixaban", "5 mg"), state="bad", note="differs"),)),
        TimelineSection(id="l", title="Time", lanes=("labs",), entries=(Entry(id="e", lane="labs", text="INR 5.2", begin="2026-03-01"),)),
        BarsSection(id="v", title="Bars", bars=(Bar(name="CR", value=0.5), Bar(name="none", value=None), Bar(name="odd", value=7, low=3, high=3))),
        TextSection(id="f", title="Folded", text="hidden", folded=True),
    ),
)


@pytest.mark.parametrize("width", [None, 40])
@pytest.mark.parametrize("colour", [True, False])
def test_every_section_is_drawn_and_no_text_reaches_the_terminal_as_a_command(colour: bool, width: int | None) -> None:
    drawn = "".join(reading_pieces(EVERY_SECTION, Drawing(colour=colour, width=width)))
    assert "\x1b]0;" not in drawn
    assert "\x07" not in drawn
    assert ("\x1b" in drawn) == colour
    plain = re.sub(r"\x1b\[[\d;]*m", "", drawn)
    for expected in ("✗ one", "fact 1", "Ada", "apixaban", "INR 5.2", "██████████", "x.y"):
        assert expected in plain
    assert "hidden" not in drawn


def test_a_long_document_shows_the_lines_around_its_marks() -> None:
    drawn = "".join(reading_pieces(EVERY_SECTION, Drawing()))
    assert "line 498" in drawn
    assert "line 497" not in drawn
    assert "line 1000" in "".join(reading_pieces(EVERY_SECTION, Drawing(everything=True)))


def test_everything_unfolds() -> None:
    assert "hidden" in "".join(reading_pieces(EVERY_SECTION, Drawing(everything=True)))


def test_a_folded_document_shows_the_lines_where_something_is_wrong() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 101))
    marks = (Mark(state="bad", line=50, column=1, code="x.y"), Mark(state="note", line=70, column=1, code="x.z"))
    section = CodeSection(id="d", title="Document", format="text", text=text, folded=True, marks=marks)
    drawn = "".join(reading_pieces(CaseReading(suite="s", name="n", label="Fail", sections=(section,)), Drawing()))
    assert "50 ✗ line 50  [x.y]" in drawn
    assert "line 49" not in drawn
    assert "line 70" not in drawn


@pytest.mark.parametrize(("quotes", "is_shown"), [("--quote", True), ("--withhold", False)])
def test_an_html_report_shows_how_cases_read_only_if_it_may_quote(run: Commands, batch: Path, tmp_path: Path, quotes: str, is_shown: bool) -> None:
    report = tmp_path / "report.html"
    assert run("score", "safe_v0", batch, quotes, "--format", "html", "--output", report).code == 1
    page = report.read_text(encoding="utf-8")
    assert ('id="reading-0"' in page) is is_shown
    assert (CANARY in page) is is_shown


@pytest.mark.parametrize("suite", [[], ["--suite", "safe_v0"]], ids=["any suite", "one suite"])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"[\xff\xfe" + bytes(range(256)) * 20, "is not UTF-8"),
        (b"[" * 1_000_000 + b"]" * 1_000_000, "depth limit exceeded"),
        (b'{"kind": "safe", "test_id": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}", "depth limit exceeded"),
        (b"[1, 2, 3]", "is not a case object"),
        (f'{{"note": "{CANARY}"}}'.encode(), "test_id is missing"),
    ],
    ids=["empty", "binary", "deep list", "deep member", "numbers", "no case"],
)
def test_what_cannot_be_shown_is_one_line_that_says_why(run: Commands, tmp_path: Path, content: bytes, told: str, suite: list[str]) -> None:
    file = tmp_path / "input.json"
    file.write_bytes(content)
    ran = run("show", file, *suite)
    assert (ran.code, ran.out) == (3, "")
    assert "input.json" in ran.one_line
    assert told in ran.one_line
    assert CANARY not in ran.err


def test_a_folder_without_cases_and_a_file_beyond_the_bound_are_one_line(run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "holds no batch file" in run("show", tmp_path).one_line
    monkeypatch.setattr("touchstone.ops.batch.reading.DOCUMENT_BYTES_MAX", 1_000)
    monkeypatch.setattr("touchstone.ops.batch.reading.LINE_BYTES_MAX", 1_000)
    monkeypatch.setattr("touchstone.ops.batch.reading.JSON_BYTES_MAX", 1_000)
    file = tmp_path / "input.json"
    file.write_text(json.dumps({"outputs": "y" * 100_000}), encoding="utf-8")
    assert "larger than" in run("show", file).one_line


def test_of_json_lines_the_worst_case_is_shown_and_which_one_it_was_is_said(run: Commands, batch: Path, tmp_path: Path) -> None:
    lines = tmp_path / "batch.ndjson"
    lines.write_text("\n".join(map(json.dumps, json.loads(batch.read_text(encoding="utf-8")))), encoding="utf-8")
    ran = run("show", lines)
    assert ran.out.startswith("FAIL fails safe_v0\n✗ 1 wrong: term 1\n○ 1 missing: signal 1\n")
    assert "1 case of 3 shown by safe_v0, the worst first; others that did not pass: reviews; --case NAME chooses" in ran.one_line


def test_a_case_without_a_marked_check_says_so_and_one_that_passed_says_nothing() -> None:
    def lines(label: Label) -> list[tuple[MarkState, str]]:
        return headline(CaseReading(suite="s", name="n", label=label))

    assert lines("Pass") == []
    assert lines("Review") == [("note", "no check is marked as wrong; the scores and what was not checked are below")]


def test_a_table_that_is_wider_than_the_terminal_is_drawn_as_lines() -> None:
    columns = ("Test", "Code", "Value", "Unit", "Status", "Date")
    row = Row(id="r", cells=("Hemoglobin A1c", "4548-4", "7.4", "%", "final", "2026-09-10T09:05:00-05:00"), state="bad")
    reading = CaseReading(suite="s", name="n", label="Fail", sections=(TableSection(id="labs", title="Labs", columns=columns, rows=(row,)),))
    narrow = "".join(reading_pieces(reading, Drawing(width=60)))
    assert "✗ Hemoglobin A1c, Code 4548-4, Value 7.4, Unit %," in narrow
    assert "Test" not in narrow
    assert "Hemoglobin A1c   4548-4   7.4" in "".join(reading_pieces(reading, Drawing(width=120)))
    assert "Hemoglobin A1c   4548-4   7.4" in "".join(reading_pieces(reading, Drawing()))
