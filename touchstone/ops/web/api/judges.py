"""The judges as the projector found them last: how well they agree with people, and the live rates of failures."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from starlette.responses import Response

from touchstone.ops.store.judges import JudgeStore
from touchstone.ops.web.api.calls import Call, Endpoint
from touchstone.ops.web.api.cases import moment
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.service import Json
from touchstone.ops.web.suite_documents import suite_or_placeholder
from touchstone.schemas.prevalence import JudgeStatus
from touchstone.scorers.calibration.folder import recalls_of
from touchstone.scorers.calibration.live import suite_and_value
from touchstone.scorers.reporting.intervals import Rate
from touchstone.scorers.suite import Suite


class Judges:
    """States of judges. `endpoints`: what it answers."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.endpoints = (Endpoint("GET", "/api/judges", self._judges),)

    def _judges(self, call: Call) -> Response:
        states = JudgeStore(self._sources.get().history.engine).states()
        seen = [(one, at) for one, at in states if call.grant.sees(suite_and_value(one.subject)[0])]
        return Json({"judges": [_judge(one, at, self._sources.suites) for one, at in seen]})


def _judge(one: JudgeStatus, at: datetime, suites: Mapping[str, Suite]) -> dict[str, Any]:
    name, value = suite_and_value(one.subject)
    suite = suite_or_placeholder(suites, name)
    test = None if one.calibration is None else one.calibration.test
    recalls = None if test is None else recalls_of(test)
    return {
        **one.model_dump(mode="json", by_alias=True),
        "suite": name,
        "title": f"{suite.title or name}: {value.replace('_', ' ')}" if value is not None else suite.title or name,
        "recalls": None if recalls is None else {"fail_recall": _recall(recalls.fail_recall), "pass_recall": _recall(recalls.pass_recall)},
        "at": moment(at),
    }


def _recall(rate: Rate) -> dict[str, Any]:
    interval = rate.interval
    ends = {"low": None, "high": None} if interval is None else {"low": interval.low, "high": interval.high}
    return {"count": rate.count, "total": rate.total, "share": rate.share if rate.total else None, **ends}
