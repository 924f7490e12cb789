"""The faults that scenarios inject. Every choice is drawn from the run's seed; the timing of processes depends on the machine."""

import random
import signal
import time
from collections.abc import Callable
from typing import Protocol

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from touchstone.ops.lab.chaos.grounds import PARTITIONS, Field, Grounds
from touchstone.ops.lab.chaos.object_stores import ObjectStore
from touchstone.ops.lab.chaos.processes import STARTED, Fleet
from touchstone.ops.lab.chaos.small_disk import SmallDisk
from touchstone.ops.lab.chaos.topiclog import Bombs, Offsets

#: How long the projector may take to notice that its store has become full, or is no longer.
NOTICED_S = 60.0
#: How long records may take to wait on a partition that nobody reads.
WAITING_S = 10.0

#: Kafka's error numbers: retriable ones first, then fatal ones.
PRODUCE_ERRORS = {
    "NOT_LEADER_OR_FOLLOWER": 6,
    "REQUEST_TIMED_OUT": 7,
    "NOT_ENOUGH_REPLICAS": 19,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": 20,
    "KAFKA_STORAGE_ERROR": 56,
    "TOPIC_AUTHORIZATION_FAILED": 29,
    "OUT_OF_ORDER_SEQUENCE_NUMBER": 45,
    "UNKNOWN_PRODUCER_ID": 59,
    "INVALID_RECORD": 87,
}
COMMIT_ERRORS = {
    "COORDINATOR_LOAD_IN_PROGRESS": 14,
    "COORDINATOR_NOT_AVAILABLE": 15,
    "NOT_COORDINATOR": 16,
    "REQUEST_TIMED_OUT": 7,
    "ILLEGAL_GENERATION": 22,
    "UNKNOWN_MEMBER_ID": 25,
    "REBALANCE_IN_PROGRESS": 27,
    "INVALID_COMMIT_OFFSET_SIZE": 28,
}


#: A process that meets batches which unpack to 48 MB, and may unpack 16 MiB of one.
BOMBED_MIB_MAX = 300


class Stage(Protocol):
    """The parts of a run that a scenario uses."""

    grounds: Grounds
    field: Field
    fleet: Fleet
    disk: SmallDisk | None
    objects: ObjectStore | None
    draw: random.Random
    session_s: float
    rounds: int
    faults: int
    deleted: dict[int, int]

    def flowing(self) -> bool:
        """True while events are being fed, or wait."""
        ...

    def topic(self, role: str) -> str:
        """Name of a topic."""
        ...

    def leader(self, role: str, partition: int) -> int:
        """Broker id of a partition's leader."""
        ...


def pause(stage: Stage, low_s: float, high_s: float) -> None:
    """Let events flow for a random while, noting processes that end by themselves."""
    until = time.monotonic() + stage.draw.uniform(low_s, high_s)
    while time.monotonic() < until:
        stage.fleet.look()
        time.sleep(0.05)


def joined(stage: Stage) -> None:
    """Wait until each worker has its partitions. A broker that goes earlier, while Faust starts, makes a worker ask for a restart, which then waits."""
    for child in stage.fleet.workers:
        if child.running:
            child.wait_for('"assigned"')


def kill_workers(stage: Stage) -> None:
    """SIGKILL a random worker at random moments, now and then both or the projector, and start it again."""
    while stage.flowing():
        pause(stage, 0.4, stage.session_s / 2)
        victims = [stage.draw.choice(stage.fleet.workers)]
        kind = stage.draw.random()
        if kind < 0.15:
            victims = list(stage.fleet.workers)
        elif kind < 0.35:
            victims.append(stage.fleet.projector)
        for child in victims:
            child.kill()
            stage.faults += 1
        pause(stage, 0.0, 0.8)
        for child in victims:
            child.start()
        if stage.draw.random() < 0.7:
            victims[0].wait_for(STARTED)
            pause(stage, 0.0, stage.session_s)


def bounce_broker(stage: Stage) -> None:
    """SIGKILL the only broker and start it again."""
    cluster = stage.grounds.cluster
    assert cluster is not None
    joined(stage)
    for _ in range(stage.rounds):
        pause(stage, 1.0, 3.0)
        cluster.kill(1)
        stage.faults += 1
        pause(stage, 0.5, 2.0)
        cluster.restart(1)
        pause(stage, 2.0, 4.0)


def kill_leaders(stage: Stage) -> None:
    """SIGKILL the leader of a random input or output partition, wait for the election, and start it again."""
    cluster = stage.grounds.cluster
    assert cluster is not None
    for role in stage.draw.sample(["results", "generations"], stage.rounds):
        pause(stage, 1.0, 2.5)
        node = stage.leader(role, stage.draw.randrange(4))
        cluster.kill(node)
        stage.faults += 1
        pause(stage, 3.0, 5.0)
        cluster.restart(node)
        pause(stage, 1.0, 3.0)


def add_partitions(stage: Stage) -> None:
    """The input topic gets partitions while events flow; those for the new ones are produced as soon as they exist. A worker is killed later."""
    pause(stage, 0.5, 1.5)
    name, admin = stage.topic("generations"), _admin(stage)
    admin.create_partitions([NewPartitions(name, PARTITIONS)], operation_timeout=20)[name].result(timeout=30)
    stage.faults += 1
    pause(stage, 0.5, 4.0)
    slot = stage.draw.randrange(len(stage.fleet.workers[:2]))
    stage.fleet.workers[slot].kill()
    stage.faults += 1
    stage.fleet.start(slot)
    while stage.flowing():
        pause(stage, 0.2, 0.4)


def delete_unread(stage: Stage) -> None:
    """All workers are killed; records that wait are deleted, all of them in one partition and some in another; then workers start again."""
    for _ in range(stage.rounds):
        pause(stage, 0.5, 1.5)
        for child in stage.fleet.workers[:2]:
            child.kill()
        stage.faults += 1
        name, (whole, some) = stage.topic("generations"), stage.draw.sample(range(PARTITIONS), 2)
        offsets = Offsets(stage.grounds.bootstrap_servers, stage.field.group)
        try:
            deadline = time.monotonic() + WAITING_S
            while True:
                pause(stage, 0.3, 0.6)
                committed, ends = offsets.committed(name, PARTITIONS), offsets.ends(name, PARTITIONS)
                if all(ends[number] > committed[number] for number in (whole, some)) or time.monotonic() > deadline:
                    break
        finally:
            offsets.close()
        before = {whole: ends[whole], some: stage.draw.randint(min(committed[some] + 1, ends[some]), ends[some])}
        admin = _admin(stage)  # held until its answers are there
        for done in admin.delete_records([TopicPartition(name, number, at) for number, at in before.items()], operation_timeout=20).values():
            done.result(timeout=30)
        stage.deleted.update(before)
        stage.faults += 1
        stage.fleet.start(0, 1)
    while stage.flowing():
        pause(stage, 0.2, 0.4)


def _admin(stage: Stage) -> AdminClient:
    return AdminClient({"bootstrap.servers": stage.grounds.bootstrap_servers, "log_level": 0})


def inject_errors(stage: Stage) -> None:
    """Bursts of Produce and OffsetCommit errors, retriable and fatal, while workers catch up with a backlog."""
    broker = stage.grounds.embedded
    assert broker is not None
    while stage.flowing():
        if stage.draw.random() < 0.75:
            api = "Produce"
            codes = stage.draw.choices(list(PRODUCE_ERRORS.values()), k=stage.draw.randint(1, 4))
        else:  # one at a time: most of these end the assignment, and the next one takes seconds
            api = "OffsetCommit"
            codes = [stage.draw.choice(list(COMMIT_ERRORS.values()))]
        # Zeros let requests through in between, so that a burst meets batches of every age.
        burst = [code for chosen in codes for code in (chosen, *[0] * stage.draw.randint(0, 3))]
        broker.inject_errors(api, burst)
        stage.faults += sum(code != 0 for code in burst)
        pause(stage, 0.05, 0.4)
    broker.clear_errors("Produce")
    broker.clear_errors("OffsetCommit")


def inject_first_error(stage: Stage) -> None:
    """Before any worker starts: one retriable error that the first batch meets, even if the backlog is scored very fast."""
    broker = stage.grounds.embedded
    assert broker is not None
    broker.inject_errors("Produce", [PRODUCE_ERRORS["REQUEST_TIMED_OUT"]])
    stage.faults += 1


def refuse_results(stage: Stage) -> None:
    """Before any worker starts: let no result be acknowledged, so that nothing can be committed."""
    broker = stage.grounds.embedded
    assert broker is not None
    broker.inject_errors("Produce", [PRODUCE_ERRORS["REQUEST_TIMED_OUT"]] * 10_000)


def join_cold(stage: Stage) -> None:
    """A second worker joins and dies while events are in flight and the group has never committed anything."""
    broker = stage.grounds.embedded
    assert broker is not None
    for _ in range(stage.rounds):
        pause(stage, 1.5, 2.5)
        stage.fleet.start(1)
        pause(stage, stage.session_s, 2 * stage.session_s)
        stage.fleet.workers[1].kill()
        stage.faults += 2
        pause(stage, stage.session_s, 2 * stage.session_s)
    broker.clear_errors("Produce")
    stage.fleet.start(1)


def let_flow(stage: Stage) -> None:
    """Only the events themselves are a problem; one worker is killed in the middle, too."""
    pause(stage, 1.0, 2.0)
    stage.fleet.workers[0].kill()
    stage.faults += 1
    stage.fleet.start(0)
    while stage.flowing():
        pause(stage, 0.2, 0.4)


def send_bombs(stage: Stage) -> None:
    """Batches of a few kilobytes that unpack to 48 MB, amid the other events; a worker is killed in the middle, too."""
    bombs = Bombs(stage.grounds.bootstrap_servers, stage.topic("generations"))
    rounds = 0
    while stage.flowing() or rounds < 2:
        bombs.send(stage.draw.randrange(PARTITIONS))
        stage.faults += 1
        rounds += 1
        if rounds == 2:
            stage.fleet.workers[0].kill()
            stage.fleet.start(0)
        pause(stage, 0.5, 1.5)
    for child in stage.fleet.children:
        if child.peak_mib() > BOMBED_MIB_MAX:
            stage.fleet.troubles.append(f"{child.name} held {child.peak_mib()} MiB")


def shift_clocks(stage: Stage) -> None:
    """Before any process starts: one worker's clock is five hours ahead, the other's and the projector's are hours behind."""
    for child, hours in zip((*stage.fleet.workers[:2], stage.fleet.projector), (5, -7, -2), strict=True):
        child.clock_off_s = hours * 3600
        stage.faults += 1


def join_and_leave(stage: Stage) -> None:
    """The second worker leaves by SIGTERM and joins again, then a storm: two workers toggled every half second or less."""
    for _ in range(stage.rounds):
        pause(stage, 0.3, 1.5)
        stage.fleet.ask_to_leave(1)
        stage.faults += 1
        pause(stage, 0.1, 0.8)
        stage.fleet.start(1)
    while stage.flowing():
        slot = stage.draw.choice((1, 2))
        child = stage.fleet.workers[slot]
        stage.faults += 1
        if child.running:
            stage.fleet.ask_to_leave(slot)
        else:
            child.start()
        pause(stage, 0.0, 0.5)
    if not stage.fleet.workers[1].running:
        stage.fleet.start(1)


def freeze_worker(stage: Stage) -> None:
    """SIGSTOP a random worker until the group has given its partitions to others, then SIGCONT: a zombie with unfinished work."""
    rounds = 0
    while stage.flowing() or rounds < stage.rounds:
        rounds += 1
        pause(stage, 0.3, 1.5)
        child = stage.draw.choice(stage.fleet.workers)
        child.signal(signal.SIGSTOP)
        stage.faults += 1
        pause(stage, stage.session_s + 0.5, stage.session_s + 2.5)
        child.signal(signal.SIGCONT)
        pause(stage, 0.5, 1.5)


def fill_store(stage: Stage) -> None:
    """Fill the disk below the store while results come. The projector must not be ready for as long as that lasts."""
    disk, projector = stage.disk, stage.fleet.projector
    assert disk is not None
    for _ in range(stage.rounds):
        _until(stage, lambda: projector.readiness() == 200, "was not ready in time")
        pause(stage, 0.0, 0.3)
        disk.fill()
        stage.faults += 1
        _until(stage, lambda: projector.readiness() == 503, "did not notice that its store's disk is full")
        until = time.monotonic() + stage.draw.uniform(2.0, 4.0)
        while time.monotonic() < until:
            if projector.readiness() == 200:
                stage.fleet.troubles.append("the projector was ready while its store's disk was full")
                break
            stage.fleet.look()
            time.sleep(0.02)
        disk.free()
        _until(stage, lambda: projector.readiness() == 200, "did not become ready when there was space again")


def fill_broker(stage: Stage) -> None:
    """Fill the disk below the only broker, which then refuses records and may end; make room and start it again."""
    disk, cluster = stage.disk, stage.grounds.cluster
    assert disk is not None
    assert cluster is not None
    joined(stage)
    for _ in range(stage.rounds):
        pause(stage, 1.0, 2.0)
        disk.fill()
        stage.faults += 1
        pause(stage, 3.0, 5.0)
        disk.free()
        cluster.kill(1)  # a log folder that has failed stays offline until the broker starts again
        cluster.restart(1)
        pause(stage, 2.0, 4.0)


def _until(stage: Stage, holds: Callable[[], bool], complaint: str) -> None:
    """Wait for a condition within a bound; note that it never came."""
    deadline = time.monotonic() + NOTICED_S
    while not holds():
        if time.monotonic() > deadline:
            stage.fleet.troubles.append(f"the projector {complaint}")
            return
        stage.fleet.look()
        time.sleep(0.02)
