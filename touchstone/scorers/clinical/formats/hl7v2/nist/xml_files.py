"""The XML files of a profile: found by their root element, not by their name, and read within bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_extras

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Bounds of one file, of the files of one profile, and of the folders searched.
FILE_BYTES_MAX = 64 * 2**20
ELEMENTS_MAX = 2_000_000
DEPTH_MAX = 120
FILES_MAX = 64
FOLDERS_MAX = 500
#: Characters of an unknown name that are shown.
NAME_CHARS_MAX = 40
PROFILE = "ConformanceProfile"
#: The files that a profile may consist of, by root element.
ROOTS = (PROFILE, "ConformanceContext", "ValueSetLibrary", "ValueSetBindingsContext", "ProfileSlicing", "CoConstraintContext")
MEND = "name the folder that IGAMT or TCAMT exported (PROFILE.xml and the files beside it)"


def local(element: _Element) -> str:
    """An element's name without its namespace."""
    tag: Any = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def read_xml(path: Path) -> _Element:
    """The root of an XML file, without entities or network. Raises `ConfigError` for one that cannot be read or is beyond the bounds."""
    if find_spec("lxml") is None:
        raise ConfigError(f"{path}: profiles need lxml; {install_extras('clinical')}")
    from lxml import etree

    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ConfigError(f"{path} is larger than {FILE_BYTES_MAX // 2**20} MiB and was not read; export the profile without unused value sets")
        data = path.read_bytes()
        # A profile needs no DOCTYPE, so what one could declare is refused unread. A declaration can only stand before the root element.
        if b"<!DOCTYPE" in data[:65_536]:
            raise ConfigError(f"{path} has a DOCTYPE, which profiles do not need; remove it")
        strict: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
        root = etree.fromstring(data, etree.XMLParser(**strict, remove_comments=True, remove_pis=True))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror or 'no file'}); {MEND}") from None
    except etree.XMLSyntaxError as error:
        raise ConfigError(f"{path} is not well-formed XML (line {error.position[0]}); export it again") from None
    if root.getroottree().docinfo.doctype:
        raise ConfigError(f"{path} has a DOCTYPE, which profiles do not need; remove it")
    _check_bounds(root, path)
    return root


def _check_bounds(root: _Element, path: Path) -> None:
    """Refuse a tree that is too large or too deep to walk."""
    level: list[Any] = [root]
    counted = depth = 0
    while level:
        counted, depth = counted + len(level), depth + 1
        if counted > ELEMENTS_MAX or depth > DEPTH_MAX:
            raise ConfigError(f"{path} has more than {ELEMENTS_MAX:,} elements or {DEPTH_MAX} levels of them and was not read; export the profile again")
        level = [child for element in level for child in element]


def files_of(path: Path) -> list[Path]:
    """The profile files of a path: the one that it names, or every folder's below it. Raises `ConfigError` if there is none."""
    path = path.expanduser()
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ConfigError(f"{path} does not exist; {MEND}")
    found = [file for file in _xml_files(path) if root_name(file) == PROFILE]
    if not found:
        raise ConfigError(f"{path} holds no conformance profile (an XML file whose root is {PROFILE}); {MEND}")
    return found


def _xml_files(folder: Path) -> Iterator[Path]:
    """The XML files in a folder and in the folders below it, in name order, within the bounds."""
    folders = [folder]
    for seen, at in enumerate(folders):
        if seen >= FOLDERS_MAX:
            raise ConfigError(f"{folder} holds more than {FOLDERS_MAX} folders; name the profile's own folder")
        try:
            entries = sorted(at.iterdir())
        except OSError as error:
            raise ConfigError(f"{at} cannot be read ({error.strerror}); check its permissions") from None
        folders += [entry for entry in entries if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith(".")]
        yield from (entry for entry in entries if entry.is_file() and entry.suffix.lower() == ".xml")


def root_name(path: Path) -> str:
    """The name of a file's root element; empty if its beginning is no XML."""
    from lxml import etree

    try:
        with path.open("rb") as stream:
            parser = etree.XMLPullParser(events=("start",), resolve_entities=False, no_network=True, load_dtd=False)
            parser.feed(stream.read(65_536))
            return next((local(element) for _, element in parser.read_events()), "")
    except (OSError, etree.XMLSyntaxError):
        return ""


def beside(profile: Path) -> list[Path]:
    """The XML files of a profile's own folder, in name order, the profile among them. Raises `ConfigError` for more than a profile has."""
    found = sorted(entry for entry in profile.parent.iterdir() if entry.is_file() and (entry.suffix.lower() == ".xml" or entry == profile))
    if len(found) > FILES_MAX:
        raise ConfigError(f"{profile.parent} holds more than {FILES_MAX} XML files; keep one profile a folder")
    return found


def parts_of(profile: Path, unknown: Counter[str]) -> dict[str, list[tuple[Path, _Element]]]:
    """The files beside a profile, by root element; others are counted in `unknown`. Raises `ConfigError`, also if two profiles share the folder."""
    parts: dict[str, list[tuple[Path, _Element]]] = {name: [] for name in ROOTS}
    for entry in beside(profile):
        # A file whose beginning is no XML is refused by the reader: its rules would be missing.
        name = PROFILE if entry == profile else root_name(entry) or local(read_xml(entry))
        if name == PROFILE and entry != profile:
            raise ConfigError(f"{profile.parent} holds two profiles ({profile.name}, {entry.name}); put each into a folder with its own files")
        if name in parts:
            parts[name].append((entry, read_xml(entry)))
        else:
            unknown[f"file with the root {name[:NAME_CHARS_MAX]}"] += 1
    return parts
