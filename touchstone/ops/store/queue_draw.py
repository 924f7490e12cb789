"""Draws the cases of a queue: by hash, so that the same seed over the same results draws the same cases in the same order."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import ceil
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select

from touchstone.ops.store.case_filter import CaseFilter, FilterError
from touchstone.ops.store.case_query import where
from touchstone.ops.store.queue_rows import CASES_MAX, Definition
from touchstone.ops.store.schema import results
from touchstone.schemas.annotation import Arm

#: Events of a stratified draw that are looked at: their strata are only known when all are read.
STRATIFIED_MAX: Final = 1_000_000
_ROWS_AT_A_TIME: Final = 5_000
_HASHES: Final = 2**64
#: What both arms have in common: which cases there are at all. The rest of a filter chooses among them.
_FRAME: Final = ("suite", "since", "until", "kept", "source", "scope")
_COLUMNS: Final = {"label": results.c.label, "suite": results.c.suite, "model": results.c.model}


class Drawn(NamedTuple):
    """A case of a queue."""

    event_id: str
    result_id: str
    arm: Arm


class _Found(NamedTuple):
    """An event with the newest of its results that fit."""

    hash: int
    event_id: str
    scored_at: int
    result_id: str
    stratum: str


def draw(connection: Connection, definition: Definition, wanted: CaseFilter) -> list[Drawn]:
    """The cases of a queue, in the order of review. Raises `FilterError` if they are too many, or none.

    The random arm is drawn first, so that what the filter chooses changes nothing about it; a case that both arms would have is a random one.
    """
    seed = definition.seed
    chosen = _chosen(connection, definition, wanted)
    frame = _frame(wanted)
    if frame == replace(wanted, sort=frame.sort) and definition.stratify is None:
        # The filter chooses nothing: what was drawn is a random sample.
        cases = [Drawn(one.event_id, one.result_id, "random") for one in chosen]
    else:
        size = _random_size(definition, len(chosen))
        random = _lowest(_found(connection, frame, lambda event: _hash("random", seed, event)), size) if size else []
        named = {one.event_id for one in random}
        cases = [Drawn(one.event_id, one.result_id, "random") for one in random]
        more = _chosen(connection, definition, wanted, spare=len(named)) if any(one.event_id in named for one in chosen) else chosen
        cases += [Drawn(one.event_id, one.result_id, "chosen") for one in more if one.event_id not in named][: len(chosen)]
    if not cases:
        raise FilterError("no case fits; look at the same filter in /cases")
    return sorted(_bounded(cases), key=lambda one: (_hash("order", seed, one.event_id), one.event_id))


def _frame(wanted: CaseFilter) -> CaseFilter:
    """The filter without what chooses by the results themselves."""
    return CaseFilter(**{name: getattr(wanted, name) for name in _FRAME})


def _random_size(definition: Definition, chosen: int) -> int:
    """How many cases are drawn at random beside so many chosen ones."""
    if definition.random_size is not None:
        return definition.random_size
    return ceil(chosen * definition.random_share / (1 - definition.random_share) - 1e-9)


def _chosen(connection: Connection, definition: Definition, wanted: CaseFilter, spare: int = 0) -> list[_Found]:
    """Those that fit: all, the first ones by hash, or a share; of each stratum the same. `spare`: so many more, in place of some that are left out."""
    found = _found(connection, wanted, lambda event: _hash("chosen", definition.seed, event), definition.stratify)
    if definition.stratify is not None:
        return _stratified(list(_newest(found, STRATIFIED_MAX)), definition)
    if definition.share is not None:
        limit = definition.share * _HASHES
        found = (one for one in found if one.hash < limit)
    if definition.size is not None:
        return _lowest(found, definition.size + spare)
    return list(_newest(found, CASES_MAX))


def _stratified(found: Sequence[_Found], definition: Definition) -> list[_Found]:
    """As many of each stratum; what a small one does not have, the larger ones give. With a share: that share of each."""
    strata: dict[str, list[_Found]] = {}
    for one in sorted(found):
        strata.setdefault(one.stratum, []).append(one)
    if definition.size is None:
        share = definition.share or 1.0
        return [one for members in strata.values() for one in members[: ceil(len(members) * share)]]
    left, drawn = definition.size, []
    for place, members in enumerate(sorted(strata.values(), key=len)):
        part = members[: ceil(left / (len(strata) - place))]
        drawn += part
        left -= len(part)
    return drawn


def _found(connection: Connection, wanted: CaseFilter, hash_of: Callable[[str], int], stratify: str | None = None) -> Iterable[_Found]:
    """Every result that fits, in no order."""
    stratum = _COLUMNS[stratify] if stratify is not None else results.c.suite
    query = select(results.c.event_id, results.c.scored_at, results.c.result_id, stratum).where(*where(wanted))
    for row in connection.execute(query.execution_options(yield_per=_ROWS_AT_A_TIME)):
        yield _Found(hash_of(row[0]), *row)


@dataclass(slots=True)
class _Kept:
    """Event id → its newest result."""

    rows: dict[str, _Found]

    def add(self, one: _Found) -> None:
        known = self.rows.get(one.event_id)
        if known is None or one[2:4] > known[2:4]:
            self.rows[one.event_id] = one


def _newest(found: Iterable[_Found], most: int) -> Iterable[_Found]:
    """The newest result of each event. Raises `FilterError` for more events than this."""
    kept = _Kept({})
    for one in found:
        kept.add(one)
        if len(kept.rows) > most:
            raise FilterError(f"more than {most:,} cases fit; give a size or a share, or narrow the filter")
    return kept.rows.values()


def _lowest(found: Iterable[_Found], size: int) -> list[_Found]:
    """The events with the lowest hashes. Never more than twice as many are held."""
    kept, limit = _Kept({}), _HASHES
    for one in found:
        if one.hash < limit:
            kept.add(one)
            if len(kept.rows) > 2 * size:
                lowest = sorted(kept.rows.values())[:size]
                kept, limit = _Kept({one.event_id: one for one in lowest}), lowest[-1].hash + 1
    return sorted(kept.rows.values())[:size]


def _bounded(cases: list[Drawn]) -> list[Drawn]:
    if len(cases) > CASES_MAX:
        raise FilterError(f"the queue would have more than {CASES_MAX:,} cases; give a size or a share, or narrow the filter")
    return cases


def _hash(arm: str, seed: int, event_id: Any) -> int:
    """A number below 2^64 that looks random, and is always the same."""
    return int.from_bytes(blake2b(f"{arm}\0{seed}\0{event_id}".encode(), digest_size=8).digest(), "big")
