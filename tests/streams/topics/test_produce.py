import orjson
import pytest

from tests.streams.fakes import FakeRecord, safe_event
from touchstone.schemas.case import SafeCase
from touchstone.scorers.base import ConfigError
from touchstone.streams.topics.produce import Envelope, encode_event
from touchstone.streams.wire.codec import Codec, Read


@pytest.mark.parametrize("envelope", ["none", "binary", "structured"])
def test_every_envelope_is_read_back_as_the_same_case(envelope: Envelope) -> None:
    event = safe_event("e1", timestamp="2026-01-01T00:00:00Z", source="unit")
    record = encode_event("here", "t", event, envelope=envelope, keyed=True)
    step = Codec({"safe": SafeCase}).read(FakeRecord(0, record.value, headers=record.headers))
    assert isinstance(step, Read)
    assert step.event_id == "e1"
    assert step.format == {"none": "json"}.get(envelope, f"cloudevents_{envelope}")


@pytest.mark.parametrize("envelope", ["none", "binary", "structured"])
def test_the_same_event_is_the_same_record(envelope: Envelope) -> None:
    one, other = (encode_event("here", "t", safe_event("e1"), envelope=envelope, keyed=True) for _ in range(2))
    assert one == other


def test_the_key_is_the_event_id_or_nothing() -> None:
    assert encode_event("here", "t", safe_event("e1"), envelope="none", keyed=True).key == b"e1"
    assert encode_event("here", "t", safe_event("e1"), envelope="none", keyed=False).key is None
    assert encode_event("here", "t", {"kind": "summary"}, envelope="none", keyed=True).key is None


def test_a_cloudevent_without_an_id_is_refused_and_named() -> None:
    with pytest.raises(ConfigError, match=r"^f.jsonl, line 3: a CloudEvent needs an id"):
        encode_event("f.jsonl, line 3", "t", {"kind": "summary"}, envelope="binary", keyed=True)


def test_binary_mode_keeps_the_event_as_the_value() -> None:
    event = safe_event("e1")
    record = encode_event("here", "t", event, envelope="binary", keyed=True)
    assert orjson.loads(record.value) == event
    assert dict(record.headers)["ce_type"] == b"touchstone.safe"
