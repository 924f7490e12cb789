"""The official validator's own test cases: the options and packages of each, the verdict recorded for it, and how far Touchstone's agrees."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from touchstone.ops.lab.agreement.tally import Tally
from touchstone.scorers.clinical.formats.fhir import Options, validate
from touchstone.scorers.clinical.formats.fhir.xml import xml_as_json

#: A case with one of these needs more than its own file.
OUTSIDE = ("supporting", "supporting5", "profile", "profiles", "packages", "package-map")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement over self-contained cases, over all with an outcome, and over those that have a profile of their own against that.

    `left_out`: cases that are no FHIR R4 resource.
    """

    own: Tally = field(default_factory=Tally)
    every: Tally = field(default_factory=Tally)
    against: Tally = field(default_factory=Tally)
    left_out: list[str] = field(default_factory=list)


def official_cases(folder: Path, packages: Path) -> tuple[Agreement, Agreement]:
    """Return the agreement over cases that were looked at while the validator was written, and over all others.

    `packages`: a folder of archives, of which a case may name one by id#version.
    """
    looked_at, unseen = Agreement(), Agreement()
    at_hand, known = installed(packages), _looked_at()
    for case in json.loads((folder / "manifest.json").read_text())["test-cases"]:
        _count(looked_at if _digest(case["name"]) in known else unseen, case, folder, at_hand)
    return looked_at, unseen


def _count(found: Agreement, case: Json, folder: Path, at_hand: Callable[[str], Path | None]) -> None:
    """Count one case where it has a file and an outcome."""
    path = folder / case["file"]
    if path.suffix not in {".json", ".xml"} or not path.is_file() or case.get("use-test") is False:
        return
    if not is_r4(case, path):
        found.left_out.append(case["name"])
        return
    options = options_of(case, folder, at_hand)
    known = verdict(case, folder)
    if known is not None:
        report = validate(path.read_bytes(), options=options)
        found.every.count(case["name"], known[0], report, known[1])
        if not any(key in case for key in OUTSIDE) and case.get("module") != "tx":
            found.own.count(case["name"], known[0], report, known[1])
    profile = case.get("profile")
    if not isinstance(profile, dict) or (known := verdict(profile, folder)) is None:
        return
    if (asking := _asking(options, profile, folder, at_hand)) is not None:
        found.against.count(case["name"], known[0], validate(path.read_bytes(), options=asking), known[1])


def is_r4(case: Json, path: Path) -> bool:
    """Return whether a case is of FHIR R4 and its file a resource, even a broken one; `validateContains: IGNORE` asks for less than any of our options."""
    if case.get("validateContains") == "IGNORE" or not str(case.get("version", "")).startswith("4.0"):
        return False
    content = path.read_bytes()
    return b"resourceType" in content if path.suffix == ".json" else b"http://hl7.org/fhir" in content


@lru_cache(maxsize=1)
def _looked_at() -> frozenset[str]:
    """Digests of the names of the cases that were looked at; any other one is unseen."""
    return frozenset((Path(__file__).parent / "looked_at.txt").read_text("ascii").split())


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def options_of(case: Json, folder: Path, at_hand: Callable[[str], Path | None] = lambda _: None) -> Options:
    """Return the options that the manifest gives a case. The official test harness refuses extensions whose definition it cannot find.

    `at_hand`: the archive of a package by id#version, where there is one.
    """
    supporting = _supporting(case, folder, at_hand)
    return Options(
        extensions="known",
        references="exists" if str(case.get("validateReference", "")).startswith("CHECK_EXISTS") else "document",
        rest_references=bool(case.get("assumeValidRestReferences")),
        example_urls=bool(case.get("examples", True)),
        security=bool(case.get("security-checks")),
        markdown_html=not case.get("noHtmlInMarkdown"),
        comments=bool(case.get("allow-comments")),
        experimental=not case.get("no-experimental-content"),
        displays="warning" if case.get("wrong-displays") == "warning" else "error",
        packages=tuple(supporting),
        installed_packages=False,
        clinical=False,
        templates=any("matchetype" in key and value is True for key, value in case.items()),
    )


def _supporting(case: Json, folder: Path, at_hand: Callable[[str], Path | None]) -> list[Path]:
    """Return the files and packages that a case, or the profile of one, brings."""
    # `supporting5` and the like name what a validator of a later FHIR version is given.
    found = [folder / name for key in case if key == "profiles" or re.fullmatch(r"supporting\d*", key) for name in case[key]]
    mapped = case.get("package-map", {})
    for name in case.get("packages", []):
        archive = folder / mapped.get(name, name)
        package = archive if archive.is_file() else at_hand(name)
        found += [package] if package is not None else []
    return list(dict.fromkeys((*found, *(path for name in mapped.values() if (path := folder / name).is_file()))))  # the packages that those depend on


def _asking(options: Options, profile: Json, folder: Path, at_hand: Callable[[str], Path | None]) -> Options | None:
    """The options of a case when its own profile is asked for; None if that is not beside it."""
    source = folder / str(profile.get("source", ""))
    if not source.is_file():
        return None
    beside = _supporting(profile, folder, at_hand)
    definition = xml_as_json(source.read_bytes()) if source.suffix == ".xml" else json.loads(source.read_text())
    url = definition.get("url") if isinstance(definition, dict) else None
    return replace(options, packages=(*options.packages, source, *beside), profiles=(url,)) if isinstance(url, str) else None


def installed(folder: Path) -> Callable[[str], Path | None]:
    """Return what finds a package of a folder by its id#version."""

    @lru_cache(maxsize=1)
    def known() -> dict[str, Path]:
        return {name: path for path in sorted(folder.glob("*.tgz")) if (name := _identity(path))}

    return lambda name: known().get(name)


def _identity(archive: Path) -> str:
    try:
        with tarfile.open(archive) as opened:
            file = opened.extractfile("package/package.json")
            about = json.load(file) if file is not None else {}
        return f"{about['name']}#{about['version']}"
    except (tarfile.TarError, KeyError, OSError, EOFError, ValueError, TypeError):
        return ""


def verdict(case: Json, folder: Path) -> tuple[bool, str] | None:
    """Return whether the official validator called a case valid, and its first error; None if no outcome is recorded."""
    recorded = case.get("java")
    if isinstance(recorded, str):
        path = folder / "outcomes" / recorded
        if not path.is_file():
            return None
        recorded = json.loads(path.read_text())
    if not isinstance(recorded, dict):
        return None
    recorded = recorded.get("outcome", recorded)
    if "errorCount" in recorded:
        return recorded["errorCount"] == 0, str(next(iter(recorded.get("output", [])), ""))
    errors = [one for one in recorded.get("issue", []) if one["severity"] in {"error", "fatal"}]
    return not errors, str(errors[0].get("details", {}).get("text", "")) if errors else ""
