"""The faults that archivers meet: they are killed and stopped, and what they read from and write to goes away, one after the other or together."""

import contextlib
import sqlite3
import time
from collections.abc import Callable

from touchstone.ops.lab.chaos.faults import Stage, pause

#: Logged by an archiver that has reached the broker.
UP = "archiver_started"
AWAY_S = (0.5, 3.0)
#: Longer than the store waits for a lock.
LOCKED_S = (10.5, 12.0)


def disturb_archivers(stage: Stage) -> None:
    """Every fault at least once, in an order of the seed's; while something is away, an archiver may be killed, too."""
    pause(stage, 0.5, 1.5)
    faults: list[Callable[[Stage], None]] = [_kill_one, _kill_one, _kill_all, _stop_one, _objects_away, _broker_away, _store_away]
    for _ in range(stage.rounds):
        stage.draw.shuffle(faults)
        for fault in faults:
            fault(stage)
            stage.faults += 1
            pause(stage, 0.1, 0.6)
    while stage.flowing():
        stage.draw.choice([_kill_one, _stop_one, _objects_away])(stage)
        stage.faults += 1
        pause(stage, 0.3, 1.5)


def _kill_one(stage: Stage) -> None:
    child = stage.draw.choice(stage.fleet.archivers)
    child.kill()
    pause(stage, 0.0, 0.5)
    child.start()
    if stage.draw.random() < 0.7:
        child.wait_for(UP)
        pause(stage, 0.0, stage.session_s)


def _kill_all(stage: Stage) -> None:
    for child in stage.fleet.archivers:
        child.kill()
    pause(stage, 0.0, 1.0)
    for child in stage.fleet.archivers:
        child.start()
    stage.fleet.archivers[0].wait_for(UP)
    pause(stage, 0.5, stage.session_s)


def _stop_one(stage: Stage) -> None:
    child = stage.draw.choice(stage.fleet.archivers)
    child.wait_for(UP)
    if (code := child.leave()) != 0:
        stage.fleet.troubles.append(f"{child.name} left with {'no exit in time' if code is None else f'exit code {code}'}")
    pause(stage, 0.0, 0.5)
    child.start()


def _objects_away(stage: Stage) -> None:
    assert stage.objects is not None
    stage.objects.leave()
    try:
        _meanwhile(stage, *AWAY_S)
    finally:
        stage.objects.come_back()


def _broker_away(stage: Stage) -> None:
    cluster = stage.grounds.cluster
    assert cluster is not None
    cluster.kill(1)
    try:
        _meanwhile(stage, *AWAY_S)
    finally:
        cluster.restart(1)


def _store_away(stage: Stage) -> None:
    """Somebody holds the store's lock, so that nothing can be written."""
    path = stage.field.settings.store.url.get_secret_value().removeprefix("sqlite:///")
    with contextlib.closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _meanwhile(stage, *LOCKED_S)
        finally:
            connection.execute("ROLLBACK")


def _meanwhile(stage: Stage, low_s: float, high_s: float) -> None:
    """Let a while go by; in one of two cases an archiver is killed in it, and starts while something is missing."""
    until = time.monotonic() + stage.draw.uniform(low_s, high_s)
    if stage.draw.random() < 0.5:
        pause(stage, 0.0, low_s / 2)
        child = stage.draw.choice(stage.fleet.archivers)
        child.kill()
        child.start()
        stage.faults += 1
    left = until - time.monotonic()
    if left > 0:
        pause(stage, left, left)
