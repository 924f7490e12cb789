from pathlib import Path

import pytest

from touchstone.scorers.engines import processor
from touchstone.scorers.engines.processor import adds_bytes_in_32_bits, computes_bfloat16, processor_flags


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> None:
    computes_bfloat16.cache_clear()
    monkeypatch.setattr(processor.platform, "machine", lambda: "x86_64")


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize(
    ("flags", "int8", "bfloat16"),
    [
        ({"avx2"}, False, False),
        ({"avx512f", "avx512_vnni"}, True, False),
        ({"avx2", "avx_vnni"}, True, False),
        ({"avx512_vnni", "avx512_bf16"}, True, True),
        ({"avx512_vnni", "amx_bf16"}, True, True),
    ],
)
def test_the_flags_of_linux_decide(monkeypatch: pytest.MonkeyPatch, flags: set[str], int8: bool, bfloat16: bool) -> None:
    monkeypatch.setattr(processor, "processor_flags", lambda: frozenset(flags))
    assert (adds_bytes_in_32_bits(), computes_bfloat16()) == (int8, bfloat16)


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize(("capable", "expected"), [({"avx512_bf16": True}, True), ({"avx512_f": True}, False)])
def test_without_flags_bytes_are_doubted_and_torch_is_asked_about_bfloat16(monkeypatch: pytest.MonkeyPatch, capable: dict[str, bool], expected: bool) -> None:
    monkeypatch.setattr(processor, "processor_flags", frozenset)
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: capable)
    assert (adds_bytes_in_32_bits(), computes_bfloat16()) == (False, expected)


@pytest.mark.usefixtures("reports")
def test_arm_adds_bytes_in_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(processor, "processor_flags", frozenset)
    assert adds_bytes_in_32_bits()


@pytest.mark.parametrize(("text", "expected"), [("processor : 0\nflags\t\t: fpu avx2\nflags\t\t: fpu\n", {"flags", ":", "fpu", "avx2"}), (None, set())])
def test_flags_are_read_where_there_are_any(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, expected: set[str]) -> None:
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(processor, "Path", lambda _: tmp_path / "cpuinfo")
    assert processor_flags.__wrapped__() == expected
