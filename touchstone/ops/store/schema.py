"""Tables of the result store. A change of any of them raises `SCHEMA_VERSION`, and `migration` turns stores of the version before into it."""

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, MetaData, String, Table, Text

from touchstone.streams.account.listed import CODE_CHARS_MAX
from touchstone.streams.account.projection import TEXT_CHARS_MAX

SCHEMA_VERSION = 6

metadata = MetaData()
_name = String(TEXT_CHARS_MAX)

#: One row: the version of these tables.
schema_version = Table("touchstone_schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False))

#: One row per result id. `document` is the result event as it was on its topic; the other columns are for finding and counting results.
#: `content` is the digest of what a report can show; `scored_at` counts microseconds since the epoch. `source_topic_id` is empty, and `checksum` 0,
#: where an earlier version of this program has scored the event; the id also where the broker has none.
results = Table(
    "touchstone_results",
    metadata,
    Column("result_id", _name, primary_key=True),
    Column("event_id", _name, nullable=False),
    Column("suite", _name, nullable=False),
    Column("suite_version", _name, nullable=False),
    Column("config_digest", _name, nullable=False),
    Column("label", _name, nullable=False),
    Column("report_id", String(36)),
    Column("concern_id", _name),
    Column("batch_id", _name),
    Column("batch_size", BigInteger),
    Column("source_topic", _name, nullable=False),
    Column("source_topic_id", _name, nullable=False),
    Column("source_partition", Integer, nullable=False),
    Column("source_offset", BigInteger, nullable=False),
    Column("checksum", BigInteger, nullable=False),
    Column("scored_at", BigInteger, nullable=False),
    Column("scores", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("content", String(32), nullable=False),
    Column("kind", _name, nullable=False, server_default=""),
    Column("case_id", _name, nullable=False, server_default=""),
    Column("model", _name, nullable=False, server_default=""),
    Column("severity", String(16), nullable=False, server_default=""),
    Column("findings_total", Integer, nullable=False, server_default="0"),
    Column("failures_total", Integer, nullable=False, server_default="0"),
    Column("overall", Float(53)),
    Index("touchstone_results_report", "report_id"),
    Index("touchstone_results_source", "suite", "suite_version", "source_topic", "source_partition", "source_offset"),
)

#: Indexes for lists of cases, newest first. On SQLite the first one holds every column that a filter names, so that documents need not be read;
#: PostgreSQL keeps long documents outside of their rows, and limits the size of an index entry.
_FILTERED = (
    *("suite", "label", "event_id", "case_id", "kind", "model", "concern_id", "batch_id", "severity", "findings_total", "suite_version", "config_digest"),
    *("failures_total", "overall"),
)
_columns = results.c
history_indexes = (
    Index("touchstone_results_newest", _columns.scored_at, _columns.result_id).ddl_if(dialect="postgresql"),
    Index("touchstone_results_newest", _columns.scored_at, _columns.result_id, *(_columns[name] for name in _FILTERED)).ddl_if(dialect="sqlite"),
    Index("touchstone_results_label", _columns.suite, _columns.label, _columns.scored_at).ddl_if(dialect="postgresql"),
    Index("touchstone_results_event", _columns.event_id),
    Index("touchstone_results_case", _columns.case_id),
)

#: Distinct codes of findings and failures of a result.
codes = Table(
    "touchstone_codes",
    metadata,
    Column("result_id", _name, primary_key=True),
    Column("code", String(CODE_CHARS_MAX), primary_key=True),
    Index("touchstone_codes_code", "code", "result_id"),
    # Its rows are its key: kept once, in the key's own tree.
    sqlite_with_rowid=False,
)

#: What the archive holds of an event, or why it does not hold it (`state`). `path`: its object. `bytes`: of the event. `at`: when the event was scored or
#: produced, `kept_at`: when the row was written; both in microseconds since the epoch. `topic` and the rest of its place: where it came from.
cases = Table(
    "touchstone_cases",
    metadata,
    Column("event_id", _name, primary_key=True),
    Column("kind", _name, nullable=False),
    Column("case_id", _name, nullable=False),
    Column("trace_id", _name, nullable=False),
    Column("source", String(32), nullable=False),
    Column("path", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("state", String(32), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("kept_at", BigInteger, nullable=False),
    Column("topic", _name, nullable=False),
    Column("topic_id", _name, nullable=False),
    Column("partition", Integer, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Index("touchstone_cases_trace", "trace_id"),
    Index("touchstone_cases_at", "state", "at", "event_id"),
)

#: What people wrote about cases: a log that is only added to. `revision` counts the entries of an event from 1. `queue`: that it was written in, or empty.
annotations = Table(
    "touchstone_annotations",
    metadata,
    Column("event_id", _name, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("id", String(36), nullable=False),
    Column("trace_id", _name, nullable=False),
    Column("reviewer", _name, nullable=False),
    Column("review_pass", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("queue", _name, nullable=False, server_default=""),
    Index("touchstone_annotations_queue", "queue", "event_id"),
)

#: A thumb up or down from an application, by event id or trace id: it may come before the case.
feedback = Table(
    "touchstone_feedback",
    metadata,
    Column("id", _name, primary_key=True),
    Column("rating", String(8), nullable=False),
    Column("at", BigInteger, nullable=False),
)

#: Saved filters of the list of cases: the query part of an address.
views = Table(
    "touchstone_views",
    metadata,
    Column("name", _name, primary_key=True),
    Column("query", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)

#: What people say of kinds of failure: a log that is only added to. `revision` counts the entries of a name from 1; the newest counts. `kind`: what it is a
#: failure of, or empty. `by`: whose token wrote it, or empty.
categories = Table(
    "touchstone_categories",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("description", Text, nullable=False),
    Column("by", _name, nullable=False),
    Column("at", BigInteger, nullable=False),
)

#: What is known of each judge now, as JSON: see `touchstone.schemas.prevalence.JudgeStatus`. `at`: when that was written, in microseconds since the epoch.
judges = Table(
    "touchstone_judges",
    metadata,
    Column("subject", _name, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
)

#: Repeats of an event id: every source position of a result id but the one in its row.
repeats = Table(
    "touchstone_repeats",
    metadata,
    Column("result_id", _name, primary_key=True),
    Column("source_topic", _name, primary_key=True),
    Column("source_topic_id", _name, primary_key=True),
    Column("source_partition", Integer, primary_key=True, autoincrement=False),
    Column("source_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("checksum", BigInteger, nullable=False),
    Column("suite", _name, nullable=False),
    Column("suite_version", _name, nullable=False),
    Index("touchstone_repeats_source", "suite", "suite_version", "source_topic", "source_partition", "source_offset"),
)

#: Outcomes as pages of intervals: one row holds up to some hundreds of consecutive ones, `[[first, last, outcome, reason], …]`.
pages = Table(
    "touchstone_intervals",
    metadata,
    Column("suite", _name, primary_key=True),
    Column("suite_version", _name, primary_key=True),
    Column("topic", _name, primary_key=True),
    Column("topic_id", _name, primary_key=True),
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("first", BigInteger, primary_key=True, autoincrement=False),
    Column("last", BigInteger, nullable=False),
    Column("intervals", Text, nullable=False),
)

#: Offsets at which results name two different events: the topic was made anew, and its broker gives no ids, or the log was cut back.
#: An empty `topic_id` may stand for another topic than the one that the later event is on.
contradictions = Table(
    "touchstone_contradictions",
    metadata,
    Column("suite", _name, primary_key=True),
    Column("topic", _name, primary_key=True),
    Column("topic_id", _name, primary_key=True),
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("offset", BigInteger, primary_key=True, autoincrement=False),
)

#: Next offset of the results topic to read, moved in the transaction that wrote what was read. `topic_id`: of the topic that was read.
positions = Table(
    "touchstone_positions",
    metadata,
    Column("topic", _name, primary_key=True),
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("topic_id", _name, nullable=False),
    Column("next_offset", BigInteger, nullable=False),
)

#: Reporting state of every batch; `due_at` (seconds since the epoch) is empty if only a new case can change the report.
batches = Table(
    "touchstone_batches",
    metadata,
    Column("report_id", String(36), primary_key=True),
    Column("suite", _name, nullable=False),
    Column("suite_version", _name, nullable=False),
    Column("config_digest", _name, nullable=False),
    Column("concern_id", _name, nullable=False),
    Column("batch_id", _name, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("emitted_revision", BigInteger, nullable=False),
    Column("emitted_final", Boolean, nullable=False),
    Column("emitted_at", Float(53), nullable=False),
    Column("changed_at", Float(53), nullable=False),
    Column("interval_s", Float(53), nullable=False),
    Column("due_at", Float(53)),
    Index("touchstone_batches_due", "due_at"),
    Index("touchstone_batches_concern", "suite", "concern_id", "batch_id"),
)
