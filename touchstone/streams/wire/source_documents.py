"""The event in a record, as its producer wrote it: without a schema registry's frame and without a CloudEvents envelope."""

import orjson

from touchstone.streams.wire.codec import Record
from touchstone.streams.wire.headers import fault_of

_FRAME_BYTES = 5


def document_of(record: Record) -> bytes | None:
    """The JSON of an event; its own bytes, unless an envelope was around it. None if the record holds no event that can be read."""
    value = record.value
    if not value or (record.headers and fault_of(record.headers) is not None):
        return None
    if value[0] == 0 and len(value) > _FRAME_BYTES:
        value = value[_FRAME_BYTES:]
    content_type = next((content or b"" for name, content in record.headers or () if name == "content-type"), b"")
    # The envelope is rare, and its marks are cheap to look for: most events need not be parsed here.
    if not content_type.lower().startswith(b"application/cloudevents") and b'"specversion"' not in value:
        return value
    try:
        document = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    if isinstance(document, dict) and "specversion" in document and "data" in document:
        return orjson.dumps(document["data"])
    return value
