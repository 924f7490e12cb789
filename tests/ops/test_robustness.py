import contextlib
import gzip
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

import touchstone.ops.cli
from tests.ops.commands import Commands
from tests.streams.results_topic import projection, result
from touchstone.ops.cli.common.moments import parse_since
from touchstone.ops.reports.files import write_whole
from touchstone.ops.settings import load_settings
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import results
from touchstone.schemas.case import ExpectedList, Identifier
from touchstone.scorers.base import ConfigError
from touchstone.scorers.safe.settings import resolve

CASE = '{"kind":"safe","test_id":"t","concern_id":"c","batch_id":"b","output":{"signals":[]}}\n'
CANARY = "zanzibar-canary"


@pytest.fixture
def run(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    Path("ok.jsonl").write_text(CASE)
    return commands


def shell(script: str, folder: Path) -> tuple[int, str]:
    """Run a shell line in which `$T` is the command; return its code and standard error."""
    (folder / "ok.jsonl").write_text(CASE)
    script = script.replace("$T", f"'{sys.executable}' -m touchstone.ops.cli")
    path = {"PYTHONPATH": str(Path(touchstone.ops.cli.__file__).parents[3]), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(["bash", "-o", "pipefail", "-c", script], cwd=folder, env=path, capture_output=True, text=True, timeout=500, check=False)
    return ran.returncode, ran.stderr


def test_a_defect_is_one_line_without_its_message(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError(CANARY)

    monkeypatch.setattr("touchstone.ops.cli.safe._settings", broken)
    ran = run("safe", "score", "ok.jsonl")
    assert ran.code == 70
    assert "internal error: ZeroDivisionError at " in ran.one_line
    assert CANARY not in ran.err
    told = run("safe", "score", "ok.jsonl", env={"TOUCHSTONE_DEBUG": "1"})
    assert told.code == 70
    assert "Traceback" in told.err
    assert CANARY in told.err


@pytest.mark.parametrize("command", ["$T safe score ok.jsonl 2>&-", "$T safe score ok.jsonl >&-", "$T config show | true", "$T config show | head -1"])
def test_a_stream_that_is_closed_or_no_longer_read_is_no_error(command: str, tmp_path: Path) -> None:
    assert shell(command, tmp_path)[0] == 0


LOST = "touchstone: standard output is closed, so what this command printed is lost; send it to a file, or to /dev/null"


@pytest.mark.parametrize("command", ["safe score ok.jsonl", "score safe_v0 ok.jsonl -f json", "explain ok.jsonl", "show ok.jsonl", "schemas result"])
def test_what_is_printed_to_a_closed_output_is_said_to_be_lost(command: str, tmp_path: Path) -> None:
    code, err = shell(f"$T {command} >&-", tmp_path)
    assert (code, err.splitlines()[-1:]) == (0, [LOST])


@pytest.mark.parametrize("ending", [">&-", "| head -1"])
def test_a_report_in_a_file_is_whole_whatever_reads_the_output(ending: str, tmp_path: Path) -> None:
    code, err = shell(f"$T score safe_v0 ok.jsonl -f json -o report.json {ending}", tmp_path)
    assert (code, LOST in err) == (0, False)
    assert json.loads((tmp_path / "report.json").read_bytes())["summary"]["total_cases"] == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", ["$T config show >/dev/full", "$T safe score ok.jsonl --observations /dev/full"])
def test_output_that_does_not_fit_is_one_line(command: str, tmp_path: Path) -> None:
    code, err = shell(command, tmp_path)
    assert code == 3
    assert err.startswith("touchstone: ")
    assert len(err.splitlines()) == 1


FAILING = CASE.replace('"output"', '"expectations":{"signal_generation":{"must_find_signals":["x"]}},"output"')
PATIENT = '{"resourceType":"Patient","gender":"unheard-of"}\n'
#: A command with a verdict → its exit code, over a case that does not pass or lines that cannot be read.
VERDICTS = {
    "safe score bad.jsonl -f json": 1,
    "safe score bad.jsonl broken.jsonl -f console": 3,
    "score safe_v0 bad.jsonl -f html": 1,
    "eval validate patient.json -f console": 2,
    "report --store sqlite:///failing.db --min-pass-rate 1": 1,
}
#: Ways in which nobody reads: standard output; that and standard error; a full disk behind the words.
UNREAD = ["| true", "2>&1 | true", "2>/dev/full"]


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of cases that fail, of lines that cannot be read, and a store that holds a result that is to review."""
    folder = tmp_path_factory.mktemp("failing")
    (folder / "bad.jsonl").write_text(FAILING)
    (folder / "broken.jsonl").write_text("{nonsense\n" * 60)
    (folder / "patient.json").write_text(PATIENT)
    store = ResultStore.open(f"sqlite:///{folder / 'failing.db'}", create=True)
    store.apply(projection(result(label="Review", score=0.6)), 1.0)
    store.close()
    return folder


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_the_exit_code_of_a_verdict_stands_whoever_reads_it(failing: Path) -> None:
    """Every command in one way or another, and the first one in each."""
    first, *others = VERDICTS
    tried = [*((first, unread) for unread in UNREAD), *zip(others, itertools.cycle(UNREAD), strict=False)]
    _, err = shell("\n".join(f"$T {command} {unread}; echo ${{PIPESTATUS[0]}} >>codes" for command, unread in tried), failing)
    codes = (failing / "codes").read_text().split()
    assert list(zip(tried, codes, strict=True)) == [((command, unread), str(VERDICTS[command])) for command, unread in tried], err


@pytest.mark.parametrize("servers", ["a:b:c:d", "127.0.0.1:99999999", "[::1", "a:0", "a", "a:1,", "PLAINTEXT://a:1", "[zz]:1", "::1:9092", "a b:1", "ü:1"])
def test_a_broker_address_that_no_client_can_read_is_refused(servers: str) -> None:
    with pytest.raises(ConfigError, match=r"^the command line: kafka.bootstrap_servers: server \d: "):
        load_settings({"kafka.bootstrap_servers": servers}, env={})


def test_broker_addresses_lose_their_blanks() -> None:
    assert load_settings({"kafka.bootstrap_servers": "a.b-c:1, [::1]:2"}, env={}).kafka.bootstrap_servers == "a.b-c:1,[::1]:2"


@pytest.mark.parametrize("token", ["", "two words", "é" + CANARY])
def test_a_token_that_guards_nothing_or_cannot_be_sent_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="ASCII") as caught:
        load_settings(env={"TOUCHSTONE_HTTP_TOKEN": token})
    assert CANARY not in str(caught.value)


def damaged(path: Path) -> str:
    url = f"sqlite:///{path}"
    store = ResultStore.open(url, create=True)
    store.apply(projection(result()), 1.0)
    store.close()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))
    return url


def test_a_damaged_store_is_one_line(run: Commands, tmp_path: Path) -> None:
    ran = run("report", "--store", damaged(tmp_path / "x.db"))
    assert ran.code == 3
    assert "the store" in ran.one_line


def test_a_store_behind_a_closed_folder_is_one_line(run: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    really = Path.exists

    def refuse(path: Path) -> bool:
        if path.name == "x.db":
            raise PermissionError(13, "Permission denied")
        return really(path)

    monkeypatch.setattr(Path, "exists", refuse)
    ran = run("report", "--store", "sqlite:///closed/x.db")
    assert ran.code == 3
    assert "cannot be opened (Permission denied)" in ran.one_line


def test_doctor_calls_a_damaged_store_bad(tmp_path: Path) -> None:
    from touchstone.ops.local.checkup import check_store

    url = damaged(tmp_path / "x.db")
    (check,) = check_store(load_settings({"store.url": url}, env={}))
    assert check.state == "bad"


def test_a_damaged_table_is_refused_where_the_schema_can_still_be_read(run: Commands, tmp_path: Path) -> None:
    import sqlite3

    from touchstone.ops.local.checkup import check_store

    path = tmp_path / "x.db"
    store = ResultStore.open(f"sqlite:///{path}", create=True)
    store.apply(projection(result()), 1.0)
    store.close()
    with sqlite3.connect(path) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (results.name,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    data = bytearray(path.read_bytes())
    data[(page - 1) * size : page * size] = b"\xa5" * size
    path.write_bytes(data)
    (check,) = check_store(load_settings({"store.url": f"sqlite:///{path}"}, env={}))
    assert check.state == "bad"
    assert "damaged" in check.what
    ran = run("report", "--store", f"sqlite:///{path}")
    assert ran.code == 3
    assert "damaged" in ran.one_line


def test_links_in_a_circle_are_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_whole(tmp_path / "a", "x")


def test_a_time_before_all_times_is_refused() -> None:
    with pytest.raises(ConfigError, match="--since"):
        parse_since("999999999d")


def test_a_header_may_be_any_bytes(run: Commands) -> None:
    assert run("explain", "ok.jsonl", "-H", "a\x1b[31m=\udcff").code == 0


def test_an_error_stays_one_line_whatever_it_names(run: Commands) -> None:
    ran = run("explain", "no\nsuch\x1b[31m\u202efile")
    assert ran.code == 3
    assert "no\\nsuch\\x1b[31m\\u202efile" in ran.one_line


@pytest.mark.parametrize("identifier", ["a\x85", "a\x9b", "\u202ea", "a\u2066", "a\x7f", "a\n"])
def test_an_identifier_has_nothing_that_a_terminal_acts_upon(identifier: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Identifier).validate_python(identifier)


@pytest.mark.parametrize("text", ["", " ", "\u200b", "\u00ad", "\ufeff \u2060", "\u3000"])
def test_an_expectation_without_a_mark_is_blank(text: str) -> None:
    with pytest.raises(ValidationError, match="blank"):
        TypeAdapter(ExpectedList).validate_python(["a mark", text])


@pytest.mark.parametrize("text", ["a", "🙂", "\u200b5", "%", "痛"])
def test_an_expectation_with_a_mark_is_not_blank(text: str) -> None:
    assert TypeAdapter(ExpectedList).validate_python([text]) == (text,)


@pytest.mark.parametrize("weight", ["5e-324", "1e-7", "1e7"])
def test_a_weight_out_of_bounds_is_refused(weight: str) -> None:
    with pytest.raises(ConfigError, match=r"SAFE_V0_CR_WEIGHT: weights\.CR"):
        resolve({"SAFE_V0_CR_WEIGHT": weight}, None)


def test_a_line_that_nobody_reads_does_not_end_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    from touchstone.ops.cli.demo import _say

    ours, theirs = os.pipe()
    os.close(ours)
    gone = os.fdopen(theirs, "w")
    monkeypatch.setattr(sys, "stdout", gone)
    _say("one")
    _say("two")
    with contextlib.suppress(BrokenPipeError):
        gone.close()


def test_a_small_file_of_very_many_lines_is_read_up_to_the_bound_that_the_message_names(run: Commands) -> None:
    Path("many.jsonl.gz").write_bytes(gzip.compress(CASE.encode() + b"{}\n" * 500_000))
    few = {"TOUCHSTONE_FILES_RECORDS_MAX": "3"}
    scored = run("score", "safe_v0", "many.jsonl.gz", "ok.jsonl", "--format", "json", env=few)
    assert scored.code == 3
    assert "many.jsonl.gz, line 4: holds more than 3 records" in scored.err.replace(":line", ", line")
    assert "TOUCHSTONE_FILES_RECORDS_MAX" in scored.err
    for command in (("produce", "many.jsonl.gz"), ("score", "safe_v0", "many.jsonl.gz", "--jobs", "2")):
        ended = run(*command, env=few)
        assert ended.code == 3
        assert "holds more than 3 records" in ended.err
