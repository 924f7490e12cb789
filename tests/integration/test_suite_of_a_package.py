"""The example of docs/suites.md, installed as a package of its own: it has everything that the suites of the house have."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Start, Worker, reading

ROOT = Path(__file__).parents[2]
CASES = [{"kind": "toy", "id": f"t{number}", "size": size, "shelf": "top"} for number, size in enumerate((3, 4, 12))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example was installed, with the metadata that an installer writes."""
    source, target = tmp_path_factory.mktemp("toy"), tmp_path_factory.mktemp("site")
    page = (ROOT / "docs" / "suites.md").read_text(encoding="utf-8")
    code, entry = re.search(r"```python\n(# toy_suite.py\n.*?)```", page, re.DOTALL), re.search(r"```toml\n# pyproject.toml\n(.*?)```", page, re.DOTALL)
    assert code is not None
    assert entry is not None
    assert len(code.group(1).splitlines()) <= 60, "the example is to stay short"
    (source / "toy_suite.py").write_text(code.group(1), encoding="utf-8")
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n[project]\nname = "toy"\nversion = "1"\n'
        f'[tool.hatch.build.targets.wheel]\nonly-include = ["toy_suite.py"]\n{entry.group(1)}',
        encoding="utf-8",
    )
    uv = Path(sys.executable).with_name("uv")
    install = [str(uv), "pip", "install", "-q", "--python", sys.executable, "--no-deps", "--no-build-isolation", "--target", str(target), str(source)]
    subprocess.run(install, check=True, capture_output=True, text=True)
    return target


class Toys:
    def __init__(self, site: Path, env: dict[str, str], cwd: Path) -> None:
        self.env = os.environ | env | {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
        self.cwd = cwd

    def __call__(self, *arguments: str, code: int | None = 0) -> str:
        ran = subprocess.run(
            [sys.executable, "-m", "touchstone.ops.cli", *arguments], env=self.env, cwd=self.cwd, capture_output=True, text=True, timeout=120, check=False
        )
        assert code is None or ran.returncode == code, f"{arguments}: exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout + ran.stderr


@pytest.fixture
def toys(site: Path, tmp_path: Path) -> Toys:
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES), encoding="utf-8")
    return Toys(site, {}, tmp_path)


@pytest.mark.parametrize("form", ["console", "json", "markdown", "junit", "html"])
def test_its_files_are_scored_and_reported_in_every_format(toys: Toys, form: str) -> None:
    told = toys("score", "toy", "cases.jsonl", "--format", form, "--output", "report", code=1)
    assert "Toys FAIL: 1 of 3 cases failed (exit 1)" in told
    text = (toys.cwd / "report").read_text(encoding="utf-8")
    assert "t2" in text
    assert "12" in text
    match form:
        case "json":
            assert {one["event_id"]: one["label"] for one in json.loads(text)["results"]} == {"t0": "Pass", "t1": "Pass", "t2": "Fail"}
        case "junit":
            assert ET.fromstring(text).get("failures") == "1"
        case _:
            assert "Largest" in text, "the table of its own view"


def test_its_gate_and_its_bad_input(toys: Toys) -> None:
    toys("score", "toy", "cases.jsonl", "--min-pass-rate", "0.6", code=0)
    toys("score", "toy", "cases.jsonl", "--min-pass-rate", "0.7", code=1)
    (toys.cwd / "bad.jsonl").write_text('{"kind": "toy", "size": "huge"}\n{"kind": "other"}\n', encoding="utf-8")
    told = toys("score", "toy", "bad.jsonl", code=3)
    assert "bad.jsonl, line 1: size " in told
    assert "bad.jsonl, line 2: kind is not `toy`" in told


def test_doctor_and_explain_know_it(toys: Toys) -> None:
    assert re.search(r"toy 1", toys("doctor", code=None))
    (toys.cwd / "event.json").write_text(json.dumps(CASES[0]), encoding="utf-8")
    assert "toy" in toys("explain", "event.json")


def test_python_scores_with_it(toys: Toys) -> None:
    program = "import touchstone; print(touchstone.score('toy', {'kind': 'toy', 'size': 3}).label)"
    ran = subprocess.run([sys.executable, "-c", program], env=toys.env, cwd=toys.cwd, capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout == "Pass\n"


@pytest.fixture
def projecting(shared_embedded: Broker, namespace: Namespace, site: Path, tmp_path: Path) -> Iterator[Worker]:
    env = namespace.environment(shared_embedded) | {"PYTHONPATH": str(site), "TOUCHSTONE_STORE_URL": f"sqlite:///{tmp_path}/results.db"}
    projector = Worker("", env, command=[sys.executable, "-m", "touchstone.ops.cli", "projector"])
    yield projector
    projector.close()


async def test_it_is_scored_live_and_reported_from_the_store(
    shared_embedded: Broker, namespace: Namespace, start: Start, site: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    broker = shared_embedded
    broker.create_topics(namespace.topics())
    env = namespace.environment(broker) | {"TOUCHSTONE_STORE_URL": f"sqlite:///{tmp_path}/results.db"}
    toys = Toys(site, env, tmp_path)
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES), encoding="utf-8")
    worker = start("direct", env | {"PYTHONPATH": str(site)}, suite="toy")
    projector: Worker = request.getfixturevalue("projecting")
    assert "3 events" in toys("produce", "cases.jsonl")
    async with reading(broker, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 3)
    assert {name: one[0]["label"] for name, one in outcomes.results.items()} == {"t0": "Pass", "t1": "Pass", "t2": "Fail"}, worker.log
    shown = toys("tail", "results", "--from", "beginning", "--no-follow", "--suite", "toy")
    assert re.search(r"toy +Fail +t2 +Size 12\.00 +toys/top", shown), shown
    projector.until(lambda: "toy:v1:result  toys/top  3 cases: 2 pass, 0 review, 1 fail" in toys("tail", "reports", "--from", "beginning", "--no-follow"))
    live = toys("report", "--suite", "toy", "--format", "json", code=1)
    files = toys("score", "toy", "cases.jsonl", "--format", "json", code=1)
    assert _cases(live) == _cases(files), "stored results are those of the same files"
    assert "t2" in toys("report", "--concern", "toys", "--batch", "top", code=1)


def _cases(told: str) -> list[dict[str, object]]:
    """The results of a JSON report, without what differs between two runs."""
    document = json.JSONDecoder().raw_decode(told)[0]
    left_out = {"source", "scored_at", "duration_ms"}
    return sorted(({name: part for name, part in one.items() if name not in left_out} for one in document["results"]), key=lambda one: one["event_id"])
