"""Tables of the result store. A change of any of them raises `SCHEMA_VERSION`, and `migration` turns stores of the version before into it."""

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, MetaData, String, Table, Text

from touchstone.streams.account.projection import TEXT_CHARS_MAX

SCHEMA_VERSION = 3

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
    Index("touchstone_results_report", "report_id"),
    Index("touchstone_results_source", "suite", "suite_version", "source_topic", "source_partition", "source_offset"),
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
