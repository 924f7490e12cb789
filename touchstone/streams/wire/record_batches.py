"""Record batches, read so that one record which aiokafka cannot decode hurts only itself.

aiokafka decodes header names as strict UTF-8 inside its record reader, and Kafka takes any bytes. It raises where
`getmany` collects what was fetched: what that call had already collected from *other* partitions is gone, their positions
have moved on, and the next call raises again. So no layer above can fix it without loss: not a wrapper around
`getmany`, and not Faust, which calls aiokafka's fetcher past it. It is fixed where the bytes are: `read_leniently` puts
`Batches` in the place of the class that aiokafka's fetcher cuts its answers with. That is one private name; if it has
gone, everything is as it was before, and a worker ends with an error at such a record.

A compressed batch is unpacked here, within a bound (`touchstone.streams.wire.unpacking`), before aiokafka reads its records.
One that unpacks to more becomes at most `STAND_INS_MAX` records: the first carries the batch byte for byte, and each of the
others stands for a range of its offsets.

Whatever aiokafka can read, aiokafka reads. A batch at which it fails is read again here, from the protocol's description
(record batch, magic 2). Names keep their bytes as surrogates (`touchstone.streams.wire.headers`); what cannot be decoded at all becomes a
record with one header `DAMAGED` for each of its offsets, the first of which carries the bytes. A batch whose checksum is
wrong is none of that: the bytes are not the producer's, so it is not accounted for but asked for again. Nor is one whose
compression this process does not know, or has no memory for: that is this process's fault, and it ends with an error.
"""

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException, UnsupportedCodecError
from aiokafka.record.default_records import DefaultRecordBatch

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.streams.wire.headers import DAMAGED, OVERSIZE, OVERSIZE_REST
from touchstone.streams.wire.unpacking import RATIO_FREE_BYTES, Limits, Oversize, unpacked

#: base offset, length, leader epoch, magic, CRC, attributes, last offset delta, first and greatest timestamp, producer id and epoch, sequence, count
_HEAD = struct.Struct(">qiibIhiqqqhii")
_LENGTH = struct.Struct(">i")
#: Bytes before those that a batch's length counts: base offset and the length itself.
_OVERHEAD = 12
_MAGIC_AT = 16
_LOG_APPEND_TIME = 0x08
_VARINT_BITS_MAX = 63
#: Values of one fetch and partition that are unpacked before the rest is fetched anew; one batch is always unpacked whole.
UNPACKED_BYTES_MAX = RATIO_FREE_BYTES
#: What a consumer raises at a batch that the broker gives with a wrong checksum, or that not even this module can account for.
UNREADABLE = (CorruptRecordException, UnsupportedCodecError, ValueError)
#: A damaged batch that claims more offsets than this is not accounted for one by one: its own numbers cannot be trusted.
DAMAGED_OFFSETS_MAX = 100_000
#: Records that take the place of a batch which unpacks to too much: a small batch may have a hundred million offsets.
STAND_INS_MAX = 1_000


@dataclass(slots=True)
class ReadRecord:
    """One record as aiokafka's fetcher wants it. `timestamp`: milliseconds since the epoch."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, Any]]
    checksum: None = None


class Batches:
    """What one fetch brought of one partition, batch by batch; in the place of aiokafka's `MemoryRecords`.

    A fetch is bounded by its compressed bytes, and a consumer takes up all that it holds: where its batches have grown to
    `UNPACKED_BYTES_MAX`, the rest of them is left for the next fetch.
    """

    __slots__ = ("_at", "_bytes", "_library", "limits", "unpacked")

    def __init__(self, fetched: bytes, limits: Limits = Limits()) -> None:  # noqa: B008 -- immutable
        self.limits = limits
        self._library = _LibraryBatches(fetched)
        self._bytes = fetched
        self._at = 0
        self.unpacked = 0

    def size_in_bytes(self) -> int:
        """Bytes fetched."""
        size: int = self._library.size_in_bytes()
        return size

    def has_next(self) -> bool:
        """Whether a whole batch is left, and room for it."""
        more: bool = self.unpacked < UNPACKED_BYTES_MAX and self._library.has_next()
        return more

    def part(self, begin: int, end: int) -> bytes:
        """Some of the bytes fetched."""
        return bytes(self._bytes[begin:end])

    def next_batch(self) -> Any:
        """The next batch; None if there is none."""
        batch = self._library.next_batch()
        if batch is None:
            return None
        begin = self._at
        self._at += _OVERHEAD + _LENGTH.unpack_from(self._bytes, begin + 8)[0]
        # Older formats have no headers, and brokers convert them no more.
        return _Batch(batch, self, begin, self._at) if self._bytes[begin + _MAGIC_AT] == 2 else batch


class _Batch:
    """A batch of aiokafka's, and where its bytes lie, for when aiokafka fails."""

    __slots__ = ("_batch", "_begin", "_end", "_of")

    def __init__(self, batch: Any, of: Batches, begin: int, end: int) -> None:
        self._batch = batch
        self._of = of
        self._begin = begin
        self._end = end

    def __getattr__(self, name: str) -> Any:
        """All that the fetcher asks of a batch besides its records."""
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        """The one record of a control batch."""
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        """The records."""
        return self._records(self._batch, None) if self._batch.compression_type == 0 else self._unpacked()

    def _unpacked(self) -> Iterator[Any]:
        """The records of a compressed batch."""
        raw, limits = self._of.part(self._begin, self._end), self._of.limits
        try:
            whole = unpacked(raw, self._batch.compression_type, limits)
        except Oversize:
            self._of.unpacked += limits.room(len(raw))  # no more of this fetch: unpacking takes time, and heartbeats wait meanwhile
            return _oversize(raw)
        except (MemoryError, UnsupportedCodecError):
            raise
        except Exception:  # noqa: BLE001 -- one for each codec
            return _damaged_batch(raw)
        self._of.unpacked += len(whole)
        return self._records(DefaultRecordBatch(whole), whole)

    def _records(self, batch: Any, whole: Any) -> Iterator[Any]:
        """The records of a batch that is not compressed: the library's, and ours from where it fails. `whole`: its bytes, if they are not those fetched."""
        given, last = batch.base_offset - 1, batch.next_offset
        with contextlib.suppress(Exception):  # one for each way in which lengths may be wrong
            for record in batch:
                if not given < record.offset < last:
                    break  # aiokafka would pass over it without a word
                yield record
                given = record.offset
            else:
                return
        for again in read_batch(self._of.part(self._begin, self._end) if whole is None else bytes(whole)):
            if again.offset > given:
                yield again


_LibraryBatches: Any = getattr(fetcher, "MemoryRecords", None)


def read_leniently(kafka: KafkaSettings | None = None) -> None:
    """Make every consumer of this process read batches with `Batches`, within the settings' limits. Called wherever a client is made."""
    if _LibraryBatches is not None:
        limits = Limits() if kafka is None else Limits(kafka.batch_bytes_max, kafka.batch_ratio_max)
        fetcher.MemoryRecords = partial(Batches, limits=limits)


def read_batch(raw: bytes) -> Iterator[ReadRecord]:
    """The records of one batch that is not compressed, in order. Raises `CorruptRecordException` for a damaged one that claims too many offsets."""
    base, last, count, stamp = _claims(raw)
    expected, body = base, raw[_HEAD.size :]
    at = 0
    for _ in range(count):
        try:
            size, begin = _varint(body, at)
            at = _end(body, begin, size)
        except (ValueError, IndexError):
            yield from _damaged(expected, last, body[at:], stamp)
            return
        try:
            record = _record(body[begin:at], base, stamp)
        except (ValueError, IndexError):
            record = None
        if record is None or not expected <= record.offset <= last:
            (record,) = _damaged(expected, expected, body[begin:at], stamp)
        yield record
        expected = record.offset + 1
    if at != len(body):
        yield from _damaged(expected, last, body[at:], stamp)


def _claims(raw: bytes) -> tuple[int, int, int, tuple[int, int]]:
    """What the head of a batch claims: first and last offset, number of records, timestamp and its type. Raises `CorruptRecordException`."""
    base, _, _, _, _, attributes, last_delta, first_ms, greatest_ms, _, _, _, count = _HEAD.unpack_from(raw)
    if last_delta < 0:
        raise CorruptRecordException(f"the batch at offset {base} ends before it begins")
    return base, base + last_delta, count, (greatest_ms, 1) if attributes & _LOG_APPEND_TIME else (first_ms, 0)


def _damaged_batch(raw: bytes) -> Iterator[ReadRecord]:
    """Stand-ins for a batch whose compressed bytes cannot be unpacked."""
    first, last, _, stamp = _claims(raw)
    return _damaged(first, last, raw, stamp)


def _oversize(raw: bytes) -> Iterator[ReadRecord]:
    """Stand-ins for a batch that unpacks to too much: the first has its bytes; each of the others stands for the offsets since the one before."""
    first, last, _, stamp = _claims(raw)
    yield ReadRecord(first, *stamp, None, raw, [(OVERSIZE, b"%d-%d" % (first, last))])
    step = -(-(last - first) // STAND_INS_MAX)
    for begin in range(first + 1, last + 1, step or 1):
        yield ReadRecord(min(begin + step - 1, last), *stamp, None, None, [(OVERSIZE_REST, b"%d" % begin)])


def _record(body: bytes, base: int, stamp: tuple[int, int]) -> ReadRecord:
    """One record without its length. Raises `ValueError` or `IndexError`."""
    delta_ms, at = _varint(body, 1)  # one byte of attributes, unused
    delta, at = _varint(body, at)
    key, at = _field(body, at)
    value, at = _field(body, at)
    count, at = _varint(body, at)
    headers = []
    for _ in range(count):
        name, at = _field(body, at)
        content, at = _field(body, at)
        if name is None:
            raise ValueError
        headers.append((name.decode("utf-8", "surrogateescape"), content))
    if count < 0 or at != len(body):
        raise ValueError
    at_ms, stamped_by = stamp
    return ReadRecord(base + delta, at_ms if stamped_by else at_ms + delta_ms, stamped_by, key, value, headers)


def _damaged(first: int, last: int, raw: bytes, stamp: tuple[int, int]) -> Iterator[ReadRecord]:
    """Stand-ins for offsets whose records cannot be decoded."""
    if last - first >= DAMAGED_OFFSETS_MAX:
        raise CorruptRecordException(f"a batch claims the offsets {first} to {last} and cannot be decoded")
    for offset in range(first, last + 1):
        yield ReadRecord(offset, *stamp, None, raw if offset == first else None, [(DAMAGED, b"")])


def _field(body: bytes, at: int) -> tuple[bytes | None, int]:
    """Bytes with their length before them; None if the length is negative."""
    size, begin = _varint(body, at)
    if size < 0:
        return None, begin
    end = _end(body, begin, size)
    return body[begin:end], end


def _end(body: bytes, begin: int, size: int) -> int:
    """Where a field ends. Raises `ValueError` if that is not inside the body."""
    if not 0 <= size <= len(body) - begin:
        raise ValueError
    return begin + size


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """A zigzag number of variable length, and the place behind it."""
    number = bits = 0
    while True:
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << bits
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        bits += 7
        if bits > _VARINT_BITS_MAX:
            raise ValueError
