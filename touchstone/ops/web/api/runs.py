"""The runs of the history, and two of them side by side."""

from typing import Any

from starlette.responses import Response

from touchstone.ops.store.case_filter import LABELS, FilterError
from touchstone.ops.store.case_rows import Run
from touchstone.ops.store.runs import CHANGED_MAX, RUNS_MAX
from touchstone.ops.web.api.calls import FILTER_NAMES, Call, Endpoint, Refusal
from touchstone.ops.web.api.cases import LIMIT, case_name, moment, read_filter
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.query import BadRequest, number
from touchstone.ops.web.service import Json


class Runs:
    """Runs and comparisons. `endpoints`: what it answers."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.endpoints = (
            Endpoint("GET", "/api/runs", self._runs, parameters=FILTER_NAMES | {"limit"}),
            Endpoint("GET", "/api/compare", self._compare, parameters=frozenset({"a", "b", "from", "to", "limit", "cursor"})),
        )

    def _runs(self, call: Call) -> Response:
        chosen = read_filter(call, further=frozenset({"limit"}))
        limit = number(call.query, "limit", default=LIMIT, least=1, most=RUNS_MAX)
        return Json({"runs": [_run(one) for one in self._sources.get().history.runs(chosen, limit)]})

    def _compare(self, call: Call) -> Response:
        query = call.query
        before, now, label_before, label = (query.get(name, "") for name in ("a", "b", "from", "to"))
        limit = number(query, "limit", default=LIMIT, least=1, most=CHANGED_MAX)
        if not before or not now:
            raise BadRequest("a, b: name two runs, as /api/runs does")
        if bool(label_before) != bool(label):
            raise BadRequest("from, to: give both labels of a change, or neither")
        if label and (not {label_before, label} <= set(LABELS) or label_before == label):
            raise BadRequest(f"from, to: must be two different ones of {', '.join(LABELS)}")
        changed = (label_before, label) if label else None
        history, scope = self._sources.get().history, call.grant.scope
        try:
            found = history.compare(before, now, changed=changed, scope=scope, limit=limit, cursor=query.get("cursor"))
        except FilterError as error:
            raise BadRequest(str(error)) from None
        if found is None:
            raise Refusal("the history has no results of one of these runs", 404)
        suite = self._sources.suites.get(found.now.suite)
        return Json({
            "a": _run(found.before),
            "b": _run(found.now),
            "paired_by": found.by,
            "pairs": found.pairs,
            "flips": [{"from": one, "to": other, "count": count} for (one, other), count in sorted(found.labels.items())],
            "shifts": [_fields(one, "name", "before", "now", "difference", "low", "high", "pairs", "changed") for one in found.values],
            "codes": [_fields(one, "code", "before", "now") for one in found.codes],
            "cases": [
                {**_fields(one, "event_id", "result_id", "event_before", "result_before", "label_before", "label"),
                 "case_id": one.case_id or None, "name": case_name(one.event_id, one.case_id or None, suite)}
                for one in found.cases
            ],
            "next": found.next,
        })  # fmt: skip


def _fields(one: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def _run(run: Run) -> dict[str, Any]:
    return {
        **_fields(run, "run", "suite", "suite_version", "config_digest", "total"),
        "concern_id": run.concern_id or None,
        "batch_id": run.batch_id or None,
        "labels": dict(run.labels),
        "first_at": moment(run.first),
        "last_at": moment(run.last),
    }
