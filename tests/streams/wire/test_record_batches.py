import gzip
import inspect
import random
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import codec as library
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException, UnsupportedCodecError
from aiokafka.record import MemoryRecords
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from tests.streams.fakes import FakeRecord
from touchstone.schemas.settings.house import KafkaSettings
from touchstone.streams.wire import unpacking
from touchstone.streams.wire.codec import Codec, Reject
from touchstone.streams.wire.dead_letter import dead_letter, own_headers
from touchstone.streams.wire.headers import DAMAGED, OVERSIZE, OVERSIZE_REST, fault_of, writable_name
from touchstone.streams.wire.record_batches import DAMAGED_OFFSETS_MAX, STAND_INS_MAX, UNPACKED_BYTES_MAX, Batches, read_batch, read_leniently
from touchstone.streams.wire.unpacking import HEAD_BYTES, RATIO_FREE_BYTES, Limits

HEADERS = [("a", b"1"), ("bad_name", b"\x00\xff"), ("a", None), ("ä", b"")]
CODECS = range(5)


def build(values: Sequence[bytes | None], codec: int = 0, headers: Sequence[tuple[str, Any]] = ()) -> bytes:
    """A batch of the records, one millisecond apart, at the offset 0."""
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 2**30)
    for number, value in enumerate(values):
        assert builder.append(number, 1_000 + number, b"k%d" % number, value, list(headers)) is not None
    return bytes(builder.build())


def spoilt(raw: bytes) -> bytes:
    return raw.replace(b"bad_name", b"\xff\xfed_name")


def parts(records: Any) -> list[tuple[Any, ...]]:
    return [(one.offset, one.timestamp, one.timestamp_type, one.key, one.value, list(one.headers)) for one in records]


def every(batches: Any) -> list[Any]:
    found: list[Any] = []
    while batches.has_next():
        found.extend(batches.next_batch())
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_a_sound_batch_is_read_as_the_library_reads_it(codec: int) -> None:
    raw = build([b"x" * 300, None, b""], codec, HEADERS)
    assert parts(MemoryRecords(raw).next_batch()) == parts(every(Batches(raw)))
    assert codec or parts(read_batch(raw)) == parts(MemoryRecords(raw).next_batch())


def test_a_bad_header_name_keeps_its_bytes_and_its_neighbours() -> None:
    raw = build([b"one", b"two"], headers=HEADERS)
    with pytest.raises(UnicodeDecodeError):
        list(MemoryRecords(spoilt(raw)).next_batch())
    sound, spoilt_ones = every(Batches(raw)), every(Batches(spoilt(raw) + build([b"three"])))
    assert [one.value for one in spoilt_ones] == [b"one", b"two", b"three"]
    names = [name.encode("utf-8", "surrogateescape") for name, _ in spoilt_ones[0].headers]
    assert names == [b"a", b"\xff\xfed_name", b"a", "ä".encode()]
    assert [content for _, content in spoilt_ones[0].headers] == [content for _, content in sound[0].headers]


@pytest.mark.parametrize("codec", CODECS[1:])
def test_what_cannot_be_decompressed_is_one_stand_in_for_each_offset(codec: int) -> None:
    raw = build([b"one", b"two", b"three"], codec)
    broken = raw[:61] + b"\xaa" * (len(raw) - 61)
    found = every(Batches(broken))
    assert [(one.offset, one.value, one.headers) for one in found] == [(0, broken, [(DAMAGED, b"")]), (1, None, [(DAMAGED, b"")]), (2, None, [(DAMAGED, b"")])]


def test_a_record_that_is_wrong_inside_costs_no_other() -> None:
    raw = bytearray(build([b"one", b"two", b"three"]))
    at = raw.index(b"two") - 1
    raw[at] = 99 << 1 & 0x7F  # its value ends behind the record
    found = every(Batches(bytes(raw)))
    assert [(one.offset, fault_of(one.headers)) for one in found] == [(0, None), (1, ("record_damaged", "", None)), (2, None)]
    assert b"two" in found[1].value


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("wrong", [0, 100])
def test_a_record_whose_offset_is_not_in_its_place_is_not_passed_over(codec: int, wrong: int) -> None:
    raw = bytearray(build([b"one", b"two", b"three"]))
    raw[raw.index(b"k1") - 2] = wrong << 1 & 0x7F
    if codec:
        pack = {1: library.gzip_encode, 2: library.snappy_encode, 3: library.lz4_encode, 4: library.zstd_encode}[codec]
        raw = bytearray(bytes(raw[:61]) + pack(bytes(raw[61:])))
        struct.pack_into(">i", raw, 8, len(raw) - 12)
        raw[22] |= codec
    found = every(Batches(bytes(raw)))
    assert [(one.offset, (fault_of(one.headers) or ("",))[0]) for one in found] == [(0, ""), (1, "record_damaged"), (2, "")]


@given(data=st.data())
def test_whatever_the_bytes_every_offset_is_given_once_and_in_order(data: st.DataObject) -> None:
    codec = data.draw(st.sampled_from(CODECS))
    raw = bytearray(build([b"one", b"", b"three" * 20, None], codec, HEADERS))
    for at in data.draw(st.lists(st.integers(61, len(raw) - 1), max_size=8)):
        raw[at] = data.draw(st.integers(0, 255))
    offsets = [one.offset for one in every(Batches(bytes(raw)))]
    assert offsets == [0, 1, 2, 3] or (offsets == sorted(set(offsets)) and set(offsets) <= {0, 1, 2, 3} and offsets[-1:] == [3])


@pytest.mark.parametrize("delta", [-2, DAMAGED_OFFSETS_MAX])
def test_a_damaged_batch_whose_numbers_are_absurd_is_refused(delta: int) -> None:
    raw = bytearray(build([b"one"], 4))
    raw[61:] = b"\xaa" * (len(raw) - 61)
    struct.pack_into(">i", raw, 23, delta)
    with pytest.raises(CorruptRecordException):
        every(Batches(bytes(raw)))


def test_the_log_append_time_counts_for_every_record() -> None:
    raw = bytearray(spoilt(build([b"one", b"two"], headers=HEADERS)))
    struct.pack_into(">h", raw, 21, 0x08)
    struct.pack_into(">q", raw, 35, 77)
    assert [(one.timestamp, one.timestamp_type) for one in read_batch(bytes(raw))] == [(77, 1), (77, 1)]


def test_a_fetch_that_grows_when_unpacked_is_taken_up_in_parts() -> None:
    large = build([b"x" * 1_000_000], 4)
    batches = Batches(large * 50)
    taken = every(batches)
    assert UNPACKED_BYTES_MAX // 1_000_000 <= len(taken) <= UNPACKED_BYTES_MAX // 1_000_000 + 1
    assert len(every(Batches(build([b"x" * 1_000_000]) * 50))) == 50


def test_a_dead_letter_tells_a_bad_name_in_digits_and_gives_all_others_back() -> None:
    own = [("fine", b"1"), ("\udcff", b"2"), ("touchstone.unreadable.ff", b"3"), ("touchstone.original.x", b"4"), (DAMAGED, b"")]
    message = dead_letter(FakeRecord(0, b"v", headers=own), suite="s", version="1", code="c", where="")
    assert list(message.headers)[:4] == [
        ("fine", b"1"),
        ("touchstone.unreadable.ff", b"2"),
        ("touchstone.original.touchstone.unreadable.ff", b"3"),
        ("touchstone.original.touchstone.original.x", b"4"),
    ]
    back = [("fine", b"1"), ("touchstone.unreadable.ff", b"2"), ("touchstone.unreadable.ff", b"3"), ("touchstone.original.x", b"4")]
    assert own_headers(message.headers) == back


@given(st.sampled_from([b"", b"touchstone.unreadable.", b"touchstone.original.", b"touchstone.suite"]), st.binary(max_size=20))
def test_every_name_on_the_wire_can_be_written(begin: bytes, raw: bytes) -> None:
    name = (begin + raw).decode("utf-8", "surrogateescape")
    letter = dead_letter(FakeRecord(0, b"v", headers=[(name, b"1")]), suite="s", version="1", code="c", where="")
    back = own_headers(letter.headers)
    for written, _ in (*letter.headers, *back):
        written.encode()
    assert back == [(writable_name(name), b"1")]


@pytest.mark.parametrize(("name", "code"), [("\udcff", "header_name_not_utf8"), (DAMAGED, "record_damaged")])
def test_the_codec_says_what_is_wrong_before_it_reads_the_value(name: str, code: str) -> None:
    step = Codec({}).read(FakeRecord(0, b"", headers=[("é", b""), (name, b"")]))
    assert isinstance(step, Reject)
    assert step.code == code


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_codec_that_is_not_installed_makes_no_record_damaged(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = build([b"one", b"two"], number)
    monkeypatch.setattr(library, "cramjam", None)
    with pytest.raises(UnsupportedCodecError):
        every(Batches(raw))


@pytest.mark.parametrize("number", [5, 6, 7])
def test_a_codec_of_a_later_kafka_makes_no_record_damaged(number: int) -> None:
    raw = bytearray(build([b"one", b"two"]))
    raw[22] = number
    with pytest.raises(UnsupportedCodecError):
        every(Batches(bytes(raw)))


def test_too_little_memory_makes_no_record_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack(*_: Any) -> bytes:
        raise MemoryError

    raw = build([b"one", b"two"], 1)
    monkeypatch.setitem(unpacking._CODECS, 1, (lambda: True, unpack))
    with pytest.raises(MemoryError):
        every(Batches(raw))


TINY = Limits(bytes_max=RATIO_FREE_BYTES * 2, ratio_max=20)


def bomb(records: int, size: int, codec: int) -> bytes:
    """Records of blanks, unpacking to `records` × `size` bytes."""
    return build([b" " * size] * records, codec)


@pytest.mark.parametrize("codec", CODECS[1:])
@pytest.mark.parametrize("records", [1, 5])
def test_a_batch_that_unpacks_to_too_much_is_one_letter_for_all_its_offsets(codec: int, records: int) -> None:
    raw = bomb(records, (RATIO_FREE_BYTES * 2 + 9) // records, codec)
    found = every(Batches(raw, TINY))
    assert [one.offset for one in found] == list(range(records))
    assert (found[0].value, found[0].headers) == (raw, [(OVERSIZE, b"0-%d" % (records - 1))])
    assert [(one.value, one.headers) for one in found[1:]] == [(None, [(OVERSIZE_REST, b"%d" % at)]) for at in range(1, records)]
    neighbours = every(Batches(build([b"before"], codec) + raw, TINY))
    assert (neighbours[0].value, neighbours[1].value) == (b"before", raw)


@pytest.mark.parametrize("codec", [1, 4])
def test_the_ratio_counts_from_eight_mebibytes_on(codec: int) -> None:
    under, over = bomb(1, RATIO_FREE_BYTES - 100, codec), bomb(1, RATIO_FREE_BYTES + 100, codec)
    assert [fault_of(one.headers) for one in every(Batches(under, TINY))] == [None]
    assert [fault_of(one.headers) for one in every(Batches(over, TINY))] == [("batch_too_large", "offsets 0-0", None)]
    assert [fault_of(one.headers) for one in every(Batches(over, Limits(ratio_max=1_000_000)))] == [None]


@pytest.mark.parametrize("codec", CODECS[1:])
def test_what_is_within_the_bound_is_read_whole_however_large(codec: int) -> None:
    values = [random.Random(number).randbytes(700_000) for number in range(4)]
    assert [one.value for one in every(Batches(build(values, codec)))] == values


def test_a_batch_of_many_small_members_takes_time_by_its_size_alone() -> None:
    raw = bytearray(build([b"one"], 1))
    body = gzip.compress(b"", mtime=0) * 300_000 + gzip.compress(gzip.decompress(raw[HEAD_BYTES:])) + b"\0" * 600
    begun = time.process_time()
    whole = unpacking.unpacked(bytes(raw[:HEAD_BYTES]) + body, 1, Limits())
    assert whole[HEAD_BYTES:] == gzip.decompress(raw[HEAD_BYTES:])
    assert time.process_time() - begun < 8, "30 s where what is behind a member was copied for each"


@pytest.mark.parametrize("codec", [1, 4])
def test_unpacking_too_much_takes_no_more_memory_than_the_bound(codec: int) -> None:
    raw = bomb(1, 250_000_000, codec)
    script = (
        "import resource, sys; from touchstone.streams.wire.record_batches import Batches\n"
        "raw = sys.stdin.buffer.read(); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; batches = Batches(raw)\n"
        "records = list(batches.next_batch()); print(len(records), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    ran = subprocess.run([sys.executable, "-c", script], input=raw, capture_output=True, check=True, timeout=500)
    records, grown_kib = map(int, ran.stdout.split())
    assert records == 1
    assert grown_kib < 160_000


def test_a_batch_of_a_hundred_million_offsets_has_few_stand_ins() -> None:
    raw = bytearray(bomb(1, RATIO_FREE_BYTES * 3, 4))
    struct.pack_into(">i", raw, 23, 100_000_000)
    found = every(Batches(bytes(raw), TINY))
    assert len(found) <= STAND_INS_MAX + 1
    since = [0, *(int(one.headers[0][1]) for one in found[1:])]
    assert since[1:] == [one.offset + 1 for one in found[:-1]]
    assert found[-1].offset == 100_000_000


def test_the_library_cuts_its_answers_with_the_class_that_is_replaced() -> None:
    """A release of aiokafka that renames it would unpack without a bound, and end at bad header names, without a word."""
    assert "MemoryRecords(" in inspect.getsource(fetcher)
    read_leniently(KafkaSettings(batch_bytes_max=2_000_000, batch_ratio_max=11))
    try:
        assert fetcher.MemoryRecords(build([b"one"])).limits == Limits(2_000_000, 11)
    finally:
        read_leniently()
