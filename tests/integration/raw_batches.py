"""Batches as no client library writes them: a producer whose bytes are changed on their way to the broker."""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.record.util import calc_crc32c

#: Where the checksum of a batch lies, and the first byte that it is about.
CRC_AT, SUMMED_FROM = 17, 21


@contextmanager
def changed(change: Callable[[bytes], bytes], *, sealed: bool = True) -> Iterator[None]:
    """While this lasts, every batch of this process's producers is sent as `change` makes it; `sealed`: with the checksum that fits."""
    build = BatchBuilder._build

    def build_changed(self: Any) -> Any:
        raw = bytearray(change(bytes(build(self))))
        if sealed:
            struct.pack_into(">I", raw, CRC_AT, calc_crc32c(bytes(raw[SUMMED_FROM:])))
        self._buffer = raw
        return raw

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(BatchBuilder, "_build", build_changed)
        yield


def renamed(name: bytes, other: bytes) -> Callable[[bytes], bytes]:
    """A change of bytes that keeps their number, and with it every length around them."""
    assert len(name) == len(other)
    return lambda raw: raw.replace(name, other)
