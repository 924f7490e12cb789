"""One case: everything about its event, its reading, its document, and what people say of it."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
import structlog
from pydantic import ValidationError
from starlette.responses import Response

from touchstone.ops.store.archive.encryption import Undecipherable
from touchstone.ops.store.archive.objects import ArchiveAway, Missing, NoArchive, TooLarge
from touchstone.ops.store.case_query import LABEL_RANKS
from touchstone.ops.store.case_rows import Annotation, CaseHistory, Feedback
from touchstone.ops.store.cases import Conflict
from touchstone.ops.web.api.blind import Review, document_without_opinions, review_of, unscored, without_opinions
from touchstone.ops.web.api.bodies import AnnotationBody, PatchBody, read_body
from touchstone.ops.web.api.calls import Call, Endpoint, Refusal
from touchstone.ops.web.api.cases import case_name, moment
from touchstone.ops.web.api.placing import placed
from touchstone.ops.web.api.preconditions import check_seen, conflict, etag_of
from touchstone.ops.web.api.reading import case_of, reading_of
from touchstone.ops.web.api.reviewers import check_reviewers, reviewer_of
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.api.spans import spans_of
from touchstone.ops.web.quoting import without_text
from touchstone.ops.web.results import replay
from touchstone.ops.web.service import Json, packed
from touchstone.schemas.counting import newest
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.base import ConfigError
from touchstone.streams.account.projection import NO_SUITES, ResultRow, restore

log = structlog.get_logger("touchstone.serve")

_NO_TEXT = {
    "not_kept": "the archive does not have this case: archive.policy did not choose it, or it was not sent here; `replay` of a result scores it again",
    "no_archive": "there is no archive here, so no texts are kept; see docs/archive.md, and check that archive.url is the archiver's",
    "gone": "the case is no longer in the archive, or could not be kept; its results stay, and `kept` tells its state",
}
#: A name of a taxonomy, such as `missing_labs`, `clinician_would_notice`, `good`: one word in lower case, which sentences and names of people are not.
_CODE = re.compile(r"[a-z0-9]+(?:[_.:@-][a-z0-9]+)*")


def gravest(rows: Sequence[ResultRow]) -> ResultRow | None:
    """The result that a case is opened for: of the latest one of each suite the one with the worst label, and of these the latest.

    `rows`: the latest first.
    """
    latest: dict[str, ResultRow] = {}
    for row in rows:
        latest.setdefault(row.suite, row)
    return min(latest.values(), key=lambda row: LABEL_RANKS.get(row.label, LABEL_RANKS["Review"]), default=None)


class OneCase:
    """One case by the id of its event, its trace or one of its results. `endpoints`: what it answers."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.endpoints = (
            Endpoint("GET", "/api/cases/{id}/reading", self._reading, parameters=frozenset({"result", "queue", "reviewer"}), for_links=True),
            Endpoint("GET", "/api/cases/{id}/document", self._document, scope="text", parameters=frozenset({"queue", "reviewer"}), for_links=True),
            Endpoint("GET", "/api/cases/{id}", self._case, parameters=frozenset({"queue", "reviewer"}), for_links=True),
            Endpoint("PATCH", "/api/cases/{id}", self.patch, scope="annotate", for_links=True),
        )

    def found(self, call: Call) -> CaseHistory:
        """The history of the case in the address. Raises `Refusal` (404), also where the client may see no suite of it."""
        found = self._sources.get().history.case(call.id, call.grant.scope)
        if found is None:
            raise Refusal("no such case in the history; check its id, and that the projector has read its results", 404)
        return found

    def _case(self, call: Call, written: AnnotationBody | None = None) -> Response:
        """The case, as somebody may see it who has just written an annotation."""
        found = self.found(call)
        queue, reviewer = (written.queue, written.reviewer) if written is not None else (None, None)
        review = review_of(self._sources, call, found.event_id, queue, reviewer)
        return Json(self._described(found, call, review), headers={"ETag": etag(found)})

    def _described(self, found: CaseHistory, call: Call, review: Review | None) -> dict[str, Any]:
        has_text, is_blind = call.grant.may("text"), review is not None and review.hides
        rows = [(row, orjson.loads(row.document)) for row in found.results]
        annotations = [annotation(one, has_text=has_text) for one in current(found.annotations)]
        if review is not None:
            annotations = [annotation(one, has_text=has_text, is_blind=is_blind) for one in review.shown(current(found.annotations), call.grant)]
        first = rows[0][1] if rows else {}
        kept = found.kept
        case_id = first.get("case_id") or (kept.case_id if kept is not None else None) or None
        suite = self._sources.suites.get(str(first.get("suite")))
        spans, spans_total = self._spans(found, has_text=has_text)
        return {
            "event_id": found.event_id,
            "case_id": case_id,
            "kind": first.get("kind") or (kept.kind if kept is not None else None),
            "name": case_name(found.event_id, case_id, suite),
            "source": (kept.source if kept is not None else "") or None,
            "at": moment(rows[0][0].scored_at) if rows else (moment(kept.at) if kept is not None else None),
            "kept": {"path": kept.path or None, "bytes": kept.bytes, "state": kept.state} if kept is not None else None,
            "can": {scope: call.grant.may(scope) for scope in ("text", "annotate", "admin")} | {"reviewer": call.grant.name or None},
            "results": [self._result(row, document, has_text=has_text) for row, document in rows if not is_blind],
            "results_total": 0 if is_blind else found.results_total,
            "annotations": annotations,
            "feedback": None if is_blind else thumb(found.feedback),
            "others": [] if call.grant.queue else list(found.others),
            "spans": spans,
            "spans_total": spans_total,
            "blind": is_blind,
            "etag": etag(found),
        }

    def _spans(self, found: CaseHistory, *, has_text: bool) -> tuple[list[dict[str, Any]] | None, int | None]:
        """The steps of the generation, and how many there are; None for both if the event cannot be read, so that nobody takes it for an event without any."""
        if found.kept is None:
            return None, None
        try:
            _, document = self._text_of(found)
            return (None, None) if document is None else spans_of(orjson.loads(document), has_text=has_text)
        except (ArchiveAway, Undecipherable, ConfigError, orjson.JSONDecodeError) as error:
            log.warning("archive_not_read", event_id=found.event_id, code=type(error).__name__)
            return None, None

    def _result(self, row: ResultRow, document: dict[str, Any], *, has_text: bool) -> dict[str, Any]:
        return {
            "result_id": row.result_id,
            "suite": row.suite,
            "suite_version": row.suite_version,
            "config_digest": row.config_digest,
            "label": row.label,
            "name": case_name(row.event_id, document.get("case_id"), self._sources.suites.get(row.suite)),
            "at": moment(row.scored_at),
            "replay": replay(document),
            "result": document if has_text else without_text(document),
        }

    def _reading(self, call: Call) -> Response:
        found = self.found(call)
        review = review_of(self._sources, call, found.event_id)
        is_blind = review is not None and review.hides
        wanted = call.query.get("result") or (review.case.result_id if review is not None else call.id)
        row = next((row for row in found.results if row.result_id == wanted), None)
        if row is None and call.query.get("result"):
            raise Refusal("this event has no such result", 404)
        row = row or gravest(found.results)
        if row is None:
            raise Refusal("this event has no result yet, so it has no reading; its text is at /document", 404)
        result = unscored(_restored(row)) if is_blind else _restored(row)
        has_right = call.grant.may("text")
        try:
            why, document = self._text_of(found)
        except (ArchiveAway, Undecipherable, ConfigError) as error:
            log.warning("archive_not_read", event_id=found.event_id, code=type(error).__name__)
            why, document = "away", None
        case = None
        if document is not None:
            # A later stage's result may be of the same event as the trace that is kept: the document's own kind comes first.
            kinds = dict.fromkeys((found.kept.kind if found.kept else "", result.kind))
            read = (case_of(document, kind, self._sources.suites, result.suite) for kind in kinds if kind)
            case = next((one for one in read if one is not None), None)
            why = "unreadable" if case is None else "shown"
        try:
            reading = reading_of(case, result, self._sources.suites, has_right=has_right)
        except Exception as error:  # noqa: BLE001 -- one suite's defect; the result is shown without the case. The error may quote it
            log.error("reading_failed", suite=result.suite, event_id=found.event_id, code=type(error).__name__)
            reading, case = reading_of(None, result, NO_SUITES, has_right=has_right), None
            why = "unreadable"
        reading = without_opinions(reading) if is_blind else reading
        why = why if has_right or case is None else "no_right"
        # The model writes itself, several times faster than through objects of Python.
        head = orjson.dumps({"result_id": row.result_id, "text": why, "blind": is_blind})[:-1]
        return packed(head + b',"reading":' + reading.model_dump_json().encode() + b"}", call.headers)

    def _text_of(self, found: CaseHistory) -> tuple[str, bytes | None]:
        """The event's bytes as kept; without them, why."""
        if found.kept is None:
            return "not_kept" if self._sources.archive().objects.is_there() else "no_archive", None
        if found.kept.state != "kept":
            return "gone", None
        try:
            return "shown", self._sources.archive().document(found.event_id)
        except NoArchive:
            return "no_archive", None
        except (Missing, TooLarge):
            return "gone", None

    def _document(self, call: Call) -> Response:
        found = self.found(call)
        review = review_of(self._sources, call, found.event_id)
        document = self.text_of(found)
        return packed(document_without_opinions(document) if review is not None and review.hides else document, call.headers)

    def text_of(self, found: CaseHistory) -> bytes:
        """The event's bytes as kept. Raises `Refusal` (404)."""
        why, document = self._text_of(found)
        if document is None:
            raise Refusal(_NO_TEXT[why], 404)
        return document

    def patch(self, call: Call) -> Response:
        """Add annotations, and set the feedback."""
        body = read_body(PatchBody, call.body)
        found = self.found(call)
        if call.grant.queue and body.feedback is not None:
            raise Refusal("feedback: this link is for reviewing a queue, and not for feedback; leave it out", 403)
        trace_ids = {one.trace_id for one in body.annotations if one.trace_id is not None}
        if trace_ids - {call.id, found.event_id, trace_id_of(found)}:
            raise Refusal("annotations.traceId: is not the id in the address", 422)
        index = self._sources.get().index
        now = datetime.now(UTC)
        check_seen(call.headers, found.revision, is_needed=bool(body.annotations))
        written = [placed(self._sources, call, found, one) for one in body.annotations]
        if written:
            known = {(one.reviewer, one.review_pass): dict(one.body) for one in found.annotations}
            named = [(reviewer_of(call.grant, one.reviewer), one) for one in written]
            entries = [(reviewer, one.review_pass, one.content() | {"annotatedAt": moment(one.at or now)}) for reviewer, one in named]
            added = [entry for entry in entries if not _is_same(entry[2], known.get(entry[:2]))]
            check_reviewers(call.grant, (reviewer for reviewer, _, _ in added))
            try:
                index.annotate_all(found.event_id, added, now, expected=found.revision, trace_id=trace_id_of(found))
            except Conflict as error:
                raise conflict(error.revision) from None
        if body.feedback is not None:
            index.rate(trace_id_of(found) or found.event_id, body.feedback.rating, body.feedback.timestamp or now)
        return self._case(call, written[0] if written else None)


def _is_same(entry: Mapping[str, Any], known: Mapping[str, Any] | None) -> bool:
    """True if a reviewer says the same again. A client that sends the whole array adds only what is new."""
    return known is not None and {**entry, "annotatedAt": None} == {**known, "annotatedAt": None}


def _restored(row: ResultRow) -> ScoreResult:
    try:
        return restore(row)
    except (ValidationError, ValueError, KeyError, TypeError):
        raise Refusal("the stored result is damaged, or was forgotten", 404) from None


def etag(found: CaseHistory) -> str:
    """The revision of the annotations as an entity tag."""
    return etag_of(found.revision)


def trace_id_of(found: CaseHistory) -> str:
    """The trace id of the event; empty if it is no trace."""
    if found.kept is not None and found.kept.trace_id:
        return found.kept.trace_id
    document = orjson.loads(found.results[0].document) if found.results else {}
    return str(document.get("case_id") or "") if document.get("kind") == "trace" else ""


def current(annotations: tuple[Annotation, ...]) -> list[Annotation]:
    """The last annotation of each reviewer, suite and pass, in the order in which they began; without those that were withdrawn."""
    return newest(annotations, lambda one: (one.event_id, one.suite))


def annotation(one: Annotation, *, has_text: bool, is_blind: bool = False) -> dict[str, Any]:
    """An annotation in the specification's names. What a reviewer writes may quote the case; codes and numbers do not.

    `is_blind`: the reviewer may not know yet how the case came into the queue.
    """
    body = one.body
    coded = {name: body.get(name) for name in ("failureMode", "severityTag", "qualityRating", "suite", "guideline", "queue")}
    return {
        "traceId": one.trace_id or None,
        "reviewerId": one.reviewer,
        "reviewPass": one.review_pass,
        "annotatedAt": body.get("annotatedAt") or moment(one.at),
        "verdict": body.get("verdict"),
        "notes": body.get("notes") if has_text else None,
        **{name: value if has_text or not isinstance(value, str) or _CODE.fullmatch(value) else None for name, value in coded.items()},
        "commonIssues": body.get("commonIssues") if has_text else None,
        "marks": body.get("marks") if has_text else None,
        "arm": None if is_blind else body.get("arm"),
        "settled": one.settled,
    }


def thumb(feedback: Feedback | None) -> dict[str, Any] | None:
    """The feedback in the specification's names."""
    return None if feedback is None else {"rating": feedback.rating, "timestamp": moment(feedback.at)}
