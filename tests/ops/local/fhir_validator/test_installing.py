import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.ops.local.java_tools import fake_jdk, fake_tool
from touchstone.ops.local.fhir_validator import artifacts, packages
from touchstone.scorers.base import ConfigError


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    return path


def test_no_java(tools: Path) -> None:
    assert "no Java on the PATH: the official FHIR validator needs a JDK 17 or newer" in (artifacts.missing() or "")


def test_java_too_old(tools: Path) -> None:
    fake_jdk(tools, version="11.0.2")
    with pytest.raises(ConfigError, match=r"is Java 11: .*; set JAVA_HOME to one"):
        artifacts.find_java()


def test_a_runtime_without_compiler_cannot_run_the_launcher(tools: Path) -> None:
    fake_jdk(tools, modules="java.base@17")
    with pytest.raises(ConfigError, match="has no compiler, it is a runtime only"):
        artifacts.find_java()


def test_the_pom_pins_the_version_that_is_named() -> None:
    assert f"<version>{artifacts.VALIDATOR_VERSION}</version>" in artifacts.POM.read_text()


def test_packages_are_taken_from_the_folder_that_is_given(tools: Path, tmp_path: Path) -> None:
    about = json.dumps({"name": "hl7.fhir.r4.core", "dependencies": {"other": "1"}}).encode()
    archive(tmp_path / "hl7.fhir.r4.core-4.0.1.tgz", {"package/package.json": about})
    unpacked = tmp_path / packages.CROSS_VERSION / "package"
    unpacked.mkdir(parents=True)
    (unpacked / "package.json").write_text("{}")
    found = packages.found_packages([tmp_path])
    assert found[packages.CROSS_VERSION] == tmp_path / packages.CROSS_VERSION
    assert json.loads((found[packages.CORE] / "package" / "package.json").read_bytes()) == {"name": "hl7.fhir.r4.core"}


def test_a_users_own_packages_are_found(tools: Path, tmp_path: Path) -> None:
    for name in (packages.CORE, packages.CROSS_VERSION):
        folder = tmp_path / "home" / ".fhir" / "packages" / name / "package"
        folder.mkdir(parents=True)
        (folder / "package.json").write_text("{}")
    assert packages.found_packages([])[packages.CORE] == tmp_path / "home" / ".fhir" / "packages" / packages.CORE


def test_without_packages_and_npm_both_ways_are_named(tools: Path) -> None:
    with pytest.raises(ConfigError, match=r"no npm on the PATH.*or give --packages a folder with hl7\.fhir\.r4\.core#4\.0\.1"):
        packages.found_packages([])


def test_an_archive_with_another_checksum_is_not_used(tools: Path) -> None:
    fake_tool(tools, "npm", 'while [ $# -gt 1 ]; do shift; done; echo other > "$1/made.tgz"')
    with pytest.raises(ConfigError, match="another checksum than the one known here"):
        packages.found_packages([])


def test_a_failing_npm_is_one_line(tools: Path) -> None:
    fake_tool(tools, "npm", "echo 'npm error network' >&2; exit 1")
    with pytest.raises(ConfigError, match=r"npm could not fetch .*: npm error network"):
        packages.found_packages([])


def test_a_folder_that_is_not_there_is_told(tools: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder; --packages wants one that holds"):
        packages.found_packages([tmp_path / "absent"])


@pytest.mark.parametrize("name", ["../outside", "/outside"])
def test_nothing_is_unpacked_outside_the_folder(tmp_path: Path, name: str) -> None:
    bad = archive(tmp_path / "bad.tgz", {f"{name}/file": b"x", "package/package.json": b"{}"})
    (tmp_path / "to").mkdir()
    try:
        packages.extract(bad, tmp_path / "to")
    except ConfigError as error:
        assert "not a FHIR package" in str(error)  # noqa: PT017  # the absolute name is made relative instead
    assert not (tmp_path / "outside").exists()
    assert not Path("/outside").exists()


def test_a_broken_archive_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.tgz").write_bytes(b"no archive")
    with pytest.raises(ConfigError, match="not a FHIR package"):
        packages.extract(tmp_path / "bad.tgz", tmp_path)


def test_the_definition_bundles_become_the_files_of_a_package(tmp_path: Path) -> None:
    bundles = tmp_path / "bundles"
    bundles.mkdir()
    for name in packages._BUNDLES:
        entry = {"resource": {"resourceType": "ValueSet", "id": name, "text": {"status": "generated", "div": "<div>long</div>"}}}
        (bundles / f"{name}.json").write_text(json.dumps({"resourceType": "Bundle", "entry": [entry]}))
    packages.write_core(bundles, tmp_path / "package")
    assert json.loads((tmp_path / "package" / "ValueSet-valuesets.json").read_bytes()) == {"resourceType": "ValueSet", "id": "valuesets"}
    assert json.loads((tmp_path / "package" / "package.json").read_bytes())["version"] == "4.0.1"


def test_the_home_is_one_that_the_validator_does_not_wipe(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    packages.make_home(tmp_path / "home", {packages.CORE: tmp_path / "core"})
    below = tmp_path / "home" / ".fhir" / "packages"
    assert (below / "packages.ini").read_text() == "[cache]\nversion = 4\n"
    assert (below / packages.CORE).resolve() == tmp_path / "core"
