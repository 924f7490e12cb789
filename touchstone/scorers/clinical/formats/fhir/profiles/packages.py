"""FHIR packages on this machine: folders `<id>#<version>/package`, .tgz files, or single definition files. Nothing is downloaded."""

from __future__ import annotations

import json
import tarfile
import zlib
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path

from touchstone.scorers.clinical.checks.json_access import Json
from touchstone.scorers.clinical.formats.fhir.tables import definitions, own_profiles
from touchstone.scorers.clinical.formats.fhir.xml import xml_as_json
from touchstone.scorers.clinical.formats.memory import Memory

#: Bytes of one definition, and definitions read out of one archive.
FILE_BYTES_MAX = 32 * 1024 * 1024
ARCHIVE_FILES_MAX = 20_000
#: Definitions kept, and characters of a URL that is looked up: documents may claim any number of URLs of any length.
KEPT_MAX = 5_000
URL_CHARS_MAX = 2_000
_KINDS = ("StructureDefinition", "ValueSet", "CodeSystem", "Questionnaire", "Measure", "SearchParameter")
#: Versions of a dependency that mean the newest that is there.
_NEWEST = frozenset({"current", "dev", "latest", "*"})
#: Formats of a single definition; packages contain JSON only.
_DEFINITION_FILES = (".json", ".xml")


def home() -> Path:
    """Where FHIR tools keep packages by convention."""
    return Path.home() / ".fhir" / "packages"


class Packages:
    """Definitions by canonical URL; without a version, the latest one."""

    def __init__(self, sources: tuple[Path, ...]) -> None:
        self._sources = [one for source in sources for one in roots(source)]
        self._found: dict[str, Memory[tuple[Json | None, Path | None]]] = {}

    def find(self, kind: str, canonical: str) -> Json | None:
        """Return the definition of a canonical URL (with or without |version), or None."""
        return self.located(kind, canonical)[0]

    def located(self, kind: str, canonical: str) -> tuple[Json | None, Path | None]:
        """Return the definition of a canonical URL, and the package that it comes from; None for what is not known."""
        if len(canonical) > URL_CHARS_MAX:
            return None, None
        known = self._found.get(kind)
        if known is None:
            known = self._found[kind] = Memory(partial(self._search, kind), KEPT_MAX, URL_CHARS_MAX)
        return known[canonical]

    def pinned(self, source: Path | None, kind: str, canonical: str) -> str:
        """Return a canonical URL that a package uses, with the version that the package means if several packages define it.

        A package means its own definition, else that of the package that it depends on. A version that the URL states is kept.
        """
        url, _, stated = canonical.partition("|")
        if source is None or stated:
            return canonical
        wanted = _dependencies(source, _stamp(source))
        others = [one for one in self._sources if one != source] if wanted else []
        named = [one for asked in sorted(wanted) for one in _newest_first(others) if _is_meant(_identity(one, _stamp(one)), asked)]
        for one in (source, *named):
            for definition in _candidates(one, kind, url):
                return f"{url}|{definition['version']}" if isinstance(definition.get("version"), str) else canonical
        return canonical

    def _search(self, kind: str, canonical: str) -> tuple[Json | None, Path | None]:
        url, _, version = canonical.partition("|")
        best: Json | None = own_profiles().get(url) if kind == "StructureDefinition" and version in {"", "4.0.1"} else None
        home_of_best: Path | None = None
        for source in self._sources:
            for definition in _candidates(source, kind, url):
                if version and not f"{definition.get('version')}.".startswith(f"{version}."):  # 4.0 means every 4.0.x
                    continue
                if best is None or _order(definition) > _order(best):
                    best, home_of_best = definition, source
        return best, home_of_best


def holds_definitions(source: Path) -> bool:
    """Return True if a package, or a folder of packages, has any definition."""
    for root in roots(source):
        if root.suffix not in _DEFINITION_FILES:
            found: object = _archive(root, _stamp(root)) if root.is_file() else _index(root, _stamp(root))
        else:
            definition = _file(root, _stamp(root)) or {}
            found = str(definition.get("resourceType")) in _KINDS and isinstance(definition.get("url"), str)
        if found:
            return True
    return False


def _order(definition: Json) -> tuple[tuple[int, ...], str]:
    version = str(definition.get("version", ""))
    return tuple(int(part) if part.isdigit() else 0 for part in version.partition("-")[0].split(".")), version


def roots(source: Path) -> Iterator[Path]:
    """The package folders, archives and definition files of a source."""
    if source.is_file():
        yield source
    elif (source / "package").is_dir():
        yield source / "package"
    elif source.is_dir():
        inner = sorted(one / "package" for one in source.iterdir() if (one / "package").is_dir())
        archives = sorted(source.glob("*.tgz"))
        yield from [*inner, *archives] or [source]


def _candidates(source: Path, kind: str, url: str) -> list[Json]:
    if source.suffix in _DEFINITION_FILES:
        definition = _file(source, _stamp(source))
        return [definition] if definition is not None and definition.get("resourceType") == kind and definition.get("url") == url else []
    if source.is_file():
        definition = _archive(source, _stamp(source)).get((kind, url))
        return [definition] if definition is not None else []
    path = source / f"{kind}-{url.rsplit('/', 1)[-1]}.json"
    paths = {path} if path.is_file() else set()
    paths |= {source / name for name in _index(source, _stamp(source)).get((kind, url), ()) if (source / name).is_file()}
    found = (_file(one, _stamp(one)) for one in sorted(paths))
    return [one for one in found if one is not None and one.get("url") == url and one.get("resourceType") == kind]


@lru_cache(maxsize=64)
def _about(source: Path, stamp: int) -> Json:
    """The package.json of a package; empty if it has none that can be read. `stamp`: as for the others."""
    try:
        if stamp < 0 or source.suffix in _DEFINITION_FILES:
            return {}
        if source.is_file():
            with tarfile.open(source) as archive:
                file = archive.extractfile("package/package.json")
                about = json.load(file) if file is not None else {}
        else:
            about = json.loads((source / "package.json").read_bytes())
    except (tarfile.TarError, ValueError, OSError, EOFError, zlib.error, KeyError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}


def _identity(source: Path, stamp: int) -> tuple[str, str]:
    about = _about(source, stamp)
    return str(about.get("name")), str(about.get("version"))


def _newest_first(sources: list[Path]) -> list[Path]:
    return sorted(sources, key=lambda one: _order({"version": _identity(one, _stamp(one))[1]}), reverse=True)


def _is_meant(identity: tuple[str, str], asked: tuple[str, str]) -> bool:
    """True if a package is one that a dependency asks for: its version, `6.1.x` (every 6.1.), or `current` (the newest that is there)."""
    (name, version), (name_asked, version_asked) = identity, asked
    is_range = version_asked.endswith((".x", ".*"))
    return name == name_asked and (version_asked in _NEWEST or version == version_asked or (is_range and version.startswith(version_asked[:-1])))


def _dependencies(source: Path, stamp: int) -> frozenset[tuple[str, str]]:
    """(id, version) of the packages that a package depends on."""
    listed = _about(source, stamp).get("dependencies")
    return frozenset((name, str(version)) for name, version in listed.items()) if isinstance(listed, dict) else frozenset()


@lru_cache(maxsize=64)
def _index(folder: Path, stamp: int) -> dict[tuple[str, str], tuple[str, ...]]:
    """(kind, URL) → file names of a package, by its own index or by reading its files. `stamp`: when the folder changed."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    if stamp < 0:
        return found
    listed = _listed(folder)
    for kind, url, name in listed if listed is not None else _scanned(folder):
        found[kind, url] = (*found.get((kind, url), ()), name)
    return found


def _listed(folder: Path) -> list[tuple[str, str, str]] | None:
    """The rows of the package's .index.json; None if it has none that can be read. Only names of files in the folder itself count."""
    index = folder / ".index.json"
    if not index.is_file() or index.stat().st_size > FILE_BYTES_MAX:
        return None
    try:
        files = json.loads(index.read_bytes())["files"]
        rows = [(str(one["resourceType"]), one["url"], one["filename"]) for one in files[:ARCHIVE_FILES_MAX] if "url" in one]
    except (ValueError, OSError, KeyError, TypeError, RecursionError):
        return None
    return [row for row in rows if isinstance(row[1], str) and isinstance(row[2], str) and Path(row[2]).name == row[2]]


def _scanned(folder: Path) -> Iterator[tuple[str, str, str]]:
    for number, path in enumerate(sorted(folder.glob("*.json"))):
        if number >= ARCHIVE_FILES_MAX:
            return
        if path.is_file() and may_define(path.name):
            definition = _file(path, _stamp(path))
            if definition is not None and definition.get("resourceType") in _KINDS and isinstance(definition.get("url"), str):
                yield str(definition["resourceType"]), definition["url"], path.name


def may_define(name: str) -> bool:
    """True unless a file's name says that it holds something else. Names are type-id.json by convention, and free by the rules of packages."""
    kind = name.partition("-")[0]
    is_odd = name.startswith(".") or name == "package.json"
    return name.endswith(".json") and not is_odd and (kind in _KINDS or kind not in definitions().resources)


def _stamp(path: Path) -> int:
    return path.stat().st_mtime_ns


@lru_cache(maxsize=256)
def _file(path: Path, stamp: int) -> Json | None:
    """One definition. `stamp`: when the file changed, so that the cache sees a change."""
    if stamp < 0 or path.stat().st_size > FILE_BYTES_MAX:
        return None
    try:
        data = path.read_bytes()
        definition = xml_as_json(data) if path.suffix == ".xml" else json.loads(data)
    except (ValueError, OSError, RecursionError):
        return None
    return definition if isinstance(definition, dict) else None


@lru_cache(maxsize=8)
def _archive(path: Path, stamp: int) -> dict[tuple[str, str], Json]:
    found: dict[tuple[str, str], Json] = {}
    if stamp < 0:
        return found
    try:
        with tarfile.open(path) as archive:
            for number, member in enumerate(archive):
                if number > ARCHIVE_FILES_MAX:
                    break
                name = Path(member.name)
                is_definition = len(name.parts) == 2 and may_define(name.name)
                if not member.isfile() or member.size > FILE_BYTES_MAX or not is_definition:
                    continue
                file = archive.extractfile(member)
                definition = json.load(file) if file is not None else None
                if isinstance(definition, dict) and definition.get("resourceType") in _KINDS and isinstance(definition.get("url"), str):
                    found[str(definition["resourceType"]), definition["url"]] = definition
    except (tarfile.TarError, ValueError, OSError, EOFError, zlib.error):
        return {}  # Half a package would hide that the other half is missing.
    return found
