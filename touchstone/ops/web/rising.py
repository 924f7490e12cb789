"""What has become more frequent lately: codes and failed cases, per suite and in its slices, whose share grew by more than chance."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from touchstone.ops.web.suite_documents import suite_or_placeholder
from touchstone.ops.web.times import MINUTE_MS, utc
from touchstone.scorers.suite import Suite
from touchstone.streams.subscription.events import Event

#: The last third of the period is compared with the rest of it.
RECENT_SHARE = 1 / 3
#: Each side needs so many results, and what rises so many of them; with fewer, a difference says nothing.
SIDE_MIN, COUNT_MIN = 20, 3
#: The chance of one false alarm or more in one summary, however many comparisons it makes.
ALPHA = 0.01
SHOWN = 8

#: A slice of a suite's results: all of them ("", ""), or those with a concern or a model.
Slice = tuple[str, str]
#: What may rise: a finding's code, or a label.
Subject = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One comparison: so many of so many results before, and lately. `chance`: how probable it is that nothing changed."""

    subject: Subject
    slice: Slice
    before: int
    before_of: int
    count: int
    of: int
    chance: float


def rising(events: Iterable[Event], suites: Mapping[str, Suite], *, now_ms: int, minutes: int) -> list[dict[str, Any]]:
    """Codes and failures that have become more frequent, the largest growth first. `events`: results of the period, the latest first, each once.

    A share is compared with Fisher's exact test, one-sided, because counts are small and shares near zero, where a normal approximation gives false
    alarms. Hundreds of codes and slices are compared at once, so each must pass `ALPHA` divided by the number of comparisons (Bonferroni).
    Only results of a suite's latest version and configuration are compared: another one measures something else. Of a code that rises in several
    slices, the slice in which chance explains it least is reported.
    """
    by_suite: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.suite is not None:
            own = by_suite[event.suite]
            if not own or event.scored_with == own[0].scored_with:
                own.append(event)
    since_ms = int(now_ms - minutes * MINUTE_MS * RECENT_SHARE)
    found = {name: _compared(own, since_ms) for name, own in by_suite.items()}
    limit = ALPHA / max(1, sum(map(len, found.values())))
    entries: list[dict[str, Any]] = []
    for name, candidates in found.items():
        best: dict[Subject, _Candidate] = {}
        for one in candidates:
            if one.chance <= limit and (one.subject not in best or one.chance < best[one.subject].chance):
                best[one.subject] = one
        suite = suite_or_placeholder(suites, name)
        entries += [_entry(suite, one, by_suite[name], since_ms, now_ms, minutes) for one in best.values()]
    return sorted(entries, key=lambda entry: (-entry["more"], entry["suite"], entry["code"] or ""))[:SHOWN]


def _compared(events: Sequence[Event], since_ms: int) -> list[_Candidate]:
    """Every comparison of one suite that has enough results."""
    sizes: dict[bool, Counter[Slice]] = {True: Counter(), False: Counter()}
    counts: dict[bool, Counter[tuple[Subject, Slice]]] = {True: Counter(), False: Counter()}
    for event in events:
        is_recent = event.at_ms >= since_ms
        slices = list(_slices(event))
        sizes[is_recent].update(slices)
        counts[is_recent].update([(subject, part) for subject in _subjects(event) for part in slices])
    found = []
    for (subject, part), count in counts[True].items():
        of, before_of, before = sizes[True][part], sizes[False][part], counts[False][subject, part]
        if min(of, before_of) >= SIDE_MIN and count >= COUNT_MIN:
            chance = chance_of(count, of, before, before_of) if count * before_of > before * of else 1.0
            found.append(_Candidate(subject, part, before, before_of, count, of, chance))
    return found


def chance_of(count: int, of: int, before: int, before_of: int) -> float:
    """The probability of `count` or more in the recent results if the share never changed: Fisher's exact test, one-sided."""
    total, marked = of + before_of, count + before
    whole = _log_choose(total, of)
    first = math.exp(_log_choose(marked, count) + _log_choose(total - marked, of - count) - whole)
    chance = term = first
    for number in range(count + 1, min(marked, of) + 1):
        term *= (marked - number + 1) * (of - number + 1) / (number * (total - marked - of + number))
        chance += term
        if term < chance * 1e-12:
            break
    return min(1.0, chance)


def _log_choose(total: int, part: int) -> float:
    return math.lgamma(total + 1) - math.lgamma(part + 1) - math.lgamma(total - part + 1)


def _slices(event: Event) -> Iterator[Slice]:
    yield "", ""
    if event.concern:
        yield "concern", event.concern
    if event.model:
        yield "model", event.model


def _subjects(event: Event) -> Iterator[Subject]:
    for code in event.codes:
        yield "code", code
    if event.label == "Fail":
        yield "label", "Fail"


def _entry(suite: Suite, one: _Candidate, events: Sequence[Event], since_ms: int, now_ms: int, minutes: int) -> dict[str, Any]:
    """One entry, with its count in each minute of the period."""
    first = now_ms // MINUTE_MS - minutes
    course = [0] * (minutes + 1)
    for event in events:
        place = event.at_ms // MINUTE_MS - first
        if 0 <= place <= minutes and one.slice in _slices(event) and one.subject in _subjects(event):
            course[place] += 1
    (kind, name), (slice_kind, slice_name) = one.subject, one.slice
    return {
        "suite": suite.name,
        "title": suite.title or suite.name,
        "code": name if kind == "code" else None,
        "label": name if kind == "label" else None,
        "concern": slice_name if slice_kind == "concern" else None,
        "model": slice_name if slice_kind == "model" else None,
        "suite_version": events[0].scored_with[0],
        "config_digest": events[0].scored_with[1],
        "count": one.count,
        "of": one.of,
        "before": one.before,
        "before_of": one.before_of,
        "more": round(one.count - one.before / one.before_of * one.of),
        "since": utc(since_ms),
        "minutes": course,
    }
