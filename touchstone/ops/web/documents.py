"""Addresses that respond with a document: summary, results, batches, suites, metrics, and the OpenAPI and AsyncAPI documents."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from touchstone.ops.web import results
from touchstone.ops.web.access import Grant
from touchstone.ops.web.openapi import openapi
from touchstone.ops.web.overview import suite_summaries
from touchstone.ops.web.query import FILTERS, LIMIT_MAX, MINUTES_MAX, BadRequest, check_names, number, read_filter
from touchstone.ops.web.rising import rising
from touchstone.ops.web.service import FilesRead, Handler, Json, Service, refused
from touchstone.ops.web.suite_documents import suite_document, suite_or_placeholder
from touchstone.ops.web.times import MINUTE_MS, utc
from touchstone.schemas.settings.house import Settings
from touchstone.streams.subscription.events import NAME_CHARS_MAX, Filter
from touchstone.streams.subscription.hub import CONNECTING
from touchstone.streams.telemetry.serve_counts import CONTENT_TYPE, exposition

#: Clients that ask for the same summary share one for this long.
SUMMARY_AGE_S = 1.0
SUMMARIES_MAX = 100
METRICS, OPENAPI = "/metrics", "/openapi.json"
MINUTES, HOUR = 15, 60
LIMIT = 50


class Documents:
    """The documents. `handlers`: address → its handler."""

    def __init__(self, service: Service, clock: Callable[[], float]) -> None:
        self._service = service
        self._hub = service.hub
        self._clock = clock
        self._summaries: dict[tuple[Filter, int], tuple[float, bytes]] = {}
        self._summing = asyncio.Lock()
        self.handlers: Mapping[str, Handler] = {
            "/v1/summary": self._summary,
            "/v1/results": self._results,
            "/v1/results/{id}": without_parameters(self._result),
            "/v1/batches": self._batches,
            "/v1/batches/{id}": without_parameters(self._batch),
            "/v1/outcomes": self._outcomes,
            "/v1/suites": without_parameters(self._suites),
            METRICS: self._metrics,
            OPENAPI: without_parameters(self._openapi),
            "/asyncapi.json": without_parameters(self._asyncapi),
        }

    async def _summary(self, request: Request, grant: Grant) -> Response:
        query = request.query_params
        chosen = read_filter(query, grant, further=frozenset({"minutes"}))
        minutes = number(query, "minutes", default=MINUTES, least=1, most=MINUTES_MAX)
        key = (chosen, minutes)
        async with self._summing:
            made_at, body = self._summaries.get(key, (-SUMMARY_AGE_S, b""))
            if time.monotonic() - made_at >= SUMMARY_AGE_S:
                now = self._clock()
                since_ms = now * 1000 - minutes * MINUTE_MS
                events = [seen.event for seen in self._hub.window.current(since_ms, chosen.admits)]
                outcomes = [one for one in self._hub.window.outcomes if grant.sees(one.suite) and (not chosen.suites or one.suite in chosen.suites)]
                names = [name for name in self._service.suites if grant.sees(name) and (not chosen.suites or name in chosen.suites)]
                suites = await asyncio.to_thread(suite_summaries, events, outcomes, self._service.suites, now_ms=int(now * 1000), minutes=minutes, names=names)
                more = await asyncio.to_thread(rising, events, self._service.suites, now_ms=int(now * 1000), minutes=minutes)
                body = orjson.dumps(self._summed(suites, minutes, now, since_ms) | {"rising": more})
                if len(self._summaries) > SUMMARIES_MAX:
                    self._summaries.clear()
                self._summaries[key] = (time.monotonic(), body)
        return Response(body, media_type="application/json")

    def _summed(self, suites: list[dict[str, Any]], minutes: int, now: float, since_ms: float) -> dict[str, Any]:
        """The whole summary."""
        hub = self._hub
        oldest = next(iter(hub.window.page(hub.window.first, 1)), None)
        first_ms = oldest.event.at_ms if oldest is not None else None
        is_away = hub.fault is not None
        is_reading = hub.catching_up is not None and (hub.fault in {None, CONNECTING})
        done, total = hub.catching_up or (None, None)
        for suite in suites:
            suite["lag"] = self._service.lag.get(suite["suite"])
        return {
            "now": utc(now * 1000),
            "started_at": utc(hub.started_at * 1000),
            "minutes": minutes,
            "position": hub.id,
            "connection": self._connection_to_files(files)
            if (files := self._service.files) is not None
            else {
                "state": "catching_up" if is_reading else "connecting" if hub.fault == CONNECTING else "away" if is_away else "live",
                "reason": hub.fault,
                "read": done if is_reading else None,
                "to_read": total if is_reading else None,
                "since": utc(hub.fault_since * 1000) if is_away else None,
                "lag_records": None if is_away else hub.counts.unread,
            },
            # If nothing has left the window, there were no earlier events. Before the past has been read, nothing is known to be whole.
            "window": {
                "events": len(hub.window),
                "first_at": utc(first_ms) if first_ms is not None else None,
                "is_whole": hub.live.is_set() and not is_reading and (not hub.window.is_cut or (first_ms is not None and first_ms <= since_ms)),
            },
            "per_second": sum(suite["per_second"] for suite in suites),
            "dead_letters": sum(suite["dead_letters"] for suite in suites),
            "clients": hub.counts.clients,
            "suites": suites,
        }

    def _connection_to_files(self, files: FilesRead) -> dict[str, Any]:
        """There is no broker: what is read are files, once."""
        is_reading = files.to_read is not None
        read = {"read": files.read if is_reading else None, "to_read": files.to_read}
        return {"state": "files", "reason": None, **read, "since": None, "lag_records": None}

    async def _results(self, request: Request, grant: Grant) -> Response:
        query = request.query_params
        chosen = read_filter(query, grant, further=frozenset({"limit", "minutes"}))
        limit = number(query, "limit", default=LIMIT, least=1, most=LIMIT_MAX)
        minutes = number(query, "minutes", default=HOUR, least=1, most=MINUTES_MAX)
        found = self._hub.window.current(self._clock() * 1000 - minutes * MINUTE_MS, chosen.admits)
        return Json({"results": await asyncio.to_thread(results.worst, found, self._service.suites, limit)})

    async def _result(self, request: Request, grant: Grant) -> Response:
        topic = self._service.settings.topics.results
        found = results.found_result(self._hub.window, _id(request), grant, self._service.suites, topic)
        return Json(found) if found is not None else _missing("result")

    async def _batches(self, request: Request, grant: Grant) -> Response:
        chosen = read_filter(request.query_params, grant, further=frozenset({"limit"}))
        limit = number(request.query_params, "limit", default=LIMIT, least=1, most=LIMIT_MAX)
        return Json({"batches": results.batches(self._hub.window, chosen, limit)})

    async def _batch(self, request: Request, grant: Grant) -> Response:
        found = results.found_batch(self._hub.window, _id(request), grant)
        return Json(found) if found is not None else _missing("batch")

    async def _outcomes(self, request: Request, grant: Grant) -> Response:
        query = request.query_params
        chosen = read_filter(query, grant, further=frozenset({"limit", "minutes", "outcome"}))
        limit = number(query, "limit", default=LIMIT, least=1, most=LIMIT_MAX)
        minutes = number(query, "minutes", default=MINUTES, least=1, most=MINUTES_MAX)
        if ignored := FILTERS.keys() & set(query) - {"suite"}:  # the ledger knows no more of an event than where it was
            raise BadRequest(f"no parameter {min(ignored)!r} here; there are limit, minutes, outcome, suite")
        outcome = query.get("outcome", "")
        if outcome and outcome not in results.LOST:
            raise BadRequest(f"outcome: give one of {', '.join(results.LOST)}")
        since_ms = self._clock() * 1000 - minutes * MINUTE_MS
        records = [one for one in self._hub.window.outcomes if one.at_ms >= since_ms and grant.sees(one.suite)]
        wanted = [one for one in records if not chosen.suites or one.suite in chosen.suites]
        return Json(await asyncio.to_thread(results.ended, wanted, outcome, limit))

    async def _suites(self, _: Request, grant: Grant) -> Response:
        concerns: defaultdict[str, set[str]] = defaultdict(set)
        everything = Filter(scope=grant.scope)
        for seen in self._hub.window.backwards():
            event = seen.event
            if event.suite is not None and everything.admits(event):
                concerns[event.suite].update([event.concern] if event.concern else [])
        installed = self._service.suites
        names = sorted({name for name in installed if grant.sees(name)} | concerns.keys())
        return Json({"suites": [suite_document(suite_or_placeholder(installed, name), sorted(concerns[name]), installed=name in installed) for name in names]})

    async def _metrics(self, _: Request, __: Grant) -> Response:
        return Response(exposition(self._service.registry), media_type=CONTENT_TYPE)

    async def _openapi(self, _: Request, __: Grant) -> Response:
        return Json(openapi(self._service.settings.topics))

    async def _asyncapi(self, _: Request, grant: Grant) -> Response:
        try:
            contracts = import_module("touchstone.ops.contracts")
        except ImportError:
            return refused("this installation has no AsyncAPI document", 404)
        # The brokers' addresses are not for everyone who may watch.
        settings = Settings(topics=self._service.settings.topics, worker=self._service.settings.worker)
        suites = [suite for name, suite in self._service.suites.items() if grant.sees(name)]
        return Json(await asyncio.to_thread(contracts.asyncapi, settings, suites))


def without_parameters(handler: Handler) -> Handler:
    """The handler of an address that has no parameters: it refuses them, instead of ignoring them."""

    async def checked(request: Request, grant: Grant) -> Response:
        check_names(request.query_params, frozenset())
        return await handler(request, grant)

    return checked


def _id(request: Request) -> str:
    """The id in the address. Raises `BadRequest`."""
    found = str(request.path_params["id"])
    if len(found) > NAME_CHARS_MAX:
        raise BadRequest(f"an id has at most {NAME_CHARS_MAX} characters")
    return found


def _missing(what: str) -> Response:
    return refused(f"no such {what} among the latest events; older ones are in the store (touchstone report)", 404)
