"""A batch that unpacks to too much, as the intake meets it: few records that stand for all of its offsets."""

from tests.streams.fakes import FakeRecord, GatedPublisher, make_intake, safe_record
from touchstone.streams.wire.codec import LEDGER_TYPE
from touchstone.streams.wire.headers import OVERSIZE, OVERSIZE_REST

TP = ("generations", 0)


async def test_all_offsets_of_the_batch_are_dead_and_one_letter_has_its_bytes() -> None:
    publisher = GatedPublisher()
    intake, metrics = make_intake(publisher)
    bomb = FakeRecord(1, b"packed", headers=[(OVERSIZE, b"1-80")])
    rest = [FakeRecord(40, None, headers=[(OVERSIZE_REST, b"2")]), FakeRecord(80, None, headers=[(OVERSIZE_REST, b"41")])]
    intake.start(TP, [safe_record(0), bomb, *rest, safe_record(81)])
    assert await intake.drain(2)
    assert await intake.settle() == {TP: 82}
    (letter,) = [message for topic, _, message in publisher.acknowledged if topic == "dead"]
    assert (letter.value, dict(letter.headers)["touchstone.batch_offsets"]) == (b"packed", b"1-80")
    (ledger,) = publisher.values("results", LEDGER_TYPE)
    assert ledger["entries"] == [{"outcome": "dead", "reason": "batch_too_large", "ranges": [[1, 80]]}]
    totals = metrics.totals()
    assert (totals["consumed"], totals["scored"], totals["in_flight"]) == (82, 2, 0)


async def test_a_flood_of_such_offsets_is_a_flood_of_dead_letters() -> None:
    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, dead_limit_records=50, dead_window_records=100)
    bomb = FakeRecord(0, b"packed", headers=[(OVERSIZE, b"0-79")])
    intake.start(TP, [bomb, FakeRecord(79, None, headers=[(OVERSIZE_REST, b"1")])])
    await intake.drain(0.2)
    assert intake.flood
    assert not publisher.asked
