"""Compressed record batches, unpacked within a bound: 33 kB of zstd may hold gigabytes.

aiokafka's codecs return whatever a batch unpacks to. Here the output is written into a buffer of limited size (zstd, lz4), read up to
a limit (gzip), or refused by the size that it declares (snappy), so that memory stays bounded whatever the bytes are.
"""

import mmap
import struct
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cramjam
from aiokafka import codec
from aiokafka.errors import UnsupportedCodecError

#: Bytes of a batch (magic 2) before its records.
HEAD_BYTES = 61
#: A batch that unpacks to no more than this is read whatever its ratio: a thousand equal events compress a thousandfold.
RATIO_FREE_BYTES = 8 * 1024 * 1024
_GZIP = 31  # zlib's number for a gzip member with its header
#: Packed bytes that are unpacked at a time: what is behind a member is copied, and a batch may have a member in every 20 bytes.
_GZIP_STEP_BYTES = 4_096
_XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_LENGTH = struct.Struct(">i")
#: Rust's text for a writer that takes no more. An error with another text makes the batch a damaged one, which is a dead letter, too.
_FULL = "failed to write whole buffer"


class Oversize(Exception):
    """A batch unpacks to more than it may; the message is the limit in bytes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one batch may unpack to: bytes, and times its own size where that is more than `RATIO_FREE_BYTES`."""

    bytes_max: int = 67_108_864
    ratio_max: int = 200

    def room(self, packed: int) -> int:
        """Bytes that `packed` bytes may unpack to."""
        return min(self.bytes_max, max(RATIO_FREE_BYTES, packed * self.ratio_max))


class _Scratch(threading.local):
    """A buffer of each thread, large enough for nearly every batch: pages of fresh memory cost more than unpacking does."""

    def __init__(self) -> None:
        self.buffer = bytearray(1024 * 1024)


_scratch = _Scratch()


def unpacked(raw: bytes, number: int, limits: Limits) -> Any:
    """A compressed batch as an uncompressed one (bytes or a memoryview). `number`: the codec's, from the batch's attributes.

    Raises `Oversize`, `UnsupportedCodecError` if this process cannot unpack it whatever it holds, or what the codec raises at damaged bytes.
    """
    is_there, unpack = _CODECS.get(number, (bool, _gzip))
    if not is_there():
        raise UnsupportedCodecError(f"compression {number} cannot be unpacked here")
    packed = memoryview(raw)[HEAD_BYTES:]
    head = bytearray(raw[:HEAD_BYTES])
    head[22] &= 0xF8  # the codec's number in the attributes: none
    return unpack(packed, head, limits.room(len(packed)))


def _whole(head: bytearray, body: Any) -> bytes:
    """A batch of a head and its records."""
    _set_length(head, len(body))
    return b"".join((head, body))


def _set_length(head: Any, body_bytes: int) -> None:
    """Write a batch's length, which counts from behind the field itself."""
    _LENGTH.pack_into(head, 8, HEAD_BYTES - 12 + body_bytes)


def _gzip(packed: memoryview, head: bytearray, room: int) -> bytes:
    """One or more members, and zeros behind them."""
    parts: list[bytes] = []
    at, end = 0, len(packed)
    while at < end:
        member = zlib.decompressobj(_GZIP)
        while not member.eof:
            if at == end:
                raise EOFError
            step = packed[at : at + _GZIP_STEP_BYTES]
            parts.append(member.decompress(step, room + 1))
            room -= len(parts[-1])
            if room < 0:
                raise Oversize
            at += len(step)
        at -= len(member.unused_data)
        while at < end and not packed[at]:
            at += 1
    return _whole(head, b"".join(parts))


def _snappy(packed: memoryview, head: bytearray, room: int) -> bytes:
    """One block, or blocks with a length before each, as Java writes them. A block declares what it unpacks to."""
    blocks: list[memoryview] = []
    if packed[: len(_XERIAL)] == _XERIAL:
        at = len(_XERIAL)
        while at < len(packed):
            begin = at + _LENGTH.size
            at = begin + _LENGTH.unpack_from(packed, at)[0]
            if not begin <= at <= len(packed):
                raise ValueError
            blocks.append(packed[begin:at])
    else:
        blocks.append(packed)
    if sum(map(cramjam.snappy.decompress_raw_len, blocks)) > room:
        raise Oversize
    return _whole(head, b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in blocks))


def _framed(library: Any) -> Callable[[memoryview, bytearray, int], Any]:
    """How zstd and lz4 unpack: into a buffer, at whose end they stop."""

    def unpack(packed: memoryview, head: bytearray, room: int) -> Any:
        small = _scratch.buffer
        try:
            return _whole(head, memoryview(small)[: library.decompress_into(packed, memoryview(small)[:room])])
        except cramjam.DecompressionError as error:
            if _FULL not in str(error):
                raise
            if room <= len(small):
                raise Oversize from None
        large = mmap.mmap(-1, HEAD_BYTES + room)  # only the pages that are written become memory
        view = memoryview(large)
        try:
            size = library.decompress_into(packed, view[HEAD_BYTES:])
        except cramjam.DecompressionError as error:
            raise (Oversize if _FULL in str(error) else error) from None
        _set_length(head, size)
        view[:HEAD_BYTES] = head
        return view[: HEAD_BYTES + size]

    return unpack


#: By number: whether this process can unpack it, and how.
_CODECS: dict[int, tuple[Callable[[], bool], Callable[[memoryview, bytearray, int], Any]]] = {
    1: (codec.has_gzip, _gzip),
    2: (codec.has_snappy, _snappy),
    3: (codec.has_lz4, _framed(cramjam.lz4)),
    4: (codec.has_zstd, _framed(cramjam.zstd)),
}
