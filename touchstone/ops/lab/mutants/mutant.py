"""A mutant: the product with one fence taken out, and what the tests say of it."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from touchstone.scorers.base import ConfigError

#: What happened to a mutant. `broken`: its tests could not be run, or fail without it, so they prove nothing.
Fate = Literal["killed", "survived", "broken"]
#: A mutant may make a test wait for ever; that kills it, too.
TIMEOUT_S = 120.0
#: Exit codes of pytest: all passed, and some failed.
PASSED, FAILED = 0, 1


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fence taken out.

    `promise`: what the fence is for, as the table in the docs says it. `old` must occur exactly once in `file`, a path below the repository's root.
    `tests`: pytest's names of the tests that must notice, each a file or `file::test`.
    """

    name: str
    promise: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied_to(self, text: str) -> str:
        """The file's text with the fence taken out. Raises `ConfigError` if the list and the code have grown apart."""
        if (count := text.count(self.old)) != 1:
            raise ConfigError(f"mutant {self.name}: its text occurs {count} times in {self.file}, and not once; bring the list of mutants up to date")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant. `by`: the tests that failed."""

    mutant: Mutant
    fate: Fate
    by: tuple[str, ...]
    seconds: float


def repository() -> Path:
    """The checkout that this module is in. Raises `ConfigError` where it is installed without one."""
    root = Path(__file__).resolve().parents[4]
    if not (root / "tests").is_dir():
        raise ConfigError("mutants need a checkout with its tests")
    return root


def copy_of(root: Path, folder: Path) -> Path:
    """A copy of the files that git tracks or would track, hard-linked where the file system allows."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, target = root / name, folder / name
        if source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source.readlink())
        elif source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, target)
            except OSError:
                shutil.copy2(source, target)
    return folder


def verdict(mutant: Mutant, copy: Path) -> Verdict:
    """Take the fence out of the copy, run its tests, and put it back."""
    target = copy / mutant.file
    text = target.read_text(encoding="utf-8")
    changed = mutant.applied_to(text)
    begun = time.monotonic()
    _write(target, changed)
    try:
        code, failed = run_tests(mutant.tests, copy)
    finally:
        _write(target, text)
    fate: Fate = "survived" if code == PASSED else "killed" if code == FAILED else "broken"
    return Verdict(mutant, fate, failed, time.monotonic() - begun)


def run_tests(tests: Sequence[str], copy: Path, timeout_s: float = TIMEOUT_S) -> tuple[int, tuple[str, ...]]:
    """Run tests against the copy. Returns pytest's exit code and the tests that failed; a run that never ends has failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0", "--no-header", "--tb=no", *tests]
    # The copy comes before the checkout that is installed, in this process and in those that tests start.
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return FAILED, ("no end",)
    return ran.returncode, tuple(re.findall(r"^(?:FAILED|ERROR) \S*?::(\S+)", ran.stdout.decode(), re.MULTILINE))


def without_a_mutant(mutants: Iterable[Mutant], copy: Path) -> set[str]:
    """The tests that fail, or cannot be run, with no fence taken out: they prove nothing."""
    named = sorted({test for mutant in mutants for test in mutant.tests})
    if not named or run_tests(named, copy, TIMEOUT_S * len(named))[0] == PASSED:
        return set()
    return {test for test in named if run_tests((test,), copy)[0] != PASSED}


def _write(target: Path, text: str) -> None:
    """Write a file anew: its name may be a link to the checkout's own file, which must stay as it is."""
    target.unlink()
    target.write_text(text, encoding="utf-8")
