"""The promises of the archive as checks: every case that the policy names is kept once and whole, the index says so, and nothing else is there."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from sqlalchemy import select

from touchstone.ops.lab.chaos.evidence import Evidence, Position
from touchstone.ops.lab.chaos.grounds import PARTITIONS, Field
from touchstone.ops.lab.chaos.object_stores import ObjectStore
from touchstone.ops.lab.chaos.plan import Plan
from touchstone.ops.lab.chaos.processes import Fleet
from touchstone.ops.lab.chaos.topiclog import Offsets
from touchstone.ops.store.archive.policy import Policy
from touchstone.ops.store.engine import reading
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import cases

DRAIN_TIMEOUT_S = 240.0
COMMAND_TIMEOUT_S = 300.0
_SHOWN_MAX = 3
#: When a row was written, and which of several results of an event it took time and place from, may differ from archiver to archiver.
_FREE = frozenset({"kept_at", "at", "topic", "topic_id", "partition", "offset"})


@dataclass
class Kept:
    """What the archive of a run holds. `lost`: wanted and not there; `doubled`: events that are there more than once."""

    cases: int = 0
    lost: int = 0
    doubled: int = 0
    violations: list[str] = field(default_factory=list)


def drain(field: Field, fleet: Fleet) -> None:
    """Wait until the archivers have committed the whole results topic, and end them. What goes wrong is among the fleet's troubles."""
    offsets = Offsets(field.grounds.bootstrap_servers, f"{field.prefix}.archive")
    topic = field.topic("results")
    deadline = time.monotonic() + DRAIN_TIMEOUT_S
    try:
        while True:
            fleet.look()
            try:
                if offsets.committed(topic, PARTITIONS) == offsets.ends(topic, PARTITIONS):
                    break
            except KafkaException:
                offsets.renew()
            if time.monotonic() > deadline:
                fleet.troubles.append("the archivers have not committed all results in time")
                break
            time.sleep(0.1)
    finally:
        offsets.close()
    for child in fleet.archivers:
        if (code := child.leave()) != 0:
            fleet.troubles.append(f"{child.name} left with {'no exit in time' if code is None else f'exit code {code}'}")


def check_archive(field: Field, store: ObjectStore, plan: Plan, evidence: Evidence) -> Kept:
    """Objects against what was produced and scored, the index against the objects, and what `reindex` makes of them."""
    kept = Kept()
    say = kept.violations.append
    policy = Policy.of(field.settings.archive.policy)
    suite = field.group.removeprefix(f"{field.prefix}.")
    labels = [(one.event_id, one.label) for sent in evidence.results.values() for one in sent]
    wanted = {event for event, label in labels if policy.keeps(suite, label, event)}
    if not wanted or wanted == {event for event, _ in labels}:
        say("the policy names all events or none: the harness itself failed")
    produced = {case["id"]: json.dumps(case).encode() for case in plan.cases if case["id"] in wanted}
    objects = store.objects()
    there = Counter(entry.path for entry in objects.list())
    paths = {f"cases/safe/{event}.json": event for event in wanted}
    results = {f"results/{event}/{result}.json": result for event in wanted for result in evidence.result_ids[event]}
    bodies = {path: objects.get(path) for path in there}
    if missing := paths.keys() - there.keys():
        kept.lost = len(missing)
        say(f"{kept.lost} events that the policy names have no object: {_some(missing)}")
    if missing := results.keys() - there.keys():
        say(f"{len(missing)} results of kept events have no object: {_some(missing)}")
    if extra := there.keys() - paths.keys() - results.keys():
        say(f"{len(extra)} objects are of no event that the policy names: {_some(extra)}")
    ids = Counter(filter(None, (_id_of(bodies[path]) for path in there if path.startswith("cases/"))))
    kept.doubled = sum(count > 1 for count in ids.values()) + sum(count > 1 for count in there.values())
    if kept.doubled:
        say(f"{kept.doubled} events have more than one object")
    if wrong := [path for path in paths.keys() & there.keys() if bodies[path] != produced[paths[path]]]:
        say(f"{len(wrong)} objects are not what was produced: {_some(wrong)}")
    if wrong := [path for path in results.keys() & there.keys() if hashlib.sha256(bodies[path]).digest() not in evidence.documents[results[path]]]:
        say(f"{len(wrong)} objects of results are not what is on the results topic: {_some(wrong)}")
    kept.cases = len(paths.keys() & there.keys())
    kept.violations += _check_index(field, store, plan, evidence, {event: len(body) for event, body in produced.items()})
    if Counter(entry.path for entry in objects.list()) != there:
        say("`archive reindex` changed the objects")
    return kept


def _check_index(field: Field, store: ObjectStore, plan: Plan, evidence: Evidence, produced: Mapping[str, int]) -> Iterator[str]:
    """A row for each object and no other, `reindex` leaves them as they are, and it makes the same ones from nothing. `produced`: event id → bytes."""
    url = field.settings.store.url.get_secret_value()
    rows = _rows(url)
    wanted = {event: ("kept", f"cases/safe/{event}.json", size) for event, size in produced.items()}
    if found := _differing(wanted, {event: (row["state"], row["path"], row["bytes"]) for event, row in rows.items()}):
        yield f"{len(found)} rows of the index are not those of the objects: {_some(found)}"
    places = {at: plan.cases[plan.records[place].case]["id"] for at, place in evidence.places.items()}
    if found := {event for event, row in rows.items() if places.get(Position(row["partition"], row["offset"])) != event}:
        yield f"{len(found)} rows name a place where their event is not: {_some(found)}"
    fixed = {event: {name: value for name, value in row.items() if name not in _FREE} for event, row in rows.items()}
    new = f"sqlite:///{field.folder / 'anew.db'}"
    for where, address in (("the same store", url), ("an empty store", new)):
        if fault := _reindex(field, store, address):
            yield f"`archive reindex` into {where}: {fault}"
            continue
        again = {event: {name: value for name, value in row.items() if name not in _FREE} for event, row in _rows(address).items()}
        if found := _differing(fixed, again):
            yield f"`archive reindex` into {where} makes {len(found)} rows differ: {_some(found)}"


def _reindex(field: Field, store: ObjectStore, url: str) -> str:
    """Run the command as people do; returns what went wrong."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("TOUCHSTONE_", "KAFKA_"))}
    command = [sys.executable, "-m", "touchstone.ops.cli", "archive", "reindex", "--store", url]
    done = subprocess.run(
        command,
        env=inherited | field.environment | store.environment,
        cwd=field.folder,
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0 or "0 objects could not be read" not in done.stdout:
        return done.stdout.strip() or done.stderr.strip()[-300:]
    return ""


def _id_of(body: bytes) -> str:
    """The event's own id; empty for what is half written, which another check says."""
    try:
        return str(json.loads(body)["id"])
    except (ValueError, KeyError, TypeError):
        return ""


def _rows(url: str) -> dict[str, dict[str, Any]]:
    """Event id → its row of the index."""
    store = ResultStore.open(url)
    try:
        with reading(store.engine) as connection:
            return {row.event_id: dict(row._mapping) for row in connection.execute(select(cases))}  # noqa: SLF001 -- its public name
    finally:
        store.close()


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


def _some(found: Any) -> str:
    """A few of them, for a message."""
    return ", ".join(sorted(map(str, found))[:_SHOWN_MAX])
