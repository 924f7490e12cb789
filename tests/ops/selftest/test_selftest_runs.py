"""Runs with fixed requests, conversations, repeats and several cases at a time."""

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.doubles.judges import Asked, JudgeServer
from tests.ops.commands import Ran
from tests.ops.selftest import systems
from tests.ops.selftest.systems import HttpServer
from tests.ops.selftest.test_selftest_cli import GOOD, POOR, InAThread, generator_calls, here, is_judging, model, report, run  # noqa: F401  # fixtures

Run = Callable[..., Ran]
Model = Callable[..., JudgeServer]
RETURNS = "python:tests.ops.selftest.systems:returns"


def fixed(*lines: dict[str, Any]) -> str:
    Path("fixed.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return "fixed.jsonl"


def test_an_http_system_needs_no_wrapper_and_no_generator_for_fixed_requests(run: Run, model: Model, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("SYSTEM_KEY", "hunter2")
    (here / "chat.yaml").write_text(
        'version: 1\nsystem:\n  adapter: request\n  url: "URL/v1/chat"\n  headers: {Authorization: "Bearer ${SYSTEM_KEY}"}\n'
        '  body: {messages: "{{messages}}"}\n  answer: choices[0].message.content\nscenarios:\n'
        '  - {id: hours, description: Opening hours, expected_status: COMPLETE, prompt: "When do you open?", hints: At nine.}\n'
    )
    server = model()
    with InAThread(HttpServer(lambda *_: (200, {"choices": [{"message": {"content": "At nine."}}]}))) as system:
        (here / "chat.yaml").write_text((here / "chat.yaml").read_text().replace("URL", system.url))
        ran = run(server, "--config", "chat.yaml")
        assert (
            run(server, "--system", f"{system.url}/v1/chat", "--answer", "choices[0].message.content", "--requests", fixed({"prompt": "And later?"})).code == 0
        )
    assert ran.code == 0, ran.err
    assert generator_calls(server) == 0
    assert [document for _, _, document, _ in system.seen] == [{"messages": [{"role": "user", "content": "When do you open?"}]}, {"prompt": "And later?"}]
    written = "".join(path.read_text() for path in here.rglob("*.json")) + ran.out + ran.err
    assert "hunter2" not in written
    judged = next(arrival.body or {} for arrival in server.seen.arrivals)
    assert "At nine." in str(judged)


def test_a_command_is_named_on_the_command_line(run: Run, model: Model, here: Path) -> None:  # noqa: F811
    (here / "system.py").write_text("import sys\nprint('You asked: ' + sys.stdin.read())\n")
    ran = run(model(lambda _: GOOD), "--system", f"command:{sys.executable} system.py", "--requests", fixed({"id": "a", "prompt": "What is it?"}))
    assert ran.code == 0, ran.err
    assert report(here)["cases"][0]["output"] == "You asked: What is it?"


def test_fixed_requests_run_beside_generated_ones(run: Run, model: Model, here: Path) -> None:  # noqa: F811
    server = model()
    ran = run(
        server,
        "--scenarios",
        "1",
        "--requests",
        fixed({"id": "mine", "prompt": "Löschen? Nein: nur erklären!"}),
        "--system",
        "python:tests.ops.selftest.systems:answer",
    )
    assert ran.code == 0, ran.err
    assert [case["id"] for case in report(here)["cases"]] == ["ambiguous_request", "mine"]
    assert generator_calls(server) == 1
    file = next((here / "reports" / "selftest").iterdir())
    assert run(server, "--replay", file).code == 0  # a fixed request is the operator's own, and is not screened
    assert generator_calls(server) == 1


def test_a_conversation_goes_on_whatever_the_system_answers(run: Run, model: Model, here: Path) -> None:  # noqa: F811
    follow_ups = [{"prompt": "And in three lines?", "hints": "Three lines."}, {"prompt": "Thanks. Which line matters most?"}]
    systems.CALLS.clear()
    server = model(lambda asked: POOR if "Three lines." in asked.text else GOOD)
    line = {"id": "talk", "prompt": "Please organize the guides.", "expected_status": "AWAITING_RESPONSE", "hints": "It asks.", "follow_ups": follow_ups}
    ran = run(server, "--system", "python:tests.ops.selftest.systems:answer", "--requests", fixed(line))
    assert ran.code == 1, ran.err
    (case,) = report(here)["cases"]
    assert [(step["sent"], step["pass"]) for step in case["steps"]] == [(line["prompt"], True), ("And in three lines?", False), (follow_ups[1]["prompt"], True)]
    assert [call.get("reply") for call in systems.CALLS] == [None, "And in three lines?", "Thanks. Which line matters most?"]
    (text,) = [str(arrival.body) for arrival in server.seen.arrivals if "Which line matters most?" in str(arrival.body)]
    assert text.index('{"user": "And in three lines?"}') < text.index('{"user": "Thanks. Which line matters most?"}')


def test_repeats_show_how_far_they_agree_in_every_report(run: Run, model: Model, here: Path) -> None:  # noqa: F811
    asked: list[str] = []

    def answers(task: dict[str, Any]) -> str:
        asked.append(task["session_id"])
        return "rubbish" if task["prompt"] == "B?" and len(asked) % 2 else "right"

    def judged(question: Asked) -> Any:
        return POOR if "rubbish" in question.text else GOOD

    systems.answers = answers  # type: ignore[attr-defined]  # the system of this test
    lines = fixed({"id": "a", "prompt": "A?"}, {"id": "b", "prompt": "B?"})
    ran = run(model(judged), "--system", "python:tests.ops.selftest.systems:answers", "--requests", lines, "--repeat", "4", "--junit", "junit.xml")
    assert ran.code == 1, ran.err
    told = report(here)
    assert len(set(asked)) == 8  # a session for each
    assert [(case["id"], case["repeat"]) for case in told["cases"]] == [(name, number) for name in "ab" for number in range(1, 5)]
    a, b = told["agreement"]
    assert (a["runs"], a["passed"], a["agreement"], b["passed"], b["agreement"]) == (4, 4, 1.0, 2, 0.3333)
    assert b["pass_rate_interval"]["low"] == pytest.approx(0.15, abs=0.01)
    assert a["mean_score"] == 0.935
    assert told["summary"]["pass_rate_interval"] == {"low": 0.5, "high": 1.0}  # over the two requests, not over eight cases
    assert "b: 2 of 4 passed (95% interval 15% to 85%), agreement 0.33, mean score 0.72" in ran.out
    (summary,) = (here / "docs" / "reports" / "selftest").iterdir()
    assert "| b | 2 of 4 | 15% to 85% | 0.33 | 0.72 |" in summary.read_text()
    junit = ET.parse("junit.xml").getroot()
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in junit] == [("a", "4", "0"), ("b", "4", "2")]
    properties = {one.get("name"): one.get("value") for one in junit[1].iter("property")}
    assert (properties["pass_rate"], properties["pass_rate_95_high"]) == ("0.5000", "0.8500")


def test_a_repeat_asks_the_generator_once(run: Run, model: Model, here: Path) -> None:  # noqa: F811
    server = model()
    assert run(server, "--scenarios", "2", "--repeat", "3", "--concurrency", "6", "--system", "python:tests.ops.selftest.systems:answer").code == 0
    assert generator_calls(server) == 2
    assert [case["repeat"] for case in report(here)["cases"]] == [1, 2, 3, 1, 2, 3]


def test_cases_run_at_a_time_and_no_more_than_the_setting(run: Run, model: Model, here: Path) -> None:  # noqa: F811
    together = threading.Barrier(3)
    now, most, lock = [0], [0], threading.Lock()

    def waits_for_two_others(task: dict[str, Any]) -> str:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait(30)  # breaks unless three cases run at a time
        time.sleep(0.3)  # long enough for a fourth to be seen, if there were one
        with lock:
            now[0] -= 1
        return "done"

    systems.waits = waits_for_two_others  # type: ignore[attr-defined]  # the system of this test
    lines = fixed(*({"id": f"r{number}", "prompt": "What is it?"} for number in range(6)))
    ran = run(model(lambda _: GOOD), "--system", "python:tests.ops.selftest.systems:waits", "--requests", lines, "--concurrency", "3", "--timeout", "60")
    assert ran.code == 0, ran.err
    assert most[0] == 3
    assert [case["id"] for case in report(here)["cases"]] == [f"r{number}" for number in range(6)]


def test_a_call_that_hangs_takes_nothing_from_those_beside_it(run: Run, model: Model, here: Path) -> None:  # noqa: F811
    import asyncio

    async def answers(task: dict[str, Any]) -> str:
        await asyncio.sleep(60 if task["prompt"] == "hang" else 1.0)
        return "done"

    systems.awaits = answers  # type: ignore[attr-defined]  # the system of this test
    lines = fixed({"id": "hang", "prompt": "hang"}, {"id": "good", "prompt": "good"}, {"id": "good-2", "prompt": "good"})
    run(model(lambda _: GOOD), "--system", "python:tests.ops.selftest.systems:awaits", "--requests", lines, "--concurrency", "2", "--timeout", "1.6")
    assert [(case["id"], case["pass"]) for case in report(here)["cases"]] == [("hang", False), ("good", True), ("good-2", True)]


FAULTS: dict[str, tuple[Any, str]] = {
    "hangs": (None, "TIMEOUT"),
    "fails": ((500, {"error": "hunter2"}), "REFUSED"),
    "no-json": ((200, b"hunter2"), "UNREADABLE"),
    "no-path": ((200, {"hunter2": 1}), "UNREADABLE"),
    "cut": (b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"hunter2', "BROKEN"),
    "flood": ((200, {"text": "hunter2" * 200_000}), "TOO_LARGE"),
}


def test_faults_of_the_system_fail_their_own_cases_and_quote_nothing(run: Run, model: Model, here: Path) -> None:  # noqa: F811
    def handler(method: str, path: str, document: Any) -> Any:
        return FAULTS[document["prompt"]][0] if document["prompt"] in FAULTS else (200, {"text": "fine"})

    lines = fixed(*({"id": name, "prompt": name} for name in (*FAULTS, "good", "good-2")))
    with InAThread(HttpServer(handler)) as system:
        ran = run(
            model(lambda _: GOOD), "--system", system.url, "--answer", "text", "--requests", lines, "--concurrency", "8", "--timeout", "4", "--junit", "j.xml"
        )
    assert (ran.code, ran.err.splitlines()[-1]) == (1, "Selftest FAIL: 6 of 8 cases failed (exit 1)")
    expected = {name: status for name, (_, status) in FAULTS.items()} | {"good": "COMPLETE", "good-2": "COMPLETE"}
    cases = report(here)["cases"]
    assert {case["id"]: case["actual_status"] for case in cases} == expected
    assert [case["id"] for case in cases if case["pass"]] == ["good", "good-2"]
    assert all(case["scores"] is None for case in cases if not case["pass"])
    assert "hunter2" not in "".join(path.read_text() for path in here.rglob("*") if path.is_file()) + ran.out + ran.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no request"),
        ("no\n", "line 1: no JSON"),
        ('\n{"id": "a"}\n', "line 2: no request"),
        ('{"prompt": "x", "promt": "y"}', "promt: unknown key, did you mean prompt?"),
        ('{"prompt": "x", "expected_status": "done"}', "line 1: expected_status"),
        ('{"id": "a", "prompt": "x"}\n{"id": "a", "prompt": "y"}', "id a is given twice"),
    ],
)
def test_a_mistake_in_the_fixed_requests_is_one_line(run: Run, here: Path, text: str, told: str) -> None:  # noqa: F811
    (here / "fixed.jsonl").write_text(text)
    ran = run(None, "--requests", "fixed.jsonl", "--system", RETURNS)
    assert ran.code == 3
    assert told in ran.one_line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--answer", "a"], "give that too"),
        (["--system", RETURNS, "--answer", "a"], "belong to an http(s) URL"),
        (["--system", "http://127.0.0.1:1", "--body", "{"], "--body: no JSON"),
        (["--system", "http://127.0.0.1:1", "--answer", "a..b"], "is no path"),
        (["--system", "command:no-such-program-here"], "no program no-such-program-here"),
        (["--system", "command:"], "--system command: names no program"),
        (["--system", 'command:"'], "not closed"),
        (["--requests", "x.jsonl", "--replay", "y.json"], "give one of them"),
    ],
)
def test_a_mistake_in_the_options_is_one_line(run: Run, arguments: list[str], told: str) -> None:  # noqa: F811
    ran = run(None, *arguments)
    assert ran.code == 3
    assert told in ran.one_line
