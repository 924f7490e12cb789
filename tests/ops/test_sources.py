import gzip
import io
import os
import sys
import threading
from pathlib import Path

import pytest
import zstandard

from touchstone.ops.batch.sources import DEPTH_MAX, STANDARD_INPUT, Source, UnreadableError, find_sources, opened
from touchstone.scorers.base import ConfigError, Place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    return tmp_path / "d"


def found(*paths: str, any_file: bool = True, missing_is_error: bool = False) -> list[Source]:
    return list(find_sources([Path(path) for path in paths], any_file=any_file, missing_is_error=missing_is_error))


def names(*paths: str, any_file: bool = True) -> list[str]:
    return [source.file for source in found(*paths, any_file=any_file)]


def told(*paths: str) -> dict[str, str | None]:
    return {source.file: source.passed_over or source.problem for source in found(*paths)}


def read(source: Source, size: int = -1) -> bytes:
    with opened(source) as stream:
        return stream.read(size)


def test_directories_are_walked_in_name_order_each_at_its_place(folder: Path) -> None:
    (folder / "b").mkdir()
    for name in ("c.json", "a.json", "b/z.json", "b/a.json", "B.json"):
        (folder / name).touch()
    assert names("d") == ["d/B.json", "d/a.json", "d/b/a.json", "d/b/z.json", "d/c.json"]


def test_paths_keep_the_order_in_which_they_were_given(folder: Path) -> None:
    for name in ("a.json", "b.json"):
        (folder / name).touch()
    assert names("d/b.json", "d", "-") == ["d/b.json", "d/a.json", "d/b.json", "-"]


def test_hidden_files_and_directories_are_left_out(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "x.json").touch()
    (folder / ".x.json").touch()
    assert names("d") == []


def test_a_hidden_file_that_is_named_is_taken(folder: Path) -> None:
    (folder / ".x.json").touch()
    assert names("d/.x.json") == ["d/.x.json"]


def test_a_link_to_a_file_inside_the_directory_is_followed(folder: Path) -> None:
    (folder / "a.json").write_text("x")
    (folder / "b.json").symlink_to("a.json")
    files = found("d")
    assert [(file.file, file.passed_over) for file in files] == [("d/a.json", None), ("d/b.json", None)]
    assert read(files[1]) == b"x"


def test_links_that_lead_out_are_told_and_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x.json").touch()
    (folder / "file").symlink_to("../out/x.json")
    (folder / "folder").symlink_to("../out")
    reasons = told("d")
    assert list(reasons) == ["d/file", "d/folder"]
    assert all(reason is not None and "leads out of the directory" in reason for reason in reasons.values())


def test_links_in_a_circle_lead_nowhere(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "back").symlink_to("..")
    (folder / "self").symlink_to("self")
    (folder / "gone").symlink_to("absent")
    assert told("d") == {"d/gone": "a link that leads nowhere", "d/self": "a link that leads nowhere"}


def test_a_named_link_in_a_circle_is_told_as_one(folder: Path) -> None:
    (folder / "self").symlink_to("self")
    assert told("d/self") == {"d/self": "a link that leads in a circle; name a file"}


def test_a_name_that_is_too_long_is_not_a_matter_of_permissions(folder: Path) -> None:
    assert told("d/" + "x" * 300) == {"d/" + "x" * 300: "cannot be read (File name too long); check the path"}


def test_a_named_link_is_followed_wherever_it_leads(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("x")
    (folder / "link").symlink_to("../x.json")
    (file,) = found("d/link")
    assert read(file) == b"x"


def test_a_pipe_in_a_directory_is_passed_over(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert told("d") == {"d/pipe": "neither a file nor a directory"}


def test_a_named_pipe_is_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(b"hello",))
    writer.start()
    (file,) = found("d/pipe")
    assert read(file) == b"hello"
    writer.join()


def test_a_pipe_that_took_a_files_place_does_not_hold_up_the_run(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert read(Source(folder / "pipe", named=False)) == b""


def test_a_missing_file_is_a_problem_of_its_own(folder: Path) -> None:
    assert told("absent", "d/x\0y") == {
        "absent": "no such file; check the path",
        "d/x\0y": "cannot be read (not a valid path on this system); check the path",
    }


def test_directories_nested_too_deep_are_told(folder: Path) -> None:
    deep = folder.joinpath(*["x"] * (DEPTH_MAX + 3))
    deep.mkdir(parents=True)
    (deep / "a.json").touch()
    (folder / "z.json").touch()
    reasons = told("d")
    assert list(reasons.values()) == [f"nested more than {DEPTH_MAX} directories deep", None]


def test_a_name_that_is_no_utf8_is_shown_with_escapes(folder: Path) -> None:
    (folder / os.fsdecode(b"caf\xe9.json")).write_text("x")
    (file,) = found("d")
    assert file.file == "d/caf\\xe9.json"
    assert read(file) == b"x"


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"abcdef"))))
    assert read(Source(STANDARD_INPUT)) == b"abcdef"


def test_standard_input_that_is_named_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="named twice"):
        found("-", "-")


def test_a_pattern_stands_for_its_matches_unless_it_is_a_name(folder: Path) -> None:
    for name in ("a1.json", "a2.json", "b.json", "a[1].json"):
        (folder / name).touch()
    assert names("d/a?.json") == ["d/a1.json", "d/a2.json"]
    assert names("d/a[1].json") == ["d/a[1].json"]
    assert told("d/x*.json") == {"d/x*.json": "no file matches this pattern; check it, or name a folder"}


def test_a_folder_holds_case_files_by_their_endings_where_documents_are_not_read(folder: Path) -> None:
    for name in ("a.json", "b.jsonl.gz", "c.ndjson.zst", "LICENSE", "x.gz"):
        (folder / name).touch()
    assert names("d", any_file=False) == ["d/a.json", "d/b.jsonl.gz", "d/c.ndjson.zst"]


def test_a_path_that_is_not_there_ends_a_run_that_asks_for_that(folder: Path) -> None:
    with pytest.raises(ConfigError, match="absent: no such file; check the path"):
        found("absent", missing_is_error=True)
    with pytest.raises(ConfigError, match=r"absen\[t\]\.json: no file matches this pattern"):
        found("absen[t].json", missing_is_error=True)
    with pytest.raises(ConfigError, match="d: holds no batch file"):
        found("d", missing_is_error=True)


def test_the_place_of_a_file_is_its_folder_and_its_name_without_endings(folder: Path) -> None:
    (folder / "C1").mkdir()
    (folder / "C1" / "b1.jsonl.gz").touch()
    (source,) = found("d")
    assert (source.place.folder, source.place.name) == ("C1", "b1")


def test_packed_files_are_unpacked_as_they_are_read_whatever_their_name(folder: Path) -> None:
    import zstandard

    (folder / "a").write_bytes(gzip.compress(b"hello"))
    (folder / "b").write_bytes(zstandard.compress(b"hello") * 2)
    assert [read(source) for source in found("d")] == [b"hello", b"hellohello"]


@pytest.mark.parametrize("damage", ["cut off", "damaged"])
def test_a_packed_file_that_cannot_be_unpacked_says_so(folder: Path, damage: str) -> None:
    import zstandard

    whole = gzip.compress(bytes(range(256)) * 40, mtime=0)
    (folder / "a.gz").write_bytes(whole[:200] if damage == "cut off" else whole[:20] + b"\xff" * 200 + whole[220:])
    (folder / "b.zst").write_bytes(zstandard.compress(os.urandom(1000))[:-10] + b"\xff" * 40)
    first, second = found("d")
    with pytest.raises(UnreadableError, match=f"is compressed and cannot be decompressed \\({damage}\\)"):
        read(first)
    with pytest.raises(UnreadableError, match="is compressed and cannot be decompressed"):
        read(second)


def test_what_the_system_refuses_is_told_without_a_traceback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.json").touch()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UnreadableError, match="cannot be read \\(Permission denied\\); check its permissions"):
        read(Source(folder / "a.json"))
    monkeypatch.setattr(os, "scandir", refuse)
    assert told("d") == {"d": "cannot be read (Permission denied); check its permissions"}


def test_case_files_in_folders_are_known_by_their_endings_in_any_case_and_the_others_are_told(folder: Path) -> None:
    for name in ("a.json", "b.JSONL", "c.txt", "d.Ndjson.GZ"):
        (folder / name).touch()
    left_out: list[Path] = []
    sources = list(find_sources([Path("d")], any_file=False, left_out=left_out))
    assert [(source.file, source.place) for source in sources] == [
        ("d/a.json", Place("d", "a")), ("d/b.JSONL", Place("d", "b")), ("d/d.Ndjson.GZ", Place("d", "d")),
    ]  # fmt: skip
    assert left_out == [Path("d/c.txt")]


@pytest.mark.parametrize("first", [0x50, 0x5F])
def test_a_zstandard_file_may_begin_with_a_frame_that_holds_no_data(folder: Path, first: int) -> None:
    skipped = bytes([first]) + b"\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"meta"
    (folder / "a.json.zst").write_bytes(skipped + zstandard.compress(b"[1]") + skipped + zstandard.compress(b"[2]"))
    assert read(Source(folder / "a.json.zst")) == b"[1][2]"
