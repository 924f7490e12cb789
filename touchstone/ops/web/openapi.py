"""The OpenAPI document, made from the response models and the list of addresses."""

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from touchstone.ops.web import response_models
from touchstone.ops.web.addresses import Address, Parameter
from touchstone.ops.web.api.addresses import ADDRESSES as OF_API
from touchstone.ops.web.page import PAGES
from touchstone.ops.web.query import LIMIT_MAX, MINUTES_MAX
from touchstone.ops.web.results import LOST
from touchstone.schemas.settings.house import TopicSettings
from touchstone.streams.subscription.events import NAME_CHARS_MAX

REF = "#/components/schemas/{model}"
_NAMES = "repeated, or separated by commas"


EVENT, SUITE, LABEL, CONCERN, BATCH = (
    Parameter("event", f"CloudEvents types such as touchstone.result; {_NAMES}"),
    Parameter("suite", f"suites; {_NAMES}"),
    Parameter("label", f"Pass, Review, Warn, Fail, unscored; {_NAMES}. Reports have no label"),
    Parameter("concern", f"concerns; {_NAMES}"),
    Parameter("batch", f"batches; {_NAMES}"),
)
FILTERS = (EVENT, SUITE, LABEL, CONCERN, BATCH)
STREAM = (
    *FILTERS,
    Parameter("since", "continue after the event with this id; a `Last-Event-ID` header wins"),
    Parameter("snapshot", "so many of the latest matching events come first", 0, LIMIT_MAX),
    Parameter("ticket", "a one-use ticket in place of a token"),
)
MINUTES = Parameter("minutes", "how far back", 1, MINUTES_MAX)
LIMIT = Parameter("limit", "at most so many", 1, LIMIT_MAX)


ADDRESSES = (
    Address("/v1/events", "Results and reports as Server-Sent Events.", "text/event-stream", STREAM, refusals=(503,)),
    Address("/v1/ws", "The same as a WebSocket; each message is {event, id, data}.", "application/json", STREAM, refusals=(503,)),
    Address("/v1/ticket", "A one-use ticket for a browser's stream.", response_models.Ticket, method="post"),
    Address("/v1/summary", "The state of every suite over the last minutes.", response_models.Summary, (*FILTERS, MINUTES)),
    Address("/v1/results", "The worst of the latest results.", response_models.Results, (*FILTERS, MINUTES, LIMIT)),
    Address("/v1/results/{id}", "One result, the position of its event, and a command to score it again.", response_models.OneResult, refusals=(404,)),
    Address("/v1/batches", "The batches with the latest reports.", response_models.Batches, (*FILTERS, LIMIT)),
    Address("/v1/batches/{id}", "The reports of one batch.", response_models.OneBatch, refusals=(404,)),
    Address(
        "/v1/outcomes",
        "Where events ended without a result, from the ledger.",
        response_models.Outcomes,
        (SUITE, MINUTES, LIMIT, Parameter("outcome", "only these; by default all that were not skipped", values=LOST)),
    ),
    Address("/v1/suites", "Descriptions of the suites.", response_models.Suites),
    Address("/metrics", "Metrics of this service; parameters are not looked at.", "text/plain"),
    Address("/openapi.json", "This document.", "application/json"),
    Address("/asyncapi.json", "The events on Kafka as AsyncAPI.", "application/json", refusals=(404,)),
    Address("/healthz", "Responds while the process runs; parameters are not looked at.", "text/plain", needs_token=False),
    Address(
        "/readyz", "Responds while events arrive; else 503 with the reason. Parameters are not looked at.", "text/plain", needs_token=False, refusals=(503,)
    ),
    *OF_API,
    *(Address(path, "The page; its script shows the view of the address.", "text/html", needs_token=False) for path in PAGES),
)


def openapi(topics: TopicSettings | None = None) -> dict[str, Any]:
    """The document, with the names of these topics (by default their own)."""
    named, made = topics or TopicSettings(), _openapi()
    return made | {"info": made["info"] | {"description": f"Results and reports, as on the topics {named.results} and {named.reports}."}}


@cache
def _openapi() -> dict[str, Any]:
    """The part that all documents share. It is cached, so do not change it."""
    models: list[type[BaseModel]] = [address.answer for address in ADDRESSES if not isinstance(address.answer, str)]
    models.append(response_models.Error)
    bodies = [address.body for address in ADDRESSES if address.body is not None]
    modes: list[tuple[type[BaseModel], Literal["serialization", "validation"]]] = [(model, "serialization") for model in models]
    _, schemas = models_json_schema([*modes, *((body, "validation") for body in bodies)], ref_template=REF)
    paths: dict[str, Any] = {}
    for address in ADDRESSES:
        paths.setdefault(address.path, {})[address.method] = _operation(address)
    try:
        own = version("touchstone-stream")
    except PackageNotFoundError:  # run from a tree that was never installed
        own = "0"
    return {
        "openapi": "3.1.0",
        "info": {"title": "Touchstone live service", "version": own, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "paths": paths,
        "components": {"schemas": schemas["$defs"], "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "security": [{"bearer": []}, {}],
    }


def _operation(address: Address) -> dict[str, Any]:
    """One address as OpenAPI writes it."""
    parameters = [parameter.document() for parameter in address.parameters]
    ids = {"in": "path", "required": True, "schema": {"type": "string", "maxLength": NAME_CHARS_MAX}}
    parameters += [{"name": name, **ids} for name in re.findall(r"\{(\w+)\}", address.path)]
    refusals = [*([400, 401] if address.needs_token else []), *address.refusals]
    media = address.answer if isinstance(address.answer, str) else "application/json"
    schema = (
        ({} if media == "application/json" else {"type": "string"}) if isinstance(address.answer, str) else {"$ref": REF.format(model=address.answer.__name__)}
    )
    refusal = {"description": "a line that says what is wrong", "content": {"application/json": {"schema": {"$ref": REF.format(model="Error")}}}}
    answer = {"description": address.what, "content": {media: {"schema": schema}}}
    done = {str(code): answer for code in address.done}
    parameters += [{"name": name, "in": "header", "required": False, "schema": {"type": "string"}} for name in address.headers]
    operation: dict[str, Any] = {
        "summary": address.what,
        "parameters": parameters,
        "responses": {**done, **{str(code): refusal for code in refusals}},
    }
    if address.body is not None:
        body = {"application/json": {"schema": {"$ref": REF.format(model=address.body.__name__)}}}
        operation["requestBody"] = {"required": True, "content": body}
    if not address.needs_token:
        operation["security"] = []
    return operation
