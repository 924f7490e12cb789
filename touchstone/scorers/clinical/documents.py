"""Validates one document of any format: detects the format, runs its validator and scores the findings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.util import find_spec
from typing import Any, Final

from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.checks.code_tables import CodeTables, FirstAnswer, Layout, read_code_table
from touchstone.scorers.clinical.checks.scores import Scores, has_critical, is_validated, score_report
from touchstone.scorers.clinical.checks.terminology import CVX, LOINC, RXNORM, MembershipSource
from touchstone.scorers.clinical.checks.terminology_server import TerminologyServer, umls_server
from touchstone.scorers.clinical.formats import ccda, fhir, hl7v2
from touchstone.scorers.clinical.formats.ccda.rules import rule_files, rules_of
from touchstone.scorers.clinical.formats.ccda.schema import schema_of
from touchstone.scorers.clinical.formats.fhir.profiles.library import can_be_checked
from touchstone.scorers.clinical.formats.fhir.profiles.packages import holds_definitions
from touchstone.scorers.clinical.report import GRAVE, Context, Report, now_utc
from touchstone.scorers.clinical.settings import ClinicalSettings, TerminologySettings

#: The clock of a document stands in one of these years.
YEAR_MIN, YEAR_MAX = 1900, 9000

#: How far into a document its format is looked for.
SNIFFED_BYTES: Final = 65_536
_MLLP_START: Final = b"\x0b"
_HL7V2_HEADERS: Final = (b"MSH", b"FHS", b"BHS")
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_FHIR_NAMESPACE: Final = b"http://hl7.org/fhir"
_CDA_NAMESPACE: Final = b"urn:hl7-org:v3"
#: Brackets that nest, and whole strings and comments: braces inside them do not count.
_JSON_TOKENS: Final = re.compile(rb'(?P<member>"resourceType"\s*:)|"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\]]', re.DOTALL)
#: Checks whose findings mean that an HL7 v2 message departs from its version; the remaining checks are of its content.
_HL7V2_CONFORMANCE: Final = frozenset({"structure", "data_types", "valuesets", "observations", "profile"})
#: Checks of content that break a data type nevertheless: a malformed date or time.
_HL7V2_MALFORMED: Final = frozenset({"datetimes.malformed", "datetimes.calendar"})
#: Requirements of the specification beyond every version of HL7 v2: a patient's identifier with its authority, a name with some part.
_HL7V2_BEYOND: Final = frozenset({"data_types.cx-authority", "data_types.xpn-name"})
#: Codes for a document, or a part of it (a line of NDJSON, a message of a batch), that could not be read; the rest is still validated.
_UNREAD: Final = frozenset(
    {
        "fhir.json.syntax",
        "fhir.json.encoding",
        "fhir.json.object",
        "structure.field-separator",
        "structure.encoding-characters",
        "structure.cut",
        "ccda.xml.syntax",
        "ccda.xml.encoding",
        "ccda.xml.doctype",
        "ccda.xml.root",
    }
)


@dataclass(frozen=True, slots=True)
class Validated:
    """The findings of one document.

    `format`: None where none was recognised. `valid`: whether the document keeps every rule of its standard that a conformant one must
    keep, whatever its score; None where no rule was applied. `readable`: False where it, or a part of it, could not be read.
    """

    format: ClinicalFormat | None
    report: Report
    scores: Scores
    valid: bool | None
    readable: bool = True


def sniff(data: bytes) -> ClinicalFormat | None:
    """The format of a document, from its first 64 KiB; None where it is not recognised."""
    head = _head(data)
    if head.startswith(_HL7V2_HEADERS):
        return "hl7v2"
    if head.startswith((b"{", b"[")):
        return "fhir" if _says_resource(head, is_whole=len(data) <= SNIFFED_BYTES) else None
    if head.startswith(b"<"):
        if _CDA_NAMESPACE in head or b"<ClinicalDocument" in head:
            return "ccda"
        return "fhir" if _FHIR_NAMESPACE in head else None
    return None


def _head(data: bytes) -> bytes:
    """The beginning of a document as UTF-8, without marks, blanks and frames before it."""
    head = data[:SNIFFED_BYTES]
    if head.startswith(_UTF16_MARKS):
        head = head.decode("utf-16", "replace").encode("utf-8", "replace")
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n" + _MLLP_START)


def _says_resource(head: bytes, *, is_whole: bool) -> bool:
    """Whether JSON (an object, or a list of objects) has a member `resourceType` at its top, or, where the beginning does not show its whole top, anywhere.

    Other documents hold resources inside: requests, test cases, exports.
    """
    if b'"resourceType"' not in head:
        return False
    depth, top = 0, 2 if head.startswith(b"[") else 1
    for token in _JSON_TOKENS.finditer(head):
        text = token[0]
        if text in b"{[":
            depth += 1
        elif text in b"}]":
            depth -= 1
            # The end of the first line of NDJSON, or of the document.
            if depth == 0:
                return False
        elif depth == top and token["member"] is not None:
            return True
    return not is_whole


class DocumentValidator:
    """Validates documents with one set of settings; safe to share between threads. Raises `ConfigError` for settings that cannot be used."""

    def __init__(self, settings: ClinicalSettings | None = None, *, now: Callable[[], datetime] = now_utc) -> None:
        settings = settings or ClinicalSettings()
        self._source = membership_source(settings.terminology)
        self._options = _options(settings, self._source)
        _check_packages(self._options)
        self._ccda = ccda_options(settings, self._source)
        _check_rules(self._ccda)
        self._context = Context(now, quote=settings.quote)

    @property
    def asks_others(self) -> bool:
        """Whether a validation may wait for a terminology server."""
        return self._source is not None and not isinstance(self._source, CodeTables)

    def validate(self, content: bytes | str | dict[str, Any], form: ClinicalFormat | None = None, *, at: datetime | None = None) -> Validated:
        """Validate one document; its format is detected where it is not given. `at`: the moment from which the future is judged.

        Never raises for what a document holds. May block, where a terminology server is configured.
        """
        data = as_bytes(content)
        form = form or sniff(data)
        moment = None if at is None else _clamped(at)
        context = self._context if moment is None else replace(self._context, now=lambda: moment)
        if form == "fhir":
            report = fhir.validate(data, context, self._options)
            return _judged(form, report, fhir.is_valid)
        if form == "hl7v2":
            report = hl7v2.validate(data, context, source=self._source)
            return _judged(form, report, _conforms)
        if form == "ccda":
            report = ccda.validate(data, context, self._ccda)
            return _judged(form, report, ccda.is_valid, validated=ccda.was_validated(report))
        report = Report()
        report.skip("format", "the document is recognised neither as FHIR, nor as HL7 v2, nor as C-CDA")
        return Validated(form, report, score_report(report), None)


def _clamped(at: datetime) -> datetime:
    """A moment from which days can be counted in both directions: a trace's time may be any."""
    return at if YEAR_MIN <= at.year <= YEAR_MAX else at.replace(year=min(max(at.year, YEAR_MIN), YEAR_MAX), month=1, day=1)


def as_bytes(content: bytes | str | dict[str, Any]) -> bytes:
    """A document's bytes. Lone surrogates survive, so that the validators can name them."""
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    try:
        return json.dumps(content, separators=(",", ":")).encode()
    except (RecursionError, TypeError, ValueError):
        # Nested deeper than can be written, or with values that JSON does not have: each validator reports that as unreadable.
        return b"{" * 1_025


def membership_source(settings: TerminologySettings) -> MembershipSource | None:
    """The configured sources as one: tables first, because they cost nothing. Raises `ConfigError`."""
    sources: list[MembershipSource] = []
    files: tuple[tuple[Any, Layout, str], ...] = (
        (settings.rxnorm, "rxnorm", RXNORM.url),
        (settings.loinc, "loinc", LOINC.url),
        (settings.cvx, "cvx", CVX.url),
    )
    tables = {}
    for path, layout, url in files:
        if path is not None:
            with _naming(f"terminology.{layout}"):
                tables[url] = read_code_table(path.expanduser(), layout)
    if tables:
        sources.append(CodeTables(tables))
    patience: dict[str, Any] = settings.model_dump(include={"timeout_s", "cache_max", "cache_s", "failures_max", "pause_s", "concurrent_max"})
    if settings.url is not None:
        token = server_token(settings)
        with _naming("terminology.url"):
            sources.append(TerminologyServer(settings.url, token=token, **patience))
    if settings.umls_api_key is not None:
        with _naming("terminology.umls_api_key"):
            sources.append(umls_server(settings.umls_api_key.get_secret_value(), **patience))
    if len(sources) <= 1:
        return sources[0] if sources else None
    return FirstAnswer(*sources)


@contextmanager
def _naming(setting: str) -> Iterator[None]:
    """Name the setting that cannot be used."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{setting}: {error}") from None


def server_token(settings: TerminologySettings) -> str | None:
    """The bearer token for the configured server, from the settings or their file. Raises `ConfigError`."""
    if settings.token is not None:
        return settings.token.get_secret_value()
    if settings.token_file is None:
        return None
    try:
        text = settings.token_file.expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"terminology.token_file: {settings.token_file} cannot be read; name a file that holds the token alone") from None
    if not text:
        raise ConfigError(f"terminology.token_file: {settings.token_file} is empty; write the token into it")
    return text


def _options(settings: ClinicalSettings, source: MembershipSource | None) -> fhir.Options:
    how = settings.fhir
    return fhir.Options(
        extensions=how.extensions,
        references=how.references,
        displays=how.displays,
        security=how.security,
        profiles=how.profiles,
        packages=tuple(path.expanduser() for path in how.packages),
        installed_packages=how.installed_packages,
        source=source,
    )


def _check_packages(options: fhir.Options) -> None:
    """Refuse packages and profiles that were asked for and would check nothing: a gate with a mistyped one would always pass."""
    for path in options.packages:
        if not path.exists():
            raise ConfigError(f"fhir.packages: {path} does not exist; name a folder or .tgz file with a FHIR package")
        try:
            is_empty = not holds_definitions(path)
        except OSError as error:
            raise ConfigError(f"fhir.packages: {path} cannot be read ({error.strerror}); check its permissions") from None
        if is_empty:
            raise ConfigError(f"fhir.packages: {path} holds no FHIR definitions; name a package's folder (with package/ in it), its .tgz, or one definition")
    for url in options.profiles:
        if not can_be_checked(url, options):
            raise ConfigError(f"fhir.profiles: no package here has {url[:200]}; check the URL, or name its package (fhir.packages, --package)")


def ccda_options(settings: ClinicalSettings, source: MembershipSource | None) -> ccda.Options:
    """The options of the C-CDA validator by the settings."""
    how = settings.ccda
    return ccda.Options(
        rules=tuple(path.expanduser() for path in how.rules),
        installed_rules=how.installed_rules,
        schema=None if how.xsd is None else how.xsd.expanduser(),
        recommendations=how.recommendations,
        bytes_max=how.bytes_max,
        elements_max=how.elements_max,
        depth_max=how.depth_max,
        seconds_max=how.time_max_s,
        source=source,
    )


def _check_rules(options: ccda.Options) -> None:
    """Refuse rule files and schemas that were asked for and cannot be used: a gate with a mistyped one would always pass."""
    if not options.rules and options.schema is None:
        return
    if find_spec("lxml") is None:
        raise ConfigError("ccda: rules and xsd need lxml; install touchstone-stream[clinical]")
    with _naming("ccda.rules"):
        for path in rule_files(replace(options, installed_rules=False)):
            rules_of(path)
    if options.schema is not None:
        with _naming("ccda.xsd"):
            schema_of(options.schema)


def _judged(form: ClinicalFormat, report: Report, conforms: Callable[[Report], bool], *, validated: bool | None = None) -> Validated:
    """Scores and verdict of a report. Means hide single faults: an unreadable document is Fail, an invalid one or one with a critical finding at best Warn.

    `validated`: whether what fired are rules of the format; None where any rule is one.
    """
    if validated is None:
        validated = is_validated(report)
    valid = conforms(report) if validated else None
    scores = score_report(report, validated=validated)
    readable = not any(code in _UNREAD and severity == "critical" for code, severity in report.counts())
    if not readable:
        scores = replace(scores, label="Fail")
    elif scores.label == "Pass" and (valid is False or has_critical(report)):
        scores = replace(scores, label="Warn")
    return Validated(form, report, scores, valid, readable)


def _conforms(report: Report) -> bool:
    """Whether an HL7 v2 document meets all requirements of its version and declared profile."""
    broken = {code for code, severity in report.counts() if severity in GRAVE} - _HL7V2_BEYOND
    return not any(code in _HL7V2_MALFORMED or code.partition(".")[0] in _HL7V2_CONFORMANCE for code in broken)
