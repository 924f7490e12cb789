"""`touchstone demo`: the whole path on the embedded broker, and whether it all adds up.

Sends the sample batches, watches results and reports arrive, and then asks three independent questions: does every event
have its outcome, does the stored report equal the batch command's over the same files, is every batch report final. Then
generated patients (`demo_traces`) and, where the models' libraries are installed, generated summaries (`demo_summaries`).
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from touchstone.ops.batch.batch_scoring import Selection, score_files
from touchstone.ops.batch.batches import find_batches
from touchstone.ops.batch.outgoing import Outgoings, Way, batch_files
from touchstone.ops.local.demo_summaries import ENVIRONMENT, TOLERANCE, Summaries
from touchstone.ops.local.demo_summaries import SUITE as SUMMARY_SUITE
from touchstone.ops.local.demo_traces import SUITE as TRACE_SUITE
from touchstone.ops.local.demo_traces import Traces
from touchstone.ops.local.samples import safe_batches
from touchstone.ops.local.up import Live, LogLine, Plan
from touchstone.ops.reports import RenderOptions, render
from touchstone.ops.reports.files import check_directory, report_path, write_whole
from touchstone.ops.reports.text import counted, visible
from touchstone.ops.store.reports import Wanted, choose, report_from_store
from touchstone.ops.store.results import ResultStore
from touchstone.ops.suites import suite_settings, why_not_here
from touchstone.schemas.reports.safe import SafeV0BatchReport
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError, Suite
from touchstone.scorers.registry import load_suite
from touchstone.scorers.safe.settings import SafeSettings
from touchstone.streams.account.reconcile import Reconciliation
from touchstone.streams.account.reconcile_topics import Question, reconcile
from touchstone.streams.topics.log_reader import LogReader
from touchstone.streams.topics.produce import send_events
from touchstone.streams.topics.tail import Describer, Sighting

SUITE = "safe_v0"
RESULTS_SHOWN = 8
ARRIVAL_TIMEOUT_S = 30.0
SETTLED_TIMEOUT_S = 15.0
SETTLED_POLL_S = 0.3

Say = Callable[[str], None]


@dataclass(slots=True)
class Arrivals:
    """What has arrived. `events`: distinct event ids; `final`: batch → whether its last report was final."""

    events: set[str] = field(default_factory=set)
    labels: Counter[str] = field(default_factory=Counter)
    final: dict[tuple[str, str], bool] = field(default_factory=dict)
    report_events: int = 0


class Demo:
    """One run. `problems` holds what does not add up; the demo has succeeded where it stays empty."""

    def __init__(self, settings: Settings, runner: str, report_dir: Path | None, say: Say) -> None:
        self._settings = settings
        self._runner = runner
        self._say = say
        suite = load_suite(SUITE)
        own = suite_settings(suite)
        assert isinstance(own, SafeSettings)
        # The samples are invented, so the report may quote what was missed; with real events that is off by default.
        self._own = own.model_copy(update={"quote": True})
        self._suite = suite
        self._report_dir = report_dir or own.report_dir
        self._warned: list[str] = []
        self.problems: list[str] = []

    async def run(self) -> None:
        """Do all of it. Raises `ConfigError` where a part does not start."""
        check_directory(self._report_dir, "--reports, SAFE_V0_REPORT_DIR or reportDir")
        begun = time.monotonic()
        self._say("Touchstone demo: embedded broker, in memory, no network. Everything but the report files is gone at the end.")
        plan = Plan([SUITE], runner=self._runner, env={"SAFE_V0_QUOTE": "true", **ENVIRONMENT})
        left_out, more = why_not_here(SUMMARY_SUITE), ""
        async with Live(self._settings, plan, self._note) as live:
            self._say(f"1. Broker on {live.settings.kafka.bootstrap_servers}, a {self._runner} worker, projector: up after {time.monotonic() - begun:.1f} s")
            self._say("   SAFE_V0_QUOTE=true: the samples are invented, so the report may quote them; it is off by default.")
            arrivals = await self._stream(live)
            account = await self._settled(live, self._suite)
            self._check_account(5, account, len(arrivals.events))
            written = await asyncio.to_thread(self._report, live.store_url)
            more = await self._traces(live)
            if left_out:
                self._say(f"Generated summaries were left out: {left_out}.")
            else:
                more += await self._summaries(live, len(arrivals.events))
        for child in live.stopped_hard:
            self.problems.append(f"{child} did not stop in time")
        if self.problems:
            self._say(f"\nThis does NOT add up: {'; '.join(self.problems)}")
            for text in self._warned:
                self._say(f"  {text}")
            return
        self._say(
            f"\nShown: {counted(len(arrivals.events), 'event')} in, as many results, {counted(len(arrivals.final), 'final batch report')}, an account that "
            f"closes, and stored reports equal to the batch command's{more}, in {time.monotonic() - begun:.1f} s."
        )
        for path in written:
            self._say(f"Left behind: {path}")

    def _note(self, line: LogLine) -> None:
        """Children's warnings are kept for the case that something does not add up."""
        if line.level not in {"info", "debug"}:
            self._warned.append(visible(f"[{line.child}] {line.text}"))

    async def _stream(self, live: Live) -> Arrivals:
        """Send the samples and watch what comes of them."""
        settings = live.settings
        outgoing = Outgoings(settings, [self._suite], batch_files([safe_batches()]), {}, Way(None))
        checked = outgoing.check()
        arrivals = Arrivals()
        watching = asyncio.create_task(self._watch(settings, arrivals, checked.events, len(checked.cases)))
        try:
            sent = await send_events(settings, outgoing.events(), checked.topics)
            concerns = len({concern for concern, _ in checked.cases})
            self._say(f"2. Sent {counted(sent.total, 'event')}: {len(checked.cases)} batches of {counted(concerns, 'concern')}")
            self._say("3. Results, as they arrive:")
            await asyncio.wait_for(watching, ARRIVAL_TIMEOUT_S)
        except TimeoutError:
            self.problems.append(f"after {ARRIVAL_TIMEOUT_S:g} s there were {len(arrivals.events)} of {checked.events} results")
        finally:
            watching.cancel()
        return arrivals

    async def _watch(self, settings: Settings, arrivals: Arrivals, events: int, batches: int) -> None:
        """Follow results and reports until every event has a result and every batch a final report."""
        describer = Describer(settings.topics, self._suite.cases, settings.worker.event_bytes_max)
        reports: list[Sighting] = []
        async with LogReader(settings.kafka, [settings.topics.results, settings.topics.reports]) as reader:
            async for record in reader.read("beginning", follow=True):
                sighting = describer.describe(record)
                if sighting.what == "result":
                    self._result(sighting, arrivals)
                elif sighting.what == "report":
                    arrivals.report_events += 1
                    arrivals.final[sighting.facts["concern_id"], sighting.facts["batch_id"]] = bool(sighting.facts["final"])
                    reports.append(sighting)
                if len(arrivals.events) >= events and len(arrivals.final) >= batches and all(arrivals.final.values()):
                    break
        labels = ", ".join(f"{count} {label}" for label, count in sorted(arrivals.labels.items()))
        self._say(f"     … {len(arrivals.events)} results in all: {labels}")
        self._say(f"4. Report events, {arrivals.report_events} for {len(arrivals.final)} batches; the final ones:")
        for sighting in reports:
            if sighting.facts["final"]:
                self._say(visible(f"     {sighting.text}"))

    def _result(self, sighting: Sighting, arrivals: Arrivals) -> None:
        """Count a result, and show the first few."""
        event_id = str(sighting.facts["event_id"])
        if event_id in arrivals.events:
            return
        arrivals.events.add(event_id)
        arrivals.labels[str(sighting.label)] += 1
        if len(arrivals.events) <= RESULTS_SHOWN:
            self._say(visible(f"     {sighting.text}"))

    async def _traces(self, live: Live) -> str:
        """Generated patients, on a topic of their own; returns what that has shown."""
        begun = time.monotonic()
        self._say(f"\n7. Generated patients, in FHIR R4 and HL7 v2: a worker of {TRACE_SUITE} loads its tables and joins …")
        await live.add(TRACE_SUITE)
        suite = load_suite(TRACE_SUITE)
        samples = await asyncio.to_thread(Traces.read, suite)
        up_s = time.monotonic() - begun
        sent = await samples.stream(live.settings)
        self._say(f"   Up after {up_s:.1f} s; {sent} traces sent, {len(samples.cards)} results after {time.monotonic() - begun:.1f} s; scores are 0–100:\n")
        for line in samples.shown():
            self._say(visible(f"   {line}"))
        self._check_account(8, await self._settled(live, suite), sent)
        await asyncio.to_thread(samples.check)
        self.problems += samples.problems
        self._say("9. The same files through the Python call, and what each sample was written for …")
        if not samples.problems:
            self._say(f"   All {len(samples.cards)} equal, and as expected.")
        return f"; {sent} patients with the findings they were written for, live and in batch the same"

    async def _summaries(self, live: Live, safe_events: int) -> str:
        """Generated summaries, beside the SAFE cases on the same topic; returns what that has shown."""
        begun = time.monotonic()
        self._say(f"\n10. Generated summaries: a worker of {SUMMARY_SUITE} loads its models and joins …")
        self._say("   In float32: bfloat16 is quicker, and its scores differ in the third decimal from batch to batch.")
        await live.add(SUMMARY_SUITE)
        suite = load_suite(SUMMARY_SUITE)
        samples = await asyncio.to_thread(Summaries.read, suite)
        up_s = time.monotonic() - begun
        sent = await samples.stream(live.settings)
        self._say(f"   Up after {up_s:.1f} s; {sent} events sent, {len(samples.cards)} results after {time.monotonic() - begun:.1f} s:\n")
        for line in samples.shown():
            self._say(f"   {line}")
        self._check_account(11, await self._settled(live, suite), sent)
        self._check_account(12, await self._settled(live, self._suite), safe_events)
        self._say("13. The same files through the batch command's code, and what each sample was written for …")
        await samples.check()
        self.problems += samples.problems
        if not samples.problems:
            self._say(f"    All {len(samples.cards)} equal within {TOLERANCE:g}, and as expected.")
        return f"; {sent} summaries with the outcomes they were written for, live and in batch the same"

    async def _settled(self, live: Live, suite: Suite) -> Reconciliation:
        """Reconcile once the workers have committed and the projector has caught up; the last verdict where they do not."""
        question = Question(suite.name, live.settings.topics.inputs(suite.topics), drained=True, wait_s=SETTLED_TIMEOUT_S)
        store = await asyncio.to_thread(ResultStore.open, live.store_url)
        try:
            deadline = time.monotonic() + SETTLED_TIMEOUT_S
            while True:
                account = await reconcile(live.settings, store, question)
                if account.closes or time.monotonic() > deadline:
                    return account
                await asyncio.sleep(SETTLED_POLL_S)
        finally:
            store.close()

    def _check_account(self, step: int, account: Reconciliation, events: int) -> None:
        """Say what the reconciliation found."""
        scored = sum(part.scored for part in account.partitions)
        consumed = sum(part.consumed for part in account.partitions)
        others = sum(sum(counts.values()) for part in account.partitions for counts in (part.skipped, part.shed, part.dead))
        verdict = "closes" if account.closes else "does NOT close"
        count = counted(len(account.partitions), "partition")
        whose = "" if step == 5 else f" of {account.suite}"
        self._say(f"{step}. Account{whose} over {count}: {consumed} consumed = {scored} scored + {others} skipped, shed or dead; it {verdict}")
        if not account.closes or scored != events:
            self.problems.append(f"the account{whose} does not close over {events} events; see `touchstone reconcile`")

    def _report(self, store_url: str) -> list[Path]:
        """The stored reports against the batch command's; the largest is shown and written."""
        now = datetime.now(UTC)
        stored: list[SafeV0BatchReport] = []
        store = ResultStore.open(store_url)
        try:
            for concern in sorted(path.name for path in safe_batches().iterdir() if path.is_dir()):
                built = report_from_store(store, choose(store, Wanted(SUITE, concern)), "*", self._own)
                stored.append(built)
                batch = score_files(find_batches(safe_batches(), concern, "*"), Selection(concern, "*", by_case=False), self._own)
                if built != batch:
                    self.problems.append(f"the stored report of {concern} is not the batch command's")
        except ConfigError as error:
            self.problems.append(str(error))
        finally:
            store.close()
        if not stored:
            return []
        largest = max(stored, key=lambda report: report.total_cases)
        self._say(f"6. Stored reports of {counted(len(stored), 'concern')}, compared with the batch command's; the largest:\n")
        self._say(render(largest, "console", RenderOptions(now)).rstrip())
        written = []
        for form in ("markdown", "json"):
            path = report_path(self._report_dir, largest.concern_id, form, now)
            write_whole(path, render(largest, form, RenderOptions(now)))
            written.append(path)
        return written


async def run_demo(settings: Settings, runner: str, report_dir: Path | None, say: Say) -> list[str]:
    """Run the demo; returns what does not add up, which should be nothing."""
    demo: Any = Demo(settings, runner, report_dir, say)
    await demo.run()
    return list(demo.problems)
