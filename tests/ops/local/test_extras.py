from pathlib import Path

import pytest

from touchstone.ops.local.checkup import Check
from touchstone.ops.local.extras import EXTRAS, TRY_TIMEOUT_S, Extra, check_extras
from touchstone.scorers.installing import install_command, install_extras


def test_an_extra_has_a_minute_to_load_because_other_programs_may_have_the_processors() -> None:
    assert TRY_TIMEOUT_S >= 60


def the_check(program: str, *shown: str, name: str = "invented", timeout_s: float = 60) -> Check:
    (check,) = check_extras({name: Extra("tests", shown or ("pytest",), program)}, timeout_s)
    return check


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name == "nli" else []) for name in EXTRAS])
def test_every_extra_that_is_installed_here_works(name: str) -> None:
    (check,) = check_extras({name: EXTRAS[name]}, timeout_s=500)
    if name == "nli-base" and check.state == "note":
        pytest.skip("its 400 MB are installed by make setup-base")
    assert check.state == "good", check


def test_an_extra_that_does_not_work_is_bad_though_its_packages_are_there() -> None:
    check = the_check("raise ValueError('the versions do not fit')")
    assert check.state == "bad"
    assert "ValueError: the versions do not fit" in check.what
    assert check.fix == f"install it again: {install_command(['invented'])}"


def test_a_library_that_kills_its_process_costs_the_extra_alone() -> None:
    check = the_check("import os; os.abort()")
    assert check.state == "bad"
    assert "it ended with -6" in check.what


def test_an_extra_that_loads_for_too_long_is_a_note() -> None:
    check = the_check("import threading; threading.Event().wait()", timeout_s=0.2)
    assert check.state == "note"
    assert "still loading after 0.2 s" in check.what


def test_an_extra_that_is_not_installed_is_a_note_that_names_what_is_missing() -> None:
    check = the_check("", "pytest", "no-such-package-at-all")
    assert check.state == "note"
    assert check.what == "extra invented is not installed (no-such-package-at-all missing)"
    assert check.fix == f"for tests, {install_extras('invented')}"


def test_of_many_missing_packages_some_are_named_and_the_better_way_to_install_them() -> None:
    names = tuple(f"no-such-package-{number}" for number in range(5))
    (check,) = check_extras({"invented": Extra("tests", names, "", "run: make invented")})
    assert check.what == "extra invented is not installed (no-such-package-0, no-such-package-1, no-such-package-2 and 2 more missing)"
    assert check.fix == "for tests, run: make invented"


def test_a_part_of_an_extra_that_is_missing_is_found_through_our_own_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "touchstone.ops.local.extras.requires", lambda _: ["pytest>=8", "no-such-package<2 ; extra == 'invented'", "absent-too; extra == 'other'"]
    )
    assert the_check("").what == "extra invented is not installed (no-such-package missing)"


def test_a_module_in_the_working_directory_is_not_taken_for_the_installed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("yaml.py").write_text("raise RuntimeError\n")
    assert the_check("import yaml").state == "good"
