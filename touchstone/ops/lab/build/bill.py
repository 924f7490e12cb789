"""The software bill of materials of a release: CycloneDX 1.6 of what the extras install, in the versions of the lock.

Which packages those are is read from the metadata of this environment, which `make setup` has filled from the lock. No address is written: packages are
named by package URL (purl).
"""

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from touchstone.ops.lab.command import Arguments
from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import DISTRIBUTION

#: Extras whose packages the lock leaves out: weights alone, installed by a command of their own.
LEFT_OUT = frozenset({"nli-base"})


def main(arguments: Sequence[str]) -> int:
    """Write the bill."""
    parser = Arguments("build bill", __doc__)
    parser.add_argument("output", type=Path, help="file for the JSON document")
    asked = parser.parse_args(arguments)
    asked.output.write_text(json.dumps(bill(Path("requirements.lock").read_text(encoding="utf-8")), indent=2) + "\n", encoding="utf-8")
    print(f"wrote {asked.output}")
    return 0


def bill(lock: str) -> dict[str, Any]:
    """The document. `lock`: the text of requirements.lock. Raises `ConfigError` for a package that is missing here or has another version."""
    own = distribution(DISTRIBUTION)
    pinned: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock, re.MULTILINE):
        pinned.setdefault(name, []).append(version)  # a package may have a version for each Python
    needs: dict[str, list[str]] = {}
    found: dict[str, Distribution] = {}
    waiting = [(DISTRIBUTION, frozenset(own.metadata.get_all("Provides-Extra") or ()) - LEFT_OUT)]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        found[name] = _installed(name, pinned)
        for needed, wanted in _needed(found[name], extras):
            needs.setdefault(name, []).append(needed)
            if (needed, wanted) not in seen:
                seen.add((needed, wanted))
                waiting.append((needed, wanted))
    return _document(found, needs)


def _installed(name: str, pinned: dict[str, list[str]]) -> Distribution:
    """A package of this environment, which must be that of the lock."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        raise ConfigError(f"{name} is not installed here; run make setup") from None
    locked = pinned.get(name, [])
    if name != DISTRIBUTION and package.version not in locked:
        raise ConfigError(f"{name} {package.version} is installed, and the lock has {' or '.join(locked) or 'none'}; run make setup")
    return package


def _needed(package: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The packages that a package needs on this machine, each with its extras."""
    for requirement in map(Requirement, package.requires or ()):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            yield canonicalize_name(requirement.name), frozenset(requirement.extras)


def _document(found: dict[str, Distribution], needs: dict[str, list[str]]) -> dict[str, Any]:
    references = {name: f"pkg:pypi/{name}@{package.version}" for name, package in found.items()}
    parts = {name: _component(name, package, references[name]) for name, package in sorted(found.items())}
    root = {**parts.pop(DISTRIBUTION), "type": "application"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {"timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "component": root},
        "components": list(parts.values()),
        "dependencies": [{"ref": references[name], "dependsOn": sorted({references[one] for one in needs.get(name, ())})} for name in sorted(references)],
    }


def _component(name: str, package: Distribution, reference: str) -> dict[str, Any]:
    """One package, with its licence as it declares it."""
    declared, older = ((package.metadata.get_all(field) or [""])[0] for field in ("License-Expression", "License"))
    classified = [line.rsplit("::", 1)[-1].strip() for line in package.metadata.get_all("Classifier") or () if line.startswith("License ::")]
    named = classified or ([older] if older and "\n" not in older else [])  # some put the whole text there
    licences: list[dict[str, Any]] = [{"expression": declared}] if declared else [{"license": {"name": text}} for text in named]
    return {"type": "library", "bom-ref": reference, "name": name, "version": package.version, "purl": reference} | ({"licenses": licences} if licences else {})
