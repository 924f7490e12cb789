"""Results and batches from the window in memory: the worst of the latest, and single ones with position and replay command."""

import heapq
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from touchstone.ops.web.access import Grant
from touchstone.ops.web.quoting import without_text
from touchstone.ops.web.times import utc
from touchstone.scorers.suite import Suite
from touchstone.streams.subscription.events import Event, Filter, Outcomes
from touchstone.streams.subscription.window import Seen, Window

FINDINGS_SHOWN = 20
#: Label → rank, the worst first.
WORSE = {"Fail": 0, "unscored": 1, "Review": 2, "Warn": 3, "Pass": 4}
#: Outcomes without a result that someone may ask about; skipped events were not meant for the suite.
LOST = ("dead", "shed", "expired")
_PLAIN = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def badness(event: Event, suite: Suite | None) -> tuple[float, ...]:
    """The sort key of results, worst first: label, mean of the listed values, severe findings; then the latest."""
    columns = suite.columns if suite is not None else ()
    scale = suite.value_max if suite is not None else 1.0
    good = [
        (event.values[column.value] / scale if column.better == "higher" else 1 - event.values[column.value] / scale)
        for column in columns
        if column.better is not None and column.value in event.values
    ]
    return (WORSE.get(event.label or "", 2), sum(good) / len(good) if good else 1.0, -event.fails, -event.at_ms)


def worst(results: Iterable[Seen], suites: Mapping[str, Suite], limit: int) -> list[dict[str, Any]]:
    """The worst of the results, in short."""
    chosen = heapq.nsmallest(limit, results, key=lambda seen: badness(seen.event, suites.get(seen.event.suite or "")))
    return [described(seen.event, suites) for seen in chosen]


def described(event: Event, suites: Mapping[str, Suite]) -> dict[str, Any]:
    """A result in short: ids, label, values, and findings without their texts."""
    document = orjson.loads(event.value)
    suite = suites.get(event.suite or "")
    findings = document.get("findings") or ()
    return {
        "result_id": event.key,
        "event_id": document.get("event_id"),
        "case_id": document.get("case_id"),
        "name": _case_name(document, suite),
        "suite": event.suite,
        "label": event.label,
        "values": dict(event.values),
        "findings": [{name: finding.get(name) for name in ("severity", "code", "path")} for finding in findings[:FINDINGS_SHOWN]],
        "findings_total": len(findings),
        "failures": [{name: failure.get(name) for name in ("component", "kind", "code")} for failure in document.get("failures") or ()],
        "concern_id": event.concern,
        "batch_id": event.batch,
        "at": utc(event.at_ms),
    }


def found_result(window: Window, result_id: str, grant: Grant, suites: Mapping[str, Suite], topic: str) -> dict[str, Any] | None:
    """One result as on its topic, the position of its event, and a command to score that again; None if it is not in the window.

    `topic`: of the results. Without the right to text, what may quote the case is left out.
    """
    seen = window.results.get(result_id)
    if seen is None or not grant.sees(seen.event.suite):
        return None
    event = seen.event
    document = orjson.loads(event.value)
    return {
        **described(event, suites),
        "event": document if grant.may("text") else without_text(document),
        "position": {"topic": topic, "partition": event.place[1], "offset": event.offset},
        "source": document.get("source"),
        "replay": replay(document),
    }


def replay(document: Mapping[str, Any]) -> str | None:
    """A command that scores the event again on a machine that can read its topic or file; None if its place cannot be written safely in a shell."""
    source, suite = document.get("source") or {}, document.get("suite")
    file = source.get("file")
    if isinstance(file, str) and isinstance(suite, str) and _PLAIN.fullmatch(suite) and file.isprintable() and file[:1] != "-" and "://" not in file:
        return f"touchstone score {suite} {shlex.quote(file)} --verbose"
    topic, partition, offset = (source.get(name) for name in ("topic", "partition", "offset"))
    if not all(isinstance(name, str) and _PLAIN.fullmatch(name) for name in (topic, suite)) or type(partition) is not int or type(offset) is not int:
        return None
    topic_id = source.get("topic_id")
    of = f"#{topic_id}" if isinstance(topic_id, str) and _PLAIN.fullmatch(topic_id) else ""
    return f"touchstone score {suite} --from-topic '{topic}[{partition}]@{offset}{of}' --verbose"


def batches(window: Window, chosen: Filter, limit: int) -> list[dict[str, Any]]:
    """The latest report of each batch, latest first."""
    found = []
    for reports in reversed(window.batches.values()):
        event = reports[-1].event
        if chosen.admits(event):
            found.append(batch(event))
            if len(found) == limit:
                break
    return found


def batch(event: Event) -> dict[str, Any]:
    """A report event with its ids."""
    return {
        "report_id": event.key,
        "suite": event.suite,
        "type": event.type,
        "concern_id": event.concern,
        "batch_id": event.batch,
        "at": utc(event.at_ms),
        "report": orjson.loads(event.value),
    }


def found_batch(window: Window, report_id: str, grant: Grant) -> dict[str, Any] | None:
    """The reports of one batch, latest first; None if there are none."""
    reports = window.batches.get(report_id)
    if not reports or not grant.sees(reports[-1].event.suite):
        return None
    events = [batch(seen.event) for seen in reversed(reports)]
    return {**events[0], "reports": events}


def ended(records: Sequence[Outcomes], outcome: str, limit: int) -> dict[str, Any]:
    """Where events ended without a result, the latest first, and how many. `outcome`: only these; empty: all but those that were skipped."""
    events = sum(count for one in records for (name, _), count in one.counts.items() if (name == outcome if outcome else name != "skipped"))
    found: list[dict[str, Any]] = []
    for one in reversed(records):
        for name, reason, first, last in reversed(one.places):
            if not outcome or name == outcome:
                place = {"topic": one.topic, "partition": one.partition, "first": first, "last": last}
                found.append({"at": utc(one.at_ms), "suite": one.suite, "outcome": name, "reason": reason, **place})
        if len(found) >= limit:
            break
    return {"events": events, "outcomes": found[:limit]}


def _case_name(document: Mapping[str, Any], suite: Suite | None) -> str:
    """The name of the case."""
    event_id, case_id = str(document.get("event_id")), document.get("case_id")
    with suppress(Exception):
        if suite is not None:
            return suite.call(event_id, case_id)
    return str(case_id or event_id)
