import json
from pathlib import Path

from touchstone.ops.lab.chaos.processes import Child


def test_the_last_warnings_of_a_log_leave_out_what_every_run_has(tmp_path: Path) -> None:
    child = Child("worker-0", [], {}, tmp_path)
    entries = [("info", "assigned"), ("warning", "consumer_failed"), ("warning", "dead_letters"), ("error", "out_of_group")]
    child.log_path.write_text("\n".join([*(json.dumps({"level": level, "event": event}) for level, event in entries), "Traceback"]) + "\n")
    told = child.last_warnings()
    assert all(word in told for word in ("consumer_failed", "out_of_group", "Traceback"))
    assert not any(word in told for word in ("assigned", "dead_letters"))
