from pathlib import Path

import pytest

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.checks.code_tables import CodeTables, FirstAnswer, Layout, read_code_table
from touchstone.scorers.clinical.checks.terminology import RXNORM, check_code
from touchstone.scorers.clinical.report import Context

#: Lines in the layouts of the releases, with made-up names.
RXNCONSO = """\
860975|ENG||||||1|1||x|RXNORM|SCD|860975|made-up drug||N|4096|
111111|ENG||||||1|1||x|MTHSPL|DP|1|made-up label||N|4096|
222222|ENG||||||1|1||x|NDFRT|DP|1|made-up licensed||N|4096|
333333|ENG||||||1|1||x|RXNORM|SCD|1|made-up obsolete||O|4096|
half a line|
"""
FILES: dict[Layout, tuple[str, set[str]]] = {
    "rxnorm": (RXNCONSO, {"860975", "111111"}),
    "loinc": ('\ufeff"LOINC_NUM","COMPONENT"\n"8867-4","made, up"\n', {"8867-4"}),
    "cvx": ("08 |made-up vaccine||\r\n140|another\r\n1|short\r\nno code here\r\n", {"08", "140", "01"}),
    "list": ("# a comment\nA1\n\n B2 # why\n", {"A1", "B2"}),
}


@pytest.mark.parametrize(("layout", "content", "codes"), [(layout, *rest) for layout, rest in FILES.items()])
def test_each_layout_gives_its_codes(tmp_path: Path, layout: Layout, content: str, codes: set[str]) -> None:
    file = tmp_path / "release"
    file.write_text(content, encoding="utf-8")
    assert read_code_table(file, layout) == codes


@pytest.mark.parametrize(("content", "layout"), [(b"", "list"), (b"\xff\xfe", "list"), (b"no table", "rxnorm"), (b"A,B\n1,2\n", "loinc")])
def test_a_file_that_is_no_table_is_a_configuration_error(tmp_path: Path, content: bytes, layout: Layout) -> None:
    file = tmp_path / "release"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="release"):
        read_code_table(file, layout)


def test_an_absent_file_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_code_table(tmp_path / "absent", "list")


def test_a_loaded_table_settles_membership() -> None:
    tables = CodeTables({RXNORM.url: frozenset({"860975"})})
    assert check_code("RXNORM", "860975", "p", Context(), source=tables).membership == "member"
    assert check_code("RXNORM", "860976", "p", Context(), source=tables).membership == "not_member"
    assert check_code("CVX", "140", "p", Context(), source=tables).membership == "not_checked"


def test_the_first_source_that_knows_answers() -> None:
    small, large = CodeTables({"a": frozenset("1")}), CodeTables({"a": frozenset("2"), "b": frozenset("3")})
    both = FirstAnswer(small, large)
    assert both.membership("a", "2") == ("not_member", None)
    assert both.membership("b", "3") == ("member", None)
    assert both.membership("c", "4")[0] == "not_checked"
    assert FirstAnswer().membership("a", "1")[0] == "not_checked"
