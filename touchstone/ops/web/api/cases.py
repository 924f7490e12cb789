"""Lists over the whole history: cases, facets, and saved views."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from starlette.responses import Response

from touchstone.ops.store.case_filter import CaseFilter, FilterError
from touchstone.ops.store.case_rows import ListedCase
from touchstone.ops.store.history import PAGE_MAX
from touchstone.ops.web.api.bodies import ViewBody, read_body
from touchstone.ops.web.api.calls import FILTER_NAMES, Call, Endpoint, Refusal
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.query import BadRequest, number
from touchstone.ops.web.service import Json, refused
from touchstone.scorers.suite import Suite

LIMIT = 50


class CaseLists:
    """Lists of results with their cases. `endpoints`: what it answers."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.endpoints = (
            Endpoint("GET", "/api/cases", self._cases, parameters=FILTER_NAMES | {"limit", "cursor"}),
            Endpoint("GET", "/api/facets", self._facets, parameters=FILTER_NAMES | {"by"}),
            Endpoint("GET", "/api/views", self._views),
            Endpoint("PUT", "/api/views/{id}", self._save, scope="annotate"),
            Endpoint("DELETE", "/api/views/{id}", self._delete, scope="annotate"),
        )

    def _cases(self, call: Call) -> Response:
        chosen = read_filter(call, further=frozenset({"limit", "cursor"}))
        limit = number(call.query, "limit", default=LIMIT, least=1, most=PAGE_MAX)
        try:
            page = self._sources.get().history.cases(chosen, limit, call.query.get("cursor"))
        except FilterError as error:
            raise BadRequest(str(error)) from None
        cases = [listed(row, self._sources.suites) for row in page.rows]
        return Json({"cases": cases, "next": page.next, "total": page.total, "total_at_least": page.total_at_least})

    def _facets(self, call: Call) -> Response:
        chosen = read_filter(call, further=frozenset({"by"}))
        by = call.query.get("by", "label")
        history = self._sources.get().history
        try:
            found = history.facets(chosen, by)
            total = history.count(chosen.beside(by))
        except FilterError as error:
            raise BadRequest(str(error)) from None
        values = [{"value": one.value, "count": one.count, "labels": dict(one.labels)} for one in found]
        return Json({"by": by, "values": values, "total": total})

    def _views(self, _: Call) -> Response:
        saved = self._sources.get().index.views()
        return Json({"views": [{"name": name, "query": query} for name, query in saved.items()]})

    def _save(self, call: Call) -> Response:
        body = read_body(ViewBody, call.body)
        if not call.id.isprintable() or len(call.id) > 100:
            raise Refusal("the name of a view has at most 100 printable characters", 422)
        try:
            CaseFilter.parse(parse_qsl(body.query.removeprefix("?"), keep_blank_values=True))
        except FilterError as error:
            raise Refusal(f"query: {error}", 422) from None
        if not self._sources.get().index.save_view(call.id, body.query.removeprefix("?"), datetime.now(UTC)):
            raise Refusal("there are too many saved views; delete one first", 409)
        return Json({"name": call.id, "query": body.query.removeprefix("?")})

    def _delete(self, call: Call) -> Response:
        if not self._sources.get().index.delete_view(call.id):
            return refused("there is no saved view of this name", 404)
        return self._views(call)


def read_filter(call: Call, *, further: frozenset[str]) -> CaseFilter:
    """The filter of a request, restricted to the suites that the client may see. Raises `BadRequest`."""
    return parsed_filter(((name, value) for name, value in call.query.multi_items() if name not in further), call)


def parsed_filter(parameters: Iterable[tuple[str, str]], call: Call) -> CaseFilter:
    """A filter of parameters. Raises `BadRequest`."""
    try:
        return CaseFilter.parse(parameters, call.grant.scope)
    except FilterError as error:
        raise BadRequest(str(error)) from None


def listed(row: ListedCase, suites: Mapping[str, Suite]) -> dict[str, Any]:
    """A row of a list: ids, codes and numbers."""
    return {
        "event_id": row.event_id,
        "result_id": row.result_id,
        "case_id": row.case_id or None,
        "name": case_name(row.event_id, row.case_id or None, suites.get(row.suite)),
        "kind": row.kind,
        "suite": row.suite,
        "suite_version": row.suite_version,
        "label": row.label,
        "values": row.values,
        "overall": row.overall,
        "codes": list(row.codes),
        "severity": row.severity or None,
        "findings_total": row.findings_total,
        "failures_total": row.failures_total,
        "concern_id": row.concern_id or None,
        "batch_id": row.batch_id or None,
        "model": row.model or None,
        "source": row.source or None,
        "at": moment(row.at),
        "kept": row.kept is not None and row.kept.state == "kept",
        "feedback": row.feedback,
        "annotated": row.annotations_total > 0,
        "matched": row.matched or None,
    }


def case_name(event_id: str, case_id: str | None, suite: Suite | None) -> str:
    """The name of a case for people; a suite of a package may fail at it."""
    with suppress(Exception):
        if suite is not None:
            return suite.call(event_id, case_id)
    return case_id or event_id


def moment(at: datetime) -> str:
    """A time in ISO 8601, UTC."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
