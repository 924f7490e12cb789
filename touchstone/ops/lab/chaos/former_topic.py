"""An input topic that was scored, then deleted and made anew under the same name, before a run's own events come."""

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from touchstone.ops.lab.chaos.evidence import Evidence
from touchstone.ops.lab.chaos.faults import Stage
from touchstone.ops.lab.chaos.grounds import PARTITIONS, Field
from touchstone.ops.lab.chaos.plan import FORMER
from touchstone.ops.lab.chaos.processes import EXIT_RESTART, Broken, Fleet

#: Events of the topic that is deleted. They have no ids, so their results are known by their positions.
FORMER_EVENTS = 240
_WAIT_S = 120.0


def make_anew(stage: Stage) -> None:
    """Have the events of a first topic scored, then delete it and make it anew: before the workers left, or while they run. Every process is gone then."""
    topic, fleet = stage.topic("generations"), stage.fleet
    servers = {"bootstrap.servers": stage.grounds.bootstrap_servers, "log_level": 0}
    producer = Producer(servers)
    for number in range(FORMER_EVENTS):
        producer.produce(topic, json.dumps(_event(number)).encode(), partition=number % PARTITIONS)
    producer.flush(_WAIT_S)
    fleet.projector.start()
    fleet.start(0, 1)
    _until(lambda: _stored(stage.field) == FORMER_EVENTS, "the first topic's events are not in the store")
    they_run = stage.draw.random() < 0.5
    if not they_run:
        _all_leave(fleet)
    _recreate(AdminClient(servers), topic)
    stage.faults += 1
    if they_run:
        workers = [child for child in fleet.workers if child.running]
        _until(lambda: all(child.exit_code == EXIT_RESTART for child in workers), "a worker goes on with a topic that is gone")
        for child in workers:
            child.kill()
    if fleet.projector.leave() != 0:
        fleet.troubles.append("the projector did not leave")


def _event(number: int) -> dict[str, Any]:
    names = {"test_id": f"F{number}", "concern_id": FORMER, "batch_id": "former"}
    return {"kind": "safe", **names, "expectations": {}, "output": {"signals": [f"signal {number}"], "summary": "Stable."}}


def _all_leave(fleet: Fleet) -> None:
    for slot, child in enumerate(fleet.workers):
        if child.running:
            fleet.ask_to_leave(slot)


def _recreate(admin: AdminClient, topic: str) -> None:
    """Delete and create; until the old one is gone everywhere, the broker refuses the new one."""
    admin.delete_topics([topic], operation_timeout=_WAIT_S)[topic].result(_WAIT_S)
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            admin.create_topics([NewTopic(topic, num_partitions=PARTITIONS, replication_factor=-1)], operation_timeout=_WAIT_S)[topic].result(_WAIT_S)
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _until(holds: Any, what: str) -> None:
    deadline = time.monotonic() + _WAIT_S
    while not holds():
        if time.monotonic() > deadline:
            raise Broken(what)
        time.sleep(0.1)


def _stored(field: Field) -> int:
    """Results of the first topic in the store."""
    with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(field.folder / "results.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM touchstone_results WHERE concern_id = ?", (FORMER,)).fetchone()[0])
    return 0


def check_former(evidence: Evidence, field: Field, account: dict[str, Any]) -> Iterator[str]:
    """Both topics have their own results and their own account. `account`: as `reconcile` printed it."""
    former, topic_ids, stored = evidence.former, evidence.topic_ids, _stored(field)
    if [len(ids) for ids in former.values()] != [FORMER_EVENTS]:
        yield f"the first topic's {FORMER_EVENTS} events have {[len(ids) for ids in former.values()]} results by topic id"
    if len(topic_ids) != 1 or former.keys() & topic_ids.keys():
        yield f"the second topic's results name {len(topic_ids)} topic ids, {len(former.keys() & topic_ids.keys())} of them the first topic's"
    if stored != FORMER_EVENTS:
        yield f"the store has {stored} results of the first topic's {FORMER_EVENTS} events"
    old = [one for one in account.get("partitions", ()) if one["former"]]
    accounted = {one["topic_id"]: 0 for one in old}
    for one in old:
        accounted[one["topic_id"]] += one["scored"]
    if accounted != dict.fromkeys(former, FORMER_EVENTS):
        yield f"reconcile accounts for {list(accounted.values())} events of the first topic"
