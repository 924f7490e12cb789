"""The settings of conformance: the two services, their limits, and how long a document from a file waits for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from touchstone.schemas.settings.house import LOOPBACK, Section
from touchstone.schemas.trace import CLINICAL_FORMATS, ClinicalFormat
from touchstone.scorers.clinical.settings import Urls
from touchstone.scorers.settings import Resolver, text_of, variables

DOCUMENT_NAME = "clinical-conformance.config.json"
#: Not CLINICAL_CONFORMANCE_, which would be taken for variables of the validators.
ENV_PREFIX = "CONFORMANCE_"
#: Variables that all users of the FHIR service share.
SHARED: Final = {"url": "TOUCHSTONE_FHIR_VALIDATOR_URL", "token": "TOUCHSTONE_FHIR_VALIDATOR_TOKEN"}
PROFILES_MAX = 64
Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]


class ServiceSettings(Section):
    """One service. Without `url` it is off, and its verdict is missing from every result."""

    url: str | None = Field(None, description="address of the service; https:// beyond this machine")
    token: SecretStr | None = Field(None, description="bearer token for it")
    timeout_s: Seconds = Field(150.0, description="one document, from the first byte sent to the last one read, its wait in the service's queue included")
    document_bytes_max: Annotated[int, Field(ge=1_024, le=104_857_600)] = Field(20_971_520, description="a larger document is not sent")
    answer_bytes_max: Annotated[int, Field(ge=65_536, le=268_435_456)] = Field(67_108_864, description="a larger answer is no verdict")
    concurrency: Annotated[int, Field(ge=1, le=64)] = Field(2, description="documents that this process asks about at a time")

    @field_validator("url")
    @classmethod
    def _can_be_asked(cls, url: str | None) -> str | None:
        if url is None:
            return None
        refused = "write http(s)://host[:port]/path, without user, query or fragment"
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            raise ValueError(refused) from None
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment or not url.isascii():
            raise ValueError(refused)
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise ValueError("documents would travel unencrypted; use an https:// address, or a service on this machine")
        return url

    @field_validator("token")
    @classmethod
    def _can_be_sent(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not (token.get_secret_value().isascii() and token.get_secret_value().isprintable()):
            raise ValueError("holds characters that no header can carry")
        return token

    @model_validator(mode="after")
    def _token_has_a_service(self) -> Self:
        if self.token is not None and self.url is None:
            raise ValueError("token is set without url; name the service that it is for")
        return self


class FhirServiceSettings(ServiceSettings):
    """HL7's FHIR validator as a service."""

    profiles: Urls = Field((), max_length=PROFILES_MAX, description="canonical URLs that each resource is also validated against")


class CcdaServiceSettings(ServiceSettings):
    """A Reference C-CDA Validator, as ONC's SITE runs one; the URL is that of the service, such as https://host/referenceccdaservice/."""

    objective: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[ -~]+$")] = Field(
        "C-CDA_IG_Plus_Vocab", description="validationObjective: what is held against the document, in the service's own terms"
    )
    reference_file: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[ -~]+$")] = Field(
        "No Scenario File", description="referenceFileName: the scenario that the content is compared with, where the objective names one"
    )
    vocabulary_config: Annotated[str | None, Field(min_length=1, max_length=200, pattern=r"^[ -~]+$")] = Field(
        None, description="vocabularyConfig: one of the service's own; not sent where it is not set"
    )
    severity: Literal["info", "warning", "error"] = Field("warning", description="severityLevel: the least that the service reports")


class ConformanceSettings(Section):
    """All settings. `formats`: those whose documents are validated. `quote`: findings hold the services' texts, which may quote documents."""

    fhir: FhirServiceSettings = FhirServiceSettings()
    ccda: CcdaServiceSettings = CcdaServiceSettings()
    formats: tuple[ClinicalFormat, ...] = CLINICAL_FORMATS
    wait_s: Annotated[float, Field(ge=0, le=3_600, allow_inf_nan=False)] = Field(
        20.0, description="a document from a file waits so long for a service that does not answer; live, it waits until it does"
    )
    quote: bool = Field(False, description="results hold the services' own texts, which can quote the document")


class _Resolver(Resolver[ConformanceSettings]):
    """Also reads the shared variables of the FHIR service. The suite's own address takes precedence, and then the shared token is not used."""

    def __call__(
        self, env: Mapping[str, str], document: Mapping[str, Any] | None, overrides: Mapping[str, Any] | None = None, *, document_name: str | None = None
    ) -> ConformanceSettings:
        known = variables(self.model, self.prefix)
        if env.get(SHARED["url"], "").strip() and not env.get(f"{self.prefix}FHIR_URL", "").strip():
            known |= {name: ("fhir", key) for key, name in SHARED.items()}
        whole = Resolver(self.model, self.prefix, self.document_name, known, text_of)
        return whole(env, document, overrides, document_name=document_name)


resolve = _Resolver(ConformanceSettings, ENV_PREFIX, DOCUMENT_NAME)


def fingerprint(settings: ConformanceSettings) -> dict[str, Any]:
    """The settings that change scores: which services are asked, and for what; never an address, a token or a time limit."""
    ccda = settings.ccda.model_dump(mode="json", include={"objective", "reference_file", "vocabulary_config", "severity"})
    return {
        "formats": sorted(settings.formats),
        "fhir": {"profiles": list(settings.fhir.profiles)} if settings.fhir.url else None,
        "ccda": ccda if settings.ccda.url else None,
    }
