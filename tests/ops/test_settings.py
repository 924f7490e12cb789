from pathlib import Path

import pytest

from touchstone.ops.cli.common import shared
from touchstone.ops.settings import load_settings, origins, suspicious
from touchstone.scorers.base import ConfigError

SECRET = "hunter2-very-secret"


def test_the_command_line_wins_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    document = tmp_path / "touchstone.toml"
    document.write_text("[worker]\nslice_records = 1\ncommit_interval_s = 2\nwindow_records = 7\n")
    env = {"TOUCHSTONE_WORKER_SLICE_RECORDS": "2", "TOUCHSTONE_WORKER_WINDOW_RECORDS": "8"}
    settings = load_settings({"worker.slice_records": 3, "kafka.client_id": None}, env=env, document=document)
    assert (settings.worker.slice_records, settings.worker.window_records, settings.worker.commit_interval_s) == (3, 8, 2)
    assert settings.kafka.client_id == "touchstone"


def test_kafka_settings_have_their_customary_names() -> None:
    settings = load_settings(env={"KAFKA_BOOTSTRAP_SERVERS": "a:1", "KAFKA_HOME": "/opt/kafka"})
    assert settings.kafka.bootstrap_servers == "a:1"


def test_our_own_name_of_a_kafka_setting_wins_over_the_customary_one() -> None:
    for names in (("KAFKA_CLIENT_ID", "TOUCHSTONE_KAFKA_CLIENT_ID"), ("TOUCHSTONE_KAFKA_CLIENT_ID", "KAFKA_CLIENT_ID")):
        assert load_settings(env={name: name for name in names}).kafka.client_id == "TOUCHSTONE_KAFKA_CLIENT_ID"


MISSPELT = {
    "KAFKA_BOOTSTRAP_SERVER": "KAFKA_BOOTSTRAP_SERVERS",
    "KAFKA_SASL_MECHANISMS": "KAFKA_SASL_MECHANISM",
    "KAFKA_SECURITY_PROTOCOLL": "KAFKA_SECURITY_PROTOCOL",
    "KAFKA_SSL_CA_FILE": "KAFKA_SSL_CAFILE",
    "KAFKA_SASL_PASSWORDFILE": "KAFKA_SASL_PASSWORD_FILE",
    "KAFKA_REQUEST_TIMEOUT_MS": "KAFKA_REQUEST_TIMEOUT_S",
    "KAFKA_SSL_CAFILE_FILE": "KAFKA_SSL_CAFILE",
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_kafka_variable_that_is_nearly_ours_is_suspicious_and_no_error(name: str) -> None:
    assert suspicious({name: SECRET}) == [f"{name}: unknown variable; did you mean {MISSPELT[name]}?"]
    load_settings(env={name: SECRET})


def test_kafka_variables_of_ours_and_of_other_tools_are_not_suspicious() -> None:
    brokers = """HOME HEAP_OPTS OPTS LOG4J_OPTS JVM_PERFORMANCE_OPTS GC_LOG_OPTS JMX_PORT JMX_OPTS DEBUG BROKER_ID NODE_ID CLUSTER_ID
        PROCESS_ROLES LISTENERS ADVERTISED_LISTENERS LISTENER_SECURITY_PROTOCOL_MAP INTER_BROKER_LISTENER_NAME SECURITY_INTER_BROKER_PROTOCOL
        SASL_ENABLED_MECHANISMS SASL_MECHANISM_INTER_BROKER_PROTOCOL SASL_JAAS_CONFIG SSL_KEYSTORE_LOCATION SSL_KEYSTORE_PASSWORD SSL_KEY_PASSWORD
        SSL_TRUSTSTORE_PASSWORD SSL_CLIENT_AUTH SSL_ENDPOINT_IDENTIFICATION_ALGORITHM CONTROLLER_QUORUM_VOTERS ZOOKEEPER_CONNECT BROKERS TOPIC GROUP_ID"""
    ours = ["BOOTSTRAP_SERVERS", "CLIENT_ID", "SASL_PASSWORD", "SASL_PASSWORD_FILE", "SASL_USERNAME_FILE", "SSL_CAFILE"]
    assert suspicious({f"KAFKA_{name}": "x" for name in [*brokers.split(), *ours]} | {"BOOTSTRAP_SERVER": "x"}) == []


def test_a_command_warns_of_a_suspicious_variable_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shared._warn_once.cache_clear()
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVER", SECRET)
    shared.settings_from()
    shared.settings_from()
    assert capsys.readouterr().err == "touchstone: warning: KAFKA_BOOTSTRAP_SERVER: unknown variable; did you mean KAFKA_BOOTSTRAP_SERVERS?\n"


def test_variables_that_are_read_elsewhere_are_no_settings() -> None:
    load_settings(env={"TOUCHSTONE_DEBUG": "1", "TOUCHSTONE_DATA": "x"})


def test_a_file_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    document = tmp_path / "t.toml"
    document.write_bytes(b"\xef\xbb\xbf[worker]\nslice_records = 5\n")
    assert load_settings(env={}, document=document).worker.slice_records == 5


def test_who_set_what_is_known(tmp_path: Path) -> None:
    document = tmp_path / "touchstone.toml"
    document.write_text("[worker]\nslice_records = 1\nwindow_records = 7\n")
    found = origins({"kafka.client_id": "x", "http.host": None}, env={"TOUCHSTONE_WORKER_SLICE_RECORDS": "2"}, document=document)
    assert found == {
        ("worker", "slice_records"): "TOUCHSTONE_WORKER_SLICE_RECORDS",
        ("worker", "window_records"): str(document),
        ("kafka", "client_id"): "the command line",
    }


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(SECRET + "\n")
    env = {"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_USERNAME": "u", "KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "password")}
    password = load_settings(env=env).kafka.sasl_password
    assert password is not None
    assert password.get_secret_value() == SECRET


BAD_ENVIRONMENTS = {
    "TOUCHSTONE_WORKER_SLICE": ({"TOUCHSTONE_WORKER_SLICE": "1"}, "unknown variable; did you mean TOUCHSTONE_WORKER_SLICE_RECORDS"),
    "section": ({"TOUCHSTONE_NIX_ZZZ": "1"}, "known: TOUCHSTONE_KAFKA_…, TOUCHSTONE_TOPICS_…"),
    "misspelt section": ({"TOUCHSTONE_WROKER_SLICE_RECORDS": "1"}, "did you mean TOUCHSTONE_WORKER_SLICE_RECORDS"),
    "large section": ({"TOUCHSTONE_WORKER_ZZZ": "1"}, "known: TOUCHSTONE_WORKER_GROUP_PREFIX, "),
    "small section": ({"TOUCHSTONE_LOG_ZZZ": "1"}, "known: TOUCHSTONE_LOG_LEVEL, TOUCHSTONE_LOG_FORMAT"),
    "bound": ({"TOUCHSTONE_WORKER_SLICE_RECORDS": "0"}, "TOUCHSTONE_WORKER_SLICE_RECORDS"),
    "type": ({"TOUCHSTONE_HTTP_PORT": "http"}, "http.port"),
    "credentials": ({"KAFKA_SECURITY_PROTOCOL": "SASL_SSL"}, "needs sasl_username"),
    "exposed": ({"TOUCHSTONE_HTTP_HOST": "0.0.0.0"}, "set http.token"),
    "secret file": ({"KAFKA_SASL_PASSWORD_FILE": "/nonexistent"}, "KAFKA_SASL_PASSWORD_FILE"),
    "secret file of ours": ({"TOUCHSTONE_HTTP_TOKEN_FILE": "/nonexistent"}, "TOUCHSTONE_HTTP_TOKEN_FILE: the file it names"),
    "two secrets": ({"KAFKA_SASL_PASSWORD": "x", "KAFKA_SASL_PASSWORD_FILE": "y"}, "KAFKA_SASL_PASSWORD and KAFKA_SASL_PASSWORD_FILE: both are set"),
    "path of a path": ({"TOUCHSTONE_KAFKA_SSL_CAFILE_FILE": "x"}, "unknown variable; did you mean TOUCHSTONE_KAFKA_SSL_CAFILE"),
    "half a certificate": ({"KAFKA_SSL_CERTFILE": "x.pem"}, "go together"),
}


@pytest.mark.parametrize("name", BAD_ENVIRONMENTS)
def test_a_bad_environment_is_one_line_that_names_the_variable(name: str) -> None:
    env, expected = BAD_ENVIRONMENTS[name]
    with pytest.raises(ConfigError, match=expected) as caught:
        load_settings(env=env)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[worker]\nslice_record = 1\n", "t.toml: worker.slice_record: unknown key, did you mean slice_records"),
        ("slice_records = 1\n", "outside a section"),
        ("[worker", "not valid TOML"),
        ("[nix]\na=1\n", "unknown key \\(known: kafka"),
    ],
)
def test_a_bad_file_is_one_line_that_names_it(tmp_path: Path, text: str, expected: str) -> None:
    document = tmp_path / "t.toml"
    document.write_text(text)
    with pytest.raises(ConfigError, match=expected) as caught:
        load_settings(env={}, document=document)
    assert "\n" not in str(caught.value)


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(env={}, document=tmp_path / "absent.toml")


def test_errors_never_quote_a_secret() -> None:
    env = {"KAFKA_SASL_PASSWORD": SECRET, "KAFKA_SECURITY_PROTOCOL": SECRET}
    with pytest.raises(ConfigError) as caught:
        load_settings(env=env)
    assert SECRET not in str(caught.value)


def test_secrets_are_not_in_the_settings_repr() -> None:
    assert SECRET not in repr(load_settings(env={"KAFKA_SASL_PASSWORD": SECRET}))
