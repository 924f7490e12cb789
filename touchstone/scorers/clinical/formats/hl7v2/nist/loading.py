"""Loads profiles from their folders, and chooses the one for a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.formats.hl7v2.nist.model import Profile, RuleBook
from touchstone.scorers.clinical.formats.hl7v2.nist.reader import StructureReader, said
from touchstone.scorers.clinical.formats.hl7v2.nist.xml_files import PROFILE, files_of, local, parts_of

#: Profiles that one configuration may load.
PROFILES_MAX = 64
TITLE_MAX = 120


def load_profiles(paths: Iterable[Path]) -> tuple[Profile, ...]:
    """The profiles of files and folders. Raises `ConfigError` for one that cannot be read, with what to do."""
    files = list(dict.fromkeys(file.resolve() for path in paths for file in files_of(path)))
    if len(files) > PROFILES_MAX:
        raise ConfigError(f"{len(files)} profiles are named, and {PROFILES_MAX} is the most; name fewer folders")
    return tuple(_load(file, _state(file)) for file in files)


def _state(file: Path) -> tuple[tuple[str, int, int], ...]:
    """What changes if a file of the profile does."""
    try:
        beside = sorted(entry for entry in file.parent.iterdir() if entry.suffix.lower() == ".xml")
        return tuple((entry.name, status.st_size, status.st_mtime_ns) for entry in beside if (status := entry.stat()))
    except OSError as error:
        raise ConfigError(f"{file.parent} cannot be read ({error.strerror}); check its permissions") from None


@lru_cache(maxsize=PROFILES_MAX)
def _load(file: Path, state: tuple[tuple[str, int, int], ...]) -> Profile:
    """One profile with the files beside it. `state`: so that a changed file is read again."""
    parts = parts_of(file)
    assert state
    path, root = parts[PROFILE][0]
    if local(root) != PROFILE:
        raise ConfigError(f"{file} is no conformance profile (its root is {local(root)[:60]}, not {PROFILE}); name PROFILE.xml or its folder")
    unknown: Counter[str] = Counter()
    structure = StructureReader(path, root, unknown)
    metadata = [child for _, one in (pair for pairs in parts.values() for pair in pairs) for child in one if local(child) == "MetaData"]
    name = next((said(one.get("Name")) for one in metadata if said(one.get("Name"))), "") or structure.messages[0].name or file.parent.name
    version = next((said(one.get("Version")) for one in metadata if said(one.get("Version"))), "")
    title = (name if not version or version in name else f"{name} {version}")[:TITLE_MAX]
    return Profile(title, file.parent.name, structure.messages, structure.segments, structure.datatypes, RuleBook(), unknown)
