"""The faults that scenarios inject. Every choice is drawn from the run's seed; the timing of processes depends on the machine."""

import random
import signal
import time
from typing import Protocol

from touchstone.ops.lab.chaos.grounds import Grounds
from touchstone.ops.lab.chaos.processes import STARTED, Fleet

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


class Stage(Protocol):
    """The parts of a run that a scenario uses."""

    grounds: Grounds
    fleet: Fleet
    draw: random.Random
    session_s: float
    rounds: int
    faults: int

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
