"""What Kafka and the FHIR validator share: jars that Maven fetches into the cache."""

from pathlib import Path
from types import ModuleType

import pytest

from tests.ops.local.java_tools import fake_jdk, fake_tool
from touchstone.ops.local.fhir_validator import artifacts as validator
from touchstone.ops.local.kafka import artifacts as kafka
from touchstone.scorers.base import ConfigError

pytestmark = pytest.mark.parametrize("artifacts", [kafka, validator], ids=["kafka", "validator"])


def test_no_maven(tools: Path, artifacts: ModuleType) -> None:
    fake_jdk(tools)
    assert "no Maven (mvn) on the PATH" in (artifacts.missing() or "")


def test_jars_once_fetched_need_no_maven(tools: Path, artifacts: ModuleType) -> None:
    fake_jdk(tools)
    artifacts.libs_folder().mkdir(parents=True)
    assert artifacts.missing() is None


def test_a_failed_fetch_leaves_nothing_and_quotes_maven(tools: Path, artifacts: ModuleType) -> None:
    fake_tool(tools, "mvn", "echo '[ERROR] Could not transfer artifact'; exit 1")
    what = "Kafka .*" if artifacts is kafka else ".*"
    with pytest.raises(ConfigError, match=rf"Maven could not fetch {what}: \[ERROR\] Could not transfer artifact"):
        artifacts.fetch(artifacts.libs_folder())
    assert not [path for path in artifacts.libs_folder().parent.iterdir() if path.is_dir()]


def test_an_unwritable_cache_is_one_line(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, artifacts: ModuleType) -> None:
    fake_tool(tools, "mvn", "exit 0")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="the cache cannot be written"):
        artifacts.fetch(artifacts.libs_folder())
