"""Loads profiles from their folders, and chooses the one for a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.formats.hl7v2.nist.co_constraints import TableReader
from touchstone.scorers.clinical.formats.hl7v2.nist.expressions import Expression
from touchstone.scorers.clinical.formats.hl7v2.nist.model import Datatype, GroupPlace, Profile, Rules, SegmentFlavor, SegmentPlace
from touchstone.scorers.clinical.formats.hl7v2.nist.reader import StructureReader, said
from touchstone.scorers.clinical.formats.hl7v2.nist.rule_reader import RuleReader
from touchstone.scorers.clinical.formats.hl7v2.nist.slicing import SlicingReader
from touchstone.scorers.clinical.formats.hl7v2.nist.vocabulary import note_unknown
from touchstone.scorers.clinical.formats.hl7v2.nist.xml_files import PROFILE, files_of, local, parts_of

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Where a message declares its profile: MSH-21.
DECLARED_IN = 21
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
        beside = sorted(entry for entry in file.parent.iterdir() if entry.suffix.lower() == ".xml" or entry == file)
        return tuple((entry.name, status.st_size, status.st_mtime_ns) for entry in beside if (status := entry.stat()))
    except OSError as error:
        raise ConfigError(f"{file.parent} cannot be read ({error.strerror}); check its permissions") from None


@lru_cache(maxsize=PROFILES_MAX)
def _load(file: Path, state: tuple[tuple[str, int, int], ...]) -> Profile:
    """One profile with the files beside it. `state`: so that a changed file is read again."""
    unknown: Counter[str] = Counter()
    parts = parts_of(file, unknown)
    assert state
    path, root = parts[PROFILE][0]
    if local(root) != PROFILE:
        raise ConfigError(f"{file} is no conformance profile (its root is {local(root)[:60]}, not {PROFILE}); name PROFILE.xml or its folder")
    structure = StructureReader(path, root, unknown)
    metadata = [child for _, one in (pair for pairs in parts.values() for pair in pairs) for child in one if local(child) == "MetaData"]
    name = next((said(one.get("Name")) for one in metadata if said(one.get("Name"))), "") or structure.messages[0].name or file.parent.name
    version = next((said(one.get("Version")) for one in metadata if said(one.get("Version"))), "")
    title = (name if not version or version in name else f"{name} {version}")[:TITLE_MAX]
    profile = Profile(title, file.parent.name, structure.messages, structure.segments, structure.datatypes, unknown=unknown)
    _add_rules(profile, parts, structure)
    note_unknown((one for pairs in parts.values() for _, one in pairs), unknown)
    return profile


def _add_rules(profile: Profile, parts: dict[str, list[tuple[Path, _Element]]], structure: StructureReader) -> None:
    """Add what the files beside a profile say."""
    reader = RuleReader(profile.rules, profile.unknown)
    for _, root in parts["ConformanceContext"]:
        reader.constraints(root)
    for _, root in parts["ValueSetBindingsContext"]:
        reader.bindings(root)
    for _, root in parts["ValueSetLibrary"]:
        profile.library.read(root, profile.unknown)
    for _, root in parts["CoConstraintContext"]:
        profile.tables += TableReader(profile, reader).read(root)
    for _, root in parts["ProfileSlicing"]:
        SlicingReader(profile).read(root)
    for kind, own, binding in structure.bindings:
        profile.rules.at(kind, own).bindings.append(binding)
    for one in profile.messages:  # a message's rules may be written as those of a group with its id
        for kind in ("Group", "Message"):
            rules = profile.rules.by_id.get((kind, one.id))
            if rules is not None and kind == "Group":
                whole = profile.rules.at("Message", one.id)
                whole.statements += rules.statements
                whole.predicates += rules.predicates
                whole.bindings += rules.bindings
    profile.identifiers = frozenset(declared_names(profile))
    profile.without_predicate = without_predicate(profile)


def _assertions(rules: Rules | None) -> Iterator[Expression]:
    for statement in rules.statements if rules is not None else ():
        yield from statement.assertion.walk()


def declared_names(profile: Profile) -> Iterator[str]:
    """What the profile's own rules demand in MSH-21.1 and MSH-21.3."""
    for flavor in profile.segments.values():
        if flavor.name != "MSH":
            continue
        for test in _assertions(profile.rules.of("Segment", flavor.id, flavor.name)):
            steps = [position for position, _ in test.path]
            if steps in ([DECLARED_IN, 1], [DECLARED_IN, 3]) and test.kind in {"PlainText", "StringList"}:
                yield from [test.text] if test.kind == "PlainText" else test.values
        for element in flavor.fields[DECLARED_IN - 1 : DECLARED_IN]:
            components = profile.datatypes[element.datatype].components
            yield from (one.constant for one in components if one.position in {1, 3} and one.constant)


def without_predicate(profile: Profile) -> int:
    """How many elements of usage C no predicate is about, neither of their own parent nor of one further out."""
    aimed: set[tuple[str, int]] = set()
    places: dict[tuple[str, str], list[object]] = {}
    for flavor in profile.segments.values():
        places.setdefault(("Segment", flavor.id), []).append(flavor)
        places.setdefault(("Segment", flavor.name), []).append(flavor)
    for datatype in profile.datatypes.values():
        places.setdefault(("Datatype", datatype.id), []).append(datatype)
        places.setdefault(("Datatype", datatype.name), []).append(datatype)
    groups: list[GroupPlace] = [one.root for one in profile.messages]
    for group in groups:
        places.setdefault(("Group", group.id), []).append(group)
        places.setdefault(("Group", group.name), []).append(group)
        places.setdefault(("Message", group.id), []).append(group)
        groups += [child for child in group.children if isinstance(child, GroupPlace)]
    for (kind, key), rules in (*profile.rules.by_id.items(), *profile.rules.by_name.items()):
        for predicate in rules.predicates:
            for start in places.get((kind, key), ()):
                aimed |= _target(profile, start, [position for position, _ in predicate.target])
    conditional = {(flavor.id, element.position) for flavor in profile.segments.values() for element in flavor.fields if element.usage in {"C", "CE"}}
    conditional |= {(one.id, element.position) for one in profile.datatypes.values() for element in one.components if element.usage in {"C", "CE"}}
    return len(conditional - aimed)


def _target(profile: Profile, start: object, steps: list[int]) -> set[tuple[str, int]]:
    """The definition and position that a path leads to."""
    at: object = start
    for position in steps[:-1]:
        if isinstance(at, GroupPlace):
            child = next((one for one in at.children if one.position == position), None)
            at = profile.segments[child.flavor] if isinstance(child, SegmentPlace) else child
            continue
        elements = at.fields if isinstance(at, SegmentFlavor) else at.components if isinstance(at, Datatype) else ()
        element = next((one for one in elements if one.position == position), None)
        at = None if element is None else profile.datatypes[element.datatype]
    return {(at.id, steps[-1])} if isinstance(at, GroupPlace | SegmentFlavor | Datatype) else set()
