from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.streams.fakes import FakeRecord
from touchstone.scorers.base import ConfigError
from touchstone.streams.topics.dlq import (
    LETTER,
    REDRIVEN,
    RESOLUTION,
    Filter,
    Letterbox,
    original_headers,
    parse_letter,
    plan,
    read_letters,
)
from touchstone.streams.wire.codec import Record
from touchstone.streams.wire.dead_letter import dead_letter

CANARY = "zanzibar-canary"


def letter_record(at: int, *, source: int = 7, suite: str = "safe_v0", code: str = "not_json", timestamp: int = 5, **options: Any) -> FakeRecord:
    original = FakeRecord(source, f"{{{CANARY}".encode(), partition=2, timestamp=timestamp, key=b"k", headers=options.pop("headers", [("h", b"1")]))
    message = dead_letter(original, suite=suite, version="1", code=code, where="character 1", **options)
    return FakeRecord(at, message.value, topic="dead", key=message.key, headers=message.headers)


def resolution_record(at: int, letter: str, word: str = "redriven") -> FakeRecord:
    return FakeRecord(at, b"{}", topic="dead", headers=[(RESOLUTION, word.encode()), (LETTER, letter.encode())])


class FakeReader:
    def __init__(self, *records: FakeRecord) -> None:
        self._records = records

    async def read(self, start: object, *, follow: bool = False) -> AsyncIterator[Record]:
        assert start == "beginning"
        for record in self._records:
            yield record


async def box(*records: FakeRecord) -> Letterbox:
    return await read_letters(FakeReader(*records))  # type: ignore[arg-type]


def test_a_letter_tells_why_and_where_from_and_nothing_of_the_payload() -> None:
    letter = parse_letter(letter_record(3))
    assert letter is not None
    assert (letter.id, letter.code, letter.message, letter.suite) == ("0:3", "not_json", "not_json at character 1", "safe_v0")
    assert letter.source == ("generations", 2, 7, 5)
    assert CANARY not in repr(letter)


def test_a_stranger_on_the_topic_is_no_letter() -> None:
    assert parse_letter(FakeRecord(0, b"hello", headers=[("x", b"y")])) is None


def test_headers_that_somebody_else_wrote_do_not_break_the_listing() -> None:
    headers = [("__streams.errors.topic", b"\xff"), ("__streams.errors.partition", b"one"), ("touchstone.failed_at", b"never"), (REDRIVEN, b"-3")]
    letter = parse_letter(FakeRecord(0, None, timestamp=0, headers=headers))
    assert letter is not None
    assert (letter.source_partition, letter.redriven, letter.size) == (-1, 0, 0)
    assert letter.failed_at == datetime(1970, 1, 1, tzinfo=UTC)


async def test_a_replayed_letter_is_shown_once_and_counted() -> None:
    found = await box(letter_record(0), letter_record(1), letter_record(2, source=8))
    assert [(letter.id, letter.copies) for letter in found.letters] == [("0:0", ["0:1"]), ("0:2", [])]
    assert found.find("0:1").id == "0:0"


async def test_the_same_offset_of_a_topic_made_anew_is_another_event() -> None:
    found = await box(letter_record(0, timestamp=5), letter_record(1, timestamp=6))
    assert len(found.letters) == 2


@pytest.mark.parametrize("named", ["0:0", "0:1"])
async def test_resolving_a_letter_or_its_copy_hides_the_event(named: str) -> None:
    found = await box(letter_record(0), letter_record(1), resolution_record(2, named))
    assert found.open() == []
    assert found.letters[0].resolution == "redriven"


async def test_records_of_other_programs_are_counted() -> None:
    assert (await box(FakeRecord(0, b"x"), letter_record(1))).others == 1


async def test_redriving_sends_an_event_once_for_all_suites_that_refused_it() -> None:
    found = await box(letter_record(0), letter_record(1, suite="other"), letter_record(2, source=9))
    steps = plan(found, found.open(), "redriven")
    assert [(step.letter.id, [also.id for also in step.also]) for step in steps] == [("0:0", ["0:1"]), ("0:2", [])]


async def test_an_event_that_went_back_is_not_sent_again_for_the_letter_of_a_slower_suite() -> None:
    found = await box(letter_record(0), resolution_record(1, "0:0"), letter_record(2, suite="slower"), letter_record(3, suite="slower", source=8))
    late, other = plan(found, found.open(), "redriven")
    assert (late.letter.id, other.letter.id, other.refused) == ("0:2", "0:3", None)
    assert "went back already, with letter 0:0; discard it (touchstone dlq discard 0:2)" in str(late.refused)
    (step,) = plan(found, [late.letter], "discarded")
    assert step.refused is None


async def test_a_topic_made_anew_has_events_of_its_own_that_never_went_back() -> None:
    found = await box(letter_record(0), resolution_record(1, "0:0"), letter_record(2, suite="slower", timestamp=6))
    assert [step.refused for step in plan(found, found.open(), "redriven")] == [None]


async def test_discarding_concerns_one_suite_only() -> None:
    found = await box(letter_record(0), letter_record(1, suite="other"))
    (step,) = plan(found, [found.find("0:0")], "discarded")
    assert step.also == ()


async def test_a_letter_without_payload_is_refused_and_says_where_the_event_lies() -> None:
    found = await box(letter_record(0, payload=False))
    (step,) = plan(found, found.open(), "redriven")
    assert step.refused is not None
    assert "generations[2] offset 7" in step.refused
    (discarding,) = plan(found, found.open(), "discarded")
    assert discarding.refused is None


async def test_an_event_that_was_redriven_too_often_is_refused() -> None:
    found = await box(letter_record(0, headers=[(REDRIVEN, b"3")]))
    assert plan(found, found.open(), "redriven")[0].refused is not None
    assert plan(found, found.open(), "redriven", redrives_max=4)[0].refused is None


async def test_a_resolved_letter_is_not_settled_twice() -> None:
    found = await box(letter_record(0), resolution_record(1, "0:0", "discarded"))
    (step,) = plan(found, [found.find("0:0")], "redriven")
    assert step.refused == "is already discarded"


async def test_an_unknown_id_is_the_users_mistake() -> None:
    with pytest.raises(ConfigError, match="no dead letter 9:9"):
        (await box(letter_record(0))).find("9:9")


def test_the_events_own_headers_come_back_in_order_and_ours_do_not() -> None:
    record = letter_record(0, headers=[("a", b"1"), ("b", b""), ("a", b"2"), (REDRIVEN, b"1")])
    assert original_headers(record.headers) == [("a", b"1"), ("b", b""), ("a", b"2")]


def test_an_event_that_was_a_dead_letter_already_comes_back_with_every_header() -> None:
    own: list[tuple[str, Any]] = [
        ("__streams.errors.topic", b"theirs"),
        ("touchstone.suite", b"\xff\x00"),
        ("a", b"1"),
        ("__streams.errors.topic", None),
        ("touchstone.original.touchstone.suite", b"2"),
        ("touchstone.original.", b"3"),
        ("touchstone.suite", b"again"),
        ("__streams.errors.stacktrace", b"at line 1"),
        ("a", None),
        ("touchstone.payload_omitted", b"too_large"),
    ]
    once = letter_record(0, headers=own)
    letter = parse_letter(once)
    assert letter is not None
    assert (letter.source_topic, letter.suite, letter.omitted) == ("generations", "safe_v0", None)
    twice = letter_record(1, headers=once.headers)
    assert original_headers(once.headers) == own
    assert original_headers(original_headers(twice.headers)) == own, "a dead letter of a dead letter"


async def test_filters_admit_by_code_suite_and_time() -> None:
    (letter,) = (await box(letter_record(0))).letters
    now = datetime.now(UTC)
    assert Filter().admits(letter)
    assert Filter("not_json", "safe_v0", now - timedelta(minutes=1)).admits(letter)
    assert not Filter(code="empty").admits(letter)
    assert not Filter(suite="other").admits(letter)
    assert not Filter(since=now + timedelta(minutes=1)).admits(letter)


async def test_more_letters_than_can_be_held_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchstone.streams.topics.dlq.LETTERS_MAX", 1)
    with pytest.raises(ConfigError, match="more than 1 records"):
        await box(letter_record(0), letter_record(1))
