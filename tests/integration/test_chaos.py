"""Small runs of every chaos scenario on both runners; `make chaos` runs them at full size."""

import os
from pathlib import Path

import pytest

from tests.integration.brokers import Broker
from touchstone.ops.lab.chaos.grounds import EMBEDDED_RETENTION_BYTES, Grounds
from touchstone.ops.lab.chaos.run import Run
from touchstone.ops.lab.chaos.scenarios import SCENARIOS
from touchstone.streams.embedded.broker import EmbeddedBroker

pytestmark = [pytest.mark.chaos, pytest.mark.slow(15), pytest.mark.timeout(900)]

RUNNERS = ("faust", "direct")
EVENTS = 1_000
SEED = int(os.environ.get("CHAOS_SEED", "1"))


def play(name: str, runner: str, grounds: Grounds, folder: Path) -> None:
    row = Run(SCENARIOS[name], runner, SEED, EVENTS, grounds, folder).play()
    assert not row.violations, f"{row.violations}\n{row.as_json()}\nlogs: {folder}"
    assert (row.lost, row.doubled, row.dead, row.lag_end) == (0, 0, row.dead_expected, 0)
    assert row.events >= EVENTS
    assert row.samples > 5
    assert row.faults


@pytest.mark.apache
@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("name", ["worker_kill", "poison", "repeated_ids", "join_leave", "zombie"])
def test_promises_hold_while_workers_fail(name: str, runner: str, shared_apache: Broker, tmp_path: Path) -> None:
    play(name, runner, Grounds("apache", cluster=shared_apache.cluster), tmp_path)


@pytest.mark.apache
@pytest.mark.parametrize("runner", RUNNERS)
def test_promises_hold_while_the_only_broker_is_killed(runner: str, one_node: Broker, tmp_path: Path) -> None:
    play("broker_bounce", runner, Grounds("apache", cluster=one_node.cluster), tmp_path)


@pytest.mark.apache
@pytest.mark.parametrize("runner", RUNNERS)
def test_promises_hold_while_a_leader_of_three_is_killed(runner: str, three_nodes: Broker, tmp_path: Path) -> None:
    play("leader_kill", runner, Grounds("apache3", cluster=three_nodes.cluster), tmp_path)


# A kill with the other runner: on Apache Kafka, above. There no broker answers with errors that are asked of it.
@pytest.mark.parametrize(("name", "runner"), [("worker_kill", "faust"), ("produce_errors", "faust"), ("produce_errors", "direct")])
def test_promises_hold_on_the_embedded_broker(name: str, runner: str, tmp_path: Path) -> None:
    with EmbeddedBroker(retention_bytes=EMBEDDED_RETENTION_BYTES) as embedded:
        play(name, runner, Grounds("embedded", embedded=embedded), tmp_path)
