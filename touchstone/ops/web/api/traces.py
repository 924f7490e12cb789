"""Traces as the specification has them: listed, created once and never changed; what people say of them beside. And feedback in one call."""

from datetime import UTC, datetime

from pydantic import ValidationError
from starlette.responses import Response

from touchstone.ops.store.annotation_log import record_of
from touchstone.ops.store.archive.documents import NotKept
from touchstone.ops.store.case_filter import FilterError
from touchstone.ops.store.history import PAGE_MAX
from touchstone.ops.store.trace_comments import keep_comments, with_comments
from touchstone.ops.store.traces import list_traces
from touchstone.ops.web.api.bodies import FeedbackBody, read_body
from touchstone.ops.web.api.calls import Call, Endpoint, Refusal
from touchstone.ops.web.api.case import OneCase, annotation, current, etag, thumb
from touchstone.ops.web.api.cases import LIMIT, moment
from touchstone.ops.web.api.reviewers import check_reviewers, reviewers_in
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.query import BadRequest, check_scope, number
from touchstone.ops.web.service import Json
from touchstone.schemas.case import validate_case
from touchstone.schemas.faults import explain
from touchstone.schemas.trace import ProductionTrace

CREATED, SAME = 201, 200
#: Why the archive refuses a trace → status and what to say.
_REFUSED = {
    "too_large": (413, "the trace is larger or nested deeper than the archive keeps (archive.case_bytes_max, archive.depth_max)"),
    "forgotten": (410, "this trace was removed on request and cannot be sent again"),
}


class Traces:
    """Traces and feedback. `endpoints`: what it answers."""

    def __init__(self, sources: Sources, case: OneCase, bytes_max: int) -> None:
        self._sources = sources
        self._case = case
        self.endpoints = (
            Endpoint("GET", "/api/traces", self._list, parameters=frozenset({"limit", "cursor"})),
            Endpoint("POST", "/api/traces", self._create, scope="feedback", body_bytes_max=bytes_max),
            Endpoint("GET", "/api/traces/{id}", self._trace, scope="text"),
            Endpoint("PATCH", "/api/traces/{id}", case.patch, scope="annotate"),
            Endpoint("POST", "/api/feedback", self._rate, scope="feedback"),
        )

    def _list(self, call: Call) -> Response:
        limit = number(call.query, "limit", default=LIMIT, least=1, most=PAGE_MAX)
        opened = self._sources.get()
        try:
            rows, following = list_traces(opened.history.engine, limit, call.query.get("cursor"), call.grant.scope)
        except FilterError as error:
            raise BadRequest(str(error)) from None
        thumbs = opened.index.feedback([*(row.event_id for row in rows), *(row.trace_id for row in rows)])
        traces = [
            {
                "traceId": row.trace_id,
                "event_id": row.event_id,
                "timestamp": moment(row.at),
                "source": row.source or None,
                "bytes": row.bytes,
                "feedback": thumb(thumbs.get(row.trace_id) or thumbs.get(row.event_id)),
            }
            for row in rows
        ]
        return Json({"traces": traces, "next": following})

    def _create(self, call: Call) -> Response:
        if not isinstance(call.body, dict):
            raise Refusal("the body is not a JSON object", 422)
        if call.body.get("kind", "trace") != "trace":
            raise Refusal("kind: is not trace", 422)
        try:
            trace = validate_case(ProductionTrace, call.body)
        except ValidationError as error:
            raise Refusal(explain(error, ProductionTrace), 422) from None
        if said := call.body.get("annotations"):
            check_scope(call.grant, "annotate")
            check_reviewers(call.grant, reviewers_in(said))
        try:
            outcome, event_id = self._sources.archive().put_trace(call.raw)
        except NotKept as error:
            status, text = _REFUSED.get(error.state, (422, "the trace cannot be kept: its traceId has more than 256 characters, or one that cannot be printed"))
            raise Refusal(text, status) from None
        if outcome == "other":
            raise Refusal("there is another trace with this traceId; a trace is never changed", 409)
        # What it came with is said in the store from now on, where everybody looks for it, and is not written again when a client sends it back.
        keep_comments(self._sources.get().index, call.body, datetime.now(UTC), call.grant.may_write_as, trusts=call.grant.may("admin"))
        return Json({"event_id": event_id, "trace_id": trace.trace_id, "state": outcome}, CREATED if outcome == "created" else SAME)

    def _trace(self, call: Call) -> Response:
        found = self._case.found(call)
        if found.kept is None or found.kept.kind != "trace":
            raise Refusal("the archive has no trace with this id; /api/traces lists those that it has, and archive.policy says which are kept", 404)
        document = self._case.text_of(found)
        if found.annotations or found.feedback is not None:
            said = [annotation(one, has_text=True) for one in current(found.annotations)]
            log = [record_of(one) for one in found.annotations]
            document = with_comments(document, said, log, thumb(found.feedback))
        return Response(document, media_type="application/json", headers={"ETag": etag(found)})

    def _rate(self, call: Call) -> Response:
        body = read_body(FeedbackBody, call.body)
        opened = self._sources.get()
        if call.grant.scope is not None:
            found = opened.history.case(body.id, None)
            if found is not None and opened.history.case(body.id, call.grant.scope) is None:
                raise Refusal("no such case in the history; check its id", 404)
        at = body.timestamp or datetime.now(UTC)
        opened.index.rate(body.id, body.rating, at)
        return Json({"id": body.id, "rating": body.rating, "timestamp": moment(at)})
