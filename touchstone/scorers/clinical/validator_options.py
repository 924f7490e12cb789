"""The options of the validators by the suite's settings. Refuses packages, rules and tables that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.checks.code_tables import CodeTables, FirstAnswer, Layout, read_code_table
from touchstone.scorers.clinical.checks.terminology import CVX, LOINC, RXNORM, MembershipSource
from touchstone.scorers.clinical.checks.terminology_server import TerminologyServer, umls_server
from touchstone.scorers.clinical.formats import ccda, fhir, hl7v2
from touchstone.scorers.clinical.formats.ccda.rules import rule_files, rules_of
from touchstone.scorers.clinical.formats.ccda.schema import schema_of
from touchstone.scorers.clinical.formats.fhir.profiles.library import can_be_checked
from touchstone.scorers.clinical.formats.fhir.profiles.packages import holds_definitions
from touchstone.scorers.clinical.settings import ClinicalSettings, TerminologySettings
from touchstone.scorers.installing import install_extras


def membership_source(settings: TerminologySettings) -> MembershipSource | None:
    """The configured sources of code systems as one: tables first, because they cost nothing. Raises `ConfigError`."""
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
    """Add the name of the setting to a `ConfigError`."""
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


def fhir_options(settings: ClinicalSettings, source: MembershipSource | None) -> fhir.Options:
    """The options of the FHIR validator by the settings."""
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


def check_packages(options: fhir.Options) -> None:
    """Refuse packages and profiles that would check nothing: a gate with a mistyped one would always pass."""
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


def hl7v2_profiles(settings: ClinicalSettings) -> hl7v2.Profiles | None:
    """The conformance profiles of the settings. Raises `ConfigError` for one that cannot be used: a gate with a mistyped one would always pass."""
    if not settings.hl7v2.profiles:
        return None
    with _naming("hl7v2.profiles"):
        return hl7v2.Profiles(hl7v2.load_profiles(settings.hl7v2.profiles))


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


def check_rules(options: ccda.Options) -> None:
    """Refuse rule files and schemas that cannot be used: a gate with a mistyped one would always pass."""
    if not options.rules and options.schema is None:
        return
    if find_spec("lxml") is None:
        raise ConfigError(f"ccda: rules and xsd need lxml; {install_extras('clinical')}")
    with _naming("ccda.rules"):
        for path in rule_files(replace(options, installed_rules=False)):
            rules_of(path)
    if options.schema is not None:
        with _naming("ccda.xsd"):
            schema_of(options.schema)
