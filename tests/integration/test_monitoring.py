import asyncio
import itertools
import json
import math
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.doubles.judges import Fault, JudgeServer, Kind
from tests.ops.judge_folders import calibrated
from tests.ops.monitoring.promql import ALERTS, DASHBOARDS, RULES, Query, filled, metrics_of, queries, read, recorded, rules, selectors
from touchstone.ops.batch.outgoing import Outgoings, Way, event_files
from touchstone.ops.local.demo_parts import Part, choose_parts
from touchstone.ops.local.plan import Plan
from touchstone.ops.local.up import Live
from touchstone.ops.settings import load_settings
from touchstone.scorers.calibration.folder import suite_judge
from touchstone.scorers.identity import config_digest
from touchstone.scorers.registry import usable_suites
from touchstone.scorers.suite_settings import suite_settings
from touchstone.streams.topics.produce import Outgoing, send_events

# Models load in seconds, on a very busy machine in minutes, and as long again until each of them was asked.
PATIENCE_S = 300.0
WEEK_S = 7 * 86_400
#: Recorded series that an alert or a page asks for as they were a week ago; a run of a minute has no last week, so it is put into the database beforehand.
A_WEEK_AGO = ("job_suite:touchstone_results_passed_per_judged:ratio_rate1h", "job_suite:touchstone_results_judged:rate1h")
JOB = "touchstone"
#: What pages ask for over a minute is asked for over the whole run: some things (a report, a text that is tokenized) happen once, and a busy machine asks late.
RATE_INTERVAL = ("[1m]", "[15m]")
#: A busy machine does not answer a scrape within a second.
SCRAPE_S = 3
#: Rounds of samples that come quickly, for load; then they come seldom, so that models which are slower than that are not buried.
QUICK_ROUNDS = 3
#: Of rounds, the one in so many that the summaries come in: a round of them keeps a processor busy for half a minute.
SUMMARIES_EVERY = 6
#: Rounds that poison is sent in.
POISONED_ROUNDS = 3
#: One of each that a judge counts by its code; more of them would raise alerts.
JUDGE_FAULTS = tuple(Fault(kind, requests=frozenset({number})) for number, kind in enumerate((Kind.REFUSAL, Kind.ERROR_500, Kind.WRONG_FORM), 2))
#: Loopback is asked directly, whatever proxy the environment names.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow(40),
    pytest.mark.timeout(PATIENCE_S + 300),
    pytest.mark.skipif(
        shutil.which("prometheus") is None or shutil.which("promtool") is None, reason="Prometheus is not installed (Debian: apt-get install prometheus)"
    ),
]


@dataclass
class Prometheus:
    address: str

    def get(self, path: str, **parameters: str) -> Any:
        """`data` of an answer of the API. Raises `AssertionError` where it is no success."""
        try:
            with DIRECT.open(f"{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=60) as answer:
                told = json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()[:500]}") from error
        assert told["status"] == "success", told
        return told["data"]

    def numbers(self, expression: str) -> list[float]:
        values = [float(each["value"][1]) for each in self.get("query", query=expression)["result"]]
        return [value for value in values if not math.isnan(value)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def put_last_week(folder: Path, suites: Sequence[str]) -> None:
    """Write two hours of the recorded series, as they would be there from a week ago, into the database."""
    now = int(time.time())
    lines = []
    for series in A_WEEK_AGO:
        lines.append(f"# TYPE {series} gauge")
        lines += [f'{series}{{job="{JOB}",suite="{suite}"}} 0.5 {now - WEEK_S + step}' for suite in suites for step in range(-600, 7200, 60)]
    source = folder / "last_week.om"
    source.write_text("\n".join([*lines, "# EOF", ""]))
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(source), str(folder / "data")]
    made = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert made.returncode == 0, made.stdout + made.stderr


@asynccontextmanager
async def prometheus(folder: Path, targets: Sequence[str], suites: Sequence[str]) -> AsyncIterator[Prometheus]:
    """A Prometheus that scrapes and evaluates all the time; ends with the block."""
    config = {
        "global": {"scrape_interval": f"{SCRAPE_S}s", "scrape_timeout": f"{SCRAPE_S}s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES), str(ALERTS)],
        "scrape_configs": [{"job_name": JOB, "static_configs": [{"targets": list(targets)}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    await asyncio.to_thread(put_last_week, folder, suites)
    port = free_port()
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: ASYNC220 -- starting it blocks nobody
            [
                "prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
            ],
            stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    made = Prometheus(f"http://127.0.0.1:{port}")
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                await asyncio.to_thread(made.get, "query", query="1")
                break
            except (OSError, AssertionError):
                assert process.poll() is None, (folder / "prometheus.log").read_text()
                assert time.monotonic() < deadline, (folder / "prometheus.log").read_text()
                await asyncio.sleep(0.1)
        yield made
    finally:
        process.terminate()
        try:
            await asyncio.to_thread(process.wait, 30)
        finally:
            process.kill()  # or it would run on beside the tests that follow


def poison(live: Live) -> Iterator[Outgoing]:
    topics = live.settings.topics
    for topic in (topics.generations, topics.traces):
        yield Outgoing("poison", topic, None, b"{")


async def load(live: Live, parts: Sequence[Part]) -> None:
    for round_ in itertools.count():
        for part in parts:
            if round_ % SUMMARIES_EVERY and part.suite.name == "summary_loss":
                continue
            outgoing = Outgoings(live.settings, [part.suite], event_files(part.samples.paths), {}, Way(None))
            checked = await asyncio.to_thread(outgoing.check)
            await send_events(live.settings, outgoing.events(), checked.topics)
        # Ten in a quarter of an hour are an alert, and a slow machine needs many rounds until every query is answered.
        if round_ < POISONED_ROUNDS:
            await send_events(live.settings, poison(live), [live.settings.topics.generations, live.settings.topics.traces])
        await asyncio.sleep(0.5 if round_ < QUICK_ROUNDS else 5)


async def answered(found: Prometheus, wanted: dict[str, str]) -> dict[str, str]:
    """Ask until each has answered with a number once; those that never did. `wanted`: place → expression."""
    missing = dict(wanted)
    deadline = time.monotonic() + PATIENCE_S
    while missing and time.monotonic() < deadline:
        for place, expression in list(missing.items()):
            if await asyncio.to_thread(found.numbers, expression):
                del missing[place]
        await asyncio.sleep(1)
    return missing


def of_rules() -> Iterator[Query]:
    """What rules read and record. An alert that is silent answers nothing, so every selector of it is asked for alone."""
    for name in recorded():
        yield Query(f"recorded {name}", name)
    for alert in rules(ALERTS):
        for name in metrics_of(alert["expr"]):
            yield Query(f"{alert['alert']}: {name}", name)
        for name, matchers in selectors(alert["expr"]):
            yield Query(f"{alert['alert']}: {name} {matchers}", f"{name}{{{matchers}}}")


def of_variables() -> Iterator[Query]:
    for path in DASHBOARDS:
        page = read(path)
        for variable in page["templating"]["list"]:
            if variable["type"] == "query":
                inside = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"])
                assert inside is not None
                yield Query(f"{page['title']}: {variable['name']}", f"count by ({inside[2]}) ({filled(inside[1])})")


@pytest.fixture
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting from outside: another test's, or the shell's, such as a token that Prometheus does not know."""
    prefixes = ("TOUCHSTONE_", "KAFKA_", *(suite.env_prefix for suite in usable_suites().values() if suite.env_prefix))
    for name in [name for name in os.environ if name.startswith(prefixes)]:
        monkeypatch.delenv(name)


def with_judge(base_url: str) -> dict[str, str]:
    """Settings of a judge for every suite that asks one. It is asked about a sample whenever that comes round: nothing is remembered here, either."""
    given = {"base_url": base_url, "model": "scripted", "cache": "off", "budget_usd": "1000", "budget_period": "run"}
    given |= {"price_input_usd": "1", "price_output_usd": "2", "retry_backoff_min_s": "0.05"}
    return {f"TOUCHSTONE_JUDGE_{name.upper()}": value for name, value in given.items()}


@pytest.mark.usefixtures("_own_environment")
async def test_every_query_of_every_page_and_rule_has_an_answer_in_a_real_run(tmp_path: Path) -> None:
    parts, left_out = choose_parts(os.environ)
    # A suite without samples has nothing to be sent here; its metrics have the names of the others'.
    if cannot := [told for told in left_out if "brings no samples" not in told]:
        pytest.skip(f"not every suite can run here: {cannot}")
    names = [part.suite.name for part in parts]
    # The samples come round again and again: were their texts remembered, nothing would be tokenized after the first scrape.
    env = {"TOUCHSTONE_PROJECTOR_QUIET_S": "3", "SUMMARY_LOSS_ENGINES_TEXT_CACHE_ITEMS": "1"}
    for part in parts:
        # Samples are tried without a judge elsewhere; here there is one.
        env |= {name: value for name, value in part.samples.env.items() if not name.endswith("JUDGE_ENABLED")}
    (tmp_path / "empty.toml").touch()
    settings = load_settings(env={}, document=tmp_path / "empty.toml")
    env |= {"TOUCHSTONE_JUDGES_FOLDER": str(tmp_path / "judges"), "TOUCHSTONE_JUDGES_INTERVAL_S": "1"}
    notes: list[str] = []
    async with (
        JudgeServer(faults=JUDGE_FAULTS) as judge,
        Live(
            settings,
            Plan(names, page_port=0, env=env | with_judge(judge.base_url), config=tmp_path / "empty.toml"),
            lambda line: notes.append(f"[{line.child}] {line.text}"),
        ) as live,
    ):
        safe = next(part.suite for part in parts if part.suite.name == "safe_v0")
        used = suite_settings(safe, env=env | with_judge(judge.base_url))
        calibrated(tmp_path / "judges", judge=suite_judge(safe.version, config_digest(safe.fingerprint(used))))
        targets = [str(child.address).removeprefix("http://").partition("/")[0] for child in live.children]
        assert len(targets) == len(names) + 3  # the projector, the archiver and the live service
        async with prometheus(tmp_path, targets, names) as found:
            sending = asyncio.create_task(load(live, parts))
            wanted = {query.place: filled(query.expression).replace(*RATE_INTERVAL) for query in (*queries(), *of_rules(), *of_variables())}
            asking = asyncio.create_task(answered(found, wanted))
            await asyncio.wait({sending, asking}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
            missing = await asking
            sending.cancel()
            unhealthy = [rule for group in found.get("rules")["groups"] for rule in group["rules"] if rule["health"] != "ok"]
            firing = found.get("query", query='ALERTS{alertstate="firing"}')["result"]
            scraped = {metric["job"] for metric in (each["metric"] for each in found.get("query", query="up == 1")["result"])}
    print(f"{len(wanted)} queries of {len(names)} suites, {len(targets)} processes: {len(wanted) - len(missing)} answered with numbers")
    assert missing == {}, "\n".join(notes[-20:])
    assert unhealthy == []
    assert firing == []
    assert scraped == {JOB}
