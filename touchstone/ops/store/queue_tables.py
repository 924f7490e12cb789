"""Tables of review queues in the result store. They are part of the schema: see `touchstone.ops.store.schema`."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, String, Table, Text

from touchstone.ops.store.schema import metadata
from touchstone.streams.account.projection import TEXT_CHARS_MAX

_name = String(TEXT_CHARS_MAX)

#: A queue as it was made. `definition`: JSON of its fields; `link_key`: part of the key that signs its links, replaced to make all of them useless.
queues = Table(
    "touchstone_queues",
    metadata,
    Column("name", _name, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("link_key", String(64), nullable=False),
    Column("at", BigInteger, nullable=False),
)

#: The cases of a queue, drawn once when it is made. `place`: from 0, in the order of review. `state` and `verdicts` (how many reviewers have given one)
#: follow from the annotations that were written in the queue, and are written in the same transaction as these.
queue_cases = Table(
    "touchstone_queue_cases",
    metadata,
    Column("queue", _name, primary_key=True),
    Column("event_id", _name, primary_key=True),
    Column("place", Integer, nullable=False),
    Column("result_id", _name, nullable=False),
    Column("arm", String(8), nullable=False),
    Column("state", String(16), nullable=False),
    Column("verdicts", Integer, nullable=False),
    Index("touchstone_queue_cases_place", "queue", "place", unique=True),
    Index("touchstone_queue_cases_state", "queue", "state", "arm"),
)

#: What a reviewer has of a case of a queue. `verdict`: given now, empty without one; `blind`: the last one given before the others' could be seen.
#: `reserved_until`: microseconds since the epoch, 0 if it is not reserved.
queue_places = Table(
    "touchstone_queue_places",
    metadata,
    Column("queue", _name, primary_key=True),
    Column("event_id", _name, primary_key=True),
    Column("reviewer", _name, primary_key=True),
    Column("verdict", String(8), nullable=False),
    Column("blind", String(8), nullable=False),
    Column("skipped", Boolean, nullable=False),
    Column("reserved_until", BigInteger, nullable=False),
    Index("touchstone_queue_places_reviewer", "queue", "reviewer"),
)

#: Texts that say what passes. A change is a new version; none is ever changed or deleted.
guidelines = Table(
    "touchstone_guidelines",
    metadata,
    Column("name", _name, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Column("by", _name, nullable=False),
    Column("at", BigInteger, nullable=False),
)
