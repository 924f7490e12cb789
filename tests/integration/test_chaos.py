"""Small runs of the chaos scenarios on both runners, and some with Faust's own fetcher; `make chaos` runs them at full size."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.brokers import Broker
from touchstone.ops.lab.chaos.grounds import EMBEDDED_RETENTION_BYTES, Grounds, one_on_a_small_disk
from touchstone.ops.lab.chaos.run import Run
from touchstone.ops.lab.chaos.scenarios import SCENARIOS, Scenario
from touchstone.scorers.base import ConfigError
from touchstone.streams.embedded.broker import EmbeddedBroker

pytestmark = [pytest.mark.chaos, pytest.mark.slow(15), pytest.mark.timeout(900)]

RUNNERS = ("faust", "direct")
EVENTS = 1_000
SEED = int(os.environ.get("CHAOS_SEED", "1"))


def play(name: str | Scenario, runner: str, grounds: Grounds, folder: Path) -> None:
    row = Run(SCENARIOS[name] if isinstance(name, str) else name, runner, SEED, EVENTS, grounds, folder).play()
    assert not row.violations, f"{row.violations}\n{row.as_json()}\nlogs: {folder}"
    assert (row.lost, row.doubled, row.dead, row.lag_end) == (0, 0, row.dead_expected, 0)
    assert row.events >= EVENTS
    assert row.samples > 5
    assert row.faults


@pytest.mark.apache
@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("name", ["worker_kill", "join_leave", "zombie"])
def test_promises_hold_while_workers_fail(name: str, runner: str, shared_apache: Broker, tmp_path: Path) -> None:
    play(name, runner, Grounds("apache", cluster=shared_apache.cluster), tmp_path)


# Two of the lab's scenarios in one run: neither changes what the other asks of a worker.
@pytest.mark.apache
@pytest.mark.parametrize("runner", RUNNERS)
def test_promises_hold_whatever_the_events_are(runner: str, shared_apache: Broker, tmp_path: Path) -> None:
    both = replace(SCENARIOS["poison"], repeat_share=SCENARIOS["repeated_ids"].repeat_share)
    play(both, runner, Grounds("apache", cluster=shared_apache.cluster), tmp_path)


@pytest.mark.apache
def test_promises_hold_with_fausts_own_fetcher(shared_apache: Broker, tmp_path: Path) -> None:
    play("join_leave", "faust-stock", Grounds("apache", cluster=shared_apache.cluster), tmp_path)


# One runner each, for the time that they take. `test_topic_made_anew`, `test_changing_topics`, `test_expired` and `test_poison_records` have both;
# `make chaos` has, too.
@pytest.mark.apache
@pytest.mark.parametrize(
    ("name", "runner"),
    [("topic_recreated", "faust"), ("partitions_added", "direct"), ("retention", "direct"), ("compressed_batch", "faust"), ("clock", "faust")],
)
def test_promises_hold_whatever_becomes_of_the_log(name: str, runner: str, shared_apache: Broker, tmp_path: Path) -> None:
    play(name, runner, Grounds("apache", cluster=shared_apache.cluster), tmp_path)


@pytest.mark.apache
@pytest.mark.parametrize("runner", RUNNERS)
def test_promises_hold_while_the_only_broker_is_killed(runner: str, one_node: Broker, tmp_path: Path) -> None:
    play("broker_bounce", runner, Grounds("apache", cluster=one_node.cluster), tmp_path)


# The runner plays no part: archivers read what workers have sent. `make chaos` has the same on an S3 server.
@pytest.mark.slow(60)
@pytest.mark.apache
def test_cases_are_kept_once_and_whole_while_archivers_are_killed_and_stores_are_away(one_node: Broker, tmp_path: Path) -> None:
    play("archiver", "direct", Grounds("apache", cluster=one_node.cluster), tmp_path)


@pytest.mark.apache
def test_promises_hold_while_the_disk_below_the_store_is_full(shared_apache: Broker, tmp_path: Path) -> None:
    try:
        play("disk_full_store", "faust", Grounds("apache", cluster=shared_apache.cluster), tmp_path)
    except ConfigError as error:
        pytest.skip(str(error))


@pytest.mark.apache
def test_promises_hold_while_the_disk_below_the_broker_is_full(tmp_path: Path) -> None:
    try:
        with one_on_a_small_disk(tmp_path / "broker") as grounds:
            play("disk_full_broker", "direct", grounds, tmp_path)
    except ConfigError as error:
        pytest.skip(str(error))


@pytest.mark.apache
@pytest.mark.parametrize("runner", RUNNERS)
def test_promises_hold_while_a_leader_of_three_is_killed(runner: str, three_nodes: Broker, tmp_path: Path) -> None:
    play("leader_kill", runner, Grounds("apache3", cluster=three_nodes.cluster), tmp_path)


# Kills with our fetchers: on Apache Kafka, above. There no broker answers with errors that are asked of it.
@pytest.mark.parametrize(("name", "runner"), [("worker_kill", "faust-stock"), ("produce_errors", "faust"), ("produce_errors", "direct")])
def test_promises_hold_on_the_embedded_broker(name: str, runner: str, tmp_path: Path) -> None:
    with EmbeddedBroker(retention_bytes=EMBEDDED_RETENTION_BYTES) as embedded:
        play(name, runner, Grounds("embedded", embedded=embedded), tmp_path)
