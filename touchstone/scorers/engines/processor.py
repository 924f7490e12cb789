"""What this machine's processor computes well, as far as its system reports it."""

from __future__ import annotations

import platform
from functools import cache
from importlib.util import find_spec
from pathlib import Path

#: Features, as Linux names them, that compute bfloat16.
BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})
#: Features that add products of bytes in 32 bits.
INT8_FLAGS = frozenset({"avx512_vnni", "avx_vnni"})


@cache
def processor_flags() -> frozenset[str]:
    """The processor's features, as Linux names them; empty on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line for line in lines if line.startswith(("flags", "Features"))), "").split())


def is_arm() -> bool:
    """True on an ARM processor."""
    return platform.machine() in {"arm64", "aarch64"}


def adds_bytes_in_32_bits() -> bool:
    """True if the quickest kernels for int8 are exact here: on ARM, and on x86 with VNNI.

    An x86 processor without VNNI adds two products of bytes in 16 bits, which saturate: 2 · 255 · 127 is more than 32,767.
    False also where the system does not report the features.
    """
    return is_arm() or not INT8_FLAGS.isdisjoint(processor_flags())


@cache
def computes_bfloat16() -> bool:
    """True if the processor computes bfloat16: AVX512_BF16 or AMX. Where Linux does not report its features, torch is asked."""
    if flags := processor_flags():
        return not BFLOAT16_FLAGS.isdisjoint(flags)
    if is_arm() or find_spec("torch") is None:
        return False
    import torch

    able = torch.cpu.get_capabilities()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16") or able.get("amx_tile"))
