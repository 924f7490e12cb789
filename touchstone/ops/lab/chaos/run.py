"""One run: feed, disturb, drain, gather the evidence, judge."""

import json
import random
import subprocess
import sys
import time
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from touchstone.ops.lab.chaos.archived import check_archive, drain
from touchstone.ops.lab.chaos.checks import check_commits, check_logs, check_store, check_topics
from touchstone.ops.lab.chaos.evidence import gather, read_reports
from touchstone.ops.lab.chaos.former_topic import check_former
from touchstone.ops.lab.chaos.grounds import PARTITIONS, SUITE, Field, Grounds
from touchstone.ops.lab.chaos.object_stores import Folder, ObjectStore, S3Server
from touchstone.ops.lab.chaos.observer import Observer
from touchstone.ops.lab.chaos.plan import make_plan
from touchstone.ops.lab.chaos.processes import Broken, Fleet
from touchstone.ops.lab.chaos.scenarios import Scenario
from touchstone.ops.lab.chaos.small_disk import SmallDisk, small_disk
from touchstone.ops.lab.chaos.topiclog import Feeder

#: From this many events on, a run has the scenario's full length.
FULL_EVENTS = 10_000
#: Longer than a worker may stall before its own watchdog ends it, on a machine that others use.
DRAIN_TIMEOUT_S = 480.0
REPORTS_TIMEOUT_S = 120.0
RECONCILE_WAIT_S = 60
ARCHIVERS = 3


@dataclass
class Row:
    """One line of the table. `kept`: cases in the archive. `seconds`: from the first worker's start until nothing was left."""

    scenario: str
    runner: str
    broker: str
    seed: int
    events: int = 0
    lost: int = 0
    doubled: int = 0
    dead: int = 0
    dead_expected: int = 0
    duplicates: int = 0
    expired: int = 0
    kept: int = 0
    faults: int = 0
    restarts: int = 0
    samples: int = 0
    regressions: int = 0
    lag_max: int = 0
    lag_end: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """True if every promise was kept."""
        return not self.violations

    def as_json(self) -> dict[str, object]:
        """For machines."""
        return asdict(self) | {"verdict": "held" if self.holds else "BROKEN"}


class Run:
    """One scenario on one runner."""

    def __init__(self, scenario: Scenario, runner: str, seed: int, events: int, grounds: Grounds, folder: Path) -> None:
        self.scenario = scenario
        self.grounds = grounds
        full = events >= FULL_EVENTS
        self.session_s = 6.0 if full else 3.0
        self.rounds = 2 if full else 1
        self.feed_s = scenario.feed_s if full else scenario.small_s
        self.draw = random.Random(f"{scenario.name} {seed}")
        self.faults = 0
        self.deleted: dict[int, int] = {}
        self.account: dict[str, Any] = {}
        self.began = time.monotonic()
        knobs = {
            "TOUCHSTONE_WORKER_SESSION_TIMEOUT_S": f"{self.session_s:g}",
            "TOUCHSTONE_WORKER_HEARTBEAT_INTERVAL_S": f"{self.session_s / 6:g}",
            "TOUCHSTONE_WORKER_REBALANCE_TIMEOUT_S": "8",
            "TOUCHSTONE_WORKER_COMMIT_INTERVAL_S": "0.3",
            "TOUCHSTONE_WORKER_RETRY_BACKOFF_MAX_S": "1",
            # A worker that stalls is ended by its own watchdog and started again: as in production, only sooner.
            "TOUCHSTONE_WORKER_STALL_TIMEOUT_S": "60",
            "TOUCHSTONE_PROJECTOR_REPORT_INTERVAL_S": "0.5",
        }
        store_folder = folder / "store" if scenario.small_disk == "store" else None
        self.disk: SmallDisk | None = grounds.disk
        self.objects = _object_store(scenario, folder)
        environment = self.objects.environment if self.objects is not None else {}
        self.field = Field(grounds, folder, f"chaos-{uuid.uuid4().hex[:10]}", knobs | environment | scenario.knobs, store_folder)
        self.plan = make_plan(
            seed, events, partitions=PARTITIONS, poison=scenario.poison, repeat_share=scenario.repeat_share, first_partitions=scenario.first_partitions
        )
        self.fleet = Fleet(
            runner, SUITE, self.field.environment, folder, max(scenario.workers, 3), scenario.may_restart, archivers=ARCHIVERS if scenario.archive else 0
        )
        self.feeder = Feeder(self.plan, grounds.bootstrap_servers, self.topic("generations"), self.feed_s, scenario.stamped_s)
        self.observer = Observer(self.field)
        self.row = Row(scenario.name, runner, grounds.kind, seed)

    def topic(self, role: str) -> str:
        """Name of a topic of this run."""
        return self.field.topic(role)

    def flowing(self) -> bool:
        """True while events are to come or, if all were fed beforehand, until few are left. Bounded in time."""
        if self.feeder.is_alive():
            return True
        last = self.observer.samples[-1] if self.observer.samples else None
        if time.monotonic() - self.began > self.feed_s + DRAIN_TIMEOUT_S:
            return False
        return self.feed_s == 0 and (last is None or last.lag > len(self.plan.records) // 20)

    def leader(self, role: str, partition: int) -> int:
        """Broker id of a partition's leader."""
        metadata = AdminClient({"bootstrap.servers": self.grounds.bootstrap_servers, "log_level": 0}).list_topics(self.topic(role), timeout=10)
        return int(metadata.topics[self.topic(role)].partitions[partition].leader)

    def play(self) -> Row:
        """Run the scenario to its end and judge it. Every process is gone when this returns. Raises `ConfigError` if it cannot run here."""
        if self.field.store_folder is None:
            return self._play()
        with small_disk(self.field.store_folder) as self.disk:
            return self._play()

    def _play(self) -> Row:
        try:
            if self.objects is not None:
                self.objects.come_back()
            self.field.make_topics(self.scenario.first_partitions)
            self._flow()
            self._finish()
            self._judge()
        except Broken as error:
            self.row.violations += [*self.fleet.troubles[-5:], str(error)]
        finally:
            self.feeder.abandoned.set()
            self.observer.finish()
            self.fleet.kill_all()
            if self.objects is not None:
                self.objects.close()
        return self.row

    def _flow(self) -> None:
        """From the first event until nothing is left uncommitted, or the time is over."""
        if self.scenario.precede is not None:
            self.scenario.precede(self)
        self.feeder.start()
        if self.feed_s == 0:
            self.feeder.join()
        if self.scenario.prepare is not None:
            self.scenario.prepare(self)
        self.began = time.monotonic()
        self.observer.start()
        self.fleet.projector.start()
        for child in self.fleet.archivers:
            child.start()
        self.fleet.start(*range(self.scenario.workers))
        self.feeder.workers_up.set()
        self.scenario.disturb(self)
        self.feeder.join(timeout=DRAIN_TIMEOUT_S)
        settled = time.monotonic()
        while not self.observer.drained_since(settled) and time.monotonic() - settled < DRAIN_TIMEOUT_S:
            self.fleet.look()
            time.sleep(0.05)
        self.row.seconds = round(time.monotonic() - self.began, 1)

    def _finish(self) -> None:
        """Workers leave, `reconcile` checks the account, and the projector finishes its reports."""
        for slot, child in enumerate(self.fleet.workers):
            if child.running:
                self.fleet.ask_to_leave(slot)
        self._reconcile()
        deleted = {place for (partition, offset), place in self.feeder.places.items() if offset < self.deleted.get(partition, 0)}
        batches = {case["batch_id"] for case in self.plan.cases} - {self.plan.cases[self.plan.records[place].case]["batch_id"] for place in deleted}
        deadline = time.monotonic() + REPORTS_TIMEOUT_S
        while time.monotonic() < deadline:
            reports = read_reports(self.field)
            if all(reports.get(batch, {}).get("final") for batch in batches):
                break
            time.sleep(0.3)
        if self.fleet.archivers:
            drain(self.field, self.fleet)
        code = self.fleet.projector.leave()
        if code != 0:
            self.fleet.troubles.append(f"the projector left with exit code {code}")
        # One more sample, so that what came last is covered as well.
        time.sleep(0.3)
        self.observer.finish()

    def _reconcile(self) -> None:
        """Check the account with the command that people use."""
        command = [sys.executable, "-m", "touchstone.ops.cli", "reconcile", "--suite", SUITE, "--drained", "--wait", str(RECONCILE_WAIT_S), "--json"]
        environment = self.fleet.projector.environment
        done = subprocess.run(command, env=environment, cwd=self.field.folder, capture_output=True, text=True, timeout=RECONCILE_WAIT_S + 60, check=False)
        self.account = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        if self.deleted:
            self._expect_only_expired(done.stdout)
        elif done.returncode != 0:
            self.row.violations.append(f"reconcile exits {done.returncode}: {_why(done.stdout) or done.stderr.strip()[-300:]}")

    def _expect_only_expired(self, answer: str) -> None:
        """The account of a run whose records were deleted: open for that, and for nothing else."""
        try:
            account = json.loads(answer)
        except ValueError:
            self.row.violations.append("reconcile gives no account")
            return
        partitions = account["partitions"]
        self.row.expired = sum(last - first + 1 for one in partitions for first, last in one["expired"])
        if account["closes"] or account["in_flight"] or any(one["holes"] or one["differences"] for one in partitions):
            self.row.violations.append(f"reconcile: {_why(answer)}")

    def _judge(self) -> None:
        """Fill in the row."""
        row, samples = self.row, self.observer.samples
        evidence = gather(self.field, self.plan, self.feeder.places)
        counts = check_topics(self.plan, evidence, self.deleted)
        if counts.expired != row.expired:
            row.violations.append(f"{counts.expired} records were deleted unread, and reconcile shows {row.expired} as expired")
        counts.violations += check_commits(evidence, samples)
        counts.violations += check_store(self.field, self.plan, evidence, counts)
        if self.scenario.precede is not None:
            counts.violations += check_former(evidence, self.field, self.account)
        if self.objects is not None:
            kept = check_archive(self.field, self.objects, self.plan, evidence)
            row.kept, counts.lost, counts.doubled = kept.cases, counts.lost + kept.lost, counts.doubled + kept.doubled
            counts.violations += kept.violations
        counts.violations += check_logs(child.log_path for child in self.fleet.children)
        row.events, row.lost, row.doubled, row.duplicates = counts.events, counts.lost, counts.doubled, counts.duplicates
        row.dead, row.dead_expected, row.faults = counts.dead, counts.dead_expected, self.faults
        row.restarts = self.fleet.restarts
        row.samples, row.regressions, row.lag_max = len(samples), self.observer.regressions, self.observer.lag_max
        row.lag_end = samples[-1].lag if samples else -1
        if row.lag_end:
            row.violations.append(f"{row.lag_end} events were never committed")
        if self.feeder.refused:
            row.violations.append(f"the broker refused {len(self.feeder.refused)} records of the feeder ({self.feeder.refused[0]}): the harness itself failed")
        row.violations += counts.violations + self.fleet.troubles


def _object_store(scenario: Scenario, folder: Path) -> ObjectStore | None:
    """Where a scenario's archivers keep cases. Raises `ConfigError` where it cannot be had."""
    if scenario.archive is None:
        return None
    return Folder(folder / "archive") if scenario.archive == "folder" else S3Server.versitygw(folder / "s3")


def _why(answer: str) -> str:
    """The errors in the account's JSON."""
    try:
        account = json.loads(answer)
    except ValueError:
        return ""
    wrong = [
        f"{one['topic']}[{one['partition']}] holes {one['holes']}, {[(found['code'], found['offsets'][:3]) for found in one['differences']]}"
        for one in account["partitions"]
        if not one["closes"]
    ]
    return f"behind {account['behind']}, in flight {account['in_flight']}; " + "; ".join(wrong)
