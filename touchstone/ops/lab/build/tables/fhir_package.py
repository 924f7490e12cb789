"""A FHIR package on disk, read whole: a .tgz file or an unpacked folder."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

KINDS = ("StructureDefinition", "ValueSet", "CodeSystem", "SearchParameter")


def read_package(source: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the package's definitions by resource type, each list ordered by canonical URL."""
    texts = _from_archive(source) if source.is_file() else [(path.name, path.read_bytes()) for path in _root(source).glob("*.json")]
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for name, text in texts:
        if name.split("-", 1)[0] in KINDS:
            resource = json.loads(text)
            found[resource["resourceType"]].append(resource)
    return {kind: sorted(resources, key=lambda one: str(one.get("url"))) for kind, resources in found.items()}


def edition(source: Path) -> str:
    """The package's version and the day on which it was made, as in `7.0.1 of 2025-12-11`."""
    texts = dict(_from_archive(source)) if source.is_file() else {"package.json": (_root(source) / "package.json").read_bytes()}
    about = json.loads(texts["package.json"])
    day = str(about["date"])
    return f"{about['version']} of {day[:4]}-{day[4:6]}-{day[6:8]}"


def _root(folder: Path) -> Path:
    return folder / "package" if (folder / "package").is_dir() else folder


def _from_archive(source: Path) -> list[tuple[str, bytes]]:
    with tarfile.open(source) as archive:
        top = (member for member in archive if member.isfile() and len(Path(member.name).parts) == 2 and member.name.endswith(".json"))
        files = ((Path(member.name).name, archive.extractfile(member)) for member in top)
        return [(name, file.read()) for name, file in files if file is not None]
