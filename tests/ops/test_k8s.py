import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from touchstone.ops.settings import load_settings
from touchstone.schemas.settings.house import TopicSettings, WorkerSettings
from touchstone.scorers.registry import load_suite, suite_entry_points

FOLDER = Path(__file__).parents[2] / "touchstone" / "ops" / "k8s"
#: KEDA's own schema of a ScaledObject (kedacore/keda 2.18, Apache-2.0), without its descriptions and closed against unknown keys.
SCALED_OBJECT = Path(__file__).with_name("k8s") / "scaledobject.schema.json"
#: The oldest and the newest version of Kubernetes that the manifests are held to.
VERSIONS = ("1.30", "1.34")
SUITES = sorted(suite_entry_points())
#: The folder of a suite that needs nothing of its own: docs/deployment.md says to copy it for another suite.
PLAINEST = "safe_v0"
CATCHING_UP = "catch-up-clinical-judge"
#: What keeps cases in a bucket instead of a volume.
BUCKET = "archive-bucket"

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None and shutil.which("kustomize") is None, reason="neither kubectl nor kustomize is installed")


@cache
def manifests(*components: str) -> tuple[dict[str, Any], ...]:
    """Everything that `kubectl kustomize ops/k8s` makes, with a worker for every installed suite, and what an overlay adds that catches up."""
    command = ["kubectl", "kustomize"] if shutil.which("kubectl") else ["kustomize", "build"]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(FOLDER, Path(folder) / "k8s")
        for suite in SUITES:
            if not (FOLDER / "suites" / dashed(suite)).is_dir():
                add_suite(Path(folder) / "k8s", suite)
        overlay = {"resources": ["k8s"], "components": ["k8s/catch-up", *(f"k8s/{name}" for name in components)]}
        (Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
        done = subprocess.run([*command, folder], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(yaml.safe_load_all(done.stdout))


def dashed(suite: str) -> str:
    return suite.replace("_", "-")


def add_suite(folder: Path, suite: str) -> None:
    """Add a worker as docs/deployment.md says: copy the plainest suite's folder, name suite, group and topic in it, and list it."""
    (topic,) = TopicSettings().inputs(load_suite(suite).topics)
    (was,) = TopicSettings().inputs(load_suite(PLAINEST).topics)
    text = (folder / "suites" / dashed(PLAINEST) / "kustomization.yaml").read_text()
    (folder / "suites" / dashed(suite)).mkdir()
    named = text.replace(PLAINEST, suite).replace(dashed(PLAINEST), dashed(suite)).replace(was, topic)
    (folder / "suites" / dashed(suite) / "kustomization.yaml").write_text(named)
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())
    listed["resources"].append(f"suites/{dashed(suite)}")
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(listed))


def of_kind(kind: str, *components: str) -> dict[str, dict[str, Any]]:
    """Name → manifest."""
    return {made["metadata"]["name"]: made for made in manifests(*components) if made["kind"] == kind}


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, pod template) of everything that runs."""
    for kind in ("Deployment", "Job"):
        for name, made in of_kind(kind).items():
            yield name, made["spec"]["template"]


def worker_of(suite: str) -> str:
    return f"worker-{dashed(suite)}"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_is_what_the_api_takes(version: str) -> None:
    validator = pytest.importorskip("kubernetes_validate")
    checked = [made for made in (*manifests(), *manifests(BUCKET)) if made["kind"] != "ScaledObject"]
    assert len(checked) > 30
    for made in checked:
        validator.validate(made, version, strict=True)


def test_the_validator_would_find_a_mistyped_key() -> None:
    validator = pytest.importorskip("kubernetes_validate")
    broken = json.loads(json.dumps(of_kind("Deployment")["projector"]))
    broken["spec"]["template"]["spec"]["terminationGracePeriodSecond"] = 30
    with pytest.raises(validator.ValidationError):
        validator.validate(broken, VERSIONS[-1], strict=True)


@pytest.mark.parametrize("suite", SUITES)
def test_a_scaled_object_is_what_keda_takes(suite: str) -> None:
    Draft202012Validator(json.loads(SCALED_OBJECT.read_text())).validate(of_kind("ScaledObject")[worker_of(suite)])


@pytest.mark.parametrize("suite", SUITES)
def test_every_suite_has_a_worker_that_learns_its_name_from_its_label(suite: str) -> None:
    template = of_kind("Deployment")[worker_of(suite)]["spec"]["template"]
    assert template["metadata"]["labels"]["touchstone/suite"] == suite
    (container,) = template["spec"]["containers"]
    assert container["args"] == ["worker", "--suite", "$(SUITE)", "--runner", "faust"]
    (named,) = [variable for variable in container["env"] if variable["name"] == "SUITE"]
    assert named["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['touchstone/suite']"


@pytest.mark.parametrize("suite", SUITES)
def test_workers_are_scaled_on_the_lag_of_their_group_and_never_past_the_partitions(suite: str) -> None:
    scaled = of_kind("ScaledObject")[worker_of(suite)]["spec"]
    assert scaled["scaleTargetRef"]["name"] == worker_of(suite)
    assert scaled["minReplicaCount"] == 1  # a group that has committed nothing has no lag to be woken by
    assert scaled["maxReplicaCount"] == TopicSettings().partitions
    (trigger,) = scaled["triggers"]
    told = trigger["metadata"]
    assert trigger["type"] == "kafka"
    assert told["consumerGroup"] == f"{WorkerSettings().group_prefix}.{suite}"
    assert [told["topic"]] == list(TopicSettings().inputs(load_suite(suite).topics))
    assert told["excludePersistentLag"] == "true"
    assert told["bootstrapServers"] == settings_of_all()["KAFKA_BOOTSTRAP_SERVERS"]
    (container,) = of_kind("Deployment")[worker_of(suite)]["spec"]["template"]["spec"]["containers"]
    own = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert int(told["lagThreshold"]) > int(own.get("TOUCHSTONE_WORKER_WINDOW_RECORDS") or WorkerSettings().window_records)


@pytest.mark.parametrize("suite", SUITES)
def test_applying_the_manifests_again_does_not_undo_the_scaling(suite: str) -> None:
    assert "replicas" not in of_kind("Deployment")[worker_of(suite)]["spec"]


def settings_of_all() -> dict[str, str]:
    (made,) = of_kind("ConfigMap").values()
    data: dict[str, str] = made["data"]
    return data


def takes_all_settings(container: dict[str, Any]) -> bool:
    return any("configMapRef" in source for source in container.get("envFrom", []))


def test_the_settings_of_every_process_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").touch()
    (tmp_path / "token").write_text("0123456789abcdef")
    data = settings_of_all() | {"TOUCHSTONE_HTTP_TOKEN_FILE": str(tmp_path / "token")}
    for name, template in pods():
        (container,) = template["spec"]["containers"]
        own = {variable["name"]: variable["value"] for variable in container["env"] if variable["name"].startswith("TOUCHSTONE_") and "value" in variable}
        for variable in [name for name in own if name.endswith("_FILE")]:
            path = tmp_path / f"{name}-{variable}"
            path.write_text("all:0123456789abcdef" if "TOKENS" in variable else "postgresql+psycopg://u:p@h/d")  # of keys, only the path is read
            own[variable] = str(path)
        assert load_settings(env=data | own, document=tmp_path / "empty.toml").http.port == 8080


def test_every_file_that_a_setting_names_is_mounted_from_a_secret() -> None:
    for name, template in pods():
        (container,) = template["spec"]["containers"]
        given = {variable["name"]: variable.get("value", "") for variable in container["env"]} | (settings_of_all() if takes_all_settings(container) else {})
        secrets = {volume["name"] for volume in template["spec"]["volumes"] if "secret" in volume}
        mounted = {mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] in secrets and mount["readOnly"]}
        assert {str(Path(value).parent) for key, value in given.items() if key.endswith("_FILE")} == mounted, name


def test_the_page_s_service_leads_to_its_pods_and_its_settings_are_those_of_its_command() -> None:
    serve = of_kind("Deployment")["serve"]["spec"]["template"]
    service = of_kind("Service")["serve"]["spec"]
    assert service["selector"].items() <= serve["metadata"]["labels"].items()
    (container,) = serve["spec"]["containers"]
    (port,) = container["ports"]
    assert [each["targetPort"] for each in service["ports"]] == [port["name"]]
    assert container["args"] == ["serve", "--host", "0.0.0.0", "--port", str(port["containerPort"])]
    assert serve["metadata"]["annotations"]["prometheus.io/port"] == str(port["containerPort"])
    assert of_kind("NetworkPolicy")["serve"]["spec"]["podSelector"]["matchLabels"].items() <= serve["metadata"]["labels"].items()


def test_nobody_is_root_writes_to_the_root_or_talks_to_the_api() -> None:
    for name, template in pods():
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["securityContext"]["runAsNonRoot"], name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}, name


def test_everything_asks_for_what_it_needs_and_has_a_limit_of_memory() -> None:
    for name, template in pods():
        for container in template["spec"]["containers"]:
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"], name


def test_what_runs_for_long_is_probed_and_may_be_moved_one_at_a_time() -> None:
    budgets = {name: made["spec"]["selector"]["matchLabels"] for name, made in of_kind("PodDisruptionBudget").items()}
    for name, made in of_kind("Deployment").items():
        (container,) = made["spec"]["template"]["spec"]["containers"]
        ports = {port["name"] for port in container["ports"]}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["port"] in ports
        assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
        assert budgets[name] == made["spec"]["selector"]["matchLabels"]


@pytest.mark.parametrize("name", [*map(worker_of, SUITES), CATCHING_UP, "archiver"])
def test_a_worker_has_time_to_drain(name: str) -> None:
    spec = of_kind("Deployment")[name]["spec"]["template"]["spec"]
    assert spec["terminationGracePeriodSeconds"] > WorkerSettings().drain_timeout_s


def mounts_of(name: str, *components: str) -> dict[str, dict[str, Any]]:
    """Path → volume of a Deployment's container, with how it is mounted."""
    spec = of_kind("Deployment", *components)[name]["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    return {mount["mountPath"]: volumes[mount["name"]] | mount for mount in spec["containers"][0]["volumeMounts"]}


def settings_given(name: str) -> dict[str, Any]:
    (container,) = of_kind("Deployment")[name]["spec"]["template"]["spec"]["containers"]
    data = settings_of_all()
    own = {each["name"]: each.get("value") or data.get(each.get("valueFrom", {}).get("configMapKeyRef", {}).get("key")) for each in container["env"]}
    return (data if takes_all_settings(container) else {}) | own


@pytest.mark.parametrize("setting", ["TOUCHSTONE_STORE_URL_FILE", "TOUCHSTONE_ARCHIVE_URL", "TOUCHSTONE_ARCHIVE_KEY_FILE"])
def test_the_page_shows_what_the_archiver_keeps(setting: str) -> None:
    assert settings_given("archiver")[setting] == settings_given("serve")[setting]


def test_cases_are_kept_on_a_volume_that_archiver_and_page_may_have_on_different_nodes() -> None:
    url = settings_of_all()["TOUCHSTONE_ARCHIVE_URL"]
    for name in ("archiver", "serve"):
        mount = mounts_of(name)[url.removeprefix("file://")]
        claim = of_kind("PersistentVolumeClaim")[mount["persistentVolumeClaim"]["claimName"]]
        assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
        assert not mount.get("readOnly")  # serve keeps the traces that applications send


def test_cases_in_a_bucket_need_no_volume_and_may_be_reached() -> None:
    assert not of_kind("PersistentVolumeClaim", BUCKET)
    policy = of_kind("NetworkPolicy", BUCKET)["archive"]["spec"]
    for name in ("archiver", "serve"):
        template = of_kind("Deployment", BUCKET)[name]["spec"]["template"]
        assert not [volume for volume in template["spec"]["volumes"] if "persistentVolumeClaim" in volume]
        assert mounts_of(name, BUCKET).keys() == mounts_of(name).keys() - {settings_of_all()["TOUCHSTONE_ARCHIVE_URL"].removeprefix("file://")}
        assert {"name": "touchstone-archive-bucket", "optional": True} in [source.get("secretRef") for source in template["spec"]["containers"][0]["envFrom"]]
        assert policy["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert policy["egress"] == [{"ports": [{"port": 443, "protocol": "TCP"}]}]


def test_who_opens_the_store_may_reach_its_database_and_nobody_else() -> None:
    (chosen,) = of_kind("NetworkPolicy")["store"]["spec"]["podSelector"]["matchExpressions"]
    opens = {template["metadata"]["labels"]["app.kubernetes.io/name"] for name, template in pods() if "TOUCHSTONE_STORE_URL_FILE" in str(template)}
    assert (chosen["key"], chosen["operator"], set(chosen["values"])) == ("app.kubernetes.io/name", "In", opens)


def test_only_one_projector_writes_the_store() -> None:
    spec = of_kind("Deployment")["projector"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_what_catches_up_is_one_with_its_worker_s_settings() -> None:
    made, worker = of_kind("Deployment")[CATCHING_UP], of_kind("Deployment")[CATCHING_UP.replace("catch-up", "worker")]
    assert (made["spec"]["replicas"], made["spec"]["strategy"]) == (1, {"type": "Recreate"})
    (own,), (other,) = (each["spec"]["template"]["spec"]["containers"] for each in (made, worker))
    assert own["args"] == ["replay", "--suite", "$(SUITE)", "--reason", "budget", "--follow"]
    assert [own[key] for key in ("image", "envFrom")] == [other[key] for key in ("image", "envFrom")]
    settings = {each["name"]: each for each in other["env"]}
    assert [settings[each["name"]] for each in own["env"]] == own["env"]
    policy = of_kind("NetworkPolicy")["judge-clinical-judge"]["spec"]["podSelector"]["matchLabels"]
    assert policy.items() <= made["spec"]["template"]["metadata"]["labels"].items()


def test_what_no_policy_names_is_refused() -> None:
    policies = of_kind("NetworkPolicy")
    assert policies["touchstone"]["spec"]["podSelector"] == {}
    assert set(policies["touchstone"]["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    assert all("namespaceSelector" in peer for made in policies.values() for rule in made["spec"].get("ingress", []) for peer in rule["from"])


def test_an_image_is_one_that_the_dockerfile_makes() -> None:
    compose = yaml.safe_load((FOLDER.parents[2] / "docker-compose.yml").read_text())
    built = {service["image"] for service in compose["services"].values() if "build" in service}
    for name, template in pods():
        for container in template["spec"]["containers"]:
            assert container["image"] in built, name
    for suite in SUITES:
        (container,) = of_kind("Deployment")[worker_of(suite)]["spec"]["template"]["spec"]["containers"]
        assert container["image"] == compose["services"].get(worker_of(suite), compose["services"]["worker"])["image"]
    assert {path.name for path in (FOLDER / "suites").iterdir()} == {name.removeprefix("worker-") for name in compose["services"] if name.startswith("worker-")}
