import pytest

from tests.streams.fakes import safe_record
from touchstone.schemas.case import SafeCase
from touchstone.schemas.ledger import LedgerEntry, LedgerRecord
from touchstone.schemas.result import Outcome, Scorecard
from touchstone.scorers.scoring import ResultMaker
from touchstone.streams.account.intervals import Interval
from touchstone.streams.account.put_aside import PutAside
from touchstone.streams.topics.log_reader import Place
from touchstone.streams.wire.codec import Codec, Read, encode_ledger, encode_result, source_of

TOPIC = "generations"


class Sent:
    def __init__(self, key: bytes, value: bytes | None, headers: list[tuple[str, bytes]]) -> None:
        self.topic, self.partition, self.offset, self.timestamp = "touchstone.results", 0, 0, 0
        self.key, self.value, self.headers = key, value, headers


def scored(version: str, offset: int) -> Sent:
    record = safe_record(offset)
    read = Codec({"safe": SafeCase}).read(record)
    assert isinstance(read, Read)
    result = ResultMaker("toy", version, "0" * 16).result(read.case, read.event_id, source_of(record), Scorecard(label="Pass", values={}), 0.0)
    return Sent(*encode_result(result))


def told(version: str, outcome: Outcome, first: int, last: int, reason: str = "budget") -> Sent:
    entry = LedgerEntry(outcome=outcome, reason=reason, ranges=((first, last),))
    return Sent(*encode_ledger(LedgerRecord(suite="toy", suite_version=version, config_digest="0" * 16, topic=TOPIC, partition=0, entries=(entry,))))


def aside(*records: Sent, version: str = "2", reason: str | None = None) -> dict[Place, list[Interval]]:
    found = PutAside("toy", version, [TOPIC], "touchstone.results")
    for record in records:
        found._take(record)
    return found.shed(reason)


def test_what_was_shed_and_not_scored_since_is_put_aside() -> None:
    assert aside(told("2", "shed", 0, 9), scored("2", 4)) == {(TOPIC, 0): [Interval(0, 3, "shed", "budget"), Interval(5, 9, "shed", "budget")]}


def test_a_result_of_another_version_leaves_what_this_one_has_put_aside() -> None:
    assert aside(scored("1", 3), told("2", "shed", 3, 3)) == {(TOPIC, 0): [Interval(3, 3, "shed", "budget")]}


@pytest.mark.parametrize("by", ["1", "2"])
def test_what_an_earlier_version_put_aside_waits_until_some_version_scores_it(by: str) -> None:
    assert aside(told("1", "shed", 3, 4), scored(by, 3)) == {(TOPIC, 0): [Interval(4, 4, "shed", "budget")]}


def test_a_reason_tells_apart() -> None:
    both = told("2", "shed", 0, 1), told("2", "shed", 2, 3, "too_old")
    assert aside(*both, reason="too_old") == {(TOPIC, 0): [Interval(2, 3, "shed", "too_old")]}


@pytest.mark.parametrize(
    "value", [b"", b"[]", b"{", b"null", b'{"source": 5}', b'{"suite_version": "2", "source": {"topic": "t", "partition": "x", "offset": 1}}']
)
def test_what_another_program_wrote_is_passed_over(value: bytes) -> None:
    for kind in (b"touchstone.result", b"touchstone.ledger", b"other"):
        assert aside(Sent(b"", value, [("ce_source", b"/touchstone/toy"), ("ce_type", kind)])) == {}
