"""The promises as checks on evidence. Each gives the violations that it finds, as text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from sqlalchemy import select

from touchstone.ops.batch.data_directory import find_batches
from touchstone.ops.batch.run import Run
from touchstone.ops.lab.chaos.evidence import Evidence, Position
from touchstone.ops.lab.chaos.grounds import SUITE, Field
from touchstone.ops.lab.chaos.observer import Sample
from touchstone.ops.lab.chaos.plan import CANARY, CONCERN, FORMER, Plan
from touchstone.ops.store.engine import reading
from touchstone.ops.store.reports import StoredEntries, Wanted, choose
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import results
from touchstone.scorers.base import ConfigError
from touchstone.scorers.registry import load_suite
from touchstone.scorers.safe.batch import summary_of
from touchstone.scorers.safe.settings import SafeSettings

NEVER = 2**62
_SHOWN_MAX = 3


@dataclass
class Counts:
    """The events of one run, counted."""

    events: int = 0
    lost: int = 0
    doubled: int = 0
    dead: int = 0
    dead_expected: int = 0
    duplicates: int = 0
    expired: int = 0
    violations: list[str] = field(default_factory=list)


def check_topics(plan: Plan, evidence: Evidence, deleted: Mapping[int, int] | None = None) -> Counts:
    """Every event exactly one result id, every poison record exactly one dead letter, and nothing else.

    `deleted`: partition → the offset below which records were deleted; what has expired is among them, and is not missing.
    """
    counts = Counts(len(evidence.places), duplicates=evidence.duplicates)
    say = counts.violations.append
    fed = Counter(plan.records[place].place for place in evidence.places.values())
    missing_input = len(plan.records) - len(fed)
    if missing_input:
        say(f"{missing_input} planned records never reached the input topic: the harness itself failed")
    counts.expired = len(evidence.gone)
    places = {at: place for at, place in evidence.places.items() if at not in evidence.gone}
    poison = {at for at, place in places.items() if plan.records[place].poison}
    good = {at: plan.cases[plan.records[place].case]["id"] for at, place in places.items() if at not in poison}
    untrue = [at for at in evidence.expired if at.offset >= (deleted or {}).get(at.partition, 0)]
    if untrue:
        say(f"{len(untrue)} offsets are told as expired, and were not deleted: {_some(untrue)}")
    if deleted and not counts.expired:
        say("nothing was deleted unread: the harness itself failed")
    ids = evidence.result_ids
    expected = set(good.values())
    lost_events, lost_poison = expected - ids.keys(), poison - evidence.letters.keys()
    counts.lost = len(lost_events) + len(lost_poison)
    counts.doubled = sum(len(ids[event]) > 1 for event in expected & ids.keys())
    counts.dead, counts.dead_expected = len(evidence.letters.keys() & poison), len(poison)
    counts.dead += len(evidence.bombs & evidence.defused)
    counts.dead_expected += len(evidence.bombs)
    if unaccounted := evidence.bombs - (evidence.defused & evidence.ledger.keys()):
        say(f"{len(unaccounted)} records of batches that unpack to too much have no dead letter or no ledger record: {_some(unaccounted)}")
    if evidence.defused - evidence.bombs:
        say(f"{len(evidence.defused - evidence.bombs)} events are dead with a batch that is not theirs: {_some(evidence.defused - evidence.bombs)}")
    if lost_events:
        say(f"{len(lost_events)} events without a result: {_some(lost_events)}")
    if lost_poison:
        say(f"{len(lost_poison)} poison records without a dead letter: {_some(lost_poison)}")
    if counts.doubled:
        say(f"{counts.doubled} events with more than one result id")
    without_own = [at for at in good if at not in evidence.results]
    if without_own:
        say(f"{len(without_own)} records have no result that names them as its source: {_some(without_own)}")
    unknown = (ids.keys() - expected) | {str(at) for at in evidence.results.keys() - good.keys()}
    if unknown:
        say(f"{len(unknown)} results without an event: {_some(unknown)}")
    wrongly_dead = evidence.letters.keys() - poison
    if wrongly_dead:
        say(f"{len(wrongly_dead)} good events have a dead letter: {_some(wrongly_dead)}")
    broken = [letter.at for letters in evidence.letters.values() for letter in letters if not letter.intact]
    if broken:
        say(f"{len(broken)} dead letters differ from their original: {_some(broken)}")
    if evidence.unreadable:
        say(f"{evidence.unreadable} records of the results topic are neither result nor ledger")
    return counts


def check_commits(evidence: Evidence, samples: Sequence[Sample]) -> Iterator[str]:
    """The committed offset, whenever it was looked at, is not past the first event without an acknowledged outcome.

    For every source record, the first sample is found whose high watermarks cover its outcome; an earlier sample that shows the record as
    committed is a violation. A dead letter needs its ledger record as well.
    """
    for partition in range(len(samples[0].committed) if samples else 0):
        offsets = sorted(at.offset for at in evidence.places if at.partition == partition)
        covered = list(accumulate((_covered_from(evidence, Position(partition, offset), samples) for offset in offsets), max))
        reached = 0
        reported = 0
        # Committed offsets may go backwards after a rebalance, so the count of records below is looked up each time.
        below = {offset: index for index, offset in enumerate(offsets)}
        for index, sample in enumerate(samples):
            committed = sample.committed[partition]
            reached = below.get(committed, len(offsets) if offsets and committed > offsets[-1] else reached)
            if reached and covered[reached - 1] > index and reported < _SHOWN_MAX:
                reported += 1
                open_offset = next(offset for offset, first in zip(offsets, covered, strict=True) if first > index)
                yield f"partition {partition}: {committed} was committed while offset {open_offset} had no acknowledged outcome (sample {index})"


def _covered_from(evidence: Evidence, at: Position, samples: Sequence[Sample]) -> int:
    """The first sample that shows the outcome of a source record acknowledged; `NEVER` where none does."""
    if at in evidence.results:
        return min(_acknowledged(result.at, [sample.results for sample in samples]) for result in evidence.results[at])
    if at in evidence.gone:
        return min(_acknowledged(position, [sample.results for sample in samples]) for position in evidence.ledger[at])
    letters = [_acknowledged(letter.at, [sample.dead for sample in samples]) for letter in evidence.letters.get(at, ())]
    ledger = [_acknowledged(position, [sample.results for sample in samples]) for position in evidence.ledger.get(at, ())]
    return max(min(letters, default=NEVER), min(ledger, default=NEVER))


def _acknowledged(at: Position, watermarks: Sequence[tuple[int, ...]]) -> int:
    """Index of the first sample whose high watermark is above the position; watermarks only rise."""
    low, high = 0, len(watermarks)
    while low < high:
        middle = (low + high) // 2
        if watermarks[middle][at.partition] > at.offset:
            high = middle
        else:
            low = middle + 1
    return low if low < len(watermarks) else NEVER


def check_store(field: Field, plan: Plan, evidence: Evidence, counts: Counts) -> Iterator[str]:
    """Exactly one stored result id per event, and batch reports as the batch command gives them."""
    try:
        store = ResultStore.open(field.settings.store.url.get_secret_value())
    except ConfigError as error:
        yield f"the store: {error}"
        return
    try:
        with reading(store.engine) as connection:
            rows = Counter(row.event_id for row in connection.execute(select(results.c.event_id).where(results.c.concern_id != FORMER)))
        gone = {plan.records[evidence.places[at]].case for at in evidence.gone}
        expected = {case["id"] for number, case in enumerate(plan.cases) if number not in gone}
        lost, doubled = expected - rows.keys(), [event for event, count in rows.items() if count > 1]
        counts.lost, counts.doubled = max(counts.lost, len(lost)), max(counts.doubled, len(doubled))
        if lost:
            yield f"{len(lost)} events have no result in the store: {_some(lost)}"
        if doubled:
            yield f"{len(doubled)} events have several results in the store: {_some(doubled)}"
        if rows.keys() - expected:
            yield f"{len(rows.keys() - expected)} stored results without an event"
        yield from _check_reports(field, plan, evidence, store)
    finally:
        store.close()


def _check_reports(field: Field, plan: Plan, evidence: Evidence, store: ResultStore) -> Iterator[str]:
    """Every batch: the report from the store and the last report event against the batch command's report from files."""
    data = field.folder / "batches"
    plan.write_batches(data)
    suite, settings = load_suite(SUITE), SafeSettings()
    # A batch that lacks an expired case never has its final report.
    incomplete = {plan.cases[plan.records[evidence.places[at]].case]["batch_id"] for at in evidence.gone}
    for batch in sorted({case["batch_id"] for case in plan.cases} - incomplete):
        run = Run(suite, settings, asked={"concern_id": CONCERN, "batch_id": batch})
        facts = run.score(find_batches(data, CONCERN, batch))
        wanted = suite.report(run.entries, facts).batch
        try:
            with StoredEntries(store, choose(store, Wanted(SUITE, CONCERN, batch, one_concern=True))) as entries:
                stored = suite.report(entries, facts).batch
        except ConfigError as error:
            yield f"batch {batch}: {error}"
            continue
        if stored.model_dump_json() != wanted.model_dump_json():
            yield f"batch {batch}: the report from the store ({stored.total_cases} cases) is not the batch command's ({wanted.total_cases} cases)"
        event = evidence.reports.get(batch)
        if event is None or not event["final"] or event["summary"] != summary_of(wanted).model_dump(by_alias=True):
            yield f"batch {batch}: its last report event is {'missing' if event is None else 'not the final, right one'}"


def check_logs(logs: Iterable[Path]) -> Iterator[str]:
    """No payload text in any process's log."""
    for path in logs:
        if path.exists() and CANARY.encode() in path.read_bytes():
            yield f"{path.name} holds payload text"


def _some(found: Iterable[object]) -> str:
    """A few of them, for a message."""
    listed = sorted(map(str, found))
    return ", ".join(listed[:_SHOWN_MAX]) + (f" and {len(listed) - _SHOWN_MAX} more" if len(listed) > _SHOWN_MAX else "")
