"""Files → events to send: read twice, so that nothing is sent unless everything can be, and no events are held in memory.

The first pass checks every event as a worker would read it and counts batches; the second one completes and encodes.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from touchstone.ops.batch.cases import completed
from touchstone.ops.batch.reading import read_values
from touchstone.ops.batch.sources import STANDARD_INPUT, Source, UnreadableError, find_sources, opened
from touchstone.schemas.case import Case, validate_case
from touchstone.schemas.faults import explain
from touchstone.schemas.result import FileRef, Problem, place_of
from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.suite import Suite
from touchstone.streams.topics.produce import TOO_DEEP, Envelope, Outgoing, encode_event
from touchstone.streams.wire.codec import Codec, Header, Reject

#: Batches of more cases get no size: that needs a count of distinct ids, which takes memory.
BATCH_CASES_MAX = 1_000_000
PROBLEMS_SHOWN_MAX = 5

_NO_EVENT = (
    'a FHIR resource is not an event; put it into a trace: {"traceId": "…", "outputs": {"fhir": {"content": …}}} '
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
    """The result of the first pass. `sizes`: batch → cases, for batches that declare none and are whole in these files."""

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

    def __init__(self, settings: Settings, suites: Sequence[Suite], sources: Sequence[Source], names: Mapping[Path, str], way: Way) -> None:
        self._settings = settings
        self._sources = sources
        self._names = names
        self._way = way
        # A kind goes where the suite reads that names it first: one that takes it from files too names it after its own.
        named = [(place, kind, suite, model) for suite in suites for place, (kind, model) in enumerate(suite.cases.items())]
        self._owners = {kind: (suite, model) for _, kind, suite, model in sorted(named, key=lambda one: -one[0])}
        self._codec = Codec({kind: model for kind, (_, model) in self._owners.items()}, bytes_max=settings.worker.event_bytes_max)
        self._topics = {kind: settings.topics.inputs(suite.topics)[0] for kind, (suite, _) in self._owners.items()}
        self._sizes: dict[BatchName, int] = {}

    def check(self) -> Checked:
        """Read every event. Raises `ConfigError` that names file, line and fault of the first few that cannot be sent."""
        checked = Checked()
        problems: list[str] = []
        seen: dict[BatchName, set[int]] = {}
        declared: set[BatchName] = set()
        concerns = _Concerns()
        for source, entry in self._entries():
            if isinstance(entry, Problem):
                problems.append(f"{self._where(source, entry.source)} {entry.what}")
                continue
            place, written = entry
            where = self._where(source, place)
            try:
                record = self._completed(written, source)
            except ValueError as error:
                problems.append(f"{where} {error}")
                continue
            try:
                # In a structured CloudEvent, an event lies one level deeper.
                value = orjson.dumps(record)
                if self._way.envelope == "structured":
                    orjson.dumps({"data": record})
            except TypeError:
                problems.append(f"{where}: {TOO_DEEP}")
                continue
            step = self._codec.read(Probe(value))
            if isinstance(step, Reject):
                problems.append(f"{where}: {_NO_EVENT if _is_resource(written) else self._fault(record, step)}")
                continue
            if (doubt := concerns.doubt(source, written, record)) is not None:
                problems.append(f"{where}: {doubt}")
                continue
            checked.events += 1
            checked.topics.add(self._topic(record))
            if (batch := self._batch(record)) is not None:
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

    def _fault(self, record: dict[str, Any], step: Reject) -> str:
        """What is wrong with a record that workers would refuse, and what to do about it."""
        owner = self._owner(record)
        if owner is not None and step.code.startswith("schema_"):
            try:
                validate_case(owner[1], record)
            except ValidationError as error:
                return explain(error, owner[1], owner[1].words)
        kinds = f"; `kind` is one of {', '.join(sorted(self._owners))}" if step.code.startswith("kind_") else ""
        return f"{step.code}{f' at {step.where}' if step.where else ''}{kinds}; `touchstone explain FILE` says how it is read"

    def events(self) -> Iterator[Outgoing]:
        """The same events, completed and encoded. Raises `ConfigError` if a file has changed since the first pass."""
        for source, entry in self._entries():
            if isinstance(entry, Problem):
                raise ConfigError(f"{self._where(source, entry.source)} has changed while it was read")
            place, written = entry
            record = self._completed(written, source)
            if (batch := self._batch(record)) is not None and (size := self._sizes.get(batch)) is not None:
                record["batch_size"] = size
            yield encode_event(self._where(source, place), self._topic(record), record, envelope=self._way.envelope, keyed=self._way.keyed)

    def _entries(self) -> Iterator[tuple[Source, tuple[FileRef, dict[str, Any]] | Problem]]:
        """The events of the files, of any kind, each with its place."""
        for source in self._sources:
            try:
                with opened(source) as stream:
                    for one in read_values(stream, source, self._settings.files):
                        if isinstance(one, Problem) or isinstance(one[1], dict):
                            yield source, one
                        else:
                            yield source, Problem(source=one[0], what="is not a case object; write {…}")
            except UnreadableError as error:
                yield source, Problem(source=FileRef(file=source.file), what=str(error), kind="unreadable")

    def _completed(self, record: dict[str, Any], source: Source) -> dict[str, Any]:
        """A record completed with its kind, its id and its place; a record of a kind that no suite here scores stays unchanged. Raises `ValueError`."""
        owner = self._owner(record)
        return dict(record) if owner is None else completed(record, owner[1], source, owner[0])

    def _owner(self, record: Mapping[str, Any]) -> tuple[Suite, type[Case]] | None:
        """The suite that scores a record, by its kind, else by keys that only one kind has."""
        kind = record.get("kind")
        if kind is not None:
            return self._owners.get(kind) if isinstance(kind, str) else None
        return next(((suite, model) for suite, model in self._owners.values() if model.signature and model.signature & record.keys()), None)

    def _batch(self, record: Mapping[str, Any]) -> BatchName | None:
        """The batch of an event, where its kind has batches of a declared size."""
        owner = self._owner(record)
        if owner is None or "batch_size" not in owner[1].model_fields:
            return None
        return (str(record.get("concern_id")), str(record.get("batch_id")))

    def _where(self, source: Source, place: Any) -> str:
        """A place as the user named it: standard input was copied to a file of another name."""
        return place_of(place).replace(str(source.path), self._names.get(source.path, str(source.path)), 1)

    def _topic(self, record: Mapping[str, Any]) -> str:
        if self._way.topic is not None:
            return self._way.topic
        return self._topics.get(str(record.get("kind")), self._settings.topics.generations)


class _Concerns:
    """Finds cases that would get the name of their file's folder as concern, though other cases of the file name another one."""

    def __init__(self) -> None:
        self._named: dict[Path, str] = {}
        self._guessed: set[Path] = set()

    def doubt(self, source: Source, written: Mapping[str, Any], record: Mapping[str, Any]) -> str | None:
        """What is doubtful about a record as it was completed; None if nothing is."""
        if written.get("concern_id") is not None:
            if written["concern_id"] != source.place.folder:
                self._named[source.path] = str(written["concern_id"])
        elif record.get("concern_id") is not None:
            self._guessed.add(source.path)
        if source.path in self._guessed and source.path in self._named:
            return "cases of this file name another concern than its folder, and others name none; add concern_id to those"
        return None


def _is_resource(record: Mapping[str, Any]) -> bool:
    """True if this is a FHIR resource by itself."""
    return "resourceType" in record and "kind" not in record


def raw_lines(paths: Sequence[Path], names: dict[Path, str], topic: str) -> Iterator[Outgoing]:
    """Every line of the files as unchanged, unchecked bytes, to try out a broken producer."""
    for path in paths:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                yield Outgoing(f"{names.get(path, path)}, line {number}", topic, None, line.removesuffix(b"\n"))


def event_files(paths: Sequence[Path], names: Mapping[Path, str] | None = None, left_out: list[Path] | None = None) -> list[Source]:
    """Files, and folders of them: batch files themselves, or one folder per concern. Raises `ConfigError`.

    `names`: of `twice_readable`; the name of a copy of standard input says nothing about its cases. `left_out`: of `find_sources`.
    """
    copies = names or {}
    return [Source(source.path) if source.path in copies else source for source in find_sources(paths, any_file=False, left_out=left_out)]


@contextmanager
def twice_readable(paths: Sequence[Path]) -> Iterator[tuple[list[Path], dict[Path, str]]]:
    """Paths that can be read twice, and their names in messages: standard input and pipes are copied to private temporary files."""
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
