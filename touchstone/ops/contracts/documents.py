"""JSON Schemas (2020-12) of every event, and of every report that `--format json` writes.

The schema of an input says what a producer should write. More is read (null for an absent field, unknown fields), and not promised. The schema of an
output is open: readers ignore fields that they do not know, because new ones may come.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, TypeAdapter, create_model

from touchstone.ops.contracts.examples import example_suite, ledger_example, prevalence_example, result_example
from touchstone.ops.contracts.headers import DEAD_LETTER_HEADERS, RESOLUTION, event_headers
from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.prevalence import LivePrevalence
from touchstone.schemas.reports.evaluation import EvaluationReport
from touchstone.schemas.reports.selftest import SelftestReport
from touchstone.schemas.reports.suite import ReportEvent, SuiteEvent, SuiteReportDocument
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.registry import usable_suites
from touchstone.scorers.suite import Suite

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
ASYNCAPI: Final = "asyncapi"
Mode = Literal["validation", "serialization"]


@dataclass(frozen=True, slots=True)
class Contract:
    """One document. `what`: a short description."""

    name: str
    what: str
    document: Mapping[str, Any]


def schemas(suites: Iterable[Suite] | None = None) -> dict[str, dict[str, Any]]:
    """Name → JSON Schema, for these suites; by default for every one that can be imported here."""
    return {contract.name: dict(contract.document) for contract in contracts(suites)}


def contracts(suites: Iterable[Suite] | None = None) -> list[Contract]:
    """The documents with a line on each: events in, events out, reports.

    Definitions that a document shares with `result` or `report` are references to those. A suite without a report of its own has no document for it:
    its reports are as `report` says, and its report events as `report-event` says.
    """
    known = known_suites(suites)
    shown = example_suite(known)
    documents = _Documents()
    result = documents.make("result", "a result event", ScoreResult, example=result_example(shown), is_shared=True)
    report = documents.make("report", "the JSON report of a suite without a form of its own", SuiteReportDocument, is_shared=True)
    found = [documents.make(f"event.{kind}", f"an event of kind {kind}, to score", model, "validation") for kind, model in kinds(known).items()]
    found += [
        result,
        documents.make("ledger", "a ledger record: outcomes without a result", LedgerRecord, example=ledger_example(shown)),
        documents.make("report-event", "a report event of a suite without a content of its own", _event_model("suite", SuiteEvent)),
        *(
            documents.make(f"report-event.{suite.name}", f"a report event of {suite.title or suite.name}", report_event(suite))
            for suite in known
            if suite.event_model is not None
        ),
        documents.make(
            "prevalence",
            "the live failure rate of a suite or a mode, corrected for its judge's errors",
            LivePrevalence,
            example=prevalence_example(shown).model_dump(mode="json", by_alias=True),
        ),
        Contract("event-headers", "the headers of all events that Touchstone sends", _headed("event-headers", event_headers())),
        Contract("dead-letter-headers", "the headers of a dead letter", _headed("dead-letter-headers", DEAD_LETTER_HEADERS)),
        Contract("resolution", "what was decided about a dead letter", _headed("resolution", RESOLUTION)),
        report,
        documents.make("evaluation", "the JSON report of an evaluation run", EvaluationReport),
        documents.make("selftest", "the JSON report of a self-test", SelftestReport),
    ]
    own = [suite for suite in known if report_type(suite) is not SuiteReportDocument]
    return found + [documents.make(f"report.{suite.name}", f"the JSON report of {suite.title or suite.name}", report_type(suite)) for suite in own]


def known_suites(suites: Iterable[Suite] | None) -> list[Suite]:
    """The suites in name order."""
    return sorted(usable_suites().values() if suites is None else suites, key=lambda suite: suite.name)


def kinds(suites: Iterable[Suite]) -> dict[str, Any]:
    """Kind → model, of every kind that some suite scores."""
    found = {kind: model for suite in suites for kind, model in suite.cases.items()}
    return dict(sorted(found.items()))


def report_event(suite: Suite) -> type[BaseModel]:
    """The model of a suite's report events: the fields that all of them have, and the suite's own content."""
    return _event_model(suite.name, suite.event_model or SuiteEvent)


def _event_model(name: str, content: type[BaseModel]) -> type[BaseModel]:
    own: dict[str, Any] = {name: (field.annotation, field) for name, field in content.model_fields.items()}
    return create_model(f"{_camel(name)}ReportEvent", __base__=ReportEvent, __doc__=content.__doc__, **own)


def report_type(suite: Suite) -> Any:
    """The type of a suite's JSON report; `Any` if it writes its own and declares no model."""
    if suite.report_model is not None:
        return suite.report_model
    return Any if "json" in suite.layouts else SuiteReportDocument


def _camel(name: str) -> str:
    """`safe_v0` → `SafeV0`."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace("-", "_").split("_"))


class _Documents:
    """Makes the documents. What `result` and `report` define is written there alone: the other documents refer to it."""

    def __init__(self) -> None:
        #: Name of a definition → the reference to it, and the definition.
        self._shared: dict[str, tuple[str, Any]] = {}

    def make(
        self, name: str, what: str, of: Any, mode: Mode = "serialization", *, example: Mapping[str, Any] | None = None, is_shared: bool = False
    ) -> Contract:
        """The schema of a type. `example`: for a type that has none itself. `is_shared`: later documents refer to what this one defines."""
        schema = TypeAdapter(of).json_schema(mode=mode)
        definitions = schema.pop("$defs", {})
        elsewhere = {f"#/$defs/{key}": self._shared[key][0] for key, part in definitions.items() if self._shared.get(key, ("", None))[1] == part}
        own = {key: part for key, part in definitions.items() if f"#/$defs/{key}" not in elsewhere}
        if is_shared:
            self._shared |= {key: (f"{_id(name)}#/$defs/{key}", part) for key, part in own.items()} | {schema["title"]: (_id(name), dict(schema))}
        whole = schema | ({"$defs": own} if own else {}) | ({} if example is None else {"examples": [dict(example)]})
        return Contract(name, what, _headed(name, _referring(whole, elsewhere)))


def _referring(part: Any, elsewhere: Mapping[str, str]) -> Any:
    """The same with references that lead to other documents."""
    if isinstance(part, dict):
        return {key: elsewhere.get(inner, inner) if key == "$ref" else _referring(inner, elsewhere) for key, inner in part.items()}
    return [_referring(inner, elsewhere) for inner in part] if isinstance(part, list) else part


def _id(name: str) -> str:
    return f"urn:touchstone:schema:{name}"


def _headed(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema as a document of its own."""
    title = {"title": str(schema.get("title", name))}
    return {"$schema": DIALECT, "$id": _id(name), **title, **opened({key: part for key, part in schema.items() if key != "title"})}


def opened(schema: Any) -> Any:
    """A schema that allows fields which it does not name, without the titles of fields, which only repeat their names."""
    if isinstance(schema, list):
        return [opened(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: opened(part) for key, part in schema.items() if not (key == "additionalProperties" and part is False)}
    if isinstance(fields := made.get("properties"), dict):
        made["properties"] = {name: {key: part for key, part in field.items() if key != "title"} for name, field in fields.items()}
    return made


def written(document: Mapping[str, Any]) -> str:
    """A document as text: two spaces deep, in its own order."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
