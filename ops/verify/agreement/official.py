"""The official validator's own test cases: the options and packages of each, the verdict recorded for it, and how far Touchstone's agrees."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from touchstone.ops.verify.agreement.tally import Tally
from touchstone.scorers.clinical.formats.fhir import Options, validate
from touchstone.scorers.clinical.formats.fhir.xml import xml_as_json

#: A case with one of these needs more than its own file.
OUTSIDE = ("supporting", "profile", "profiles", "packages", "package-map")
Json = dict[str, Any]


def official_cases(folder: Path, packages: Path) -> tuple[Tally, Tally, Tally]:
    """Return the agreement over self-contained cases, over all cases with an outcome, and over those that have a profile of their own against that.

    `packages`: a folder of archives, of which a case may name one by id#version.
    """
    own, every, against = Tally(), Tally(), Tally()
    at_hand = installed(packages)
    for case in json.loads((folder / "manifest.json").read_text())["test-cases"]:
        path = folder / case["file"]
        if path.suffix not in {".json", ".xml"} or not path.is_file() or case.get("use-test") is False:
            continue
        options = options_of(case, folder, at_hand)
        known = verdict(case, folder)
        if known is not None:
            report = validate(path.read_bytes(), options=options)
            every.count(case["name"], known[0], report, known[1])
            if not any(key in case for key in OUTSIDE) and case.get("module") != "tx":
                own.count(case["name"], known[0], report, known[1])
        profile = case.get("profile")
        known = verdict(profile, folder) if isinstance(profile, dict) else None
        asking = _asking(options, profile, folder) if known is not None else None
        if known is not None and asking is not None:
            against.count(case["name"], known[0], validate(path.read_bytes(), options=asking), known[1])
    return own, every, against


def options_of(case: Json, folder: Path, at_hand: Callable[[str], Path | None] = lambda _: None) -> Options:
    """Return the options that the manifest gives a case. The official test harness refuses extensions whose definition it cannot find.

    `at_hand`: the archive of a package by id#version, where there is one.
    """
    supporting = [folder / name for key in ("supporting", "profiles") for name in case.get(key, [])]
    mapped = case.get("package-map", {})
    for name in case.get("packages", []):
        archive = folder / mapped.get(name, name)
        found = archive if archive.is_file() else at_hand(name)
        supporting += [found] if found is not None else []
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
    )


def _asking(options: Options, profile: Json, folder: Path) -> Options | None:
    """The options of a case when its own profile is asked for; None where that is not beside it."""
    source = folder / str(profile.get("source", ""))
    if not source.is_file():
        return None
    beside = [folder / name for key in ("supporting", "profiles") for name in profile.get(key, [])]
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
    """Return whether the official validator called a case valid, and its first error; None where no outcome is recorded."""
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
