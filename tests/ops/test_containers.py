"""docker-compose.yml and Dockerfile: what must hold of them can be read; no Docker engine is needed."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from touchstone.ops.settings import load_settings
from touchstone.schemas.settings.house import WorkerSettings
from touchstone.scorers.registry import suite_entry_points

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("touchstone:")]
WORKERS = [name for name in OURS if name.startswith("worker-")]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_kafka_topics_a_worker_per_suite_and_the_projector_are_there() -> None:
    assert {"kafka", "topics", "projector"} <= set(SERVICES)
    suites = [service["command"][service["command"].index("--suite") + 1] for name in WORKERS for service in [SERVICES[name]]]
    assert sorted(suites) == sorted(suite_entry_points())


@pytest.mark.parametrize("name", SERVICES)
def test_every_port_is_bound_on_loopback(name: str) -> None:
    assert all(str(port).startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))
    assert "network_mode" not in SERVICES[name]


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_is_pinned(name: str) -> None:
    assert re.fullmatch(r"touchstone:local|[a-z/]+:\d+\.\d+\.\d+", SERVICES[name]["image"])


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_has_more_rights_than_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert service.get("read_only", False) == (name in OURS)


@pytest.mark.parametrize("name", OURS)
def test_the_settings_of_every_service_are_accepted(name: str, tmp_path: Path) -> None:
    environment = {key: str(value) for key, value in SERVICES[name]["environment"].items()}
    (tmp_path / "empty.toml").touch()
    settings = load_settings(env=environment, document=tmp_path / "empty.toml")
    assert settings.kafka.bootstrap_servers == "kafka:19092"


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_is_watched_and_has_time_to_drain(name: str) -> None:
    service = SERVICES[name]
    port = service["environment"]["TOUCHSTONE_HTTP_PORT"]
    assert f"http://127.0.0.1:{port}/healthz" in service["healthcheck"]["test"][-1]
    assert int(service["stop_grace_period"].removesuffix("s")) > WorkerSettings().drain_timeout_s


def test_nothing_of_ours_starts_before_the_topics_are_there() -> None:
    assert SERVICES["topics"]["depends_on"]["kafka"]["condition"] == "service_healthy"
    assert SERVICES["topics"]["restart"] == "no"
    assert all(SERVICES[name]["depends_on"]["topics"]["condition"] == "service_completed_successfully" for name in OURS if name != "topics")


def test_every_named_volume_is_declared_and_used() -> None:
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert used == set(COMPOSE["volumes"])


def test_kafka_tells_each_side_an_address_that_it_can_reach() -> None:
    environment = SERVICES["kafka"]["environment"]
    assert set(environment["KAFKA_ADVERTISED_LISTENERS"].split(",")) == {"HOST://127.0.0.1:9092", "INTERNAL://kafka:19092"}
    assert environment["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"


def test_the_image_is_pinned_hashed_and_runs_as_nobody_special() -> None:
    assert len(re.findall(r"^FROM python:\d+\.\d+\.\d+-slim-\w+", DOCKERFILE, re.MULTILINE)) == 2
    installs = re.findall(r"pip install [^&]*", DOCKERFILE)
    assert installs
    assert all("--require-hashes" in command or "--no-deps" in command for command in installs)
    assert re.search(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE).group(1) != "0"  # type: ignore[union-attr]
    assert not re.search(r"https?://", DOCKERFILE)


def test_what_the_image_copies_reaches_the_build() -> None:
    allowed = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {source for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE) for source in line.split()}
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)
