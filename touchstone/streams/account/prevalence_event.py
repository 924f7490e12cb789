"""The prevalence event (`touchstone:prevalence:v1`) on the topic of reports."""

from datetime import datetime

from touchstone.schemas.prevalence import PREVALENCE_TYPE, LivePrevalence
from touchstone.scorers.calibration.live import suite_and_value
from touchstone.scorers.identity import deterministic_id
from touchstone.streams.wire.codec import Header


def encode_prevalence(rate: LivePrevalence, now: datetime) -> tuple[bytes, bytes, list[Header]]:
    """Key, value and headers (CloudEvents 1.0, binary mode). The id names the content: a repetition of the event has the same."""
    value = rate.model_dump_json(by_alias=True).encode()
    suite, _ = suite_and_value(rate.subject)
    return (
        rate.subject.encode(),
        value,
        [
            ("content-type", b"application/json"),
            ("ce_specversion", b"1.0"),
            ("ce_type", PREVALENCE_TYPE.encode()),
            ("ce_id", deterministic_id(value.decode()).encode()),
            ("ce_source", f"/touchstone/projector/{suite}".encode()),
            ("ce_subject", rate.subject.encode()),
            ("ce_time", now.isoformat().replace("+00:00", "Z").encode()),
        ],
    )
