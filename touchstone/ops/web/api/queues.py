"""Review queues: made, listed, and worked through by several reviewers."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, get_args

from starlette.responses import Response

from touchstone.ops.store.case_filter import FilterError
from touchstone.ops.store.queue_rows import CASES_MAX, Counts, QueueCase, QueueRow, QueueState
from touchstone.ops.store.queues import PAGE_MAX, QueueExists
from touchstone.ops.web.api.blind import queue_of, reviewer_in
from touchstone.ops.web.api.bodies import read_body
from touchstone.ops.web.api.calls import Call, Endpoint, Refusal
from touchstone.ops.web.api.case import annotation, current
from touchstone.ops.web.api.cases import LIMIT, case_name, moment
from touchstone.ops.web.api.queue_bodies import ActionBody, LinkBody, NextBody, QueueBody
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.links import Linked, Signer
from touchstone.ops.web.query import BadRequest, number
from touchstone.ops.web.service import Json
from touchstone.schemas.counting import of_each_reviewer
from touchstone.schemas.settings.house import ReviewSettings
from touchstone.scorers.calibration.agreement import agreement

STATES: tuple[QueueState, ...] = get_args(QueueState)
#: Pairs of reviewers whose agreement is computed, those with the most cases in common.
PAIRS_MAX = 50


class ReviewQueues:
    """Review queues. `endpoints`: what it answers."""

    def __init__(self, sources: Sources, settings: ReviewSettings, signer: Signer, clock: Callable[[], float] = time.time) -> None:
        self._sources = sources
        self._settings = settings
        self._signer = signer
        self._clock = clock
        one, case = "/api/queues/{id}", "/api/queues/{id}/cases/{event}"
        self.endpoints = (
            Endpoint("GET", "/api/queues", self._list, parameters=frozenset({"reviewer"})),
            Endpoint("POST", "/api/queues", self._create, scope="admin"),
            Endpoint("GET", one, self._one, parameters=frozenset({"reviewer"}), for_links=True),
            Endpoint("GET", f"{one}/cases", self._cases, parameters=frozenset({"reviewer", "state", "limit", "cursor"}), for_links=True),
            Endpoint("POST", f"{one}/next", self._next, scope="annotate", for_links=True),
            Endpoint("POST", case, self._act, scope="annotate", for_links=True),
            Endpoint("GET", f"{one}/disagreements", self._disagreements, parameters=frozenset({"reviewer", "limit", "cursor"}), for_links=True),
            Endpoint("GET", f"{one}/agreement", self._agreement, for_links=True),
            Endpoint("POST", f"{one}/links", self._link, scope="admin"),
            Endpoint("DELETE", f"{one}/links", self._revoke, scope="admin"),
            Endpoint("GET", "/api/settings/review", self._review_settings, for_links=True),
        )

    def _list(self, call: Call) -> Response:
        queues = self._sources.get().queues
        reviewer = reviewer_in(call, call.query.get("reviewer"))
        rows = [row for row in queues.all() if call.grant.scope is None or row.definition.suite in call.grant.scope]
        counts = queues.counts([row.name for row in rows])
        can = {scope: call.grant.may(scope) for scope in ("text", "annotate", "admin")} | {"reviewer": call.grant.name or None}
        return Json({"queues": [self._described(row, counts[row.name], call, reviewer) for row in rows], "can": can})

    def _create(self, call: Call) -> Response:
        body = read_body(QueueBody, call.body)
        opened = self._sources.get()
        if body.guideline is not None and opened.guidelines.named(body.guideline) is None:
            raise Refusal("guideline: there is none of this name and version; /api/guidelines lists them", 422)
        definition = body.definition()
        try:
            row = opened.queues.create(body.name, definition, datetime.now(UTC), call.grant.scope)
        except FilterError as error:
            raise Refusal(f"filter: {error}", 422) from None
        except QueueExists as error:
            raise Refusal(str(error), 409) from None
        return Json(self._described(row, opened.queues.counts([row.name])[row.name], call, call.grant.name), 201)

    def _one(self, call: Call) -> Response:
        row = queue_of(self._sources, call.grant, call.id)
        queues = self._sources.get().queues
        reviewer = reviewer_in(call, call.query.get("reviewer"))
        described = self._described(row, queues.counts([row.name])[row.name], call, reviewer)
        guideline = self._sources.get().guidelines.named(row.definition.guideline)
        return Json({**described, "guideline_text": guideline.text if guideline is not None else None, "agreement": self._agreed(row)})

    def _described(self, row: QueueRow, counts: Counts, call: Call, reviewer: str) -> dict[str, Any]:
        mine = self._sources.get().queues.mine(row.name, reviewer) if reviewer else None
        guideline = self._sources.get().guidelines.named(row.definition.guideline)
        return {
            "name": row.name,
            **row.definition.model_dump(mode="json"),
            # It tells what is expected of the cases; who reviews blind through a link need not know.
            "filter": "" if call.grant.queue and row.definition.blind else row.definition.filter,
            "guideline": f"{guideline.name}@{guideline.version}" if guideline is not None else None,
            "review_pass": row.review_pass,
            "at": moment(row.at),
            "total": counts.total,
            "arms": counts.arms,
            "counts": counts.states,
            "reviewer": call.grant.name or None,
            "mine": {"done": mine.done, "skipped": mine.skipped, "left": mine.left} if mine is not None else None,
        }

    def _cases(self, call: Call) -> Response:
        row = queue_of(self._sources, call.grant, call.id)
        reviewer = reviewer_in(call, call.query.get("reviewer"))
        state = call.query.get("state") or None
        if state is not None and state not in STATES:
            raise BadRequest(f"state: must be one of {', '.join(STATES)}")
        limit = number(call.query, "limit", default=LIMIT, least=1, most=PAGE_MAX)
        after = number(call.query, "cursor", default=-1, least=0, most=CASES_MAX)
        found = self._sources.get().queues.cases(row.name, reviewer, datetime.now(UTC), state=state, after=after, limit=limit + 1)
        following = str(found[limit - 1].place) if len(found) > limit else None
        return Json({"items": [self._item(row, one) for one in found[:limit]], "next": following})

    def _item(self, row: QueueRow, one: QueueCase) -> dict[str, Any]:
        """A case of a list. What would tell of its score is left out as long as the reviewer has given no verdict."""
        is_known = bool(one.verdict) or not row.definition.blind
        known = {"arm": one.arm, "label": one.label, "overall": one.overall, "severity": one.severity or None} if is_known else {}
        return {
            "event_id": one.event_id,
            "result_id": one.result_id,
            "name": case_name(one.event_id, one.case_id or None, self._sources.suites.get(one.suite)),
            "place": one.place,
            "state": one.state,
            "mine": "done" if one.verdict else "skipped" if one.skipped else None,
            "reserved": one.reserved,
            **known,
        }

    def _next(self, call: Call) -> Response:
        body = read_body(NextBody, call.body)
        row = queue_of(self._sources, call.grant, call.id)
        reviewer = self._named(call, body.reviewer)
        queues = self._sources.get().queues
        turn = queues.next(row, reviewer, datetime.now(UTC), self._settings.reserve_s, after=body.after, skip_reserved=body.skip_reserved)
        item = self._item(row, turn.item) if turn.item is not None else None
        total, done = queues.counts([row.name])[row.name].total, queues.mine(row.name, reviewer).done
        return Json({"item": item, "ahead": [self._item(row, one) for one in turn.ahead], "total": total, "done": done})

    def _act(self, call: Call) -> Response:
        body = read_body(ActionBody, call.body)
        row = queue_of(self._sources, call.grant, call.id)
        reviewer = self._named(call, body.reviewer)
        queues, now = self._sources.get().queues, datetime.now(UTC)
        if queues.case(row.name, call.event, reviewer, now) is None:
            raise Refusal("this queue does not have this case", 404)
        queues.act(row.name, call.event, reviewer, body.action, now, self._settings.reserve_s)
        one = queues.case(row.name, call.event, reviewer, now)
        assert one is not None
        return Json(self._item(row, one))

    def _named(self, call: Call, given: str | None) -> str:
        reviewer = reviewer_in(call, given)
        if not reviewer:
            raise Refusal("reviewer: name who reviews; only a token with a name of its own (serve.tokens: NAME=suites/annotate:TOKEN) may leave it out", 422)
        return reviewer

    def _disagreements(self, call: Call) -> Response:
        row = queue_of(self._sources, call.grant, call.id)
        reviewer = reviewer_in(call, call.query.get("reviewer"))
        limit = number(call.query, "limit", default=LIMIT, least=1, most=PAGE_MAX)
        after = number(call.query, "cursor", default=-1, least=0, most=CASES_MAX)
        opened, sees_all = self._sources.get(), call.grant.may("admin") or not row.definition.blind
        found = opened.queues.differing(row.name, after, limit + 1, reviewer=None if sees_all else reviewer)
        items = []
        for one in found[:limit]:
            written = [other for other in opened.index.annotations(one.event_id) if other.queue == row.name and other.review_pass == row.review_pass]
            settling = [other for other in current(tuple(written)) if other.settled]
            said = [*of_each_reviewer(written, lambda other: other.event_id), *settling]
            items.append({
                "event_id": one.event_id,
                "result_id": one.result_id,
                "name": case_name(one.event_id, one.case_id or None, self._sources.suites.get(one.suite)),
                "state": one.state,
                "settled_by": settling[-1].reviewer if settling else None,
                "annotations": [annotation(other, has_text=call.grant.may("text")) for other in said],
            })  # fmt: skip
        return Json({"items": items, "next": str(found[limit - 1].place) if len(found) > limit else None})

    def _agreement(self, call: Call) -> Response:
        return Json(self._agreed(queue_of(self._sources, call.grant, call.id)))

    def _agreed(self, row: QueueRow) -> dict[str, Any]:
        found = self._sources.get().queues.pairs(row)
        largest = sorted(found.items(), key=lambda pair: (-pair[1].total(), pair[0]))[:PAIRS_MAX]
        return {"pairs": [{"reviewers": list(names), **_agreement_of(tuple(sorted(cells.items())))} for names, cells in largest]}

    def _link(self, call: Call) -> Response:
        body = read_body(LinkBody, call.body)
        row = queue_of(self._sources, call.grant, call.id)
        expires = int(self._clock()) + body.expires_in_s
        token = self._signer.signed(Linked(row.name, body.reviewer, expires), row.link_key)
        at = moment(datetime.fromtimestamp(expires, UTC))
        return Json({"address": f"/review/{row.name}#link={token}", "expires_at": at, "is_enforced": self._signer.is_enforced}, 201)

    def _revoke(self, call: Call) -> Response:
        row = queue_of(self._sources, call.grant, call.id)
        return Json({"revoked": self._sources.get().queues.renew_links(row.name)})

    def _review_settings(self, _: Call) -> Response:
        return Json({"tags": list(self._settings.tags), "severity_tags": list(self._settings.severity_tags)})


@lru_cache(maxsize=1_024)
def _agreement_of(cells: tuple[tuple[tuple[str, str], int], ...]) -> Mapping[str, Any]:
    """Agreement from how often each pair of verdicts was given."""
    counted: Counter[tuple[str, str]] = Counter(dict(cells))
    pairs: Iterable[tuple[str, str]] = counted.elements()
    found = agreement(pairs)
    low, high = (found.interval.low, found.interval.high) if found.interval is not None else (None, None)
    return {"cases": counted.total(), "same": found.same.share, "kappa": found.kappa, "low": low, "high": high}
