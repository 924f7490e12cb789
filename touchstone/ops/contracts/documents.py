"""JSON Schemas (2020-12) of every event, and of every report that `--format json` writes.

A schema of what comes in says what a producer should write; what is read besides (nulls for absent fields, unknown fields) it does not promise. A schema of
what goes out is open: readers ignore fields that they do not know, because new ones may come.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, TypeAdapter, create_model

from touchstone.ops.contracts.examples import example_suite, ledger_example, result_example
from touchstone.ops.contracts.headers import DEAD_LETTER_HEADERS, RESOLUTION, event_headers
from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.reports.evaluation import EvaluationReport
from touchstone.schemas.reports.selftest import SelftestReport
from touchstone.schemas.reports.suite import ReportEvent, SuiteEvent, SuiteReportDocument, ViewDocument
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.registry import usable_suites
from touchstone.scorers.reporting.report import suite_event, suite_report
from touchstone.scorers.suite import Suite

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
ASYNCAPI: Final = "asyncapi"
Mode = Literal["validation", "serialization"]


@dataclass(frozen=True, slots=True)
class Contract:
    """One document. `what`: in a few words."""

    name: str
    what: str
    document: Mapping[str, Any]


def schemas(suites: Iterable[Suite] | None = None) -> dict[str, dict[str, Any]]:
    """Name → JSON Schema, for these suites; by default for every one that can be imported here."""
    return {contract.name: dict(contract.document) for contract in contracts(suites)}


def contracts(suites: Iterable[Suite] | None = None) -> list[Contract]:
    """The same with a line on each: events in, events out, reports."""
    known = known_suites(suites)
    shown = example_suite(known)
    found = [_contract(f"event.{kind}", f"an event of kind {kind}, to score", model, "validation") for kind, model in kinds(known).items()]
    found += [
        _contract("result", "a result event", ScoreResult, example=result_example(shown)),
        _contract("ledger", "a ledger record: outcomes without a result", LedgerRecord, example=ledger_example(shown)),
        *(_contract(f"report-event.{suite.name}", f"a report event of {suite.title or suite.name}", report_event(suite)) for suite in known),
        Contract("event-headers", "the headers of result events, ledger records and report events", _headed("event-headers", event_headers())),
        Contract("dead-letter-headers", "the headers of a dead letter", _headed("dead-letter-headers", DEAD_LETTER_HEADERS)),
        Contract("resolution", "what was decided about a dead letter", _headed("resolution", RESOLUTION)),
        _contract("report", "the JSON report of a suite without a form of its own", SuiteReportDocument),
        _contract("evaluation", "the JSON report of an evaluation run", EvaluationReport),
        _contract("selftest", "the JSON report of a self-test", SelftestReport),
    ]
    return found + [_contract(f"report.{suite.name}", f"the JSON report of {suite.title or suite.name}", report_type(suite)) for suite in known]


def known_suites(suites: Iterable[Suite] | None) -> list[Suite]:
    """The suites in name order."""
    return sorted(usable_suites().values() if suites is None else suites, key=lambda suite: suite.name)


def kinds(suites: Iterable[Suite]) -> dict[str, Any]:
    """Kind → model, of every kind that some suite scores."""
    found = {kind: model for suite in suites for kind, model in suite.cases.items()}
    return dict(sorted(found.items()))


def report_event(suite: Suite) -> type[BaseModel]:
    """The model of a suite's report events: what every one has, and what the suite adds."""
    content = suite.event_model or (SuiteEvent if suite.event is suite_event else None)
    # A dict: the suite reports something and does not say what.
    own: dict[str, Any] = {"summary": (dict[str, Any], ...)}
    if content is not None:
        own = {name: (field.annotation, field) for name, field in content.model_fields.items()}
    return create_model(f"{_camel(suite.name)}ReportEvent", __base__=ReportEvent, __doc__=(content or ReportEvent).__doc__, **own)


def report_type(suite: Suite) -> Any:
    """The type of a suite's JSON report; `Any` where it writes one of its own and does not say what."""
    if suite.report_model is not None:
        return suite.report_model
    if "json" in suite.layouts:
        return Any
    return SuiteReportDocument if suite.report is suite_report else ViewDocument


def _camel(name: str) -> str:
    """`safe_v0` → `SafeV0`."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace("-", "_").split("_"))


def _contract(name: str, what: str, of: Any, mode: Mode = "serialization", *, example: Mapping[str, Any] | None = None) -> Contract:
    """The schema of a type. `example`: where the type itself has none."""
    schema = TypeAdapter(of).json_schema(mode=mode)
    return Contract(name, what, _headed(name, schema if example is None else {**schema, "examples": [dict(example)]}))


def _headed(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema as a document of its own."""
    title = {"title": str(schema.get("title", name))}
    return {"$schema": DIALECT, "$id": f"urn:touchstone:schema:{name}", **title, **opened({key: part for key, part in schema.items() if key != "title"})}


def opened(schema: Any) -> Any:
    """A schema that allows fields which it does not name."""
    if isinstance(schema, dict):
        return {key: opened(part) for key, part in schema.items() if not (key == "additionalProperties" and part is False)}
    return [opened(part) for part in schema] if isinstance(schema, list) else schema


def written(document: Mapping[str, Any]) -> str:
    """A document as text: two spaces deep, in its own order."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
