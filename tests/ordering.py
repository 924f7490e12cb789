"""Where several processes of pytest share the slow tests: which begins with which, so that they end together and nothing dear is made twice.

xdist's `worksteal` gives each process an equal share of the list from its beginning on, and whoever is done takes over from the end of another's share. So
the longest tests stand first in each share and the shortest last. A test says how long it takes, in seconds on an idle machine: `@pytest.mark.slow(40)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

#: Fixtures of a session that take seconds to make; the tests of each stay in one process.
DEAR = ("apache_sasl_tls", "three_nodes", "one_node", "official_validator")
#: Of a test that does not say how long it takes.
USUAL_S, SLOW_S, DATABASE_S = 1.5, 4.0, 0.3


@dataclass
class Share:
    """What one process begins with. `room`: how many more tests it takes."""

    room: int
    seconds: float = 0.0
    items: list[pytest.Item] = field(default_factory=list)

    def take(self, items: Sequence[pytest.Item]) -> None:
        """Put them at the end."""
        self.items += items
        self.room -= len(items)
        self.seconds += sum(map(seconds_of, items))


def shared_out(items: Sequence[pytest.Item], processes: int) -> list[pytest.Item]:
    """The same tests in the order in which `processes` processes begin with a share each."""
    bundles: dict[str, list[pytest.Item]] = {}
    for item in items:
        bundles.setdefault(bundle_of(item), []).append(item)
    # As the scheduler divides: what is over goes to the last ones.
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
    """About how long a test takes."""
    mark = item.get_closest_marker("slow")
    if mark is None:
        return DATABASE_S if item.get_closest_marker("postgres") is not None else USUAL_S
    return float(mark.args[0]) if mark.args else SLOW_S


def bundle_of(item: pytest.Item) -> str:
    """What a test has in common with those that it is to stay with; its own name where there is nothing."""
    for name in DEAR:
        if name in getattr(item, "fixturenames", ()):
            return name
    if (group := item.get_closest_marker("xdist_group")) is not None:
        return str(group.args[0])
    if item.get_closest_marker("postgres") is not None:
        return "postgres"
    file = item.nodeid.partition("::")[0]
    definitions = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
    of_file = any(one.scope in {"module", "class"} and one.baseid.partition("::")[0] == file for found in definitions for one in found)
    return file if of_file else item.nodeid
