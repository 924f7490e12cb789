"""Digests of the tables, packages, rules and profiles that settings name: of what is read, so that neither a path nor a file beside it changes one.

"absent" and "unreadable" are digests, too: building the scorer then says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

from touchstone.scorers.base import ConfigError

#: A file of a folder is represented by its content up to this size, and by its size beyond.
CONTENT_BYTES_MAX: Final = 4 * 2**20
FILES_MAX: Final = 50_000
_BLOCK_BYTES: Final = 2**20


def digest_of_table(path: Path) -> str:
    """A digest of a file, or of the files of a folder."""
    return _guarded(path, lambda at: _of_file(at) if at.is_file() else _of_files(_inside(at, "*")))


def digest_of_rules(path: Path) -> str:
    """A digest of a Schematron file, or of those of a folder."""
    return _guarded(path, lambda at: _of_file(at) if at.is_file() else _of_files(_inside(at, "*.sch")))


def digest_of_package(path: Path) -> str:
    """A digest of a FHIR package, of a folder of packages or definitions, or of one definition.

    An unpacked package is represented by its manifest, and by the names and sizes of its definitions: a release has hundreds of them.
    """
    return _guarded(path, lambda at: _of_file(at) if at.is_file() else _of_packages(at))


def digest_of_profile(path: Path) -> str:
    """A digest of HL7 v2 profiles: of each profile file below a path, and the XML files beside it."""

    def of_profile(at: Path) -> str:
        from touchstone.scorers.clinical.formats.hl7v2.nist.xml_files import beside, files_of

        return _of_files([file for profile in files_of(at) for file in beside(profile)])

    return _guarded(path, of_profile)


def _guarded(path: Path, digest: Callable[[Path], str]) -> str:
    path = path.expanduser()
    try:
        return digest(path)[:16] if path.exists() else "absent"
    except (OSError, ConfigError, ImportError):
        return "unreadable"


def _of_packages(path: Path) -> str:
    from touchstone.scorers.clinical.formats.fhir.profiles.packages import may_define, roots

    parts = []
    for root in roots(path):
        if root.is_file():
            parts.append(_of_file(root))
            continue
        manifest, definitions = root / "package.json", [file for file in _inside(root, "*.json") if may_define(file.name)]
        if manifest.is_file():
            sizes = "".join(f"{file.name}:{file.stat().st_size};" for file in definitions)
            parts.append(_of_file(manifest) + sizes)
        else:
            parts.append(_of_files(definitions))
    return sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _inside(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder, in name order, without hidden ones."""
    found = sorted(file for file in folder.glob(pattern) if file.is_file() and not file.name.startswith("."))
    return found[:FILES_MAX]


def _of_files(files: Iterable[Path]) -> str:
    parts = ((file.name, size, _of_file(file) if size <= CONTENT_BYTES_MAX else "") for file in files for size in [file.stat().st_size])
    return sha256("".join(f"{name}:{size}:{content};" for name, size, content in parts).encode("utf-8", "surrogateescape")).hexdigest()


def _of_file(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as content:
        while block := content.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
