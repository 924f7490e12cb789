import ast
import asyncio
import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import touchstone

CANARY = "zanzibar-canary"
CASE = {"test_id": "T-1", "concern_id": "I25", "batch_id": "trial", "output": {"summary": "…"}}
PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_has_examples_and_each_has_its_output() -> None:
    assert len(EXAMPLES) >= 4
    assert PAGE.count("```python") == len(EXAMPLES)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_prints_what_the_page_says(number: int, tmp_path: Path) -> None:
    program, output = EXAMPLES[number]
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == output


@pytest.mark.parametrize("suite_is_open", [False, True])
async def test_score_waits_in_a_running_loop_and_outside_of_one_alike(suite_is_open: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    suite = touchstone.open_suite("safe_v0") if suite_is_open else "safe_v0"
    inside = touchstone.score(suite, CASE)
    outside = await asyncio.to_thread(touchstone.score, suite, CASE)
    assert (inside.result_id, inside.values) == (outside.result_id, outside.values)
    with pytest.raises(ValueError, match="concern_id is missing"):
        touchstone.score(suite, {"test_id": "T"})


async def test_the_page_runs_as_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block is a cell: compiled and run as IPython does it, in one namespace and inside a running event loop."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = re.findall(r"```py(?:thon)?\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, re.DOTALL)
    assert len(cells) == len(EXAMPLES) + 1
    for cell, output in [*cells, ("print(await labels(cases))", "['Pass', 'Fail']\n")]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = eval(compile(cell, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
            if value is not None:
                await value
        assert printed.getvalue() == output
    results = names["results"]
    assert "<td>T-1</td><td>Fail</td><td>0.00</td>" in results._repr_html_()
    assert "<strong>T-1: Fail</strong>" in results[1]._repr_html_()
    assert "SAFE v0: I25" in results.report()._repr_html_()


def test_what_a_notebook_shows_is_escaped_bounded_and_holds_no_text_of_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = {"signal_generation": {"must_find_signals": [CANARY]}}
    cases = [CASE | {"test_id": f"<b>{number}</b>", "archetype": "<script>", "expectations": expected} for number in range(130)]
    results = touchstone.score("safe_v0", cases)
    shown = [results._repr_html_(), results[0]._repr_html_(), results.report()._repr_html_()]
    for html in shown:
        assert "<script>" not in html
        assert "<b>" not in html
        assert CANARY not in html
        assert html.count("<tr>") < 200
    assert "&lt;b&gt;0&lt;/b&gt;" in shown[0]
    assert "… and 30 more" in shown[0]
    assert "… and 30 more" in shown[2]
    monkeypatch.setenv("SAFE_V0_QUOTE", "true")
    assert CANARY in touchstone.score("safe_v0", cases[:2]).report()._repr_html_()


def test_results_are_a_sequence_in_the_order_of_the_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = touchstone.score("safe_v0", (CASE | {"test_id": f"T-{number}", "concern_id": f"C{number % 2}"} for number in range(3)))
    assert [result.case_id for result in results] == [row["case"] for row in results.rows()] == ["T-0", "T-1", "T-2"]
    assert repr(results) == "<3 results of safe_v0: Pass 3>"
    assert results.report().view.title == "SAFE v0: 2 concerns"
    assert len(touchstone.score("safe_v0", [])) == 0
    assert touchstone.score("safe_v0", [])._repr_html_()
    assert repr(touchstone.score("safe_v0", [CASE])) == "<1 result of safe_v0: Pass 1>"
    for wrong, told in ((3, "int is no case; give a record"), ([CASE, None], r"case \[1\]: NoneType is no case; give a record")):
        with pytest.raises(ValueError, match=f"^{told}"):
            touchstone.score("safe_v0", wrong)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"^case \[1\]: concern_id is missing"):
        touchstone.score("safe_v0", [CASE, {"test_id": "T"}])
