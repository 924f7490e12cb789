from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from touchstone.scorers import registry
from touchstone.scorers.base import ConfigError
from touchstone.scorers.identity import config_digest
from touchstone.scorers.safe import SUITE


def test_safe_v0_is_found_by_entry_point() -> None:
    assert registry.load_suite("safe_v0") is SUITE


def test_an_unknown_suite_names_the_installed_ones() -> None:
    with pytest.raises(ConfigError, match="installed: clinical, clinical_conformance, clinical_judge, failure_modes, safe_v0"):
        registry.load_suite("nix")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("json:loads", "not a touchstone.scorers.suite.Suite"),
        ("no_such_module_here:SUITE", "install the extra"),
        ("touchstone.scorers.safe:SUITE", "must agree"),
    ],
)
def test_a_broken_entry_point_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, value: str, expected: str) -> None:
    monkeypatch.setattr(registry, "suite_entry_points", lambda: {"mine": EntryPoint("mine", value, registry.GROUP)})
    with pytest.raises(ConfigError, match=expected):
        registry.load_suite("mine")


def test_a_suite_that_cannot_be_imported_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    points = {
        "mine": EntryPoint("mine", "no_such_module_here:SUITE", registry.GROUP),
        "safe_v0": EntryPoint("safe_v0", "touchstone.scorers.safe:SUITE", registry.GROUP),
    }
    monkeypatch.setattr(registry, "suite_entry_points", lambda: points)
    assert registry.known_kinds() == {"safe"}


def test_the_digest_names_the_configuration_whatever_the_order_of_its_keys() -> None:
    assert config_digest({"a": 1, "b": {"c": 2, "d": 3}}) == config_digest({"b": {"d": 3, "c": 2}, "a": 1})
    assert config_digest({"a": 1}) != config_digest({"a": 2})


def test_a_package_that_fails_at_its_import_is_named_and_stops_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken_suite.py").write_text("raise KeyError('secret')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    points = {
        "broken": EntryPoint("broken", "broken_suite:SUITE", registry.GROUP),
        "safe_v0": EntryPoint("safe_v0", "touchstone.scorers.safe:SUITE", registry.GROUP),
    }
    monkeypatch.setattr(registry, "suite_entry_points", lambda: points)
    with pytest.raises(ConfigError, match=r"suite 'broken' cannot be imported: KeyError at broken_suite.py:1") as refused:
        registry.load_suite("broken")
    assert "secret" not in str(refused.value)
    assert set(registry.usable_suites()) == {"safe_v0"}
