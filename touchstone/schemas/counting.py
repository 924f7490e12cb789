"""Which records of an append-only log of annotations count. The only place that knows: files, the store, the API and calibration all ask here.

Records are given in the order in which they were written. A later record of the same case, suite, reviewer and review pass replaces the earlier ones. One
that is `withdrawn` says nothing, as if its pass had not been. One that is `settled` decides over all others of its case and suite, whatever their pass. What
is said of one suite's result replaces, settles and withdraws nothing that is said of another's, or of the case as a whole.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol, TypeVar


class Written(Protocol):
    """A record of what a reviewer said of a case: of a file, or a row of the store."""

    @property
    def trace_id(self) -> str:
        """The case."""
        ...

    @property
    def reviewer(self) -> str:
        """Who said it."""
        ...

    @property
    def review_pass(self) -> int:
        """The cycle of review that it belongs to."""
        ...

    @property
    def suite(self) -> str | None:
        """The suite whose result was judged; None for the case as a whole."""
        ...

    @property
    def settled(self) -> bool | None:
        """True if it decides after reviewers disagreed."""
        ...

    @property
    def withdrawn(self) -> bool | None:
        """True if the reviewer took back what was said before."""
        ...


WrittenT = TypeVar("WrittenT", bound=Written)
#: Names what a record is about. By default its trace and its suite.
CaseOf = Callable[[WrittenT], Hashable]


def about(one: Written) -> tuple[str, str | None]:
    """A trace, and the suite whose result was judged."""
    return one.trace_id, one.suite


def newest(records: Iterable[WrittenT], case: CaseOf[WrittenT] = about) -> list[WrittenT]:
    """The newest record of each case, reviewer and pass, in the order in which they began; without those that were withdrawn."""
    found = {(case(one), one.reviewer, one.review_pass): one for one in records}
    return [one for one in found.values() if not one.withdrawn]


def of_each_reviewer(records: Iterable[WrittenT], case: CaseOf[WrittenT] = about) -> list[WrittenT]:
    """What each reviewer says of each case on their own: of the highest pass, the newest record that settles nothing. For agreement between them.

    Who settles a case may have reviewed it before; what they said then is their own word.
    """
    written = list(records)
    taken_back = {(case(one), one.reviewer, one.review_pass): bool(one.withdrawn) for one in written}
    own = [one for one in written if not one.settled and not taken_back[(case(one), one.reviewer, one.review_pass)]]
    return _highest(own, lambda one: (case(one), one.reviewer))


def current(records: Iterable[WrittenT], case: CaseOf[WrittenT] = about) -> list[WrittenT]:
    """What counts now: the settled record of a case, or else what each reviewer says of it. In the order in which the cases were first reviewed."""
    written = list(records)
    standing = newest(written, case)
    own = _highest(standing, lambda one: (case(one), one.reviewer))
    settling = {id(one) for one in standing if one.settled}
    # In the order of writing, not of beginning: of two who settle a case, the last word counts.
    settled = {case(one): one for one in _highest([one for one in written if id(one) in settling], case)}
    found: dict[Hashable, WrittenT] = {}
    for one in own:
        decided = settled.get(case(one))
        found.setdefault((case(one), one.reviewer if decided is None else None), decided or one)
    return list(found.values())


def _highest(records: Iterable[WrittenT], key: CaseOf[WrittenT]) -> list[WrittenT]:
    """Of each key the record of the highest pass, and the newest in it."""
    found: dict[Hashable, WrittenT] = {}
    for one in records:
        before = found.get(key(one))
        if before is None or one.review_pass >= before.review_pass:
            found[key(one)] = one
    return list(found.values())
