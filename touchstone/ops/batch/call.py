"""The Python call: scores cases or documents with a suite, with the same results as a worker or a command on files."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

from pydantic import ValidationError

from touchstone.ops.batch.cases import BatchCase, completed, model_of
from touchstone.ops.batch.executor import scored
from touchstone.ops.batch.results import Results
from touchstone.ops.batch.sources import Source
from touchstone.schemas.case import Case, validate_case
from touchstone.schemas.faults import explain
from touchstone.schemas.result import FileRef, Problem, ScoreResult
from touchstone.scorers.base import Document
from touchstone.scorers.defects import defect_in
from touchstone.scorers.identity import event_id
from touchstone.scorers.registry import load_suite
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.suite import Suite
from touchstone.scorers.suite_settings import suite_settings

OneCase = Case | Mapping[str, Any] | str | bytes
T = TypeVar("T")
#: The place of a case in the result of a Python call.
CALLER = "python"


def open_suite(suite: str | Suite, settings: Any = None) -> Scoring:
    """A suite ready to score many cases; close it with `await scoring.close()`.

    `suite`: the name of an installed one, or a `Suite`. `settings`: the suite's own model; by default from the environment and the suite's document
    in the working directory, as for a worker. May take seconds (models are loaded). Raises `ConfigError`, `Unavailable`.
    """
    loaded = load_suite(suite) if isinstance(suite, str) else suite
    return Scoring(loaded, suite_settings(loaded) if settings is None else settings)


@overload
def score(suite: str | Suite | Scoring, case: OneCase, *, settings: Any = None) -> ScoreResult: ...  # type: ignore[overload-overlap]  # text is iterable
@overload
def score(suite: str | Suite | Scoring, case: Iterable[OneCase], *, settings: Any = None) -> Results: ...
def score(suite: str | Suite | Scoring, case: OneCase | Iterable[OneCase], *, settings: Any = None) -> ScoreResult | Results:
    """Score one case, or many, and wait for them; also in a running event loop, as in a notebook, which waits too.

    `case`: a case, a record as an event would carry it, or, for suites that read documents, a document as text or bytes. A list (or any other iterable)
    of these gives `Results`, in the same order. `suite`: a name, a `Suite`, or the result of `open_suite`, which saves opening it again. Raises `ValueError`
    for anything that is not a case of the suite (nothing of it is quoted), `ConfigError`, `Unavailable`. A scorer's own failure is in the result:
    label `unscored`, with a failure.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_score(suite, case, settings))
    return _beside(_score(suite, case, settings))


@overload
async def ascore(suite: str | Suite | Scoring, case: OneCase, *, settings: Any = None) -> ScoreResult: ...  # type: ignore[overload-overlap]
@overload
async def ascore(suite: str | Suite | Scoring, case: Iterable[OneCase], *, settings: Any = None) -> Results: ...
async def ascore(suite: str | Suite | Scoring, case: OneCase | Iterable[OneCase], *, settings: Any = None) -> ScoreResult | Results:
    """Score one case, or many; see `score`."""
    return await _score(suite, case, settings)


async def _score(suite: str | Suite | Scoring, case: OneCase | Iterable[OneCase], settings: Any) -> ScoreResult | Results:
    scoring = suite if isinstance(suite, Scoring) else await asyncio.to_thread(open_suite, suite, settings)
    try:
        if isinstance(case, Case | Mapping | str | bytes):
            valid, identity = _case(case, scoring)
            return await scoring.result(valid, identity, FileRef(file=CALLER))
        if not isinstance(case, Iterable):
            raise _no_case(case)
        # All of them are read before any is scored, so that a mistake in the last one costs nothing.
        cases = [_numbered(number, one, scoring) for number, one in enumerate(case)]
        return Results(scoring, [result async for result in scored(cases, scoring) if isinstance(result, ScoreResult)])
    finally:
        if scoring is not suite:
            await scoring.close()


def _numbered(number: int, case: OneCase, scoring: Scoring) -> BatchCase:
    """One of several cases. Raises `ValueError` that says which."""
    try:
        valid, identity = _case(case, scoring)
    except ValueError as error:
        raise ValueError(f"case [{number}]: {error}") from None
    return BatchCase(valid, identity, FileRef(file=CALLER, place=f"[{number}]"))


def _beside(work: Coroutine[Any, Any, T]) -> T:
    """Run work to its end in an event loop of a thread of its own. An interrupt (a notebook's stop button) cancels it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="touchstone-score", daemon=True)
    thread.start()
    doing = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return doing.result()
    finally:
        doing.cancel()
        asyncio.run_coroutine_threadsafe(_ended(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _ended() -> None:
    """Wait for what is cancelled, and let go of the loop's threads."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()


def _case(case: Case | Mapping[str, Any] | str | bytes, scoring: Scoring) -> tuple[Case, str]:
    """The valid case and its event id. Raises `ValueError`."""
    suite = scoring.suite
    if isinstance(case, Case):
        # Only the given fields: defaults are not part of a record.
        return case, case.id or event_id(type(case), case.model_dump(mode="json", by_alias=True, exclude_unset=True))
    if not isinstance(case, Mapping | str | bytes):
        raise _no_case(case)
    record = dict(case) if isinstance(case, Mapping) else _record(case, scoring)
    model = model_of(record, suite)
    if model is None:
        raise ValueError(f"{suite.name} does not score this kind; give one of {', '.join(suite.cases)}")
    whole = completed(record, model, Source(Path(CALLER)), suite)
    try:
        valid = validate_case(model, whole)
    except ValidationError as error:
        raise ValueError(explain(error, model, model.words)) from None
    return valid, valid.id or str(whole["id"])


def _no_case(case: object) -> ValueError:
    return ValueError(f"{type(case).__name__} is no case; give a record (a dict), a case, a document as text or bytes, or a list of these")


def _record(document: str | bytes, scoring: Scoring) -> dict[str, Any]:
    """The one case that a document holds. Raises `ValueError`."""
    suite = scoring.suite
    if suite.read is None:
        raise ValueError(f"{suite.name} does not read documents; give a record (a dict) or a case")
    data = document.encode("utf-8", "surrogatepass") if isinstance(document, str) else document
    try:
        found = list(suite.read(Document(CALLER, data), scoring.settings) or ())
    except Exception as error:  # noqa: BLE001  # a defect of the reader, whose message may quote the document
        raise ValueError(f"the suite could not read the document ({defect_in(suite.read, error)})") from None
    if len(found) != 1:
        raise ValueError(f"the document holds {len(found)} cases; give one" if found else f"{suite.name} does not recognise this document")
    if isinstance(found[0], Problem):
        raise ValueError(found[0].what)  # noqa: TRY004  # the value is at fault, not its type
    return dict(found[0].record)
