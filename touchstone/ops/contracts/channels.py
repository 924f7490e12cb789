"""The AsyncAPI 3 document: topics as channels, events as messages, with Kafka bindings 0.5.0.

Its schemas are those of `documents`: written into it, in AsyncAPI's default dialect (JSON Schema draft 7), or as references to the files beside it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from touchstone.ops.contracts import headers as head
from touchstone.ops.contracts.documents import Mode, kinds, known_suites, opened, report_event
from touchstone.ops.contracts.examples import (
    BATCH,
    CONCERN,
    DIGEST,
    dead_letter_example,
    example_suite,
    ledger_example,
    prevalence_example,
    result_example,
    values_of,
)
from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.prevalence import PREVALENCE_TYPE, LivePrevalence
from touchstone.schemas.result import ScoreResult
from touchstone.schemas.settings.house import Settings, TopicSettings
from touchstone.scorers.suite import Suite
from touchstone.scorers.suite_settings import suite_settings
from touchstone.streams.account.batch_reports import BatchState, Summary, encode_report, payload
from touchstone.streams.account.prevalence_event import encode_prevalence
from touchstone.streams.account.projection import BatchKey
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE, Header, encode_ledger

VERSION: Final = "3.0.0"
#: Version of the contracts: the first number rises if a reader must change, the second if something is added.
CONTRACT_VERSION: Final = "1.3.0"
BINDING: Final = "0.5.0"
JSON: Final = "application/json"
_REPORTED_AT: Final = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
_LABELS: Final = Counter({"Pass": 7, "Review": 3, "Warn": 0, "Fail": 2, "unscored": 0})
_SASL: Final = {"PLAIN": "plain", "SCRAM-SHA-256": "scramSha256", "SCRAM-SHA-512": "scramSha512"}
Part = dict[str, Any]


def asyncapi(
    settings: Settings | None = None, suites: Iterable[Suite] | None = None, env: Mapping[str, str] | None = None, *, beside_schemas: bool = False
) -> Part:
    """The document for these suites (by default all that can be imported here), with the topic names of the settings (by default the standard names).

    `env`: the environment, which decides whether a suite hands cases on to a slower stage; empty by default. `beside_schemas`: the document refers to the
    schemas as files in its own folder (`./result.json`); otherwise it contains them. Raises `ConfigError` for a variable that cannot be used.
    """
    own, known = settings or Settings(), known_suites(suites)
    shown = example_suite(known)
    payloads, schemas = _files(known) if beside_schemas else _components(known)
    messages = {
        **{f"event.{kind}": _event_in(kind, model, payloads[f"event.{kind}"], known) for kind, model in kinds(known).items()},
        "result": _result(payloads["result"], result_example(shown)),
        "ledger": _ledger(payloads["ledger"], ledger_example(shown)),
        **{f"report-event.{suite.name}": _report(suite, payloads[f"report-event.{suite.name}"]) for suite in known},
        "prevalence": _prevalence(payloads["prevalence"], prevalence_example(shown)),
        "dead-letter": _dead_letter(dead_letter_example(shown)),
        "resolution": _resolution(),
    }
    secured = own.kafka.security_protocol.startswith("SASL")
    return {
        "asyncapi": VERSION,
        "id": "urn:touchstone",
        "info": _INFO,
        "defaultContentType": JSON,
        "servers": _servers(own, secured=secured),
        "channels": _channels(own, known),
        "operations": _operations(own, known, env or {}),
        "components": {
            "messages": _in_examples(messages, _renamed(own.topics)),
            **({"schemas": _in_examples(schemas, _renamed(own.topics))} if schemas else {}),
            **({"securitySchemes": {"sasl": {"type": _SASL[own.kafka.sasl_mechanism]}}} if secured else {}),
        },
    }


def _components(suites: Sequence[Suite]) -> tuple[Part, Part]:
    """Message → reference to its schema, and the schemas, for a document that contains them."""
    models: dict[str, tuple[type[BaseModel], Mode]] = {f"event.{kind}": (model, "validation") for kind, model in kinds(suites).items()}
    models |= {"result": (ScoreResult, "serialization"), "ledger": (LedgerRecord, "serialization"), "prevalence": (LivePrevalence, "serialization")}
    models |= {f"report-event.{suite.name}": (report_event(suite), "serialization") for suite in suites}
    references, defined = models_json_schema(list(models.values()), ref_template="#/components/schemas/{model}")
    return {name: references[model] for name, model in models.items()}, dict(sorted(_draft_7(opened(defined["$defs"])).items()))


def _files(suites: Sequence[Suite]) -> tuple[Part, Part]:
    """Message → reference to its schema's file. A suite without an event content of its own has the general one."""
    files = {name: name for name in (*(f"event.{kind}" for kind in kinds(suites)), "result", "ledger", "prevalence")}
    files |= {f"report-event.{suite.name}": f"report-event.{suite.name}" if suite.event_model else "report-event" for suite in suites}
    return {name: {"$ref": f"./{file}.json"} for name, file in files.items()}, {}


def _renamed(topics: TopicSettings) -> dict[str, str]:
    """Default name of a topic → its name in the settings, for topics that were renamed."""
    names = {name: getattr(topics, role) for role, name in TopicSettings().model_dump().items() if role in _CHANNEL_WORDS}
    return {name: given for name, given in names.items() if name != given}


def _in_examples(part: Any, renamed: Mapping[str, str], *, inside: bool = False) -> Any:
    """The document with the topic names of the settings in its examples; the rest is unchanged."""
    if isinstance(part, Mapping):
        return {name: _in_examples(value, renamed, inside=inside or name == "examples") for name, value in part.items()} if renamed else part
    if isinstance(part, list):
        return [_in_examples(value, renamed, inside=inside) for value in part]
    return renamed.get(part, part) if inside and isinstance(part, str) else part


_INFO: Final[Part] = {
    "title": "Touchstone",
    "version": CONTRACT_VERSION,
    "description": "Scores what language models generate, while it is generated. Events to score come in on Kafka; results, reports and dead letters go out.",
    "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
}


def _servers(settings: Settings, *, secured: bool) -> Part:
    """A server per address of the settings."""
    kafka = settings.kafka
    protocol = "kafka" if kafka.security_protocol.endswith("PLAINTEXT") else "kafka-secure"
    rest: Part = {"protocol": protocol, **({"security": [{"$ref": "#/components/securitySchemes/sasl"}]} if secured else {})}
    hosts = kafka.bootstrap_servers.split(",")
    return {"kafka" if place == 1 else f"kafka-{place}": {"host": host, **rest, "description": "Apache Kafka 3 or 4"} for place, host in enumerate(hosts, 1)}


_CHANNEL_WORDS: Final = {
    "generations": ("Generations", "Events to score. Written by producers."),
    "traces": ("Traces", "Generated records to score, whole. Written by producers."),
    "judge": ("Judge", "Events that wait for a judge. Written by workers."),
    "conformance": ("Conformance", "Documents that wait for validators outside. Written by workers."),
    "results": ("Results", "Results and ledger records: together they hold an outcome for every event. Written by workers."),
    "reports": ("Reports", "Reports of batches, as they grow, and corrected failure rates. Written by the projector."),
    "dead": ("Dead letters", "Events that could not be read, byte for byte, and what was decided about them. Written by workers and by `touchstone dlq`."),
}


def _channels(settings: Settings, suites: Sequence[Suite]) -> Part:
    """A channel per topic that has messages."""
    messages: dict[str, list[str]] = {}
    for suite in suites:
        for role in suite.topics:
            messages.setdefault(role, []).extend(f"event.{kind}" for kind in suite.cases if f"event.{kind}" not in messages.get(role, ()))
    messages |= {
        "results": ["result", "ledger"],
        "reports": [*(f"report-event.{suite.name}" for suite in suites), "prevalence"],
        "dead": ["dead-letter", "resolution"],
    }
    return {role: _channel(settings, role, messages[role]) for role in _CHANNEL_WORDS if role in messages}


def _channel(settings: Settings, role: str, messages: Iterable[str]) -> Part:
    topics = settings.topics
    name = getattr(topics, role)
    binding: Part = {"topic": name, "partitions": topics.partitions}
    if topics.replication_factor > 0:
        binding["replicas"] = topics.replication_factor
    if role == "dead":
        binding["topicConfiguration"] = {"max.message.bytes": topics.dead_message_bytes_max}
    title, description = _CHANNEL_WORDS[role]
    return {
        "address": name,
        "title": title,
        "description": f"{description} The name is the setting topics.{role}.",
        "messages": {message: {"$ref": f"#/components/messages/{message}"} for message in messages},
        "bindings": {"kafka": {**binding, "bindingVersion": BINDING}},
    }


def _operations(settings: Settings, suites: Sequence[Suite], env: Mapping[str, str]) -> Part:
    """Who reads and writes what: an operation per suite and topic, and those that every installation has."""
    found: Part = {}
    for suite in suites:
        group = {"groupId": {"type": "string", "const": f"{settings.worker.group_prefix}.{suite.name}"}, "bindingVersion": BINDING}
        for role in suite.topics:
            name = f"score.{suite.name}" if len(suite.topics) == 1 else f"score.{suite.name}.{role}"
            title = f"The workers of {suite.title or suite.name} score events; each suite has its own consumer group"
            found[name] = _operation("receive", role, [f"event.{kind}" for kind in suite.cases], title, {"kafka": group})
        for role in suite.hands_on(suite_settings(suite, env=env)) if suite.hands_on is not None else ():
            title = f"The workers of {suite.title or suite.name} hand cases on to a slower stage"
            found[f"hand-on.{suite.name}.{role}"] = _operation("send", role, _handed(suite, role, suites), title)
    found["send.results"] = _operation("send", "results", ["result", "ledger"], "Workers send results, and a ledger of the events without one")
    found["send.dead-letters"] = _operation("send", "dead", ["dead-letter"], "Workers send what they cannot read")
    found["send.resolutions"] = _operation("send", "dead", ["resolution"], "`touchstone dlq` sends what was decided about a dead letter")
    found["read.results"] = _operation("receive", "results", ["result", "ledger"], "Projector and live service read every partition, without a consumer group")
    found["send.reports"] = _operation("send", "reports", [f"report-event.{suite.name}" for suite in suites], "The projector reports a batch when it changes")
    found["send.prevalence"] = _operation("send", "reports", ["prevalence"], "The projector sends the live failure rate of a calibrated judge when it changes")
    return found


def _handed(suite: Suite, role: str, suites: Iterable[Suite]) -> list[str]:
    """The events that a suite may hand on: those that the next stage scores, except the suite's own kinds."""
    return list(dict.fromkeys(f"event.{kind}" for other in suites if role in other.topics for kind in other.cases if kind not in suite.cases))


def _operation(action: str, channel: str, messages: Iterable[str], summary: str, bindings: Part | None = None) -> Part:
    references = [{"$ref": f"#/channels/{channel}/messages/{message}"} for message in messages]
    made: Part = {"action": action, "channel": {"$ref": f"#/channels/{channel}"}, "summary": summary, "messages": references}
    return made | ({"bindings": bindings} if bindings else {})


def _message(name: str, title: str, summary: str, headers: Mapping[str, Any], payload: Any, key: Part, **more: Any) -> Part:
    """One message; `key`: the schema of its record's key."""
    binding = {"kafka": {"key": key, "bindingVersion": BINDING}}
    return {"name": name, "title": title, "summary": summary, "contentType": JSON, "headers": dict(headers), "payload": payload, "bindings": binding, **more}


def _event_in(kind: str, model: type[BaseModel], reference: Any, suites: Iterable[Suite]) -> Part:
    readers = ", ".join(suite.title or suite.name for suite in suites if kind in suite.cases)
    extra = model.model_config.get("json_schema_extra")
    written = extra.get("examples", []) if isinstance(extra, dict) else []
    examples = [{"name": f"{kind}-{number}", "payload": example} for number, example in enumerate(written if isinstance(written, list) else [], 1)]
    key = {"type": "string", "description": "Any bytes, or none; it decides the partition, and is not read."}
    named = {"correlationId": {"location": "$message.payload#/id", "description": "The event's own id."}}
    return _message(kind, f"Event of kind {kind}", f"Scored by {readers}.", head.INPUT_HEADERS, reference, key, **named, **_examples(examples))


def _result(reference: Any, example: Part) -> Part:
    key = {**head.UUID, "description": "The result's id: a replay has the same."}
    given = {
        "content-type": JSON,
        "ce_specversion": "1.0",
        "ce_type": RESULT_TYPE,
        "ce_source": f"/touchstone/{example['suite']}",
        "ce_id": example["result_id"],
        "ce_subject": example["event_id"],
        "ce_time": example["scored_at"],
    }
    named = {"correlationId": {"location": "$message.payload#/event_id", "description": "The event that was scored."}}
    examples = [{"name": "result", "headers": given, "payload": example}]
    what = "The scores of one event by one suite."
    return _message("result", "Result", what, head.event_headers(RESULT_TYPE), reference, key, **named, **_examples(examples))


def _ledger(reference: Any, example: Part) -> Part:
    key = {"type": "string", "pattern": "^ledger/", "description": "ledger/SUITE/TOPIC/PARTITION"}
    _, _, sent = encode_ledger(LedgerRecord.model_validate(example), _REPORTED_AT)
    given = _example_headers(sent)
    examples = [{"name": "ledger", "headers": given, "payload": example}]
    what = "Outcomes that have no result event, as ranges of offsets of one partition."
    return _message("ledger", "Ledger record", what, head.event_headers(LEDGER_TYPE), reference, key, **_examples(examples))


def _prevalence(reference: Any, example: LivePrevalence) -> Part:
    key = {"type": "string", "description": "The subject: a suite, or SUITE/MODE."}
    _, value, sent = encode_prevalence(example, _REPORTED_AT)
    examples = [{"name": "prevalence", "headers": _example_headers(sent), "payload": json.loads(value)}]
    what = "The live failure rate of a suite or a mode, corrected for its judge's errors; sent when it changes."
    schema = head.event_headers(PREVALENCE_TYPE, subject="the suite or the mode")
    return _message(PREVALENCE_TYPE, "Corrected failure rate", what, schema, reference, key, **_examples(examples))


def _report(suite: Suite, reference: Any) -> Part:
    """A report event of one suite; the example is made by the code that makes the events."""
    summary = Summary(sum(_LABELS.values()), _LABELS, values_of(suite), _REPORTED_AT, None)
    batch = BatchKey(suite=suite.name, suite_version=suite.version, config_digest=DIGEST, concern_id=CONCERN, batch_id=BATCH)
    state = BatchState(batch.report_id, batch, 1, 0, emitted_final=False, changed_at=0.0, interval_s=1.0)
    document = payload(state, summary, True, suite)
    _, _, headers = encode_report(state, document, suite)
    examples = [{"name": "batch", "headers": _example_headers(headers), "payload": document}]
    key = {**head.UUID, "description": "The report's id: every report of the batch has the same."}
    schema = head.event_headers(suite.report_type, subject="the report's id")
    what = f"A batch scored by {suite.title or suite.name}; sent again when it changes."
    return _message(suite.report_type, f"Report of {suite.title or suite.name}", what, schema, reference, key, **_examples(examples))


def _dead_letter(given: Part) -> Part:
    anything: Part = {"description": "The event's own bytes, whatever they are."}
    key: Part = {"type": "string", "description": "The event's own key."}
    examples = [{"name": "dead-letter", "headers": given}]
    what = "An event that could not be read; the headers say why, without quoting it."
    made = _message("dead-letter", "Dead letter", what, head.DEAD_LETTER_HEADERS, anything, key, **_examples(examples))
    return made | {"contentType": "application/octet-stream"}


def _resolution() -> Part:
    """A decision about a dead letter."""
    (example,) = head.RESOLUTION["examples"]
    given = {"touchstone.resolution": example["resolution"], "touchstone.letter": example["letter"]}
    key = {"type": "string", "pattern": "^resolution/[0-9]+:[0-9]+$"}
    what = "What was decided about a dead letter."
    schema = {name: part for name, part in head.RESOLUTION.items() if name != "examples"}
    examples = [{"name": "resolution", "headers": given, "payload": example}]
    return _message("resolution", "Resolution", what, head.RESOLUTION_HEADERS, schema, key, **_examples(examples))


def _example_headers(headers: Iterable[Header]) -> dict[str, str]:
    """Headers as a message example has them."""
    return {name: value.decode() for name, value in headers}


def _examples(examples: Sequence[Part]) -> Part:
    """The member for examples; none without one."""
    return {"examples": list(examples)} if examples else {}


def _draft_7(schema: Any) -> Any:
    """A 2020-12 schema in draft 7: tuples use `items` instead of `prefixItems`."""
    if isinstance(schema, dict):
        made = {key: _draft_7(part) for key, part in schema.items()}
        return made | {"items": made.pop("prefixItems")} if "prefixItems" in made else made
    return [_draft_7(part) for part in schema] if isinstance(schema, list) else schema
