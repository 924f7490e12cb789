"""Annotations as an append-only list, from a file in the specification's shape or from the result store. Which of them count: see `schemas.counting`."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

import orjson
from pydantic import ValidationError

from touchstone.ops.reports.files import write_whole
from touchstone.ops.store.annotation_log import record_of
from touchstone.ops.store.cases import CaseIndex
from touchstone.ops.store.failure_categories import FailureCategories, FailureCategory
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.faults import explain
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.failure_coding import Category

#: Bytes of a file of annotations, and annotations that one command reads.
FILE_BYTES_MAX: Final = 268_435_456
ANNOTATIONS_MAX: Final = 1_000_000


class Annotations(Protocol):
    """Where annotations are."""

    @property
    def place(self) -> str:
        """Its name for messages."""
        ...

    def read(self) -> list[AnnotationRecord]:
        """All of them, in the order in which they were written. Raises `ConfigError`."""
        ...

    def append(self, records: Sequence[AnnotationRecord]) -> None:
        """Add all of them, or none."""
        ...

    def categories(self) -> tuple[Category, ...]:
        """What people say of the kinds of failure, where that is kept."""
        ...

    def describe(self, categories: Iterable[Category], at: datetime) -> None:
        """Keep what a file says of kinds of failure."""
        ...


class FileAnnotations:
    """A JSON array of records, as `eval-results/annotations.json` of the specification."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        """The file."""
        return str(self._path)

    def read(self) -> list[AnnotationRecord]:
        """See `Annotations`."""
        try:
            if self._path.stat().st_size > FILE_BYTES_MAX:
                raise ConfigError(f"{self.place} has more than {FILE_BYTES_MAX:,} bytes; split it")
            document = orjson.loads(self._path.read_bytes())
        except OSError as error:
            raise ConfigError(f"{self.place} cannot be read ({error.strerror}); give a file of annotations, or leave it out to use the store") from None
        except orjson.JSONDecodeError as error:
            raise ConfigError(f"{self.place} is not JSON (line {error.lineno}); it must be an array of annotations") from None
        return [_record(one, f"{self.place}: annotation {number}") for number, one in enumerate(_listed(document, self.place))]

    def categories(self) -> tuple[Category, ...]:
        """None: the file of categories has them."""
        return ()

    def describe(self, categories: Iterable[Category], at: datetime) -> None:
        """Nothing: the file of categories says it."""

    def append(self, records: Sequence[AnnotationRecord]) -> None:
        """See `Annotations`. The file is written anew and put in its place: a kill leaves the old one or the new one, whole."""
        whole = [one.record() for one in (*self.read(), *records)]
        write_whole(self._path, io.BytesIO(orjson.dumps(whole, option=orjson.OPT_INDENT_2) + b"\n"))


class StoreAnnotations:
    """The annotations of the result store."""

    def __init__(self, store: ResultStore) -> None:
        self._store = store
        self._events: dict[str, str] = {}

    @property
    def place(self) -> str:
        """The store."""
        return "the store"

    def read(self) -> list[AnnotationRecord]:
        """See `Annotations`."""
        records = []
        for one in CaseIndex(self._store.engine).all_annotations(ANNOTATIONS_MAX):
            self._events[one.trace_id or one.event_id] = one.event_id
            try:
                records.append(record_of(one))
            except ValidationError as error:
                raise ConfigError(f"{one.trace_id or one.event_id}: {explain(error, AnnotationRecord)}") from None
        return records

    @property
    def index(self) -> CaseIndex:
        """Where they are written."""
        return CaseIndex(self._store.engine)

    def categories(self) -> tuple[Category, ...]:
        """See `Annotations`."""
        return tuple(Category(name=one.name, kind=one.kind, description=one.description) for one in FailureCategories(self._store.engine).all())

    def describe(self, categories: Iterable[Category], at: datetime) -> None:
        """See `Annotations`. A file that says nothing of a category leaves what is there."""
        told = [FailureCategory(one.name, one.kind, one.description) for one in categories if one.kind is not None or one.description]
        FailureCategories(self._store.engine).describe(told, "", at)

    def event_of(self, trace_id: str) -> str:
        """The event of a trace that `read` has returned."""
        return self._events[trace_id]

    def append(self, records: Sequence[AnnotationRecord]) -> None:
        """See `Annotations`. The records are of cases that `read` has returned."""
        index = CaseIndex(self._store.engine)
        entries = []
        for one in records:
            event = self._events[one.trace_id]
            entries.append((event, "" if one.trace_id == event else one.trace_id, one.reviewer, one.review_pass, one.at, one.content()))
        index.annotate_many(entries)


def _listed(document: Any, place: str) -> Iterator[Mapping[str, Any]]:
    """The records of an array, or of trace files' own annotations."""
    if isinstance(document, Mapping) and isinstance(document.get("annotations"), list | Mapping):
        document = [document]
    if not isinstance(document, list) or not all(isinstance(one, Mapping) for one in document):
        raise ConfigError(f'{place} is not an array of annotations (or a trace with some); its records look like {{"traceId": …, "verdict": "fail", …}}')
    for one in document:
        inside = one.get("annotations")
        if inside is None:
            yield one
            continue
        for number, annotation in enumerate(inside if isinstance(inside, list) else [inside]):
            if not isinstance(annotation, Mapping):
                raise ConfigError(f"{place}: annotation {number} of a trace is no object")
            # The specification's viewer writes one annotation into its trace, and no reviewer.
            named = {} if "reviewerId" in annotation or "reviewer" in annotation else {"reviewer": "viewer"}
            yield {"traceId": one.get("traceId"), **named, **annotation}


def _record(document: Mapping[str, Any], place: str) -> AnnotationRecord:
    try:
        return AnnotationRecord.model_validate(document)
    except ValidationError as error:
        raise ConfigError(f"{place}: {explain(error, AnnotationRecord)}") from None
