"""Error analysis: kinds of failure with their frequencies, and coding. A reviewer's notes are only there with the scope `text`."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from starlette.responses import Response

from touchstone.ops.store.annotation_log import record_of
from touchstone.ops.store.cases import TooManyAnnotations
from touchstone.ops.store.failure_categories import FailureCategories, FailureCategory, of_suites, under_review
from touchstone.ops.web.access import Grant
from touchstone.ops.web.api.bodies import read_body
from touchstone.ops.web.api.calls import Call, Endpoint, Refusal
from touchstone.ops.web.api.error_models import CodingBody
from touchstone.ops.web.api.sources import Opened, Sources
from touchstone.ops.web.service import Json
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.counting import current
from touchstone.scorers.base import ConfigError
from touchstone.scorers.calibration.failure_analysis import UNCODED, Analysis, Kind, analysed
from touchstone.scorers.calibration.failure_coding import CATEGORY_NAME, Category, Who, assigned, meant, renamed, standing, who
from touchstone.scorers.calibration.saturation import STEP
from touchstone.scorers.reporting.intervals import Rate

#: Annotations that one answer is made of, failures that it lists, and examples of a kind.
ANNOTATIONS_MAX: Final = 100_000
FAILURES_MAX: Final = 500
EXAMPLES_MAX: Final = 10
#: A category that is no code may quote a case; without the right to text it has this name.
UNNAMED: Final = "(another name)"


class Records:
    """The annotations that a client may see. `events`: of the newest record of each. `withheld`: how many a blind queue keeps back."""

    def __init__(self, opened: Opened, call: Call) -> None:
        try:
            rows = opened.index.all_annotations(ANNOTATIONS_MAX)
        except TooManyAnnotations as error:
            raise Refusal(f"{error}; no part of them is analysed", 503) from None
        self.highest = max((one.review_pass for one in rows), default=0)
        if call.grant.scope is not None:
            seen = of_suites(opened.history.engine, (one.event_id for one in rows), call.grant.scope)
            rows = [one for one in rows if one.event_id in seen]
        if queue := call.query.get("queue"):
            rows = [one for one in rows if one.queue == queue]
        hidden: frozenset[tuple[str, str]] = frozenset()
        if not call.grant.may("admin"):
            blind = {one.name for one in opened.queues.all() if one.definition.blind}
            hidden = under_review(opened.history.engine, blind) if blind else hidden
        shown = [one for one in rows if (one.queue, one.event_id) not in hidden]
        self.withheld = len(rows) - len(shown)
        self.records = [record_of(one) for one in shown]
        self.events = {who(record): one.event_id for record, one in zip(self.records, shown, strict=True)}


class ErrorAnalysis:
    """Error analysis over the annotations of the store. `endpoints`: what it answers."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.endpoints = (
            Endpoint("GET", "/api/errors", self._read, parameters=frozenset({"queue"})),
            Endpoint("POST", "/api/errors/coding", self._code, scope="annotate"),
        )

    def _read(self, call: Call) -> Response:
        opened = self._sources.get()
        return Json(_document(Records(opened, call), FailureCategories(opened.history.engine), call.grant))

    def _code(self, call: Call) -> Response:
        if call.grant.queue:
            raise Refusal("a link to a queue does not allow coding; use a token with the scope annotate", 403)
        body = read_body(CodingBody, call.body)
        opened, now = self._sources.get(), datetime.now(UTC)
        found = Records(opened, call)
        if body.action == "describe":
            known = {one.failure_mode for one in current(found.records)} | {one.name for one in FailureCategories(opened.history.engine).all()}
            if body.category not in known:
                raise Refusal("there is no such category; read /api/errors again", 409)
            told = FailureCategory(str(body.category), body.kind, body.description)
            FailureCategories(opened.history.engine).describe([told], call.grant.name, now)
            return self._read(call)
        try:
            added = _coded(found.records, body, now)
        except ConfigError as error:
            raise Refusal(f"{error}; somebody else may have coded meanwhile", 409) from None
        added = _in_pass(added, body.review_pass, found)
        opened.index.annotate_many((_entry(found, one)) for one in added)
        return self._read(call)


def _coded(records: Sequence[AnnotationRecord], body: CodingBody, at: datetime) -> list[AnnotationRecord]:
    """The records that an act of coding adds. Raises `ConfigError`, and `Refusal` where an annotation is not in the category that the client saw."""
    if body.action == "rename":
        return renamed(records, {str(body.category): str(body.to)}, at)
    now, given = standing(records), [(Who(one.trace_id, one.reviewer, one.suite), one.category) for one in body.annotations]
    if any(now[key].failure_mode != category for named, category in given for key in meant(named, now)):
        raise Refusal("somebody else has coded some of these annotations meanwhile; read /api/errors again", 409)
    return assigned(records, [key for key, _ in given], body.to, at)


def _in_pass(added: Sequence[AnnotationRecord], wanted: int | None, found: Records) -> list[AnnotationRecord]:
    """The records in the pass that the client writes in. Raises `Refusal` where that would not count."""
    if wanted is None or not added:
        return [one.model_copy(update={"review_pass": found.highest + 1}) for one in added]
    now = standing(found.records)
    least = max(now[who(one)].review_pass for one in added)
    if not least <= wanted <= found.highest + 1:
        raise Refusal(f"review_pass: from {least} to {found.highest + 1}; read /api/errors again", 409)
    return [one.model_copy(update={"review_pass": wanted}) for one in added]


def _entry(found: Records, one: AnnotationRecord) -> tuple[str, str, str, int, datetime, dict[str, Any]]:
    event = found.events[who(one)]
    return event, "" if one.trace_id == event else one.trace_id, one.reviewer, one.review_pass, one.at, one.content()


def _document(found: Records, categories: FailureCategories, grant: Grant) -> dict[str, Any]:
    """The answer. Nothing in it quotes a case unless the client may read texts."""
    has_text = grant.may("text")
    records = found.records if has_text else [_with_plain_name(one) for one in found.records]
    told = [Category(name=one.name, kind=one.kind, description=one.description) for one in categories.all()]
    made = analysed(records, told)
    failures = [one for said in made.failures.values() for one in said]
    return {
        "reviewed": len(made.reviewed),
        "without_verdict": made.without_verdict,
        "disagreed": made.disagreed,
        "failed": len(made.failures),
        "rate": _share(made.failed),
        "base": made.base,
        "base_total": made.base_total,
        "withheld": found.withheld,
        "review_pass": found.highest,
        "categories": [_kind(one, made, found, has_text=has_text) for one in made.kinds],
        "saturation": {
            "step": STEP, "new_kinds": list(made.saturation.new_kinds), "kinds": made.saturation.kinds, "unseen": round(made.saturation.unseen, 2),
        },
        "passes": [
            {"review_pass": one.number, "cases": one.traces, "annotations": one.annotations, "coded": one.coded, "categories": one.modes} for one in made.passes
        ],
        "failures": [
            {
                "trace_id": one.trace_id, "event_id": found.events[who(one)], "reviewer": one.reviewer, "suite": one.suite, "category": one.failure_mode,
                "settled": bool(one.settled), "notes": one.notes if has_text else None,
            }
            for one in failures[:FAILURES_MAX]
        ],
        "failures_total": len(failures),
        "can": {scope: grant.may(scope) for scope in ("text", "annotate")},
    }  # fmt: skip


def _kind(one: Kind, made: Analysis, found: Records, *, has_text: bool) -> dict[str, Any]:
    examples = [made.failures[trace][0] for trace in one.traces[:EXAMPLES_MAX]]
    return {
        "name": None if one.name == UNCODED else one.name,
        "kind": one.category.kind if one.category else None,
        "description": one.category.description if one.category and has_text else None,
        "cases": len(one.traces),
        "rate": _share(one.rate),
        "examples": [{"trace_id": record.trace_id, "event_id": found.events[who(record)]} for record in examples],
    }


def _share(rate: Rate | None) -> dict[str, Any] | None:
    if rate is None or rate.interval is None:
        return None
    return {"count": rate.count, "total": rate.total, "share": rate.share, "low": rate.interval.low, "high": rate.interval.high}


def _with_plain_name(one: AnnotationRecord) -> AnnotationRecord:
    if one.failure_mode is None or re.fullmatch(CATEGORY_NAME, one.failure_mode):
        return one
    return one.model_copy(update={"failure_mode": UNNAMED})
