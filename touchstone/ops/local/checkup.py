"""The checks behind `touchstone doctor`: what is configured, reachable and missing, and how to fix it."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import Check, ConfigError, Lacking
from touchstone.scorers.installing import install_again
from touchstone.scorers.suite import Suite

PACKAGES = ("touchstone-stream", "aiokafka", "confluent-kafka", "faust-streaming", "mode-streaming", "pydantic", "sqlalchemy", "uvloop")
DOCKER_TIMEOUT_S = 5.0
#: What docker-compose.yml needs.
COMPOSE_MIN = (2, 20)


def check_python() -> Iterator[Check]:
    """Python and packages."""
    yield Check("python", "good", f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    versions = {name: _version(name) for name in PACKAGES}
    missing = [name for name, number in versions.items() if number is None and not (name == "uvloop" and sys.platform == "win32")]
    if missing:
        yield Check("packages", "bad", f"not installed: {', '.join(missing)}", install_again())
    yield Check("packages", "good", ", ".join(f"{name} {number}" for name, number in versions.items() if number is not None))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def check_suites(found: list[Suite]) -> Iterator[Check]:
    """Every installed suite: whether it imports, and whether its settings are in order. Adds the usable ones to `found`."""
    from touchstone.scorers.registry import load_suite, suite_entry_points, why_not_here
    from touchstone.scorers.suite_settings import suite_settings

    names = sorted(suite_entry_points())
    if not names:
        yield Check("suites", "bad", "no suite is installed", install_again())
    for name in names:
        try:
            suite = load_suite(name)
            suite_settings(suite)
        except ConfigError as error:
            yield Check("suites", "bad", f"{name}: {error}", "fix what the message names")
        else:
            found.append(suite)
            reason = why_not_here(name)
            described = f"{name} {suite.version}, reads {', '.join(suite.topics)}"
            yield Check("suites", "good", described) if reason is None else Check("suites", "note", f"{described}; cannot run here: {reason}")


async def check_kafka(settings: Settings, suites: list[Suite]) -> list[Check]:
    """The cluster, the topics and each suite's group."""
    from touchstone.streams.topics.probe import probe

    try:
        facts = await probe(settings, {suite.name: settings.topics.inputs(suite.topics) for suite in suites})
    except ConfigError as error:
        return [Check("kafka", "bad", str(error), "start a broker (touchstone kafka start, docker compose up) or correct the settings named")]
    kafka = settings.kafka
    checks = [Check("kafka", "good", f"{kafka.bootstrap_servers} answers ({kafka.security_protocol}, {facts.brokers} broker{_s(facts.brokers)})")]
    missing = [name for name in settings.topics.all_names() if name not in facts.partitions]
    if missing:
        checks.append(Check("topics", "bad", f"missing: {', '.join(missing)}", "run `touchstone topics create`"))
    there = [name for name in settings.topics.all_names() if name in facts.partitions]
    if there:
        checks.append(Check("topics", "good", ", ".join(f"{name} ({facts.partitions[name]})" for name in there)))
    for suite, group in facts.groups.items():
        if not group.committed:
            what = f"{group.group} has not committed yet; {group.lag:,} records wait"
            checks.append(Check("groups", "note", what, f"unless one runs that has had nothing to do, start it: touchstone worker --suite {suite}"))
        else:
            checks.append(Check("groups", "note" if group.lag else "good", f"{group.group}: lag {group.lag:,}"))
    return checks


def check_store(settings: Settings) -> Iterator[Check]:
    """The result store."""
    from touchstone.ops.store.engine import integrity, shown
    from touchstone.ops.store.results import ResultStore
    from touchstone.ops.store.schema import SCHEMA_VERSION
    from touchstone.streams.account.store_port import StoreRefused, StoreUnavailable

    url = settings.store.url.get_secret_value()
    place = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not place.exists() and place.parent.is_dir() and os.access(place.parent, os.W_OK):
        yield Check("store", "note", f"{shown(url)} is not there yet", "`touchstone projector` creates it")
        return
    try:
        store = ResultStore.open(url)
        try:
            integrity(store.engine)
        finally:
            store.close()
    except StoreRefused as error:
        yield Check("store", "note" if "no results yet" in str(error) else "bad", str(error))
    except (ConfigError, StoreUnavailable) as error:
        yield Check("store", "bad", str(error), "correct store.url, or start its database")
    else:
        yield Check("store", "good", f"{shown(url)}, schema version {SCHEMA_VERSION}")


def check_tools() -> Iterator[Check]:
    """What runs Apache Kafka on this machine; nothing needs it where a cluster is configured or the embedded broker will do."""
    from touchstone.ops.local.kafka.artifacts import missing

    reason = missing()
    yield Check("apache kafka", "note" if reason else "good", reason or "can run here: touchstone kafka start")
    yield check_docker()


def check_docker() -> Check:
    """True if a Docker daemon answers; the command alone is not enough."""
    docker = shutil.which("docker")
    if docker is None:
        return Check("docker", "note", "no docker command", "needed for docker compose only")
    asked = [docker, "version", "--format", "{{.Server.Version}}"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=DOCKER_TIMEOUT_S, check=False)
        server = answer.stdout.strip() if answer.returncode == 0 else ""
    except (OSError, subprocess.TimeoutExpired):
        server = ""
    if not server:
        return Check("docker", "note", f"{docker} is installed, but no daemon answers", "start it, or see DOCKER_HOST; needed for docker compose only")
    try:
        compose = subprocess.run(
            [docker, "compose", "version", "--short"], capture_output=True, text=True, timeout=DOCKER_TIMEOUT_S, check=False
        ).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        compose = ""
    found = re.match(r"v?(\d+)\.(\d+)", compose)
    if found is None or (int(found[1]), int(found[2])) < COMPOSE_MIN:
        what = f"Docker {server[:40]} answers, with {f'Compose {compose[:20]}' if found else 'no Compose plugin'}"
        needed = ".".join(map(str, COMPOSE_MIN))
        return Check("docker", "note", what, f"docker-compose.yml needs `docker compose` {needed} or newer; docker-compose 1.29 cannot read it")
    return Check("docker", "good", f"Docker {server[:40]} answers, Compose {compose[:20]}")


def check_embedded() -> Check:
    """The broker behind `touchstone up` and the demo: started for real, because its library may not load here."""
    from touchstone.streams.embedded.broker import EmbeddedBroker

    try:
        with EmbeddedBroker():
            return Check("embedded broker", "good", "starts")
    except ConfigError as error:
        return Check("embedded broker", "note", str(error), "use `touchstone kafka start` or a cluster; `touchstone up` and the demo need it")


def check_suite(suite: Suite) -> Iterator[Check]:
    """What a suite notes and looks at itself, with its settings as they are here. A check that fails to run is a finding of its own."""
    from touchstone.scorers.registry import why_not_here
    from touchstone.scorers.suite_settings import suite_settings

    if suite.doctor is None and (suite.notes is None or why_not_here(suite.name) is not None):
        return
    try:
        own = suite_settings(suite)
        if suite.notes is not None:
            yield from (Check("suites", "note" if isinstance(note, Lacking) else "good", f"{suite.name}: {note}") for note in suite.notes(own))
        if suite.doctor is not None:
            yield from suite.doctor(own)
    except Exception as error:  # noqa: BLE001 -- one package's mistake must not cost the rest of the checks; its text may quote anything
        yield Check("suites", "bad", f"{suite.name}: its own check failed with {type(error).__name__}", "report it to the suite's author")


def _s(count: int) -> str:
    return "" if count == 1 else "s"
