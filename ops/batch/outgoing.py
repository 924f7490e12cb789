"""Files → events to send: read twice, so that nothing is sent unless everything can be, and nothing is held in memory.

The first pass checks every event as a worker would read it and counts batches; the second one completes and encodes.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from touchstone.ops.batch import loss_batches, trace_events
from touchstone.ops.batch.batches import STANDARD_INPUT, SUFFIXES, BatchEntry, BatchFile, BatchProblem, event_id_for, given_files, read_batches
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError, Suite
from touchstone.streams.topics.produce import Envelope, Outgoing, encode_event
from touchstone.streams.wire.codec import Codec, Header, Reject

#: Batches of more cases get no size: counting distinct ids is what it takes, and that takes memory.
BATCH_CASES_MAX = 1_000_000
PROBLEMS_SHOWN_MAX = 5

_NO_EVENT = (
    'a FHIR resource is no event; put it into a trace: {"traceId": "…", "outputs": {"fhir": {"content": …}}} '
    "(docs/events.md), or validate the file: touchstone eval validate"
)

BatchName = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Probe:
    """An event that has no place on a topic yet, for the codec to read."""

    value: bytes | None
    headers: Sequence[Header] = ()
    topic: str = ""
    partition: int = 0
    offset: int = 0
    timestamp: int = 0
    key: bytes | None = None


@dataclass(slots=True)
class Checked:
    """What the first pass found. `sizes`: batch → cases, for batches that declare none and are whole in these files."""

    events: int = 0
    topics: set[str] = field(default_factory=set)
    sizes: dict[BatchName, int] = field(default_factory=dict)
    cases: dict[BatchName, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Way:
    """How events are sent. `topic`: for all of them; by default each goes where the suites of its kind read."""

    topic: str | None
    envelope: Envelope = "none"
    keyed: bool = True
    partial: bool = False


class Outgoings:
    """The events of some files. `check` first, then `events`."""

    def __init__(self, settings: Settings, suites: Sequence[Suite], files: Sequence[BatchFile], names: dict[Path, str], way: Way) -> None:
        self._settings = settings
        self._files = files
        self._names = names
        self._way = way
        cases = {kind: model for suite in suites for kind, model in suite.cases.items()}
        self._codec = Codec(cases, bytes_max=settings.worker.event_bytes_max)
        self._topics = {kind: settings.topics.inputs(suite.topics)[0] for suite in suites for kind in suite.cases}
        self._sizes: dict[BatchName, int] = {}

    def check(self) -> Checked:
        """Read every event. Raises `ConfigError` that names file, line and fault of the first few that cannot be sent."""
        checked = Checked()
        problems: list[str] = []
        seen: dict[BatchName, set[int]] = {}
        declared: set[BatchName] = set()
        for file, entry in self._entries():
            where = self._where(file, entry.where)
            if isinstance(entry, BatchProblem):
                problems.append(f"{where} {entry.what}")
                continue
            record = complete(entry.record, file)
            step = self._codec.read(Probe(orjson.dumps(record)))
            if isinstance(step, Reject):
                fault = _NO_EVENT if _is_resource(entry.record) else f"{step.code}{f' at {step.where}' if step.where else ''}"
                problems.append(f"{where}: {fault}")
                continue
            checked.events += 1
            checked.topics.add(self._topic(record))
            if is_safe(record):
                batch = (record["concern_id"], record["batch_id"])
                checked.cases[batch] = checked.cases.get(batch, 0) + 1
                if record.get("batch_size") is not None:
                    declared.add(batch)
                elif checked.cases[batch] <= BATCH_CASES_MAX:
                    seen.setdefault(batch, set()).add(hash(record["id"]))
        if problems:
            raise ConfigError(f"nothing was sent: {'; '.join(problems[:PROBLEMS_SHOWN_MAX])}{_rest(len(problems) - PROBLEMS_SHOWN_MAX)}")
        if not self._way.partial:
            whole = (batch for batch in seen if batch not in declared and checked.cases[batch] <= BATCH_CASES_MAX)
            checked.sizes = {batch: len(seen[batch]) for batch in whole}
        self._sizes = checked.sizes
        return checked

    def events(self) -> Iterator[Outgoing]:
        """The same events, completed and encoded. Raises `ConfigError` where a file is not what it was a moment ago."""
        for file, entry in self._entries():
            where = self._where(file, entry.where)
            if isinstance(entry, BatchProblem):
                raise ConfigError(f"{where} has changed while it was read")
            record = complete(entry.record, file)
            if is_safe(record) and (size := self._sizes.get((record["concern_id"], record["batch_id"]))) is not None:
                record["batch_size"] = size
            yield encode_event(where, self._topic(record), record, envelope=self._way.envelope, keyed=self._way.keyed)

    def _entries(self) -> Iterator[tuple[BatchFile, BatchEntry | BatchProblem]]:
        """What the files hold, not completed by their place: events of other kinds are sent as they are."""
        for file in self._files:
            for entry in read_batches([replace(file, concern_id=None, batch_id=None, concern_fixed=False)]):
                yield file, entry

    def _where(self, file: BatchFile, where: str) -> str:
        """A place as the user named it: standard input was copied to a file of another name."""
        return where.replace(str(file.path), self._names.get(file.path, str(file.path)), 1)

    def _topic(self, record: dict[str, Any]) -> str:
        """Where an event goes."""
        if self._way.topic is not None:
            return self._way.topic
        fallback = self._settings.topics.traces if record.get("kind") == "trace" else self._settings.topics.generations
        return self._topics.get(str(record.get("kind")), fallback)


def _is_resource(record: dict[str, Any]) -> bool:
    """Whether this is a FHIR resource by itself."""
    return "resourceType" in record and "kind" not in record


def is_safe(record: dict[str, Any]) -> bool:
    """Whether an event is a SAFE case, whose place may complete it."""
    return record.get("kind") == "safe"


def complete(record: dict[str, Any], file: BatchFile) -> dict[str, Any]:
    """A SAFE case with kind, concern, batch and id; a summary or a trace with kind and id; an event of another kind as it was written.

    Reading gave an event without id the id of a case without concern and batch: that one is made anew.
    """
    bare = {name: value for name, value in record.items() if name != "id"}
    given = record.get("id") if record.get("id") != event_id_for(bare) else None
    if loss_batches.is_summary(bare):
        return loss_batches.completed(bare | {"id": given})
    if trace_events.is_trace(bare):
        return trace_events.completed(bare | {"id": given})
    if bare.get("kind", "safe") != "safe":
        return bare | ({} if given is None else {"id": given})
    bare["kind"] = "safe"
    for name, value in (("concern_id", file.concern_id), ("batch_id", file.batch_id)):
        if bare.get(name) is None and value is not None:
            bare[name] = value
    return bare | {"id": given if given is not None else event_id_for(bare)}


def raw_lines(paths: Sequence[Path], names: dict[Path, str], topic: str) -> Iterator[Outgoing]:
    """Every line of the files as the bytes that it is, unchecked; for trying out what a broken producer would send."""
    for path in paths:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                yield Outgoing(f"{names.get(path, path)}, line {number}", topic, None, line.removesuffix(b"\n"))


def batch_files(paths: Sequence[Path]) -> list[BatchFile]:
    """Files, and directories of them: batch files themselves, or one directory per concern. Raises `ConfigError`."""
    files: list[BatchFile] = []
    for path in paths:
        inside = sorted(inner for inner in path.iterdir() if not inner.name.startswith(".")) if path.is_dir() else []
        concerns = [inner for inner in inside if inner.is_dir() and any(file.suffix in SUFFIXES for file in inner.iterdir())]
        if any(inner.suffix in SUFFIXES for inner in inside) or not concerns:
            files += given_files([path])
        for concern in concerns:
            files += [replace(file, concern_id=concern.name) for file in given_files([concern])]
    return files


@contextmanager
def twice_readable(paths: Sequence[Path]) -> Iterator[tuple[list[Path], dict[Path, str]]]:
    """Paths that can be read twice, and what to call them: standard input and pipes are copied to private temporary files."""
    with ExitStack() as stack:
        found: list[Path] = []
        names: dict[Path, str] = {}
        for path in paths:
            if path != STANDARD_INPUT and (path.is_file() or path.is_dir() or not path.exists()):
                found.append(path)
                continue
            spool = stack.enter_context(tempfile.NamedTemporaryFile(prefix="touchstone-"))
            if path == STANDARD_INPUT:
                shutil.copyfileobj(sys.stdin.buffer, spool)
            else:
                with path.open("rb") as stream:
                    shutil.copyfileobj(stream, spool)
            spool.flush()
            found.append(Path(spool.name))
            names[Path(spool.name)] = "standard input" if path == STANDARD_INPUT else str(path)
        yield found, names


def _rest(count: int) -> str:
    return f"; and {count} more" if count > 0 else ""
