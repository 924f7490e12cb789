"""Clinical files on disk: walked in name order, links and hidden files, bounds."""

import io
import os
import sys
import threading
from pathlib import Path

import pytest

from touchstone.ops.batch.clinical_files import DEPTH_MAX, FILE_BYTES_MAX, STANDARD_INPUT, ClinicalFile, TooLargeError, UnreadableError, find_files, read_file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    return tmp_path / "d"


def names(*paths: str) -> list[str]:
    return [file.name for file in find_files([Path(path) for path in paths])]


def told(*paths: str) -> dict[str, str | None]:
    return {file.name: file.passed_over or file.problem for file in find_files([Path(path) for path in paths])}


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
    files = list(find_files([Path("d")]))
    assert [(file.name, file.passed_over) for file in files] == [("d/a.json", None), ("d/b.json", None)]
    assert read_file(files[1]) == b"x"


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
    (file,) = find_files([Path("d/link")])
    assert read_file(file) == b"x"


def test_a_pipe_in_a_directory_is_passed_over(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert told("d") == {"d/pipe": "neither a file nor a directory"}


def test_a_named_pipe_is_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(b"hello",))
    writer.start()
    (file,) = find_files([Path("d/pipe")])
    assert read_file(file) == b"hello"
    writer.join()


def test_a_pipe_that_took_a_files_place_does_not_hold_up_the_run(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert read_file(ClinicalFile(folder / "pipe", named=False)) == b""


def test_a_missing_file_is_a_problem_of_its_own(folder: Path) -> None:
    assert told("absent", "d/x\0y") == {
        "absent": "no such file; check the path",
        "d/x\0y": "cannot be read (no path that this system knows); check the path",
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
    (file,) = find_files([Path("d")])
    assert file.name == "d/caf\\xe9.json"
    assert read_file(file) == b"x"


def test_a_file_beyond_the_bound_is_refused_unread(folder: Path) -> None:
    with (folder / "large").open("wb") as stream:
        stream.write(b"MSH|")
        stream.truncate(1024**3)
    with pytest.raises(TooLargeError, match=f"larger than {FILE_BYTES_MAX // 1024**2} MiB") as refused:
        read_file(ClinicalFile(folder / "large", named=True))
    assert refused.value.head.startswith(b"MSH|")
    assert len(refused.value.head) == 65_536


def test_a_stream_without_a_size_meets_the_same_bound() -> None:
    with pytest.raises(TooLargeError):
        read_file(ClinicalFile(Path("/dev/zero"), named=True), bytes_max=1_000_000)


def test_standard_input_is_read_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"abcdef")))
    assert read_file(ClinicalFile(STANDARD_INPUT, named=True)) == b"abcdef"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"abcdef")))
    with pytest.raises(TooLargeError):
        read_file(ClinicalFile(STANDARD_INPUT, named=True), bytes_max=5)


def test_what_the_system_refuses_is_told_without_a_traceback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.json").touch()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnreadableError, match="cannot be read \\(Permission denied\\); check its permissions"):
        read_file(ClinicalFile(folder / "a.json", named=True))
    monkeypatch.setattr(os, "scandir", refuse)
    assert told("d") == {"d": "cannot be read (Permission denied); check its permissions"}
