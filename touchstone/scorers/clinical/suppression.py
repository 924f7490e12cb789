"""Known issues: findings that a list suppresses, each entry with a reason and an expiry date.

A suppressed finding counts in no score, label or verdict; results and reports say how many there are, by which entry. The list is read when a command or
worker starts, and an entry that has expired by then (in UTC) suppresses nothing. The entries in force are part of the config digest.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from touchstone.schemas.faults import explain
from touchstone.schemas.reports.clinical import Idle
from touchstone.schemas.result import Finding, Severity
from touchstone.schemas.settings.house import Section
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.report import Report
from touchstone.scorers.json_documents import read_document
from touchstone.scorers.reporting.view import Table
from touchstone.scorers.reporting.words import counted, visible

ENTRIES_MAX: Final = 1_000
#: Title of the table in reports.
TITLE: Final = "Suppressed findings"
BYTES_MAX: Final = 1_048_576
#: Where a FHIR profile's findings name it: name and version.
_PROFILE: Final = re.compile(r"\bprofile (\S+?)(?:\|(\S+?))?[:,]? ")
#: Codes of findings that may name a profile: of FHIR anywhere before the quoted value, of HL7 v2 at the beginning.
_OF_FHIR: Final = ("fhir.profiles.", "fhir.invariants.")
_OF_HL7V2: Final = "profile."
#: An entry in the words of pydantic, which counts from 0.
_NUMBER: Final = re.compile(r"suppress\.(\d+)[. ]")
_BAD_DATE: Final = re.compile(r"(entry \d+: expires) (?:must be a valid date|datetimes provided)[^;]*")
_INDEX: Final = re.compile(r"\[\d+\]")
_ONE_OF_MANY: Final = re.compile(r"\A(?:Line\[\d+\]\.|message\[\d+\]/)")
_OUTPUT: Final = re.compile(r"outputs\.\w+(?:\[\d+\])?/")

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Entry(Section):
    """One known issue. `code`, `path`: `*` is any text; a path without numbers means any number. All that are given must match.

    `critical`: whether critical findings are suppressed, too; the code is then one code, in full.
    """

    code: Text | None = None
    path: Text | None = None
    profile: Text | None = None
    reason: Text
    expires: date
    critical: bool = False

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not any(text is not None and text.strip("*. ") for text in (self.code, self.path, self.profile)):
            raise ValueError("name a code, a path or a profile; * alone would suppress every finding")
        if self.critical and (self.code is None or "*" in self.code):
            raise ValueError("with critical = true, name one code in full, without *; a pattern would also hide critical findings that nobody has seen")
        return self

    @property
    def name(self) -> str:
        """The entry in reports."""
        parts = (self.code, f"at {self.path}" if self.path else None, f"of profile {self.profile}" if self.profile else None)
        return " ".join(part for part in parts if part)

    def matches(self, finding: Finding) -> bool:
        """True if this entry suppresses a finding."""
        return self._matches_code(finding.code, finding.severity) and self._matches_path(finding.path) and self._matches_profile(finding)

    def matches_any(self, code: str, severity: Severity) -> bool:
        """True if this entry suppresses every finding of a code and severity, wherever it is."""
        return self.path is None and self.profile is None and self._matches_code(code, severity)

    def _matches_code(self, code: str, severity: Severity) -> bool:
        return (severity != "critical" or self.critical) and (self.code is None or _pattern(self.code).fullmatch(code) is not None)

    def _matches_path(self, path: str) -> bool:
        if self.path is None:
            return True
        inside = _OUTPUT.sub("", path, count=1) if path.startswith("outputs.") else path
        pattern, is_numbered = _pattern(self.path), "[" in self.path
        # In a batch or NDJSON, a path begins with the number of the message or line.
        shown = (one if is_numbered else _INDEX.sub("", one) for one in dict.fromkeys((inside, _ONE_OF_MANY.sub("", inside, count=1))))
        return any(pattern.fullmatch(one) is not None for one in shown)

    def _matches_profile(self, finding: Finding) -> bool:
        if self.profile is None:
            return True
        if finding.code.startswith(_OF_HL7V2):
            return _hl7v2_profile(self.profile).match(finding.message) is not None
        found = _PROFILE.search(finding.message) if finding.code.startswith(_OF_FHIR) else None
        name, _, version = self.profile.rpartition("/")[2].partition("|")
        return found is not None and found[1] == name and version in {"", found[2]}


class _File(Section):
    suppress: Annotated[tuple[Entry, ...], Field(max_length=ENTRIES_MAX)] = ()


@dataclass(frozen=True, slots=True)
class SuppressList:
    """The entries of a list. `today`: the day by which they have expired or not."""

    entries: Sequence[Entry] = ()
    today: date = date.min

    @property
    def in_force(self) -> list[Entry]:
        """The entries that suppress."""
        return [entry for entry in self.entries if entry.expires >= self.today]

    @property
    def expired(self) -> list[Entry]:
        """The entries that no longer suppress."""
        return [entry for entry in self.entries if entry.expires < self.today]

    def apply(self, report: Report) -> None:
        """Take the suppressed findings out of a report, and count them by entry; the first that matches counts.

        A finding that was only counted, beyond the bound of those kept, has no place: only an entry for its code alone suppresses it.
        """
        in_force = self.in_force
        if not in_force or not (report.findings or report.beyond):
            return
        kept = []
        for finding in report.findings:
            entry = next((one for one in in_force if one.matches(finding)), None)
            if entry is None:
                kept.append(finding)
            else:
                report.suppressed[entry.name] += 1
        report.findings[:] = kept
        for (code, severity), times in list(report.beyond.items()):
            entry = next((one for one in in_force if one.matches_any(code, severity)), None)
            if entry is not None:
                del report.beyond[code, severity]
                report.suppressed[entry.name] += times


@lru_cache(maxsize=1_024)
def _pattern(text: str) -> re.Pattern[str]:
    first, *others = map(re.escape, text.split("*"))
    if not others:
        return re.compile(first)
    # Each part at its first place, without going back, so that no list is slow on long paths; the last part is at the end.
    inner = "".join(f"(?>.*?{part})" for part in others[:-1])
    return re.compile(f"{first}{inner}.*{others[-1]}", re.DOTALL)


@lru_cache(maxsize=1_024)
def _hl7v2_profile(text: str) -> re.Pattern[str]:
    """How a finding of an HL7 v2 profile begins: with its title, which may end with a version."""
    return re.compile(rf"(?:The declared )?{re.escape(text.replace('|', ' '))}(?=[ ,:])")


def read_list(path: Path | None, *, today: date | None = None) -> SuppressList:
    """The list of a file: TOML, or JSON where the name ends with `.json`. No file is an empty list. Raises `ConfigError`."""
    if path is None:
        return SuppressList()
    path = path.expanduser()
    if path.is_dir():
        raise ConfigError(f"suppress: {path} is a folder (so is an empty name); name the file of the list, such as known.toml")
    try:
        if path.stat().st_size > BYTES_MAX:
            raise ConfigError(f"suppress: {path} is larger than {BYTES_MAX:,} bytes; a list names {ENTRIES_MAX:,} entries at most")
        document: Any = read_document(path) if path.suffix == ".json" else tomllib.loads(path.read_text(encoding="utf-8"))
    except ConfigError as error:
        raise ConfigError(f'suppress: {error}; an entry is {{"suppress": [{{"code": …, "reason": …, "expires": …}}]}}') from None
    except OSError as error:
        raise ConfigError(f"suppress: {path} cannot be read ({error.strerror}); check the path and its permissions") from None
    except (ValueError, RecursionError) as error:
        where = "" if isinstance(error, UnicodeDecodeError | RecursionError) else f" ({error})"
        raise ConfigError(f"suppress: {path} is not TOML{where}; write [[suppress]] entries with code, path or profile, reason and expires") from None
    if (unknown := _unknown_key(document)) is not None:
        raise ConfigError(f"suppress: {path}: {unknown}")
    try:
        found = _File.model_validate(document, strict=False)
    except ValidationError as error:
        raise ConfigError(f"suppress: {path}: {_said(explain(error, _File))}") from None
    names = Counter(entry.name for entry in found.suppress)
    if twice := next((name for name, times in names.items() if times > 1), None):
        raise ConfigError(f"suppress: {path} has two entries for {twice}; keep one")
    return SuppressList(found.suppress, today or datetime.now(UTC).date())


def _said(fault: str) -> str:
    """What is wrong with an entry, in the words of the file: entries are counted from 1."""
    numbered = _NUMBER.sub(lambda found: f"entry {int(found[1]) + 1}: ", fault)
    return _BAD_DATE.sub(r"\1 must be a date, such as 2027-01-31", numbered).replace("value error, ", "")


def _unknown_key(document: Any) -> str | None:
    """What is wrong with the keys of a list; None if nothing is."""
    if not isinstance(document, dict):
        return 'write {"suppress": [...]}'
    for key in document.keys() - {"suppress"}:
        return f"{visible(key)}: unknown key; each entry is a [[suppress]]"
    listed = document.get("suppress")
    for number, entry in enumerate(listed if isinstance(listed, list) else (), 1):
        for key in sorted(entry.keys() - Entry.model_fields.keys()) if isinstance(entry, dict) else ():
            return f"entry {number}: {visible(key)}: unknown key; an entry has {', '.join(Entry.model_fields)}"
    return None


def fingerprint_of(listed: Callable[[], SuppressList]) -> list[dict[str, Any]] | str:
    """What of a list changes results: the entries in force. A list that cannot be read is reported where the scorer is built."""
    try:
        return [entry.model_dump(mode="json") for entry in listed().in_force]
    except ConfigError:
        return "unreadable"


@dataclass(frozen=True, slots=True)
class SuppressionCounts:
    """How many findings each entry suppressed over all files of a run, beside the list at hand."""

    known: SuppressList
    counts: Mapping[str, int]

    def rows(self) -> Iterator[tuple[str, str, str, str, str]]:
        """An entry each: name, reason, last day, findings, and what to do about it. Entries of results that the list lacks come last."""
        for entry in self.known.entries:
            times = self.counts.get(entry.name, 0)
            is_expired = entry.expires < self.known.today
            state = "expired: suppresses nothing; renew it or take it out" if is_expired else "" if times else "matched nothing: take it out"
            yield entry.name, entry.reason, entry.expires.isoformat(), f"{times:,}", state
        listed = {entry.name for entry in self.known.entries}
        for name, times in sorted(self.counts.items()):
            if name not in listed:
                yield name, "", "", f"{times:,}", "not in the list at hand"

    @property
    def idle(self) -> dict[str, Idle]:
        """The entries that suppressed nothing in the run, and why."""
        found: dict[str, Idle] = {entry.name: "expired" for entry in self.known.expired}
        return found | {entry.name: "unmatched" for entry in self.known.in_force if not self.counts.get(entry.name)}

    def table(self) -> Table | None:
        """The entries; None without a list and without suppressed findings."""
        rows = list(self.rows())
        return Table(TITLE, ("Entry", "Reason", "Until", "Findings", "State"), rows, frozenset({3})) if rows else None

    def lines(self) -> list[str]:
        """The same for a console and for JUnit, a line per entry."""
        return [
            f"{name}: {findings} suppressed" + (f" until {until} ({reason})" if until else "") + (f"; {state}" if state else "")
            for name, reason, until, findings, state in self.rows()
        ]

    @property
    def in_short(self) -> str:
        """For the last line of every report; empty if there is nothing to say."""
        expired, unused = len(self.known.expired), sum(not self.counts.get(entry.name) for entry in self.known.in_force)
        parts = [f"{counted(sum(self.counts.values()), 'finding')} suppressed"] if self.counts else []
        parts += [f"expired in the suppress list: {expired}"] if expired else []
        parts += [f"matched nothing in the suppress list: {unused}"] if unused else []
        return "; ".join(parts)
