"""Does the account close? Topic offsets, committed offsets, the store's outcomes and the dead letters against each other. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from touchstone.streams.account.intervals import Interval, Span, clip, fold, gaps, join, show, size, spans_of, subtract
from touchstone.streams.account.store_port import Account

#: Differences that a store shows while it is behind, and no longer once it has caught up.
LAG_CODES = frozenset({"dead_outcome_missing"})
_FORMER = "of the topic (id {id}) that was deleted, and then made anew under the same name; what it held past these outcomes cannot be known"


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The dead letters of one input partition. `complete`: retention has deleted none of the topic.

    `count` of letters may be more than the offsets they name: sending is at least once.
    """

    offsets: tuple[Span, ...] = ()
    count: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """Everything known of one partition of an input topic.

    `start`, `end`: bounds of the log. `committed`: the group's next offset, None if it never committed.
    `latest_end`: the end read after the store was, None if nothing flowed in between.
    `intervals`: outcomes of every version of the suite, folded. `unmatched`: offsets that are scored without a result or
    a repeat in the store, or the other way round. `first`: the first offset to account for.
    `dead_letters`: None if they were not read. `contradicted`: offsets at which results name two different events.
    `former`: the topic of this id is gone, and another one has its name; `start` and `end` are then the bounds of its outcomes.
    """

    topic: str
    partition: int
    start: int
    end: int
    committed: int | None
    intervals: tuple[Interval, ...] = ()
    scored_without_row: tuple[Span, ...] = ()
    row_without_scored: tuple[Span, ...] = ()
    first: int = 0
    dead_letters: DeadLetters | None = None
    latest_end: int | None = None
    contradicted: tuple[Span, ...] = ()
    topic_id: str = ""
    former: bool = False

    @property
    def settled(self) -> int:
        """The offset below which every event must have an outcome."""
        return self.committed if self.committed is not None else self.first

    @property
    def decided(self) -> int:
        """The offset below which nothing can change any more: what is committed, and what Kafka has deleted since."""
        return self.settled if self.committed is None else max(self.settled, min(self.start, self.end))


@dataclass(frozen=True, slots=True)
class Difference:
    """Two sources that disagree on some offsets. `code` is stable."""

    code: str
    what: str
    offsets: tuple[Span, ...]


@dataclass(slots=True)
class PartitionAccount:
    """The account of one partition: `consumed = scored + skipped + shed + dead + expired + in flight + empty + holes`.

    Outcomes are counted below the committed offset, or below the log's start where that is later; those of events in flight are in `ahead`.
    `expired`: offsets that Kafka deleted before a worker had read them. `empty`: offsets that hold no record (transaction markers, compaction).
    `former`: of a topic that was deleted, and whose name another one has now.
    """

    topic: str
    partition: int
    start: int
    end: int
    committed: int | None
    consumed: int
    scored: int
    skipped: dict[str, int]
    shed: dict[str, int]
    dead: dict[str, int]
    in_flight: int
    ahead: int
    expired: list[Span] = field(default_factory=list)
    empty: int = 0
    holes: list[Span] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    topic_id: str = ""
    former: bool = False

    @property
    def closes(self) -> bool:
        """True if there is no hole, no difference, and nothing that was deleted unread."""
        return not self.holes and not self.differences and not self.expired

    @property
    def contradicted(self) -> bool:
        """True if there is a difference that records still to be read cannot resolve."""
        return any(one.code not in LAG_CODES for one in self.differences)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "topic": self.topic,
            "topic_id": self.topic_id,
            "former": self.former,
            "partition": self.partition,
            "start": self.start,
            "end": self.end,
            "committed": self.committed,
            "consumed": self.consumed,
            "scored": self.scored,
            "skipped": self.skipped,
            "shed": self.shed,
            "dead": self.dead,
            "expired": self.expired,
            "in_flight": self.in_flight,
            "ahead": self.ahead,
            "empty": self.empty,
            "holes": self.holes,
            "differences": [{"code": one.code, "what": one.what, "offsets": one.offsets} for one in self.differences],
            "notes": self.notes,
            "closes": self.closes,
        }


@dataclass(slots=True)
class Reconciliation:
    """The verdict on a suite. `behind`: records of the results topic that the store has not read."""

    suite: str
    partitions: list[PartitionAccount]
    behind: int
    drained: bool

    @property
    def in_flight(self) -> int:
        """Events read or waiting, not committed."""
        return sum(one.in_flight for one in self.partitions)

    @property
    def closes(self) -> bool:
        """Every partition closes, and nothing is in flight where the caller asked for that."""
        return all(one.closes for one in self.partitions) and not (self.drained and self.in_flight)

    @property
    def undecided(self) -> bool:
        """It does not close, but all that is missing may be among the results that the store has not read."""
        if self.closes or not self.behind or (self.drained and self.in_flight):
            return False
        return not any(one.contradicted for one in self.partitions)

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "suite": self.suite,
            "closes": self.closes,
            "undecided": self.undecided,
            "behind": self.behind,
            "in_flight": self.in_flight,
            "drained": self.drained,
            "partitions": [one.as_json() for one in self.partitions],
        }


def candidate_holes(facts: PartitionFacts) -> list[Span]:
    """Offsets below the committed one without an outcome; the topic shows whether they hold a record."""
    return gaps(facts.intervals, facts.first, min(facts.settled, facts.end))


def judge(facts: PartitionFacts, present: Iterable[int] | None = None, waiting: int | None = None) -> PartitionAccount:
    """Close the account of one partition.

    `present`: those of the candidate holes that hold a record; None: not looked up, every candidate counts as a hole.
    `waiting`: how many offsets from the committed one on hold a record; None: not looked up, all of them.
    """
    ahead = max(0, facts.end - facts.decided)
    in_flight = ahead if waiting is None else waiting
    candidates = candidate_holes(facts)
    holes = candidates if present is None else _within(candidates, present)
    below = clip(facts.intervals, facts.first, facts.decided)
    untold = gaps(facts.intervals, facts.settled, facts.decided)
    account = PartitionAccount(
        facts.topic,
        facts.partition,
        facts.start,
        facts.end,
        facts.committed,
        consumed=max(0, facts.end - facts.first),
        scored=size(spans_of(below, "scored")),
        skipped=_by_reason(below, "skipped"),
        shed=_by_reason(below, "shed"),
        dead=_by_reason(below, "dead"),
        in_flight=in_flight,
        ahead=sum(one.length for one in clip(facts.intervals, facts.decided, facts.end)),
        expired=join([*spans_of(below, "expired"), *untold]),
        empty=size(candidates) - size(holes) + ahead - in_flight,
        holes=holes,
        topic_id=facts.topic_id,
        former=facts.former,
    )
    if facts.former:
        account.notes.append(_FORMER.format(id=facts.topic_id or "not known"))
    account.notes += _below_the_log(facts, candidates, untold)
    account.differences += _bounds(facts)
    account.differences += _rows(facts)
    if facts.dead_letters is not None:
        _compare_dead_letters(facts, facts.dead_letters, account)
    return account


def _below_the_log(facts: PartitionFacts, candidates: Sequence[Span], untold: Sequence[Span]) -> Iterable[str]:
    """What cannot be looked up, because Kafka no longer has it."""
    if untold:
        yield f"{size(untold)} of the expired offsets are not in the ledger yet: the next worker that reads the partition writes them"
    gone = size(subtract(candidates, [(facts.start, facts.end)]))
    if gone and not facts.former:
        what = "transaction markers, compaction, or events that were deleted while no worker could tell"
        yield f"{gone} empty offsets are below the log's start {facts.start}, so nothing shows what they were: {what}"


def _within(spans: Sequence[Span], offsets: Iterable[int]) -> list[Span]:
    """Those offsets that lie in the spans."""
    joined = join((offset, offset) for offset in offsets)
    return subtract(joined, subtract(joined, spans))


def _by_reason(intervals: Iterable[Interval], outcome: str) -> dict[str, int]:
    """Reason → count, in name order."""
    counts: Counter[str] = Counter()
    for interval in intervals:
        if interval.outcome == outcome:
            counts[interval.reason] += interval.length
    return dict(sorted(counts.items()))


def _bounds(facts: PartitionFacts) -> Iterable[Difference]:
    """Outcomes or commits of offsets that the topic does not have yet: it was recreated."""
    # While events flow, the store knows of later ones than `end` does.
    end = facts.end if facts.latest_end is None else max(facts.end, facts.latest_end)
    beyond = join((one.first, one.last) for one in clip(facts.intervals, end, 2**63))
    if beyond:
        what = f"outcomes at or past the end offset {end} (the topic was recreated; give it a new store)"
        yield Difference("outcome_past_end", what, tuple(beyond))
    if facts.committed is not None and facts.committed > end:
        what = f"the group committed {facts.committed}, past the end offset {end} (the topic was recreated; reset the group)"
        yield Difference("commit_past_end", what, ((end, facts.committed - 1),))


def _rows(facts: PartitionFacts) -> Iterable[Difference]:
    """`scored offsets = result rows + repeats`, offset by offset."""
    if facts.scored_without_row:
        yield Difference("result_missing", "scored, but the store has neither a result nor a repeat", facts.scored_without_row)
    if facts.contradicted:
        what = "results of two different events (the topic was made anew and its broker gives no topic ids, or the log was cut back)"
        yield Difference("position_contradicted", what, facts.contradicted)
    if facts.row_without_scored:
        yield Difference("outcome_missing", "the store has a result or a repeat, but no outcome", facts.row_without_scored)


def _compare_dead_letters(facts: PartitionFacts, letters: DeadLetters, account: PartitionAccount) -> None:
    """Every dead outcome has its letter, and every letter below the committed offset its outcome."""
    # Below the committed offset only: there, outcome and letter were both acknowledged before anybody looked.
    dead = spans_of(clip(facts.intervals, facts.first, facts.settled), "dead")
    lost = subtract(dead, letters.offsets)
    if lost and letters.complete:
        account.differences.append(Difference("dead_letter_missing", "dead, but without a dead letter", tuple(lost)))
    elif lost:
        account.notes.append(f"{size(lost)} dead letters are no longer in the topic (retention): offsets {show(lost)}")
    # A letter in flight may precede its outcome; one whose event a later version scored is only history.
    outcomes = join((one.first, one.last) for one in facts.intervals)
    orphans = [span for span in subtract(letters.offsets, outcomes) if span[0] < facts.settled]
    if orphans:
        orphans = [(first, min(last, facts.settled - 1)) for first, last in orphans]
        account.differences.append(Difference("dead_outcome_missing", "a dead letter, but no outcome", tuple(orphans)))
    every_dead = spans_of(facts.intervals, "dead")
    answered = subtract(subtract(letters.offsets, every_dead), subtract(letters.offsets, outcomes))
    if answered:
        account.notes.append(f"{size(answered)} dead letters of events that were scored in the end: offsets {show(answered)}")
    if letters.count > size(letters.offsets):
        account.notes.append(f"{letters.count - size(letters.offsets)} dead letters were sent more than once")


def facts_of_accounts(accounts: Sequence[Account]) -> tuple[tuple[Interval, ...], tuple[Span, ...], tuple[Span, ...]]:
    """Several versions' accounts of one partition as one: outcomes folded; scored without a row; rows without a score."""
    without_row: list[Span] = []
    without_score: list[Span] = []
    for account in accounts:
        scored = spans_of(account.intervals, "scored")
        without_row += subtract(scored, account.rows)
        without_score += subtract(account.rows, scored)
    folded = fold(interval for account in accounts for interval in account.intervals)
    return tuple(folded), tuple(join(without_row)), tuple(join(without_score))
