import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from touchstone.ops.cli import app
from touchstone.ops.local.fhir_validator import artifacts, installation, packages
from touchstone.ops.local.fhir_validator.process import start_limit_s
from touchstone.ops.local.fhir_validator.service import Service
from touchstone.ops.local.fhir_validator.supervisor import STATE_FILE, alone, serve
from touchstone.ops.local.kafka.processes import is_running, wait_until
from touchstone.schemas.settings.house import FhirValidatorSettings
from touchstone.scorers.base import ConfigError

FAKE = Path(__file__).with_name("fake_validator.py")
WAIT_S = 300.0
run = CliRunner().invoke


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a JDK whose `java` starts the stand-in, the jars' folder, the packages, and one guide."""
    for name in ("TOUCHSTONE_FHIR_VALIDATOR_TOKEN", "TOUCHSTONE_CONFIG", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TOUCHSTONE_FHIR_VALIDATOR_PORT", "0")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    # The port follows the launcher's name.
    java.write_text(f"""#!/bin/sh
case "$1" in
  -version) echo 'openjdk version "17.0.2"' >&2; exit;;
  --list-modules) echo jdk.compiler@17; exit;;
esac
while [ "${{1%Serve.java}}" = "$1" ]; do shift; done
exec {sys.executable} {FAKE} "$2"
""")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{java.parent}:{os.environ['PATH']}")
    artifacts.libs_folder().mkdir(parents=True)
    for name in (packages.CORE, packages.CROSS_VERSION, "guide.test#1.0"):
        folder = tmp_path / "packages" / name / "package"
        folder.mkdir(parents=True)
        identity, version = name.split("#")
        (folder / "package.json").write_text(json.dumps({"name": identity, "version": version, "dependencies": {"other": "1"}}))
    return tmp_path


@pytest.fixture
def state_dir(machine: Path) -> Iterator[Path]:
    """A state folder; a service that a test leaves there is ended."""
    folder = machine / "state"
    yield folder
    if (left := Service.load(folder)) is not None:
        left.stop()


def installed(machine: Path, *guides: str) -> installation.Installation:
    return installation.install([machine / "packages"], guides, lambda _: None)


def test_what_is_lacking_is_told_line_by_line_and_nothing_is_started(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    told = run(app, ["fhir-validator", "status", "--state-dir", str(state_dir), "--json"])
    assert told.exit_code == 3
    lines = json.loads(told.stdout)["lacking"]
    assert ["no Java" in lines[0], "packages are not installed: run `touchstone fhir-validator install`" in lines[1]] == [True, True]
    started = run(app, ["fhir-validator", "start", "--state-dir", str(state_dir)])
    assert (started.exit_code, "no Java on the PATH" in started.stderr) == (3, True)
    assert not state_dir.exists()


def test_install_names_what_it_has_and_a_second_one_keeps_the_guides(machine: Path) -> None:
    command = ["fhir-validator", "install", "--packages", str(machine / "packages"), "--json"]
    first = json.loads(run(app, [*command, "--guide", "guide.test#1.0"]).stdout)
    assert json.loads(run(app, command).stdout) == first
    assert list(first["packages"]) == [packages.CORE, packages.CROSS_VERSION]
    about = json.loads((Path(first["guides"]["guide.test#1.0"]) / "package" / "package.json").read_bytes())
    assert about == {"name": "guide.test", "version": "1.0"}


def test_an_install_that_fails_leaves_what_was_there(machine: Path) -> None:
    before = installed(machine)
    failed = run(app, ["fhir-validator", "install", "--packages", str(machine / "packages"), "--guide", "other.test#1.0"])
    assert failed.exit_code == 3
    assert "--guide other.test#1.0: neither other.test-1.0.tgz nor a folder" in failed.stderr
    assert installation.installed() == before


def test_a_guide_that_is_no_file_and_no_name_is_told(machine: Path) -> None:
    failed = run(app, ["fhir-validator", "install", "--packages", str(machine / "packages"), "--guide", "absent.tgz"])
    assert "--guide absent.tgz: no such file; give the archive of a package (.tgz), or id#version" in failed.stderr


def test_a_guide_that_was_not_installed_or_a_package_that_has_gone_is_lacking(machine: Path) -> None:
    installed(machine)
    assert installation.missing_parts() == []
    assert "the implementation guide guide.test#1.0 is not installed" in installation.missing_parts(["guide.test#1.0"])[0]
    (machine / "packages" / packages.CORE / "package" / "package.json").unlink()
    assert "has gone: run `touchstone fhir-validator install`" in installation.missing_parts()[0]


def test_it_is_started_once_found_again_and_stopped_with_its_validators(machine: Path, state_dir: Path) -> None:
    installed(machine)
    options = ["--state-dir", str(state_dir), "--json"]
    started = run(app, ["fhir-validator", "start", *options])
    assert started.exit_code == 0, started.stderr
    told = json.loads(started.stdout)
    assert (told["running"], told["ready"], [one["state"] for one in told["processes"]]) == (True, True, ["ready"])
    assert json.loads(run(app, ["fhir-validator", "start", *options]).stdout)["pid"] == told["pid"]
    status = run(app, ["fhir-validator", "status", *options])
    assert (status.exit_code, json.loads(status.stdout)["address"]) == (0, told["address"])
    assert json.loads(run(app, ["fhir-validator", "stop", *options]).stdout) == {"stopped": True}
    assert not is_running(told["pid"], "fhir-validator")
    assert not is_running(told["processes"][0]["pid"], FAKE.name)
    assert not list((state_dir / "homes").iterdir())
    assert run(app, ["fhir-validator", "status", *options]).exit_code == 3


def test_validators_end_with_a_service_in_the_foreground_that_is_killed_and_the_next_one_starts(
    machine: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(machine)
    monkeypatch.setenv("XDG_STATE_HOME", str(machine / "state-home"))
    with (machine / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "touchstone.ops.cli", "fhir-validator", "start", "--foreground"], stdout=log, stderr=log)
    assert wait_until(lambda: run(app, ["fhir-validator", "status"]).exit_code == 0, WAIT_S, interval_s=0.2)
    told = json.loads(run(app, ["fhir-validator", "status", "--json"]).stdout)
    assert told["pid"] == process.pid
    process.kill()
    process.wait(WAIT_S)
    assert wait_until(lambda: not is_running(told["processes"][0]["pid"], FAKE.name), WAIT_S)
    after = run(app, ["fhir-validator", "status", "--json"])
    assert (after.exit_code, json.loads(after.stdout)["running"]) == (3, False)
    left = machine / "state-home" / "touchstone" / "fhir-validator"
    assert len(list((left / "homes").iterdir())) == 1
    with alone(left):
        assert not list((left / "homes").iterdir())


def test_a_validator_that_does_not_start_ends_the_service_with_its_reason(machine: Path, state_dir: Path) -> None:
    installed(machine)
    java = machine / "bin" / "java"
    java.write_text(java.read_text().replace("exec ", "echo 'Error: no space'; exit 1; "))
    failed = run(app, ["fhir-validator", "start", "--state-dir", str(state_dir)])
    assert failed.exit_code == 3
    assert "the FHIR validator service ended: the official FHIR validator ended at once: Error: no space" in failed.stderr
    assert Service.load(state_dir) is None


def test_a_start_that_is_too_slow_tells_how_far_it_came_and_what_to_raise(machine: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(machine)
    monkeypatch.setenv("TOUCHSTONE_FHIR_VALIDATOR_START_TIMEOUT_S", "2")
    java = machine / "bin" / "java"
    java.write_text(
        java.read_text().replace(f"exec {sys.executable}", f"echo 'loaded R4 and 1 of 2 guides'; exec {sys.executable}").replace('"$2"', '"$2" slow')
    )
    failed = run(app, ["fhir-validator", "start", "--state-dir", str(state_dir)])
    assert failed.exit_code == 3
    assert "is not ready after 2 s (so far: loaded R4 and 1 of 2 guides): on a busy machine raise fhir_validator.start_timeout_s" in failed.stderr
    assert Service.load(state_dir) is None


def test_each_guide_makes_the_limit_of_a_start_longer() -> None:
    assert [start_limit_s(180, guides) for guides in (0, 1, 2)] == [180, 240, 300]


async def test_a_taken_port_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = FhirValidatorSettings(port=taken.getsockname()[1])
        with pytest.raises(ConfigError, match=r"fhir_validator\.host/fhir_validator\.port: cannot listen on 127\.0\.0\.1:"):
            await serve(settings, tmp_path, pytest.fail)


async def test_a_state_folder_serves_one_service(tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(ConfigError, match=r"runs with .* already: stop it, or give another --state-dir"):
        await serve(FhirValidatorSettings(port=0), tmp_path, pytest.fail)


def test_a_stranger_with_a_reused_process_id_is_left_alone(tmp_path: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()", "notes-on-fhir-validator.md"], stdin=subprocess.PIPE)
    try:
        (tmp_path / "lock").touch()
        (tmp_path / STATE_FILE).write_text(json.dumps({"pid": stranger.pid, "address": "http://127.0.0.1:9"}))
        assert Service.load(tmp_path) is None
        with alone(tmp_path):
            assert not (tmp_path / STATE_FILE).exists()
    finally:
        stranger.communicate(timeout=WAIT_S)
