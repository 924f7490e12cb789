import hashlib
import io
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from touchstone.scorers.engines.split_zip import JoinedParts, Pin, Unreadable, find_parts, unpack

WEIGHTS = random.Random(1).randbytes(3_000_000)
FILES = {"model.safetensors": WEIGHTS, "sub/config.json": b"{}", "evil.py": b"raise SystemExit"}


def pin(content: bytes) -> Pin:
    return Pin(len(content), hashlib.sha256(content).hexdigest())


PINS = {name: pin(FILES[name]) for name in ("model.safetensors", "sub/config.json")}


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(f"encoder/{name}", content)
    return made.getvalue()


def cut(content: bytes, folder: Path, count: int = 3) -> list[Path]:
    """The content in parts of about the same size, the last one shorter."""
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(content) // count)
    parts = [folder / f"encoder.zip.{number:03d}" for number in range(1, count + 1)]
    for index, part in enumerate(parts):
        part.write_bytes(content[index * size : (index + 1) * size])
    return parts


def install(folder: Path, content: bytes, count: int = 3) -> list[str]:
    """Packages that hold the parts, as their wheels are laid out: folders whose names cannot be imported."""
    names = []
    for number, part in enumerate(cut(content, folder / "cut", count), start=1):
        name = f"encoder-part-{number:03d}"
        place = folder / f"encoder-part_{number:03d}" / "input" / part.name
        place.parent.mkdir(parents=True)
        place.write_bytes(part.read_bytes())
        (place.parents[1] / "__init__.py").write_text("raise SystemExit('imported')")
        info = folder / f"{name.replace('-', '_')}-0.0.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n")
        (info / "RECORD").write_text("".join(f"{path.relative_to(folder)},,\n" for path in (place.parents[1] / "__init__.py", place)))
        names.append(name)
    return names


def test_joined_parts_read_as_the_whole_at_any_place(tmp_path: Path) -> None:
    content = random.Random(2).randbytes(10_001)
    with io.BufferedReader(JoinedParts(cut(content, tmp_path, 4)), 512) as whole:
        assert whole.read() == content
        for place in (0, 2_500, 2_501, 9_999, 10_001, 20_000):
            whole.seek(place)
            assert whole.read(3_000) == content[place : place + 3_000]
        whole.seek(-5, io.SEEK_END)
        assert whole.read() == content[-5:]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_pinned_files_are_written_and_no_other(tmp_path: Path, method: int) -> None:
    unpack(cut(zipped(FILES, method), tmp_path / "parts"), "encoder", PINS, tmp_path / "out")
    written = {str(path.relative_to(tmp_path / "out")): path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert written == {name: FILES[name] for name in PINS}


def test_another_content_of_the_same_size_is_refused(tmp_path: Path) -> None:
    changed = FILES | {"model.safetensors": WEIGHTS[:-1] + bytes([WEIGHTS[-1] ^ 1])}
    with pytest.raises(Unreadable, match=r"encoder/model\.safetensors is not the published file"):
        unpack(cut(zipped(changed), tmp_path), "encoder", PINS, tmp_path / "out")


def test_a_file_that_unpacks_to_more_than_was_published_is_stopped_there(tmp_path: Path) -> None:
    bomb = FILES | {"model.safetensors": bytes(20_000_000)}
    with pytest.raises(Unreadable, match="larger than the published file"):
        unpack(cut(zipped(bomb), tmp_path), "encoder", PINS, tmp_path / "out")
    assert (tmp_path / "out" / "model.safetensors").stat().st_size <= len(WEIGHTS)


def test_a_file_that_is_not_in_the_zip_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"encoder/sub/config\.json is not in the zip"):
        unpack(cut(zipped({"model.safetensors": WEIGHTS}), tmp_path), "encoder", PINS, tmp_path / "out")


@pytest.mark.parametrize("spoilt", ["short", "noise", "middle"])
def test_parts_that_are_no_whole_zip_are_one_error(tmp_path: Path, spoilt: str) -> None:
    content = bytearray(zipped(FILES))
    if spoilt == "short":
        del content[-30_000:]
    elif spoilt == "noise":
        content[:] = random.Random(3).randbytes(len(content))
    else:
        content[1_000_000:1_001_000] = bytes(1_000)
    with pytest.raises(Unreadable):
        unpack(cut(bytes(content), tmp_path), "encoder", PINS, tmp_path / "out")


def test_parts_are_found_by_the_packages_file_lists_without_importing_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = install(tmp_path, zipped(FILES))
    monkeypatch.syspath_prepend(str(tmp_path))
    parts = find_parts(names, "encoder.zip.{}")
    assert parts is not None
    assert [part.name for part in parts] == ["encoder.zip.001", "encoder.zip.002", "encoder.zip.003"]
    unpack(parts, "encoder", PINS, tmp_path / "out")
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == WEIGHTS


def test_a_package_that_is_missing_leaves_no_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = install(tmp_path, zipped(FILES))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_parts([*names, "encoder-part-004"], "encoder.zip.{}") is None
    next((tmp_path / "encoder-part_002").rglob("*.002")).unlink()
    assert find_parts(names, "encoder.zip.{}") is None


def test_a_part_that_cannot_be_opened_is_named_and_no_fault_of_the_cache(tmp_path: Path) -> None:
    parts = cut(zipped(FILES), tmp_path)
    parts[1].unlink()
    with pytest.raises(Unreadable, match=f"{parts[1].name} cannot be read"):
        unpack(parts, "encoder", PINS, tmp_path / "out")
