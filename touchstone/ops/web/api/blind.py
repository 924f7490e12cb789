"""Reviewing in a queue: which case, as whom, and what may not be seen yet."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from touchstone.ops.store.case_rows import Annotation
from touchstone.ops.store.queue_rows import QueueCase, QueueRow
from touchstone.ops.store.trace_comments import members
from touchstone.ops.web.access import Grant
from touchstone.ops.web.api.calls import Call, Refusal
from touchstone.ops.web.api.reviewers import check_reviewers
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.query import BadRequest
from touchstone.schemas.reading import CaseReading, ChecksSection, CodeSection, Item, PairsSection, Section, TableSection, TextSection, TimelineSection
from touchstone.schemas.result import ScoreResult

REVIEWER_CHARS_MAX = 256
#: Members of a trace that tell what others think of it.
_OPINIONS = frozenset({"annotations", "feedback"})


@dataclass(frozen=True, slots=True)
class Review:
    """A case of a queue, and who reviews it."""

    queue: QueueRow
    case: QueueCase
    reviewer: str

    @property
    def hides(self) -> bool:
        """True while scores and others' verdicts may not be seen."""
        return self.queue.definition.blind and not self.case.verdict

    def shown(self, annotations: Sequence[Annotation], grant: Grant) -> list[Annotation]:
        """The annotations that may be seen: one's own until one has given a verdict; through a link, those of the queue."""
        own = [one for one in annotations if one.reviewer == self.reviewer or not self.hides]
        return [one for one in own if not grant.queue or one.queue == self.queue.name]


def queue_of(sources: Sources, grant: Grant, name: str) -> QueueRow:
    """A queue that the client may see. Raises `Refusal` (404)."""
    row = sources.get().queues.get(name) if not grant.queue or grant.queue == name else None
    if row is None or not (grant.scope is None or row.definition.suite in grant.scope):
        raise Refusal("there is no such queue; /api/queues lists them", 404)
    return row


def reviewer_in(call: Call, given: str | None) -> str:
    """The reviewer that a request names, else the one of the token or link; empty without any. Raises `Refusal` (403) for somebody else's name."""
    reviewer = given or call.grant.name
    if len(reviewer) > REVIEWER_CHARS_MAX or not reviewer.isprintable():
        raise BadRequest(f"reviewer: give at most {REVIEWER_CHARS_MAX} printable characters")
    if reviewer:
        check_reviewers(call.grant, [reviewer])
    return reviewer


def review_of(sources: Sources, call: Call, event_id: str, queue: str | None = None, reviewer: str | None = None) -> Review | None:
    """The review that a request names by `queue` and `reviewer`, or that its link is for; None without a queue. Raises `Refusal`."""
    name = queue or call.query.get("queue") or call.grant.queue
    if not name:
        if call.query.get("reviewer"):
            raise BadRequest("reviewer: give the queue, too")
        return None
    row = queue_of(sources, call.grant, name)
    who = reviewer_in(call, reviewer or call.query.get("reviewer"))
    if not who:
        raise BadRequest("reviewer: name who reviews; only a token with a name of its own may leave it out")
    case = sources.get().queues.case(row.name, event_id, who, datetime.now(UTC))
    if case is None:
        raise Refusal("this queue does not have this case", 404)
    return Review(row, case, who)


def unscored(result: ScoreResult) -> ScoreResult:
    """A result that says nothing of its case, so that a reading of both shows the case alone."""
    return result.model_copy(update={"label": "unscored", "values": {}, "findings": (), "failures": (), "details": {}})


def without_opinions(reading: CaseReading) -> CaseReading:
    """A reading without marks, states, notes and figures."""
    bare = {"state": None, "finding": None, "note": "", "to": ()}
    sections: list[Section] = []
    for section in reading.sections:
        match section:
            case TextSection() | CodeSection():
                sections.append(section.model_copy(update={"marks": (), "note": ""}))
            case ChecksSection():
                # A suite lists first what is not met.
                items = tuple(one.model_copy(update=bare | {"state": "note", "code": ""}) for one in sorted(section.items, key=_by_number))
                if items:
                    sections.append(section.model_copy(update={"items": items, "note": ""}))
            case PairsSection():
                pairs = tuple(one.model_copy(update={"state": None, "to": ()}) for one in section.pairs)
                sections.append(section.model_copy(update={"pairs": pairs, "note": ""}))
            case TableSection():
                sections.append(section.model_copy(update={"rows": tuple(one.model_copy(update=bare) for one in section.rows), "note": ""}))
            case TimelineSection():
                sections.append(section.model_copy(update={"entries": tuple(one.model_copy(update=bare) for one in section.entries), "note": ""}))
    return reading.model_copy(update={"label": "unscored", "sections": tuple(sections)})


def _by_number(item: Item) -> list[str]:
    """The order of ids such as `fact-2` and `fact-10`."""
    return [f"{int(part):09}" if part.isdecimal() else part for part in re.split(r"(\d+)", item.id)]


def document_without_opinions(document: bytes) -> bytes:
    """A kept event without what others have said of it; everything else as it was written."""
    try:
        found = dict(members(document.decode()))
    except (ValueError, UnicodeDecodeError):
        return document
    return document if _OPINIONS.isdisjoint(found) else orjson.dumps({name: value for name, value in found.items() if name not in _OPINIONS})
