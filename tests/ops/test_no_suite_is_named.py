import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import touchstone
from touchstone.scorers.registry import suite_entry_points

ROOT = Path(touchstone.__file__).parent
#: Commands that belong to a suite, and folders that measure or build for particular suites.
OWN = {Path("ops/cli") / f"{name}.py" for name in ("safe", "loss", "eval", "eval_samples", "models", "fhir_validator", "judges_new")}
OWN_FOLDERS = (Path("ops/lab"),)
#: Names the extras of the distribution, one of which is called like a suite.
OF_EXTRAS = Path("ops/local/extras.py")
NAMES = tuple(sorted(suite_entry_points()))
PACKAGES = tuple(sorted({point.module for point in suite_entry_points().values() if point.module.startswith("touchstone.")}))


def modules() -> Iterator[Path]:
    for room in ("streams", "ops"):
        for path in sorted((ROOT / room).rglob("*.py")):
            inside = path.relative_to(ROOT)
            if inside not in OWN and inside != OF_EXTRAS and not any(inside.is_relative_to(folder) for folder in OWN_FOLDERS):
                yield inside


def named(source: str) -> set[str]:
    """Suites that some code names: as a text, or by importing their package. What documentation and help say as an example is no code."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES:
            found.add(node.value)
        imported = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name for name in imported if name.startswith(PACKAGES)}
    return found


@pytest.mark.parametrize("path", list(modules()), ids=str)
def test_no_module_names_a_suite(path: Path) -> None:
    assert named((ROOT / path).read_text(encoding="utf-8")) == set()


def test_no_module_is_called_like_a_suite() -> None:
    alike = re.compile("|".join((*NAMES, *(package.rpartition(".")[2] for package in PACKAGES))))
    assert [path for path in modules() if alike.search(path.name)] == []


def test_a_module_that_names_a_suite_is_found() -> None:
    assert named('if suite == "safe_v0": ...') == {"safe_v0"}
    assert named("def f():\n    from touchstone.scorers.safe.settings import SafeSettings") == {"touchstone.scorers.safe.settings"}
    assert named("import touchstone.scorers.clinical") == {"touchstone.scorers.clinical"}
    assert named('"""For example `safe_v0`."""') == set()
