"""The settings of a system under test: address, paths, credentials, limits."""

from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from touchstone.schemas.settings.house import LOOPBACK, Section
from touchstone.scorers.base import ConfigError
from touchstone.scorers.settings import Resolver, text_of

DOCUMENT_NAME = "eval.config.json"
ENV_PREFIX = "EVAL_SYSTEM_"
HEADER_CHARS_MAX = 8_192

Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]
UrlPath = Annotated[str, Field(pattern=r"^/[^\s?#]*$", max_length=2_000)]


class SystemSettings(Section):
    """All settings of the system under test."""

    url: str | None = Field(None, description="base URL of a system that is asked over HTTP")
    directory: Path | None = Field(None, description="directory of outputs that a system made earlier")
    token: SecretStr | None = Field(None, description="credential that goes into the header")
    token_header: str = Field("Authorization", pattern=r"^[A-Za-z0-9-]{1,64}$", description="header that carries the token")
    token_scheme: str = Field("Bearer", pattern=r"^[A-Za-z0-9-]{0,32}$", description="word before the token; empty: none")
    persona_path: UrlPath = Field("/api/plan-persona", description="POST {prompt} → persona")
    fhir_path: UrlPath = Field("/api/generate/fhir", description="POST {persona} → FHIR")
    ccda_path: UrlPath = Field("/api/generate/ccda", description="POST {persona} → C-CDA")
    hl7v2_path: UrlPath = Field("/api/generate/hl7v2", description="POST {persona} → HL7 v2")
    timeout_s: Seconds = Field(120.0, description="timeout of one request, its answer included")
    attempts_max: Annotated[int, Field(ge=1, le=20)] = Field(4, description="how often one request is made")
    retry_min_s: Seconds = Field(0.5, description="shortest pause before a request is made again")
    retry_max_s: Seconds = Field(30.0, description="longest pause, also where the system asks for a longer one")
    answer_bytes_max: Annotated[int, Field(ge=1_024, le=104_857_600)] = Field(16_777_216, description="largest answer or file that is read")
    concurrency: Annotated[int, Field(ge=1, le=64)] = Field(4, description="tests in flight")

    @field_validator("url")
    @classmethod
    def _usable(cls, url: str | None) -> str | None:
        if url is None:
            return None
        refused = ValueError("write http(s)://host[:port][/path], without user, query or fragment")
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            raise refused from None
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.password or parts.query or parts.fragment:
            raise refused
        return url.rstrip("/")

    @field_validator("token")
    @classmethod
    def _carried(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not ((text := token.get_secret_value()).isascii() and text.isprintable() and 0 < len(text) <= HEADER_CHARS_MAX):
            raise ValueError("holds characters that no header can carry, or is empty or too long")
        return token

    @model_validator(mode="after")
    def _one_system(self) -> Self:
        if self.url is not None and self.directory is not None:
            raise ValueError("url and directory are both set; keep one")
        if self.token is not None and self.url is not None and urlsplit(self.url).scheme != "https" and urlsplit(self.url).hostname not in LOOPBACK:
            raise ValueError("the token would travel unencrypted; use an https:// url")
        return self

    def path_of(self, form: str) -> str:
        """The path that generates a format."""
        path: str = getattr(self, f"{form}_path")
        return path


resolve = Resolver(SystemSettings, ENV_PREFIX, DOCUMENT_NAME, read_file=text_of)


def system_override(system: str) -> dict[str, Any]:
    """The setting that `--system` makes: a URL or a directory; it overrides the other kind too. Raises `ConfigError` for an empty text."""
    if not system.strip():
        raise ConfigError("--system: is empty; give a URL, a directory of outputs, or samples")
    is_url = system.partition("://")[0].casefold() in {"http", "https"}
    return {"url": system, "directory": None} if is_url else {"directory": system, "url": None}
