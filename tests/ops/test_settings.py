from pathlib import Path

import pytest

from touchstone.ops.settings import load_settings
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


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(SECRET + "\n")
    env = {"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_USERNAME": "u", "KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "password")}
    password = load_settings(env=env).kafka.sasl_password
    assert password is not None
    assert password.get_secret_value() == SECRET


BAD_ENVIRONMENTS = {
    "TOUCHSTONE_WORKER_SLICE": ({"TOUCHSTONE_WORKER_SLICE": "1"}, "unknown setting"),
    "section": ({"TOUCHSTONE_WROKER_SLICE_RECORDS": "1"}, "sections: kafka"),
    "bound": ({"TOUCHSTONE_WORKER_SLICE_RECORDS": "0"}, "TOUCHSTONE_WORKER_SLICE_RECORDS"),
    "type": ({"TOUCHSTONE_HTTP_PORT": "http"}, "http.port"),
    "credentials": ({"KAFKA_SECURITY_PROTOCOL": "SASL_SSL"}, "needs sasl_username"),
    "exposed": ({"TOUCHSTONE_HTTP_HOST": "0.0.0.0"}, "set http.token"),
    "secret file": ({"KAFKA_SASL_PASSWORD_FILE": "/nonexistent"}, "KAFKA_SASL_PASSWORD_FILE"),
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
    [("[worker]\nslice = 1\n", "unknown key"), ("slice_records = 1\n", "outside a section"), ("[worker", "not valid TOML"), ("[nix]\na=1\n", "unknown key")],
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
