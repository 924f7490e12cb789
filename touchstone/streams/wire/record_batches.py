"""Record batches, read so that one record which aiokafka cannot decode hurts only itself.

aiokafka decodes header names as strict UTF-8 inside its record reader, and Kafka takes any bytes. It raises where
`getmany` collects what was fetched: what that call had already collected from *other* partitions is gone, their positions
have moved on, and the next call raises again. So no layer above can fix it without loss: not a wrapper around
`getmany`, and not Faust, which calls aiokafka's fetcher past it. It is fixed where the bytes are: `read_leniently` puts
`Batches` in the place of the class that aiokafka's fetcher cuts its answers with. That is one private name; if it has
gone, everything is as it was before, and a worker ends with an error at such a record.

Whatever aiokafka can read, aiokafka reads. A batch at which it fails is read again here, from the protocol's description
(record batch, magic 2). Names keep their bytes as surrogates (`touchstone.streams.wire.headers`); what cannot be decoded at all becomes a
record with one header `DAMAGED` for each of its offsets, the first of which carries the bytes. A batch whose checksum is
wrong is none of that: the bytes are not the producer's, so it is not accounted for but asked for again. Nor is one whose
compression this process does not know, or has no memory for: that is this process's fault, and it ends with an error.
"""

import contextlib
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from aiokafka import codec
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException, UnsupportedCodecError

from touchstone.streams.wire.headers import DAMAGED

#: base offset, length, leader epoch, magic, CRC, attributes, last offset delta, first and greatest timestamp, producer id and epoch, sequence, count
_HEAD = struct.Struct(">qiibIhiqqqhii")
_LENGTH = struct.Struct(">i")
#: Bytes before those that a batch's length counts: base offset and the length itself.
_OVERHEAD = 12
_MAGIC_AT = 16
#: By number: whether this process can unpack it, and how.
_CODECS: dict[int, tuple[Callable[[], bool], Callable[[bytes], bytes]]] = {
    1: (codec.has_gzip, codec.gzip_decode),
    2: (codec.has_snappy, codec.snappy_decode),
    3: (codec.has_lz4, codec.lz4_decode),
    4: (codec.has_zstd, codec.zstd_decode),
}
_LOG_APPEND_TIME = 0x08
_VARINT_BITS_MAX = 63
#: Values of one fetch and partition that are unpacked before the rest is fetched anew; one batch is always unpacked whole.
UNPACKED_BYTES_MAX = 8 * 1024 * 1024
#: What a consumer raises at a batch that the broker gives with a wrong checksum, or that not even this module can account for.
UNREADABLE = (CorruptRecordException, UnsupportedCodecError, ValueError)
#: A damaged batch that claims more offsets than this is not accounted for one by one: its own numbers cannot be trusted.
DAMAGED_OFFSETS_MAX = 100_000


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

    __slots__ = ("_at", "_bytes", "_library", "unpacked")

    def __init__(self, fetched: bytes) -> None:
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
        given, packed = -1, self._batch.compression_type != 0
        with contextlib.suppress(Exception):  # one for each codec, and each way in which lengths may be wrong
            for record in self._batch:
                if packed:
                    self._of.unpacked += len(record.value or b"")
                yield record
                given = record.offset
            return
        for again in read_batch(self._of.part(self._begin, self._end)):
            if again.offset > given:
                yield again


_LibraryBatches: Any = getattr(fetcher, "MemoryRecords", None)


def read_leniently() -> None:
    """Make every consumer of this process read batches with `Batches`. Called wherever a client is made; once is enough."""
    if _LibraryBatches is not None:
        fetcher.MemoryRecords = Batches


def read_batch(raw: bytes) -> Iterator[ReadRecord]:
    """The records of one batch, in order.

    Raises `CorruptRecordException` for a damaged one that claims too many offsets, `UnsupportedCodecError` for one that this
    process cannot unpack whatever it holds, and `MemoryError`.
    """
    base, _, _, _, _, attributes, last_delta, first_ms, greatest_ms, _, _, _, count = _HEAD.unpack_from(raw)
    stamp = (greatest_ms, 1) if attributes & _LOG_APPEND_TIME else (first_ms, 0)
    expected, last = base, base + last_delta
    if last < base:
        raise CorruptRecordException(f"the batch at offset {base} ends before it begins")
    try:
        body = _unpacked(raw[_HEAD.size :], attributes & 0x07)
    except (MemoryError, UnsupportedCodecError):
        raise
    except Exception:  # noqa: BLE001 -- one for each codec
        yield from _damaged(expected, last, raw, stamp)
        return
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


def _unpacked(packed: bytes, number: int) -> bytes:
    """The records' bytes. Raises `UnsupportedCodecError`, or whatever the codec raises at damaged bytes."""
    if number == 0:
        return packed
    is_there, unpack = _CODECS.get(number, (bool, bytes))
    if not is_there():
        raise UnsupportedCodecError(f"compression {number} cannot be unpacked here")
    return unpack(packed)


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
