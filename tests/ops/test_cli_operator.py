import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.ops.commands import Commands, command_tree
from tests.streams.fakes import safe_event
from touchstone.ops.cli import COMMANDS, app
from touchstone.ops.cli.common.moments import age, parse_since
from touchstone.ops.cli.demo import _ended_in_order
from touchstone.ops.local.checkup import check_docker
from touchstone.ops.local.up import Live, stop_on_signals
from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_extras

CANARY = "zanzibar-canary"
NOWHERE = "127.0.0.1:1"


def every_command(group: Any = None, path: tuple[str, ...] = ()) -> list[str]:
    group = command_tree(app) if group is None else group
    found: list[str] = []
    for name, command in group.commands.items():
        found += every_command(command, (*path, name)) if hasattr(command, "commands") else [" ".join((*path, name))]
    return found


@pytest.fixture
def run(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr("touchstone.ops.local.extras.EXTRAS", {})  # each would be tried, which takes seconds: see local/test_extras.py
    return commands


@pytest.mark.parametrize("command", every_command())
def test_help_has_an_example_that_names_options_the_command_has(run: Commands, command: str) -> None:
    ran = run(*command.split(), "--help")
    assert ran.code == 0
    examples = re.findall(rf"Example: (touchstone {command}.*)", ran.out)
    assert examples
    assert max(map(len, re.findall(r".*Example: .*", ran.out))) <= 80
    known = set(re.findall(r"(?<![\w-])--?\w[\w-]*", ran.out.partition("Options")[2]))
    assert {word for example in examples for word in re.findall(r"(?<=\s)--[a-z][\w-]*", example)} <= known


@pytest.mark.parametrize("command", every_command())
def test_help_cuts_nothing_on_a_narrow_terminal(run: Commands, command: str) -> None:
    told = run(*command.split(), "--help", env={"COLUMNS": "60"}).out
    known: Any = command_tree(app)
    for name in command.split():
        known = known.commands[name]
    shown = "".join(told.split())
    for option in known.params:
        assert set(option.opts if option.param_type_name == "option" else ()) <= set(re.findall(r"-[\w-]+", told))
        assert "".join((option.help or "").split()) in shown
    # An example is copied as one line.
    assert re.search(rf"^ *Example: touchstone {command}", told, re.MULTILINE)
    assert all(len(line) <= 60 for line in told.splitlines() if "Example: " not in line and "--" not in line[:4] and "<" not in line)


def test_a_list_of_commands_has_the_whole_first_sentence_of_each(run: Commands) -> None:
    told = " ".join(run("--help", env={"COLUMNS": "60"}).out.split())
    commands: Any = command_tree(app)
    for command in commands.commands.values():
        assert command.get_short_help_str(limit=1_000) in told
        assert command.help


def test_an_option_that_has_no_such_value_is_told_in_plain_words(run: Commands) -> None:
    ran = run("score", "safe_v0", "x", "--format", "nope")
    assert ran.code == 3
    told = "score: Invalid value for '--format' / '-f': 'nope' is not one of 'console', 'json', 'markdown', 'junit', 'html'; see touchstone score --help"
    assert ran.one_line == f"touchstone: {told}"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing"], "No such command 'nothing'; see touchstone --help"),
        (["score"], "score: Missing argument"),
        (["score", "safe_v0"], "score: name files to score, or one event with --from-topic TOPIC[PARTITION]@OFFSET; see touchstone score --help"),
        (["score", "safe_v0", "x.json", "--formt", "json"], "score: No such option: --formt (Possible options: --format, --from-topic)"),
        (["safe", "score", "--jobs", "0"], "safe score: Invalid value for '--jobs' / '-j': Input should be greater than or equal to 1; see"),
        (["up", "x", "y"], "up: Got unexpected extra argument"),
        (["topics", "creat"], "topics: No such command 'creat'. Did you mean 'create'?; see touchstone topics --help"),
    ],
)
def test_a_usage_error_is_one_line(run: Commands, arguments: list[str], told: str) -> None:
    ran = run(*arguments)
    assert ran.code == 3
    assert ran.one_line.startswith(f"touchstone: {told}")


@pytest.mark.parametrize("command", [*every_command(), "eval --batch", "models"])
def test_every_command_refuses_a_variable_that_nothing_reads(run: Commands, command: str) -> None:
    known: Any = command_tree(app)
    for name in command.removesuffix(" --batch").split():
        known = known.commands[name]
    needed = [
        value
        for parameter in known.params
        if parameter.required
        for value in ([parameter.opts[0], "x"] if parameter.param_type_name == "option" else ["x"] * max(1, parameter.nargs))
    ]
    ran = run(*command.split(), *needed, env={"TOUCHSTONE_NO_SUCH_THING": "1"})
    assert ran.code == 3
    assert ran.err.startswith("touchstone: TOUCHSTONE_NO_SUCH_THING: unknown variable; ")


def test_variables_of_the_compose_files_are_known(run: Commands) -> None:
    assert run("models", env={"TOUCHSTONE_METRICS_TOKEN_FILE": "x", "TOUCHSTONE_SERVE_TOKENS_SOURCE": "y", "TOUCHSTONE_ARCHIVE_KEYS_SOURCE": "z"}).code == 0


def test_help_imports_nothing_heavy() -> None:
    heavy = ["aiokafka", "faust", "sqlalchemy", "pydantic", "orjson", "structlog", "prometheus_client", "uvloop", "asyncio", "ssl"]
    program = f"import sys, touchstone.ops.cli; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_every_command_module_is_listed() -> None:
    assert {"demo", "up", "topics", "produce", "tail", "dlq", "explain", "config", "doctor"} <= set(COMMANDS)


@pytest.mark.parametrize("command", ["topics create", "topics describe", "tail --no-follow", "dlq list", "dlq show 0:0", "dlq discard --all"])
def test_an_unreachable_broker_is_one_line(run: Commands, command: str) -> None:
    ran = run(*command.split(), "--bootstrap", NOWHERE)
    assert ran.code == 3
    assert "does not answer" in ran.one_line


def test_config_show_tells_values_and_who_set_them(run: Commands, tmp_path: Path) -> None:
    (tmp_path / "touchstone.toml").write_text("[topics]\npartitions = 7\n")
    rows = json.loads(run("config", "show", "--json", "--bootstrap", "b:1", env={"TOUCHSTONE_LOG_LEVEL": "debug"}).out)
    found = {row["name"]: (row["value"], row["from"]) for row in rows["settings"]}
    assert found["kafka.bootstrap_servers"] == ("b:1", "the command line")
    assert found["log.level"] == ("debug", "TOUCHSTONE_LOG_LEVEL")
    assert found["topics.partitions"] == ("7", "touchstone.toml")
    assert found["topics.results"] == ("touchstone.results", "default")
    assert next(one for one in rows["suites"] if one["suite"] == "safe_v0")["settings"]["strictAH"] is False


@pytest.mark.parametrize("form", [["--json"], []])
def test_config_show_hides_secrets(run: Commands, form: list[str]) -> None:
    env = {
        "KAFKA_SASL_PASSWORD": CANARY,
        "KAFKA_SSL_KEYFILE_PASSWORD": CANARY,
        "TOUCHSTONE_HTTP_TOKEN": CANARY,
        "UMLS_API_KEY": CANARY,
        "CLINICAL_TERMINOLOGY_URL": "https://terminology.example/fhir",
        "CLINICAL_TERMINOLOGY_TOKEN": CANARY,
        "TOUCHSTONE_STORE_URL": f"postgresql+psycopg://u:{CANARY}@h/db?password={CANARY}",
    }
    ran = run("config", "show", *form, env=env)
    assert ran.code == 0
    assert CANARY not in ran.out + ran.err
    assert "postgresql+psycopg://u:***@h/db" in ran.out


def test_config_show_of_broken_settings_is_one_line(run: Commands) -> None:
    ran = run("config", "show", env={"TOUCHSTONE_TOPICS_PARTITIONS": CANARY})
    assert ran.code == 3
    assert "TOUCHSTONE_TOPICS_PARTITIONS" in ran.one_line
    assert CANARY not in ran.err


def test_explain_tells_kind_id_and_suites(run: Commands) -> None:
    (told,) = json.loads(run("explain", "-", "--json", stdin=json.dumps(safe_event("e1")).encode()).out)
    assert (told["outcome"], told["kind"], told["event_id"], told["case_id"]) == ("scored", "safe", "e1", "T-1")
    assert [one["suite"] for one in told["suites"] if one["outcome"] == "scored"] == ["safe_v0"]


def test_explain_takes_headers(run: Commands) -> None:
    stdin = json.dumps(safe_event()).encode()
    headers = ["-H", "ce_specversion=1.0", "-H", "ce_id=from-header"]
    (told,) = json.loads(run("explain", "-", "--json", *headers, stdin=stdin).out)
    assert (told["format"], told["event_id"], told["event_id_from"]) == ("cloudevents_binary", "from-header", "the CloudEvent")


def test_explain_reads_lines_and_says_where_each_is_rejected_without_its_text(run: Commands) -> None:
    lines = [safe_event("e1"), {"kind": "safe", "test_id": CANARY}, {"kind": "summary", "generated": CANARY}, {"kind": CANARY}]
    ran = run("explain", "-", stdin="\n".join(json.dumps(line) for line in lines).encode())
    assert ran.code == 1
    assert "line 2" in ran.out
    assert "rejected: schema_missing at concern_id" in ran.out
    assert "skipped: other_kind" in ran.out  # by the other suite
    assert "rejected: kind_unknown at kind" in ran.out
    assert CANARY not in ran.out + ran.err
    assert "4 records: 2 rejected, 2 scored" in ran.err


def test_explain_ends_with_0_where_some_suite_scores_every_record(run: Commands) -> None:
    assert run("explain", "-", stdin=json.dumps(safe_event("e1")).encode()).code == 0


def test_explain_of_a_rejected_record_is_1_whoever_reads_its_output(run: Commands) -> None:
    assert run("explain", "-", "--json", stdin=b"{}").code == 1


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (b'{"kind": "safe', "not_json at character 15"),
        (b'{"kind": "safe\n', "not_json at character 15"),
        (b"{broken}", "not_json at character 2"),
    ],
)
def test_explain_counts_characters_from_1_and_leaves_the_line_end_out(run: Commands, record: bytes, told: str) -> None:
    assert told in run("explain", "-", stdin=record).out


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"resourceType": "Patient", "id": CANARY}, "-> not an event, but a document that clinical scores as a file: touchstone score clinical FILE"),
        ({"kind": "safe", "test_id": CANARY}, "-> concern_id is missing; add it; batch_id is missing; add it"),
        ({"specversion": "1.0", "data": {"kind": "safe", "test_id": CANARY}}, "-> concern_id is missing; add it"),
        ({"kind": CANARY}, "safe, summary, trace; "),
        ({"x": CANARY}, "safe, summary, trace (docs/events.md)"),
        ([CANARY], "-> an event is one JSON object"),
    ],
)
def test_explain_says_what_to_do_about_a_record_that_nobody_scores(run: Commands, record: Any, told: str) -> None:
    ran = run("explain", "-", "--whole", stdin=json.dumps(record).encode())
    assert told in ran.out
    assert ran.code == 1
    assert CANARY not in ran.out


def test_explain_reads_bytes_that_are_no_text(run: Commands) -> None:
    ran = run("explain", "-", stdin=b"\xff\xfe\x00")
    assert "not_utf8 at byte 0" in ran.out


def test_explain_of_another_topic_says_that_nobody_reads_it(run: Commands) -> None:
    (told,) = json.loads(run("explain", "-", "--json", "--topic", "results", stdin=json.dumps(safe_event("e1")).encode()).out)
    assert told["outcome"] == "not read"


def test_explain_of_no_file_is_one_line(run: Commands) -> None:
    assert "No such file" in run("explain", "nowhere.json").one_line


def test_doctor_says_what_to_mend_and_exits_1(run: Commands) -> None:
    ran = run("doctor", "--bootstrap", NOWHERE)
    assert ran.code == 1
    assert "BAD   kafka" in ran.out
    assert "-> start a broker" in ran.out


def test_doctor_of_broken_settings_exits_3_and_still_looks_at_the_rest(run: Commands) -> None:
    ran = run("doctor", "--json", env={"TOUCHSTONE_NONSENSE": "1"})
    assert ran.code == 3
    assert {"settings", "python", "suites"} <= {check["area"] for check in json.loads(ran.out)}


def test_doctor_of_broken_suite_settings_exits_3(run: Commands) -> None:
    ran = run("doctor", "--bootstrap", NOWHERE, env={"SAFE_V0_CR_PASS": "7"})
    assert ran.code == 3
    assert "BAD   suites" in ran.out


def test_the_demo_refuses_an_unwritable_report_directory_before_it_starts(run: Commands, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    started = time.monotonic()
    ran = run("demo", "--reports", tmp_path / "taken" / "below")
    assert ran.code == 3
    assert "cannot be written" in ran.one_line
    assert time.monotonic() - started < 10


def test_up_refuses_workers_that_the_embedded_broker_cannot_serve(run: Commands) -> None:
    ran = run("up", "--workers", "2")
    assert ran.code == 3
    assert "--broker apache" in ran.one_line


@pytest.mark.parametrize("option", ["--port", "--page-port", "--http-port"])
def test_up_refuses_a_port_that_is_taken_before_it_starts_anything(run: Commands, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        # The last of the workers gets the port, where workers count up to it.
        ran = run("up", "--suite", "safe_v0", "--suite", "clinical", option, port - (option == "--http-port"))
    assert ran.code == 3
    assert f"{option} {port}: another program listens there" in ran.one_line.removeprefix("Starting broker")


def test_up_refuses_one_port_for_two_purposes(run: Commands) -> None:
    ran = run("up", "--suite", "safe_v0", "--port", 19_092, "--page-port", 19_092)
    assert ran.code == 3
    assert "--page-port 19092: the port of --port, too" in ran.one_line


def test_up_refuses_a_setting_that_nobody_reads(run: Commands) -> None:
    ran = run("up", "--env", "FOO_GOLD=x.jsonl")
    assert ran.code == 3
    assert "--env FOO_GOLD: no suite here reads it; names begin with CLINICAL_, " in ran.one_line
    assert run("up", "--env", "SAFE_V0_QUOTE").one_line == "touchstone: --env: write NAME=VALUE"


def test_up_refuses_a_suite_that_cannot_run_here(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.scorers.registry.find_spec", lambda name: None if name in {"onnxruntime", "torch"} else name)
    ran = run("up", "--suite", "summary_loss")
    assert ran.code == 3
    assert ran.one_line == f"touchstone: summary_loss: its libraries are missing; {install_extras('nli-onnx')}"


def test_up_runs_every_suite_that_can_run_here_and_names_the_others(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.scorers.registry.find_spec", lambda name: None if name in {"onnxruntime", "torch"} else name)
    plans: list[Any] = []

    async def serve(_: object, plan: object) -> int:
        plans.append(plan)
        return 0

    monkeypatch.setattr("touchstone.ops.cli.up._serve", serve)
    ran = run("up")
    assert ran.code == 0
    assert {"safe_v0", "clinical"} <= set(plans[0].suites)
    assert "summary_loss" not in plans[0].suites
    assert "summary_loss is left out: its libraries are missing" in ran.err


def test_up_refuses_an_unknown_suite(run: Commands) -> None:
    ran = run("up", "--suite", "nonsense")
    assert ran.code == 3
    assert "not installed" in ran.one_line


@pytest.mark.parametrize("rate", ["0/s", "fast", "5/h", "-1"])
def test_a_rate_that_is_none_is_refused(run: Commands, rate: str) -> None:
    assert "--rate" in run("produce", "x.jsonl", f"--rate={rate}").one_line


def test_produce_of_a_missing_file_is_one_line(run: Commands) -> None:
    assert "nowhere.jsonl" in run("produce", "nowhere.jsonl", "--bootstrap", NOWHERE).one_line


def test_produce_checks_before_it_connects(run: Commands, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"kind": "safe"}\n')
    assert "nothing was sent" in run("produce", "b.jsonl", "--bootstrap", NOWHERE).one_line


def test_letters_are_chosen_by_id_or_by_filter_not_both(run: Commands) -> None:
    assert "not both" in run("dlq", "redrive").one_line
    assert "not both" in run("dlq", "redrive", "0:1", "--all").one_line


def test_since_takes_spans_and_times() -> None:
    from datetime import UTC, datetime, timedelta

    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert parse_since("2h", now) == now - timedelta(hours=2)
    assert parse_since("2026-01-01T12:00") == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert age(now - timedelta(minutes=3, seconds=5), now) == "3m"
    with pytest.raises(ConfigError, match="--since"):
        parse_since("yesterday")


def test_a_label_that_no_result_can_have_is_refused(run: Commands) -> None:
    ran = run("tail", "--label", "Foo", "--bootstrap", NOWHERE)
    assert ran.code == 3
    assert "--label Foo: not a label; give one of Pass, Review, Warn, Fail, unscored" in ran.one_line


def test_watching_a_suite_that_is_not_installed_says_so(run: Commands) -> None:
    ran = run("tail", "--no-follow", "--suite", "nope", "--bootstrap", NOWHERE)
    assert ran.err.startswith("touchstone: --suite nope is not installed here (installed: ")


COMPOSE = 'if [ "$1" = compose ]; then {}; else echo 27.1; fi'


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (COMPOSE.format("echo v2.29.7"), "Docker 27.1 answers, Compose v2.29.7"),
        (COMPOSE.format("echo 5.0.1"), "Docker 27.1 answers, Compose 5.0.1"),
        (COMPOSE.format("echo 2.3.3"), "Docker 27.1 answers, with Compose 2.3.3"),
        (COMPOSE.format("exit 1"), "Docker 27.1 answers, with no Compose plugin"),
        ("exit 1", "no daemon answers"),
        (None, "no docker command"),
    ],
)
def test_the_docker_daemon_itself_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, told: str) -> None:
    if script is not None:
        (tmp_path / "docker").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    check = check_docker()
    assert told in check.what
    assert check.state == ("good" if ", Compose" in told else "note")
    assert ("docker-compose 1.29 cannot read it" in check.fix) == (", with" in told)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_ends_all_in_order_and_a_second_at_once(number: signal.Signals) -> None:
    async def main() -> Any:
        stop, killed = asyncio.Event(), asyncio.Event()
        live = SimpleNamespace(asked_by=None, kill=killed.set)
        stop_on_signals(stop, cast("Live", live))
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), 5)
        assert not killed.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(killed.wait(), 5)
        return live.asked_by

    assert asyncio.run(main()) == number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_ended_ends_its_processes_first(number: signal.Signals) -> None:
    ended: list[bool] = []

    async def work() -> list[str]:
        try:
            os.kill(os.getpid(), number)
            await asyncio.sleep(30)
        finally:
            ended.append(True)
        return []

    assert asyncio.run(_ended_in_order(work())) == 128 + number
    assert ended


@pytest.mark.parametrize("arguments", [("bench",), ("bench", "agreement"), ("models", "evaluate"), ("loss", "evaluate")])
def test_a_command_that_moved_to_the_laboratory_is_pointed_to(run: Commands, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments)
    assert ran.code == 3
    assert "has moved: in a checkout, run `python -m touchstone.ops.lab`; see " in ran.one_line
