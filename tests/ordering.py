"""How several processes of pytest share the tests.

**The quick tests** (`--dist loadgroup`): each process takes the next one. Those that load model libraries stay together, because the import takes seconds.

**The slow tests** (`--dist worksteal`): xdist gives each process an equal share of the list, in order, and a process that is done takes tests from the end
of another's share. So the longest tests come first in each share, and tests with an expensive fixture in common are in the same share. A test says how
many seconds it takes on an idle machine: `@pytest.mark.slow(40)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadGroupScheduling

HERE = Path(__file__).parent
#: What the slow tests are marked with: QUICK of the Makefile.
MARKS = ("integration", "slow", "chaos", "apache", "postgres")
#: Folders whose tests load model libraries.
MODELS = ("tests/scorers/engines/", "tests/ops/lab/build/models/")
#: Fixtures of a session that take seconds to make; the tests of each stay in one process.
EXPENSIVE = ("apache_sasl_tls", "three_nodes", "one_node", "shared_apache", "official_validator")
#: Seconds of a test that does not say how long it takes.
USUAL_S, SLOW_S, DATABASE_S = 1.5, 4.0, 0.3


@cache
def names_a_mark(path: Path) -> bool:
    """True if a test file, or the conftest.py of a folder that it is in, names one of `MARKS`. All other files have quick tests alone."""
    own = path.name == "conftest.py" or any(mark in path.read_text(encoding="utf-8") for mark in MARKS)
    folders = [folder for folder in path.parents if folder.is_relative_to(HERE) and folder != HERE]
    return own or any(names_mark_in(folder / "conftest.py") for folder in folders)


@cache
def names_mark_in(conftest: Path) -> bool:
    """True if this conftest.py is there and names one of `MARKS`."""
    return conftest.is_file() and any(mark in conftest.read_text(encoding="utf-8") for mark in MARKS)


class ModelsTogether(LoadGroupScheduling):
    """Gives the tests of models to one process, and all others one by one.

    xdist 3.8 passes on groups in a test's `_nodeid`, which pytest 9.2 does not read any more: marks alone group nothing.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "models" if nodeid.startswith(MODELS) else nodeid


@dataclass
class Share:
    """The tests that one process begins with. `room`: how many more it takes."""

    room: int
    seconds: float = 0.0
    items: list[pytest.Item] = field(default_factory=list)

    def take(self, items: Sequence[pytest.Item]) -> None:
        self.items += items
        self.room -= len(items)
        self.seconds += sum(map(seconds_of, items))


def shared_out(items: Sequence[pytest.Item], processes: int) -> list[pytest.Item]:
    """The same tests, ordered for `processes` processes that begin with a share each."""
    bundles: dict[str, list[pytest.Item]] = {}
    for item in items:
        bundles.setdefault(bundle_of(item), []).append(item)
    # As xdist divides them: the last shares get the remainder.
    shares = [Share((place + 1) * len(items) // processes - place * len(items) // processes) for place in range(processes)]
    for bundle in sorted(bundles.values(), key=lambda bundle: -sum(map(seconds_of, bundle))):
        rest = bundle
        while rest:
            fitting = [share for share in shares if share.room >= len(rest)]
            share = min(fitting, key=lambda share: share.seconds) if fitting else max(shares, key=lambda share: share.room)
            room = share.room
            share.take(rest[:room])
            rest = rest[room:]
    return [item for share in shares for item in share.items]


def seconds_of(item: pytest.Item) -> float:
    mark = item.get_closest_marker("slow")
    if mark is None:
        return DATABASE_S if item.get_closest_marker("postgres") is not None else USUAL_S
    return float(mark.args[0]) if mark.args else SLOW_S


def fixtures_of(item: pytest.Item) -> tuple[str, ...]:
    """The fixtures of a test, and those that its parameter `broker` asks for by name."""
    chosen = getattr(getattr(item, "callspec", None), "params", {}).get("broker")
    return (*getattr(item, "fixturenames", ()), *([f"shared_{chosen}"] if isinstance(chosen, str) else []))


def bundle_of(item: pytest.Item) -> str:
    """The name of the tests that must stay in one process with this one; its own id if there are none."""
    for name in EXPENSIVE:
        if name in fixtures_of(item):
            return name
    if (group := item.get_closest_marker("xdist_group")) is not None:
        return str(group.args[0])
    if item.get_closest_marker("postgres") is not None:
        return "postgres"
    file = item.nodeid.partition("::")[0]
    definitions = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
    of_file = any(one.scope in {"module", "class"} and one.baseid.partition("::")[0] == file for found in definitions for one in found)
    return file if of_file else item.nodeid
