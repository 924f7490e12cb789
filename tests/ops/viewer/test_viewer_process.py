"""The command as people run it: a process on a folder of traces, its page, and what is left when it is killed."""

import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.ops.viewer.started import Viewer, sample_traces, viewing
from touchstone.ops.cli import app

pytestmark = pytest.mark.slow


def annotate(viewer: Viewer, event_id: str, **said: Any) -> None:
    path = f"/api/cases/{event_id}"
    etag = viewer.ask(path)[1]
    viewer.ask(path, "PATCH", {"annotations": [{"reviewerId": "ann", **said}]}, etag)


def test_ten_traces_are_opened_annotated_and_exported_and_a_kill_loses_nothing(tmp_path: Path) -> None:
    folder, data = tmp_path / "eval-results" / "traces", tmp_path / "eval-results" / ".touchstone"
    files = sample_traces(folder, 10)
    before = {path: path.read_bytes() for path in files}
    written: list[str] = []
    with viewing(cwd=tmp_path) as viewer:
        assert " 0 results new" not in viewer.told("10 traces read")
        summary, _ = viewer.ask("/v1/summary")
        assert (summary["connection"]["state"], summary["connection"]["reason"]) == ("files", None)
        events = sorted({one["event_id"] for one in viewer.ask("/api/cases?limit=100")[0]["cases"]})
        assert len(events) == 10
        reading, _ = viewer.ask(f"/api/cases/{events[0]}/reading")
        assert reading["text"] == "shown"
        annotate(viewer, events[0], verdict="fail", notes="no HbA1c")

        def write() -> None:
            for number in range(10_000):
                try:
                    annotate(viewer, events[number % 10], verdict="pass", notes=f"note {number}", reviewPass=2 + number)
                except (OSError, urllib.error.URLError):
                    return
                written.append(f"note {number}")
                if number == 15:
                    enough.set()

        enough = threading.Event()
        writer = threading.Thread(target=write)
        writer.start()
        assert enough.wait(60)
        viewer.end(signal.SIGKILL)
        writer.join(60)
    output = tmp_path / "eval-results" / "annotations.json"
    done = CliRunner().invoke(app, ["annotations", "export", "--data", str(data), "-o", str(output)])
    assert done.exit_code == 0, done.output
    notes = {one["notes"] for one in json.loads(output.read_bytes())}
    assert {"no HbA1c", *written} <= notes
    assert {path: path.read_bytes() for path in files} == before
    with viewing(folder, cwd=tmp_path) as viewer:
        assert " 0 results new, 0 annotations" in viewer.told("10 traces read")
        assert viewer.end() == 0


def test_no_broker_is_asked_for_anything(tmp_path: Path) -> None:
    sample_traces(tmp_path / "traces", 1)
    with socket.create_server(("127.0.0.1", 0)) as broker:
        with viewing("traces", cwd=tmp_path, brokers=f"127.0.0.1:{broker.getsockname()[1]}") as viewer:
            for path in ("/v1/summary", "/v1/suites", "/api/cases", "/api/facets?by=label"):
                viewer.ask(path)
            assert viewer.end() == 0
        broker.setblocking(False)
        with pytest.raises(BlockingIOError):
            broker.accept()


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    sample_traces(tmp_path / "traces", 1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [sys.executable, "-m", "touchstone.ops.cli", "viewer", "traces", "--port", str(taken.getsockname()[1])]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (3, 1)
    assert "choose another port" in done.stderr


def test_the_traces_of_another_touchstone_are_opened_and_annotations_stay_here(tmp_path: Path) -> None:
    sample_traces(tmp_path / "a" / "traces", 3)
    (tmp_path / "b").mkdir()
    with viewing("traces", cwd=tmp_path / "a") as first, viewing(f"{first.address}/api/traces", "--data", "data", cwd=tmp_path / "b") as second:
        assert len({one["event_id"] for one in second.ask("/api/cases?limit=100")[0]["cases"]}) == 3
        event = second.ask("/api/cases?limit=1")[0]["cases"][0]["event_id"]
        annotate(second, event, verdict="fail")
        assert first.ask(f"/api/cases/{event}")[0]["annotations"] == []
        assert second.end() == 0
        assert any("are kept here" in line and "not sent" in line for line in second.said)
