"""Which cases the archive keeps: a function of the result's suite and label, and of a hash of the event's id, so that every process decides alike."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

#: Labels that every policy but `none` keeps.
ALWAYS = frozenset({"Fail", "unscored"})
_DEFAULT = ""
_SHARES = {"all": 1.0, "failed": 0.0}


@dataclass(frozen=True, slots=True)
class Policy:
    """Suite → the share of its results that is kept besides Fail and unscored; None: nothing is kept. The key of every other suite is empty."""

    shares: dict[str, float | None]

    @classmethod
    def of(cls, entries: Sequence[str]) -> "Policy":
        """The policy of `archive.policy`, whose entries are valid. Suites without an entry of their own have that without a name, or `failed`."""
        shares: dict[str, float | None] = {_DEFAULT: 0.0}
        for entry in entries:
            suite, _, policy = entry.rpartition("=")
            shares[suite] = None if policy == "none" else _SHARES[policy] if policy in _SHARES else float(policy)
        return cls(shares)

    def keeps(self, suite: str, label: str, event_id: str) -> bool:
        """True if the case of a result is kept."""
        share = self.shares.get(suite, self.shares[_DEFAULT])
        if share is None:
            return False
        return label in ALWAYS or share >= 1 or point_of(event_id) < share


def point_of(event_id: str) -> float:
    """A number from 0 to 1 that an id always has: a share keeps the same events in every suite."""
    return int.from_bytes(hashlib.sha256(b"archive\0" + event_id.encode("utf-8", "surrogatepass")).digest()[:7]) / 2**56
