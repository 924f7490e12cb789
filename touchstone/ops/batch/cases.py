"""Records → valid cases, each with its event id and its place. A record that is not a case becomes a problem in its place."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pydantic import ValidationError

from touchstone.ops.batch.reading import BOUNDS, records_of
from touchstone.ops.batch.sources import Source
from touchstone.schemas.case import Case, validate_case
from touchstone.schemas.faults import explain
from touchstone.schemas.result import FileRef, Problem, SourceRef
from touchstone.schemas.settings.house import FilesSettings
from touchstone.scorers.base import Place
from touchstone.scorers.defects import defect_in
from touchstone.scorers.identity import event_id
from touchstone.scorers.registry import known_signatures
from touchstone.scorers.suite import Suite

#: Says of a completed record whether it is asked for; it must travel to other processes, so it is a function or a frozen object.
Admit = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class BatchCase:
    """One valid case, with its event id and its place."""

    case: Case
    event_id: str
    source: FileRef | SourceRef


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filter of a run: is a case asked for, by its concern and batch?

    `strict`: a case that names none is not, for kinds that need no name; else it is, so that validation can say what is missing.
    """

    concern: str | None = None
    pattern: str = "*"
    strict: bool = False

    def __call__(self, record: Mapping[str, Any]) -> bool:
        """Judge a completed record."""
        given = record.get("correlation")
        named = {**(given if isinstance(given, Mapping) else {}), **{key: record[key] for key in ("concern_id", "batch_id") if key in record}}
        concern, batch = named.get("concern_id"), named.get("batch_id")
        fits = self.concern is None or (concern == self.concern if isinstance(concern, str) else not self.strict)
        return fits and (fnmatchcase(batch, self.pattern) if isinstance(batch, str) else not self.strict or self.pattern == "*")


def model_of(record: Mapping[str, Any], suite: Suite) -> type[Case] | None:
    """The model of a record's kind; of a record without one, by keys that only one kind has, else the suite's only kind."""
    kind = record.get("kind")
    if kind is not None:
        return suite.cases.get(kind) if isinstance(kind, str) else None
    for model in suite.cases.values():
        if model.signature and model.signature <= record.keys():
            return model
    return next(iter(suite.cases.values())) if len(suite.cases) == 1 else None


def _foreign_kind(record: Mapping[str, Any], model: type[Case], suite: Suite) -> str | None:
    """The kind of another suite that a record without one has all the keys of, if it has not those of this suite's."""
    if record.get("kind") is not None or not model.signature or model.signature <= record.keys():
        return None
    return next((kind for kind, keys in known_signatures().items() if kind not in suite.cases and keys and keys <= record.keys()), None)


def completed(record: dict[str, Any], model: type[Case], source: Source, suite: Suite) -> dict[str, Any]:
    """A record completed from its place, with its kind and its id. Raises `ValueError` that says what is wrong with it."""
    whole = dict(record) if suite.complete is None else _completed_by(suite.complete, dict(record), source)
    if whole.get("kind") is None:
        whole["kind"] = model.model_fields["kind"].default
    if "concern_id" in whole or "batch_id" in whole:
        _correlate(whole, model)
    try:
        whole["id"] = event_id(model, whole)
    except (TypeError, RecursionError):  # orjson: an integer past 64 bits, text with half a surrogate pair, too many levels
        raise ValueError("holds a number or text that JSON cannot carry; correct it") from None
    return whole


def _completed_by(complete: Callable[[dict[str, Any], Place], dict[str, Any]], record: dict[str, Any], source: Source) -> dict[str, Any]:
    """A record as the suite completes it. Raises `ValueError`: with the suite's own words, or with the place at which it failed."""
    try:
        return complete(record, source.place)
    except Exception as error:
        # The subclasses of ValueError are made by libraries, and their texts may quote the record.
        if type(error) is ValueError:
            raise
        raise ValueError(f"the suite failed on it ({defect_in(complete, error)})") from None


def _correlate(record: dict[str, Any], model: type[Case]) -> None:
    """For kinds without batches of their own: move the batch that the file gives into `correlation`, where it changes no id."""
    named = {key: record[key] for key in ("concern_id", "batch_id") if key not in model.model_fields and isinstance(record.get(key), str)}
    if named:
        for key in named:
            del record[key]
        given = record.get("correlation")
        record["correlation"] = {**named, **(given if isinstance(given, dict) else {})}


def cases_of(source: Source, suite: Suite, settings: Any, admit: Admit | None = None, bounds: FilesSettings = BOUNDS) -> Iterator[BatchCase | Problem | None]:
    """Every case of a source, and in its place every problem; None for a record that `admit` refuses."""
    for one in records_of(suite, source, settings, bounds):
        if isinstance(one, Problem):
            yield one
            continue
        place, record = one
        model = model_of(record, suite)
        if model is None:
            kinds = " or ".join(f"`{kind}`" for kind in suite.cases)
            yield Problem(source=place, what=f"kind is not {kinds}; leave the case out or correct it")
            continue
        if (other := _foreign_kind(record, model, suite)) is not None:
            yield Problem(source=place, what=f"is of the kind `{other}`, which {suite.name} does not score; leave it out")
            continue
        try:
            whole = completed(record, model, source, suite)
        except ValueError as error:
            yield Problem(source=place, what=str(error))
            continue
        if admit is not None and not admit(whole):
            yield None
            continue
        try:
            case = validate_case(model, whole)
        except ValidationError as error:
            yield Problem(source=place, what=explain(error, model, model.words))
        else:
            yield BatchCase(case, case.id or whole["id"], place)
