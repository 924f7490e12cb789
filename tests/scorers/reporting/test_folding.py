from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.reporting import CaseView
from touchstone.scorers.reporting.folding import CodeCounts, chosen, counts_of, folded, severities_text


def finding(path: str, message: str = "is wrong", severity: Severity = "minor", code: str = "a.b") -> Finding:
    return Finding(severity=severity, code=code, path=path, message=message)


def test_findings_that_say_the_same_are_one_line_with_their_first_places_and_a_count() -> None:
    lines = folded([finding(f"p[{number}]") for number in range(9)])
    assert [one.line for one in lines] == ["p[0], p[1], p[2] and 6 more: is wrong (9 times)"]


def test_the_gravest_stand_first_and_other_words_stay_apart() -> None:
    lines = folded([finding("p"), finding("q", "is worse"), finding("r", severity="major")])
    assert [one.line for one in lines] == ["r: is wrong", "p: is wrong", "q: is worse"]


def test_what_is_counted_and_not_told_stands_at_the_last_line_of_its_code() -> None:
    lines = folded([finding("p"), finding("q", "is worse")], {"a.b": {"minor": 40}})
    assert [(one.line, one.unlisted) for one in lines] == [("p: is wrong", 0), ("q: is worse (and 38 more of this code)", 38)]


def test_info_is_listed_where_it_is_asked_for() -> None:
    found = [finding("p", severity="info")]
    assert (len(folded(found)), len(folded(found, with_info=True))) == (0, 1)


def test_counts_are_the_true_totals_where_a_case_has_them() -> None:
    case = CaseView("n", "Pass", "pass", findings=[finding("p")], finding_counts={"a.b": {"minor": 7, "info": 1}})
    assert severities_text(counts_of(case)) == "7 minor"
    assert severities_text(counts_of(CaseView("n", "Pass", "pass", findings=[finding("p"), finding("q", severity="critical")]))) == "1 critical, 1 minor"


def test_a_run_counts_findings_and_cases_by_code_the_gravest_first() -> None:
    counts = CodeCounts()
    counts.add({"a.b": {"minor": 30}, "c.d": {"major": 1, "info": 4}})
    counts.add({"a.b": {"minor": 2}, "e.f": {"minor": 50}})
    table = counts.table(2)
    assert table is not None
    assert table.header == ("Severity", "Code", "Findings", "In cases")
    assert list(table.rows) == [("major", "c.d", "1", "1"), ("minor", "a.b", "32", "2"), ("", "and 1 more code", "50", "")]
    assert CodeCounts().table(2) is None


def test_a_choice_of_lines_keeps_each_code_and_then_the_gravest() -> None:
    told: list[tuple[Severity, str]] = [("major", "a"), ("major", "c"), ("minor", "a"), ("minor", "d"), ("info", "b")]
    lines = folded([finding(str(place), severity=severity, code=code) for place, (severity, code) in enumerate(told)], with_info=True)
    assert [one.places for one in chosen(lines, 4)] == [["0"], ["1"], ["3"], ["4"]]
    assert chosen(lines, 9) == lines


def test_what_is_counted_and_told_nowhere_has_a_line_of_its_own_so_that_the_lines_add_up() -> None:
    lines = folded([finding("p")], {"a.b": {"minor": 2, "major": 7}, "c.d": {"critical": 3, "info": 9}})
    assert [(one.finding.severity, one.finding.code, one.times, one.unlisted) for one in lines] == [
        ("critical", "c.d", 0, 3),
        ("major", "a.b", 0, 7),
        ("minor", "a.b", 1, 1),
    ]
    assert lines[0].line == "c.d (and 3 more of this code)"
