"""Applies the Schematron files that fit a document's release, and reports assertions that failed."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from touchstone.schemas.result import Severity
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.formats.ccda.document import Document, OutOfTime
from touchstone.scorers.clinical.formats.ccda.options import Options
from touchstone.scorers.clinical.formats.ccda.releases import HEADER, NONE, R11, R30, release_of_rules
from touchstone.scorers.clinical.formats.ccda.schematron.engine import Engine, Fired
from touchstone.scorers.clinical.formats.ccda.schematron.rulefile import Assertion, Pattern, read_rule_file
from touchstone.scorers.clinical.formats.ccda.time_limit import Pool
from touchstone.scorers.clinical.formats.fhir.profiles.packages import home

#: Rule files of one configuration.
FILES_MAX: Final = 16
_CONF: Final = re.compile(r"CONF:\s*([0-9]{1,6}-[0-9]{1,8})")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9-]+")
_HEADER_VERSION: Final = re.compile(re.escape(f"@root='{HEADER}'") + r"(?:\s*and\s*@extension='([0-9-]{10})')?")
_ASKED: Final = re.compile(r"@root\s*=\s*'([0-9.]{1,128})'\s*and\s*@extension\s*=\s*'([0-9-]{10})'")
_VERSION: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_VERSIONS_MAX: Final = 8
_ROOTS_MAX: Final = 4
_WORDS_MAX: Final = 400
WITHOUT_RULES: Final = "no Schematron file (ccda.rules): of C-CDA's templates only the main requirements were checked"


def rule_files(options: Options) -> list[Path]:
    """The Schematron files of the settings and of the package cache. Raises `ConfigError` for a setting that names none."""
    found: list[Path] = []
    for path in options.rules:
        if not path.exists():
            raise ConfigError(f"{path} does not exist; name a Schematron file (.sch) or a folder that holds some")
        inside = sorted(path.glob("*.sch")) if path.is_dir() else [path]
        if not inside:
            raise ConfigError(f"{path} holds no Schematron file (.sch)")
        found += inside
    if options.installed_rules:
        found += _installed(home())
    return list(dict.fromkeys(found))[:FILES_MAX]


@lru_cache(maxsize=4)
def _installed(folder: Path) -> tuple[Path, ...]:
    """The Schematron files of the package cache, searched once for each process."""
    places = ("*ccda*/*.sch", "*ccda*/package/*.sch", "*ccda*/package/*/*.sch")
    return tuple(sorted(path for place in places for path in folder.glob(place))) if folder.is_dir() else ()


class Rules:
    """A rule file, the release that it is for, and engines that evaluate it, one for each concurrent document."""

    def __init__(self, path: Path) -> None:
        self.file = read_rule_file(path)
        contexts = (rule.context for pattern in self.file.patterns for rule in pattern.rules)
        self.release = release_of_rules({found[1] or "" for context in contexts for found in _HEADER_VERSION.finditer(context)})
        #: Root of a template id → the versions in contexts; contexts for any version are not in it.
        self.versions: dict[str, set[str]] = {}
        for context in (rule.context for pattern in self.file.patterns for rule in pattern.rules):
            for found in _ASKED.finditer(context):
                self.versions.setdefault(found[1], set()).add(found[2])
        self.engines: Pool[Engine] = Pool(lambda: Engine(self.file))


def rules_of(path: Path) -> Rules:
    """The rules of a file, read again only when it changes. Raises `ConfigError`."""
    try:
        status = path.stat()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror})") from None
    return _rules(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=FILES_MAX)
def _rules(path: Path, _changed_ns: int, _size: int) -> Rules:
    return Rules(path)


def applicable(document: Document) -> list[Rules]:
    """The rule files for the document's release: those of 3.0 for 3.0, the others for other releases; if none fits, all."""
    every = []
    for path in rule_files(document.options):
        try:
            every.append(rules_of(path))
        except ConfigError:
            document.skip("ccda.rules", f"{path.name} cannot be read as a Schematron file")
    fitting = [one for one in every if (one.release == R30) == (document.release == R30)]
    if every and not fitting:
        document.skip("ccda.rules", f"no rule file at hand is for {document.release or 'other documents than C-CDA'}; those of another release were applied")
    return fitting or every


def check_rules(document: Document) -> set[Any]:
    """Apply the rule files; returns the elements on which rules of conformance fired. `recommendations` are counted apart from `rules`."""
    on: set[Any] = set()
    every = applicable(document)
    if not every:
        document.skip("ccda.rules", WITHOUT_RULES)
        return on
    for rules in every:
        try:
            with rules.engines.one() as engine:
                _apply(document, rules, engine, on)
        except OutOfTime:
            document.skip("ccda.rules", f"the document had its {document.options.seconds_max:g} s before all rules were applied")
            raise
    return on


def _apply(document: Document, rules: Rules, engine: Engine, on: set[Any]) -> None:
    # R1.1 shares some unchanged templates with later releases. That their rules fire does not validate the document.
    of_release = document.release not in {R11, NONE} or rules.release == R11
    phased = any("errors" in pattern.phases for pattern in rules.file.patterns)
    left_out: dict[str, str] = {}
    for fired in engine.fired(document):
        group, severity = _weight(fired.pattern, document.options, phased=phased)
        if severity is None:
            continue
        left_out = fired.left_out | left_out
        document.report.fired(group if of_release or group != "rules" else "other-release")
        if group == "rules":
            on.add(fired.element)
        for assertion in fired.failed:
            _say(document, engine, fired, assertion, f"ccda.{group}", severity)
    _name_unknown_versions(document, rules)
    for reason, example in (engine.left_out | left_out).items():
        document.skip("ccda.rules", f"{rules.file.path.name}: {reason} ({example})")


def _name_unknown_versions(document: Document, rules: Rules) -> None:
    """Name templates to which no rule was applied, because the file has rules only for other versions of them."""
    unknown: dict[str, list[str]] = {}
    for root, carriers in document.templates.items():
        known = rules.versions.get(root)
        if known is None:
            continue
        for version in {extension for _, extension in carriers if extension} - known:
            # Any other text may come from the payload.
            if _VERSION.fullmatch(version):
                unknown.setdefault(version, []).append(root)
    for version, roots in sorted(unknown.items())[:_VERSIONS_MAX]:
        every = ", ".join(sorted(roots)[:_ROOTS_MAX]) + (", ..." if len(roots) > _ROOTS_MAX else "")
        document.skip("ccda.rules", f"{rules.file.path.name}: no rule for version {version} of {len(roots)} template{'s' * (len(roots) > 1)} ({every})")


def _weight(pattern: Pattern, options: Options, *, phased: bool) -> tuple[str, Severity | None]:
    """The group and severity of a pattern's rules; severity None if they are not applied."""
    if "errors" in pattern.phases or not phased:
        return "rules", "major"
    if "warnings" in pattern.phases and options.recommendations != "ignore":
        return "recommendations", options.recommendations
    return "recommendations", None


def _say(document: Document, engine: Engine, fired: Fired, assertion: Assertion, group: str, severity: Severity) -> None:
    conformance = _CONF.search(assertion.text)
    name = conformance[1] if conformance else _UNSAFE.sub("-", assertion.id or fired.rule.id or "unnamed").strip("-")[:60]
    words = engine.text(assertion, fired.element, fired.attribute) if document.context.quote else assertion.text
    document.add(severity, f"{group}.{name}", fired.element, words[:_WORDS_MAX] or "a rule without words failed", at=fired.attribute or None)
