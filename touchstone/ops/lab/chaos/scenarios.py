"""The scenarios: which fault, on which broker, with how many workers and which events."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from touchstone.ops.lab.chaos.archive_faults import disturb_archivers
from touchstone.ops.lab.chaos.faults import (
    Stage,
    add_partitions,
    bounce_broker,
    delete_unread,
    fill_broker,
    fill_store,
    freeze_worker,
    inject_errors,
    inject_first_error,
    join_and_leave,
    join_cold,
    kill_leaders,
    kill_workers,
    let_flow,
    refuse_results,
    send_bombs,
    shift_clocks,
)
from touchstone.ops.lab.chaos.former_topic import make_anew
from touchstone.ops.lab.chaos.grounds import BrokerKind
from touchstone.ops.lab.chaos.plan import POISON, Poison


@dataclass(frozen=True)
class Scenario:
    """One way to disturb a run.

    `small_s`, `feed_s`: how long events are fed, in a small and a full run; 0: before workers start.
    `stamped_s`: how far the events' timestamps are off. `precede`: what happens before the first event is fed.
    `archive`: where archivers keep cases; None: there are none.
    `small_disk`: what gets a disk of its own that can be filled. `first_partitions`: how many partitions the input topic has at first; 0: all.
    """

    name: str
    what: str
    broker: BrokerKind
    disturb: Callable[[Stage], None]
    prepare: Callable[[Stage], None] | None = None
    precede: Callable[[Stage], None] | None = None
    workers: int = 2
    feed_s: float = 40.0
    small_s: float = 5.0
    poison: Poison | None = None
    repeat_share: float = 0.0
    first_partitions: int = 0
    may_restart: bool = False
    archive: Literal["folder", "s3"] | None = None
    small_disk: Literal["store", "broker"] | None = None
    stamped_s: tuple[float, float] = (0, 0)
    knobs: dict[str, str] = field(default_factory=dict)


_SMALL_STEPS = {"TOUCHSTONE_WORKER_WINDOW_RECORDS": "256", "TOUCHSTONE_WORKER_SLICE_RECORDS": "8"}

#: Events without a result of their own are recorded by the ledger, whose writing fails in other ways than that of results.
_LEDGER = Poison(0.01, ("not_utf8", "wrong_schema", "empty"))
_EVERY_FORM = Poison(0.01, tuple(POISON))
#: Part of what passes is kept, a suite that nobody runs has a policy of its own, and batches are small, so that there are many to be killed in.
_ARCHIVE = {"TOUCHSTONE_ARCHIVE_POLICY": "0.3,selftest=none", "TOUCHSTONE_ARCHIVE_BATCH_RECORDS_MAX": "40"}

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario("worker_kill", "two workers killed at random moments", "apache", kill_workers, poison=_LEDGER),
        Scenario("broker_bounce", "the only broker killed and restarted", "apache", bounce_broker, small_s=8, poison=_LEDGER),
        Scenario("leader_kill", "three brokers, a partition's leader killed and restarted", "apache3", kill_leaders, small_s=8, poison=_LEDGER),
        Scenario(
            "produce_errors",
            "Produce and OffsetCommit errors injected",
            "embedded",
            inject_errors,
            prepare=inject_first_error,
            feed_s=0,
            small_s=0,
            poison=_LEDGER,
            may_restart=True,
            knobs=_SMALL_STEPS,
        ),
        Scenario(
            "cold_join",
            "workers join before anything was ever committed",
            "embedded",
            join_cold,
            prepare=refuse_results,
            workers=1,
            feed_s=0,
            small_s=0,
            poison=_LEDGER,
            knobs=_SMALL_STEPS,
        ),
        Scenario("topic_recreated", "the input topic deleted and made anew", "apache", kill_workers, precede=make_anew, poison=_LEDGER),
        Scenario("poison", "1 % poison of nine forms", "apache", let_flow, feed_s=20, poison=_EVERY_FORM),
        Scenario("repeated_ids", "5 % of the ids come twice", "apache", let_flow, feed_s=20, repeat_share=0.05),
        Scenario("join_leave", "workers join and leave, slowly and in a storm", "apache", join_and_leave, small_s=6),
        Scenario("partitions_added", "the input topic gets partitions while events flow", "apache", add_partitions, first_partitions=2, poison=_LEDGER),
        Scenario("retention", "records deleted unread while no worker runs", "apache", delete_unread, small_s=8),
        Scenario(
            "compressed_batch",
            "batches of some kilobytes that unpack to 48 MB amid the events",
            "apache",
            send_bombs,
            feed_s=20,
            poison=_LEDGER,
            knobs={"TOUCHSTONE_KAFKA_BATCH_BYTES_MAX": str(16 * 1024 * 1024)},
        ),
        Scenario(
            "clock",
            "the clocks of workers, projector and producers are hours off",
            "apache",
            let_flow,
            prepare=shift_clocks,
            feed_s=20,
            poison=_LEDGER,
            # Kafka refuses what is dated more than an hour ahead.
            stamped_s=(-6 * 3600, 3000),
        ),
        Scenario("zombie", "a worker stopped past its session and continued", "apache", freeze_worker),
        Scenario(
            "archiver",
            "archivers killed and stopped; broker, objects and store away",
            "apache",
            disturb_archivers,
            small_s=30,
            feed_s=60,
            poison=_LEDGER,
            repeat_share=0.02,
            archive="folder",
            may_restart=True,
            knobs=_ARCHIVE,
        ),
        Scenario(
            "archiver_s3",
            "the same with a server that speaks S3, which is killed, too",
            "apache",
            disturb_archivers,
            small_s=30,
            feed_s=60,
            poison=_LEDGER,
            repeat_share=0.02,
            archive="s3",
            may_restart=True,
            knobs=_ARCHIVE,
        ),
        Scenario("disk_full_store", "the disk below the store filled, and space made", "apache", fill_store, small_s=14, small_disk="store", poison=_LEDGER),
        Scenario(
            "disk_full_broker", "the disk below the only broker filled, and space made", "apache", fill_broker, small_s=8, small_disk="broker", poison=_LEDGER
        ),
    )
}
