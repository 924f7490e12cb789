"""The settings of the clinical suite: formats, terminology, FHIR packages and profiles, limits, and how they are merged."""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from touchstone.schemas.settings.house import Section
from touchstone.schemas.trace import CLINICAL_FORMATS, ClinicalFormat
from touchstone.scorers.clinical.content_digests import digest_of_package, digest_of_profile, digest_of_rules, digest_of_table
from touchstone.scorers.clinical.suppression import SuppressList, fingerprint_of, read_list
from touchstone.scorers.settings import Key, Resolver, variables

NAME = "clinical"
VERSION = "1.2"
DOCUMENT_NAME = "clinical.config.json"
ENV_PREFIX = "CLINICAL_"
#: The specification's own name for the key that opens NLM's terminology service.
UMLS_VARIABLE = "UMLS_API_KEY"
#: Packages and profiles that one configuration may name.
PACKAGES_MAX = 64
PROFILES_MAX = 64


def _a_list(value: Any) -> Any:
    """Refuse a value that is not a list, with an example of the JSON."""
    if not isinstance(value, list | tuple):
        raise ValueError('write a list, for example ["…"]')  # noqa: TRY004  # pydantic takes ValueError for a fault of the value
    return value


Paths = Annotated[tuple[Path, ...], BeforeValidator(_a_list)]
Urls = Annotated[tuple[str, ...], BeforeValidator(_a_list)]
Seconds = Annotated[float, Field(gt=0, le=86_400 * 365, allow_inf_nan=False)]


class TerminologySettings(Section):
    """Sources of code systems that are not shipped; without any, membership in them is `not_checked`."""

    url: str | None = Field(None, description="base URL of a FHIR terminology server that supports CodeSystem/$validate-code")
    token: SecretStr | None = Field(None, description="bearer token for it")
    token_file: Path | None = Field(None, description="a file that holds the token")
    umls_api_key: SecretStr | None = Field(None, description="a UMLS API key, which opens NLM's terminology server; also read from UMLS_API_KEY")
    rxnorm: Path | None = Field(None, description="RXNCONSO.RRF of your RxNorm release")
    loinc: Path | None = Field(None, description="LoincTableCore.csv or Loinc.csv of your LOINC release")
    cvx: Path | None = Field(None, description="CDC's cvx.txt")
    timeout_s: Seconds = Field(5.0, description="timeout of one request to a server")
    cache_max: Annotated[int, Field(ge=1, le=10_000_000)] = Field(20_000, description="answers kept")
    cache_s: Seconds = Field(86_400.0, description="how long an answer is cached")
    failures_max: Annotated[int, Field(ge=1, le=1_000)] = Field(5, description="failures in a row after which a server is not asked for a while")
    pause_s: Seconds = Field(30.0, description="how long it is not asked")
    concurrent_max: Annotated[int, Field(ge=1, le=64)] = Field(16, description="concurrent requests to one server")

    @model_validator(mode="after")
    def _one_token(self) -> Self:
        """Refuse two tokens, and a token without a server."""
        if self.token is not None and self.token_file is not None:
            raise ValueError("token and token_file are both set; keep one")
        if self.url is None and (self.token is not None or self.token_file is not None):
            raise ValueError("token is set without url; name the server that it is for")
        return self


class FhirSettings(Section):
    """Options of FHIR validation; docs/fhir.md explains them."""

    packages: Paths = Field((), max_length=PACKAGES_MAX, description="FHIR packages: folders, .tgz files, single definitions")
    installed_packages: bool = Field(True, description="also look in ~/.fhir/packages")
    profiles: Urls = Field((), max_length=PROFILES_MAX, description="canonical URLs that every resource of their type must conform to")
    extensions: Literal["any", "known"] = Field("any", description="known: an extension without a definition at hand is an error")
    references: Literal["document", "exists"] = Field("document", description="exists: a relative reference that resolves nowhere is an error")
    displays: Literal["error", "warning", "ignore"] = Field("warning", description="a display that is not its code system's")
    security: bool = Field(False, description="text that looks like HTML is an error")


class Hl7v2Settings(Section):
    """Options of HL7 v2 validation; docs/hl7v2-profiles.md explains them."""

    profiles: Paths = Field((), max_length=PROFILES_MAX, description="conformance profiles in NIST's XML: the folders that IGAMT or TCAMT exported")


class CcdaSettings(Section):
    """Options of C-CDA validation; docs/ccda.md explains them."""

    rules: Paths = Field((), max_length=PACKAGES_MAX, description="Schematron files (.sch) of C-CDA, or folders that hold some")
    installed_rules: bool = Field(True, description="also look for Schematron files of C-CDA in ~/.fhir/packages")
    xsd: Path | None = Field(None, description="the XML schema that documents must conform to (CDA_SDTC.xsd)")
    recommendations: Literal["info", "minor", "ignore"] = Field("info", description="a SHOULD of the rule files that is not kept")
    bytes_max: Annotated[int, Field(ge=1_024, le=104_857_600)] = Field(50_331_648, description="bytes of one document")
    elements_max: Annotated[int, Field(ge=100, le=2_000_000)] = Field(300_000, description="elements of one document")
    depth_max: Annotated[int, Field(ge=10, le=250)] = Field(150, description="elements nested in elements")
    time_max_s: Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)] = Field(20.0, description="seconds of the processor that one document may take")


class Limits(Section):
    """Bounds of one result. What is beyond them is counted in `details`."""

    findings_max: Annotated[int, Field(ge=1, le=500)] = Field(200, description="findings reported per document, the most severe first")
    not_checked_max: Annotated[int, Field(ge=1, le=200)] = Field(100, description="rules listed as not checked, per document")


Chars = Annotated[int, Field(ge=100, le=200_000)]


class JudgeRequestSettings(Section):
    """The traces that are sent to the clinical judge, and how much of them it sees; docs/clinical-judge.md."""

    requests: bool = Field(False, description="live: ask for a judge, by an event on the topic `judge` for each trace that is let through")
    sample_rate: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        1.0, description="share of the traces that are judged, chosen by a hash of the event's id: always the same ones"
    )
    stop_at: Literal["nothing", "unreadable", "fail", "invalid"] = Field(
        "fail",
        description="nothing: every trace is judged. Else not judged: a trace with a document that cannot be read; or also one that failed; "
        "or also one with a document that is not valid",
    )
    prompt_chars_max: Chars = Field(4_000, description="characters of the prompt that the judge is shown")
    persona_chars_max: Chars = Field(12_000, description="characters of the persona")
    outputs_chars_max: Chars = Field(40_000, description="characters of all documents together")


class ConformanceRequestSettings(Section):
    """The traces whose documents are sent to external validators; docs/conformance.md."""

    requests: bool = Field(False, description="live: ask for them, by an event on the topic `conformance` for each trace with a FHIR or C-CDA document")
    sample_rate: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        1.0, description="share of the traces, chosen by a hash of the event's id: always the same ones"
    )
    request_bytes_max: Annotated[int, Field(ge=1_024, le=780_000)] = Field(
        750_000, description="bytes of one event's documents, the smallest first; what does not fit is named in the result"
    )


class ClinicalSettings(Section):
    """All settings. `formats`: those of a trace that are validated. `quote`: findings may show values of the document."""

    formats: Annotated[tuple[ClinicalFormat, ...], BeforeValidator(_a_list)] = CLINICAL_FORMATS
    terminology: TerminologySettings = TerminologySettings()
    fhir: FhirSettings = FhirSettings()
    hl7v2: Hl7v2Settings = Hl7v2Settings()
    ccda: CcdaSettings = CcdaSettings()
    limits: Limits = Limits()
    judge: JudgeRequestSettings = JudgeRequestSettings()
    conformance: ConformanceRequestSettings = ConformanceRequestSettings()
    quote: bool = False
    suppress: Path | None = Field(None, description="a list of known issues (TOML or JSON) whose findings do not count; docs/clinical-suppress.md")
    consistency: bool = Field(True, description="compare the formats of a trace, and its persona, with each other")

    @cached_property
    def suppressions(self) -> SuppressList:
        """The list of known issues, read once, so that scores, configuration and report are of the same. Raises `ConfigError`."""
        return read_list(self.suppress)

    @field_validator("formats")
    @classmethod
    def _some_format(cls, formats: tuple[ClinicalFormat, ...]) -> tuple[ClinicalFormat, ...]:
        # A length on the field would count only valid items, and report one mistake twice.
        if not formats:
            raise ValueError("name at least one format")
        return formats


def _text(path: str) -> str:
    """The text of a file that a variable names."""
    return Path(path).expanduser().read_text(encoding="utf-8")


VARIABLES: dict[str, Key] = {**variables(ClinicalSettings, ENV_PREFIX), UMLS_VARIABLE: ("terminology", "umls_api_key")}
resolve = Resolver(ClinicalSettings, ENV_PREFIX, DOCUMENT_NAME, VARIABLES, _text)


def fingerprint(settings: ClinicalSettings) -> dict[str, Any]:
    """The settings that change scores: not credentials, timeouts, or the texts in results.

    Tables and packages are represented by a digest of their content, so that a path never changes the fingerprint and a new release always does.
    """
    terminology, fhir, ccda = settings.terminology, settings.fhir, settings.ccda
    return {
        "formats": sorted(settings.formats),
        "consistency": settings.consistency,
        # Without the reader of units, the check `units` does not run.
        "unit_reader": find_spec("ucumvert") is not None,
        "terminology": {
            "url": terminology.url,
            "umls": terminology.umls_api_key is not None,
            **{name: digest_of_table(path) for name in ("rxnorm", "loinc", "cvx") if (path := getattr(terminology, name)) is not None},
        },
        "fhir": fhir.model_dump(mode="json", exclude={"packages"}) | {"packages": [digest_of_package(path) for path in fhir.packages]},
        "ccda": ccda.model_dump(mode="json", exclude={"rules", "xsd"})
        | {"rules": [digest_of_rules(path) for path in ccda.rules], "xsd": None if ccda.xsd is None else digest_of_table(ccda.xsd)},
        **({"suppress": fingerprint_of(lambda: settings.suppressions)} if settings.suppress is not None else {}),
        # Only where some are loaded, so that the fingerprint of others stays what it was.
        **({"hl7v2": {"profiles": [digest_of_profile(path) for path in settings.hl7v2.profiles]}} if settings.hl7v2.profiles else {}),
    }
