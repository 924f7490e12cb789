"""Two processes write to the same case of the same queue, and one of them is killed in the middle: what was acknowledged is there, and nothing half of it."""

import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count

import pytest

from tests.ops.store.histories import AT, add, scored
from touchstone.ops.store.annotation_log import add_records
from touchstone.ops.store.case_rows import Annotation
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.queue_rows import Definition
from touchstone.ops.store.queue_states import Written, standing
from touchstone.ops.store.queues import Queues
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.annotation import AnnotationRecord

#: Writes so many annotations, or until it is killed, and says which ones the store has taken. Like the page, it names the revision that it has seen.
WRITER = """
import sys
from datetime import UTC, datetime
from touchstone.ops.store.cases import CaseIndex, Conflict
from touchstone.ops.store.queues import Queues
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.annotation import AnnotationRecord
url, who, times = sys.argv[1:]
store = ResultStore.open(url)
index, queues = CaseIndex(store.engine), Queues(store.engine)
row = queues.get("q")
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(times)):
    while True:
        seen = len(index.annotations("e-0"))
        try:
            index.annotate("e-0", who, {"verdict": ("pass", "fail")[n % 2], "notes": f"{who} {n}", "queue": "q"}, datetime.now(UTC), expected=seen)
            break
        except Conflict:
            pass
    queues.act("q", "e-1", who, ("skip", "unskip")[n % 2], datetime.now(UTC), 60)
    queues.next(row, who, datetime.now(UTC), 60)
    print(f"{who} {n}", flush=True)
"""


def test_a_kill_in_the_middle_of_two_writers_loses_nothing_that_was_acknowledged(store_url: str) -> None:
    store = ResultStore.open(store_url, create=True)
    add(store, *(scored(f"e-{n}", n, suite="one") for n in range(4)))
    Queues(store.engine).create("q", Definition(suite="one", reviewers=2), AT + timedelta(days=1))
    command = [sys.executable, "-c", WRITER, store_url]
    writers = [
        subprocess.Popen([*command, who, times], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for who, times in (("ann", "100000"), ("bob", "40"))
    ]
    ann, bob = writers
    try:
        assert [one.stdout.readline() for one in writers if one.stdout] == ["ready\n", "ready\n"]
        for one in writers:
            assert one.stdin
            one.stdin.write("go\n")
            one.stdin.flush()
        assert ann.stdout
        assert bob.stdout
        acknowledged = [ann.stdout.readline().strip() for _ in range(12)]
        ann.kill()  # in the midst of its next one
        acknowledged += [line.strip() for line in (*ann.stdout, *bob.stdout)]
        assert bob.wait(300) == 0
        assert ann.wait(300) < 0
    finally:
        for one in writers:
            one.kill()
            one.wait()
    log = CaseIndex(store.engine).annotations("e-0")
    notes = Counter(one.body["notes"] for one in log)
    assert set(acknowledged) <= set(notes)
    assert set(notes) - set(acknowledged) <= {f"ann {sum(one.startswith('ann') for one in acknowledged)}"}  # written, and killed before it could say so
    assert set(notes.values()) == {1}
    assert [one.revision for one in log] == list(range(1, len(log) + 1))
    now = standing([Written(one.reviewer, one.body["verdict"], settled=False, withdrawn=False) for one in log], 2)
    queues, moment = Queues(store.engine), AT + timedelta(days=1)
    for reviewer in ("ann", "bob"):
        found = queues.case("q", "e-0", reviewer, moment)
        assert found is not None
        assert (found.state, found.verdict) == (now.state, now.verdicts[reviewer])
    assert sum(queues.counts(["q"])["q"].states.values()) == 4
    store.close()


def test_of_two_imports_at_the_same_moment_each_record_is_written_once(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store, scored("e-1", 1, suite="one"))
    said = [AnnotationRecord.model_validate({"traceId": "e-1", "reviewer": f"r{place}", "timestamp": AT.isoformat(), "verdict": "fail"}) for place in range(3)]
    together, look, looks = threading.Barrier(2), CaseIndex.annotations, count()

    def looked(index: CaseIndex, event_id: str) -> tuple[Annotation, ...]:
        found = look(index, event_id)
        if next(looks) < 2:
            together.wait(30)  # both have looked before either writes
        return found

    monkeypatch.setattr(CaseIndex, "annotations", looked)
    with ThreadPoolExecutor(2) as both:
        added = [one.added for one in both.map(lambda _: add_records(store.engine, said, AT), range(2))]
    assert sorted(added) == [0, 3]
    assert len(look(CaseIndex(store.engine), "e-1")) == 3
