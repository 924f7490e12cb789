"""Guidelines: versioned texts that say what passes."""

import re
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from touchstone.ops.store.guidelines import TooManyGuidelines
from touchstone.ops.store.queue_rows import NAME, Guideline
from touchstone.ops.web.api.bodies import read_body
from touchstone.ops.web.api.calls import Call, Endpoint, Refusal
from touchstone.ops.web.api.cases import moment
from touchstone.ops.web.api.queue_bodies import GuidelineBody
from touchstone.ops.web.api.sources import Sources
from touchstone.ops.web.query import number
from touchstone.ops.web.service import Json

VERSION_MAX = 999_999


class GuidelineTexts:
    """Guidelines. `endpoints`: what it answers."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.endpoints = (
            Endpoint("GET", "/api/guidelines", self._list),
            Endpoint("GET", "/api/guidelines/{id}", self._one, parameters=frozenset({"version"})),
            Endpoint("PUT", "/api/guidelines/{id}", self._save, scope="admin"),
        )

    def _list(self, _: Call) -> Response:
        return Json({"guidelines": [_version(one) for one in self._sources.get().guidelines.newest()]})

    def _one(self, call: Call) -> Response:
        version = number(call.query, "version", default=0, least=1, most=VERSION_MAX)
        found = self._sources.get().guidelines.get(call.id, version or None)
        if found is None:
            raise Refusal("there is no such guideline, or not this version; /api/guidelines lists them", 404)
        return Json({**_version(found), "text": found.text})

    def _save(self, call: Call) -> Response:
        body = read_body(GuidelineBody, call.body)
        if not re.fullmatch(NAME, call.id):
            raise Refusal("a guideline is named with up to 64 lower-case letters, digits and -, a letter or digit first", 422)
        try:
            saved = self._sources.get().guidelines.save(call.id, body.text, call.grant.name, datetime.now(UTC))
        except TooManyGuidelines:
            raise Refusal("there are too many guidelines, or others change this one now; try again", 409) from None
        return Json({**_version(saved), "text": saved.text})


def _version(one: Guideline) -> dict[str, Any]:
    return {"name": one.name, "version": one.version, "at": moment(one.at), "by": one.by}
