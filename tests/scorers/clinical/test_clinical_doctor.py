import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ops.commands import Commands
from tests.scorers.clinical.checks.test_terminology_server import Server, reply
from touchstone.scorers.base import Check
from touchstone.scorers.clinical import SUITE
from touchstone.scorers.clinical.checkup import doctor
from touchstone.scorers.suite_settings import suite_settings


@pytest.fixture(autouse=True)
def nobody_s_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


def checks() -> dict[str, Check]:
    return {check.area: check for check in doctor(suite_settings(SUITE))}


def test_without_packages_and_servers_there_are_notes_and_nothing_to_mend() -> None:
    told = checks()

    assert {area: check.state for area, check in told.items()} == {"fhir packages": "note", "terminology": "note"}
    assert all(check.fix for check in told.values())


def test_installed_packages_are_named(nobody_s_home: Path) -> None:
    (nobody_s_home / ".fhir" / "packages" / "hl7.fhir.us.core#6.1.0" / "package").mkdir(parents=True)

    assert checks()["fhir packages"] == Check("fhir packages", "good", "hl7.fhir.us.core#6.1.0")


def test_a_server_that_answers_is_told_with_what_it_holds(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINICAL_TERMINOLOGY_URL", server.url)

    assert checks()["terminology"] == Check("terminology", "good", "127.0.0.1 answers, and holds LOINC, SNOMED CT; not RxNorm")


def test_a_server_that_refuses_is_to_be_mended_and_asked_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINICAL_TERMINOLOGY_URL", server.url)
    monkeypatch.setenv("CLINICAL_TERMINOLOGY_TOKEN", "canary-token")
    server.misbehave = lambda handler: reply(handler, 401, b"")
    told = checks()["terminology"]

    assert (told.state, told.what) == ("bad", "127.0.0.1: the terminology server answered 401")
    assert len(server.asked) == 1
    assert "canary" not in told.what + told.fix


def test_code_tables_are_read(nobody_s_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nobody_s_home / "cvx.txt").write_text("207|COVID-19|x\n")
    monkeypatch.setenv("CLINICAL_TERMINOLOGY_CVX", "cvx.txt")

    assert checks()["code tables"] == Check("code tables", "good", "CVX can be read")


def test_a_package_that_is_not_there_breaks_the_suite_s_settings(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.ops.local.extras.EXTRAS", {})  # each would be tried, which takes seconds: see tests/ops/local/test_extras.py
    ran = Commands(capfdbinary, monkeypatch)("doctor", "--json", "--bootstrap", "127.0.0.1:1", env={"CLINICAL_FHIR_PACKAGES": "nowhere"})
    told = [check for check in json.loads(ran.out) if check["area"] == "suites" and check["state"] == "bad"]

    assert ran.code == 3
    assert [check["what"] for check in told] == ["clinical: fhir.packages: nowhere does not exist; name a folder or .tgz file with a FHIR package"]
