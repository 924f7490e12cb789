"""Search in the texts of the kept cases, step by step; and removal of a case."""

import threading

from starlette.responses import Response

from touchstone.ops.store.case_filter import FilterError
from touchstone.ops.web.api.bodies import SearchBody, read_body
from touchstone.ops.web.api.calls import RETRY_AFTER_S, Call, Endpoint, Refusal
from touchstone.ops.web.api.cases import listed, parsed_filter
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.query import BadRequest
from touchstone.ops.web.service import Json

#: Searches at a time; they read many objects, and lists should not wait for them.
SEARCHES_MAX = 2
#: One step of a search.
STEP_S = 2.0


class Search:
    """Text search and removal. `endpoints`: what it answers."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._free = threading.BoundedSemaphore(SEARCHES_MAX)
        self.endpoints = (
            Endpoint("POST", "/api/search", self._search, scope="text"),
            Endpoint("DELETE", "/api/cases/{id}", self._forget, scope="admin", parameters=frozenset({"dry_run"})),
        )

    def _search(self, call: Call) -> Response:
        body = read_body(SearchBody, call.body)
        chosen = parsed_filter(((name, one) for name, given in body.filter.items() for one in ([given] if isinstance(given, str) else given)), call)
        if chosen.kept == "no":
            raise Refusal("filter.kept: no case without its text can be searched; leave it out", 422)
        archive = self._sources.archive()
        if not self._free.acquire(blocking=False):
            raise Refusal("other searches run now; try again in a moment", 503, {"Retry-After": str(RETRY_AFTER_S)})
        try:
            hits = archive.search_text(chosen, body.text, body.cursor, STEP_S)
        except FilterError as error:
            raise Refusal(str(error), 422) from None
        finally:
            self._free.release()
        cases = [listed(row, self._sources.suites) for row in hits.rows]
        return Json({"cases": cases, "next": hits.next, "searched": hits.searched, "total": hits.total, "unread": hits.unread})

    def _forget(self, call: Call) -> Response:
        if call.grant.scope is not None:
            raise Refusal("removing a case needs a token for all suites, because every suite's results of it lose their texts", 403)
        wanted = call.query.get("dry_run", "yes")
        if wanted not in {"yes", "no"}:
            raise BadRequest("dry_run: must be yes or no")
        is_dry = wanted == "yes"
        if self._sources.get().history.case(call.id) is None:
            raise Refusal("no such case in the history; check its id", 404)
        places = self._sources.archive().forget(call.id, dry_run=is_dry)
        return Json({"dry_run": is_dry, "places": [{"kind": place.kind, "name": place.name, "is_removed": place.is_removed} for place in places]})
