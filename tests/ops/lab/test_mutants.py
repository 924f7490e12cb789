"""The list of mutants stays one with the code, and a mutant is reported for what it is."""

from pathlib import Path

import pytest

from touchstone.ops.lab.mutants import command
from touchstone.ops.lab.mutants.listed import MUTANTS
from touchstone.ops.lab.mutants.mutant import Mutant, copy_of, repository
from touchstone.scorers.base import ConfigError


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_fence_is_where_the_list_says_and_so_are_its_tests(mutant: Mutant) -> None:
    root = repository()
    text = (root / mutant.file).read_text(encoding="utf-8")
    compile(mutant.applied_to(text), mutant.file, "exec")
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert not name or f"def {name}(" in (root / path).read_text(encoding="utf-8")
        assert (root / path).exists()


def test_names_are_unique() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 30


def test_a_fence_that_has_moved_is_an_error_that_names_it() -> None:
    with pytest.raises(ConfigError, match=r"mutant gone: its text occurs 0 times in x\.py"):
        Mutant("gone", "", "x.py", "fence()", "", ()).applied_to("nothing")


@pytest.mark.slow
def test_killed_survived_and_broken_are_told_apart_and_the_checkout_is_not_touched(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file, old, new = "touchstone/scorers/identity.py", "[suite, version, digest]", "[suite, version]"
    before = (repository() / file).read_bytes()
    mutants = (
        Mutant("noticed", "", file, old, new, ("tests/scorers/test_identity.py",)),
        Mutant("unnoticed", "", file, old, new, ("tests/scorers/test_backoff.py",)),
        Mutant("no_test", "", file, old, new, ("tests/scorers/test_nothing.py",)),
    )
    monkeypatch.setattr(command, "MUTANTS", mutants)
    assert command.main([]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["killed", "survived", "broken", "1"]
    assert (repository() / file).read_bytes() == before
    assert command.main(["--only", "unnoticed"]) == 1


def test_a_copy_holds_the_tree_and_shares_no_file_that_is_written(tmp_path: Path) -> None:
    copy = copy_of(repository(), tmp_path)
    assert (copy / "streams").is_symlink()
    assert (copy / "touchstone/scorers/identity.py").read_bytes() == (repository() / "touchstone/scorers/identity.py").read_bytes()
