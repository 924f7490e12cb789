"""Settings of a judge: model, server, limits and budget. Every suite with a judge has them under `judge`."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, Field, SecretStr, field_validator, model_validator

from touchstone.schemas.settings.house import LOOPBACK, Seconds, Section
from touchstone.scorers.base import ConfigError
from touchstone.scorers.judges.ask.judge import Prompt
from touchstone.scorers.settings import Key, Resolver, environment, in_files, text_of, variables

PREFIX = "TOUCHSTONE_JUDGE_"
OPENAI_URL = "https://api.openai.com/v1"
#: The default file of budgets per hour, day or month.
BUDGET_FILE = Path("touchstone-judge-budget.db")
ModelT = TypeVar("ModelT", bound=BaseModel)
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Usd = Annotated[float, Field(ge=0, le=10_000, allow_inf_nan=False)]
Rate = Annotated[int, Field(ge=0, le=1_000_000_000)]


def _or_none(value: Any) -> Any:
    """Read the word `none` as no value, because a variable cannot be null."""
    return None if isinstance(value, str) and value.strip().lower() == "none" else value


class Price(Section):
    """The price of a model, in USD per million tokens. `cached_usd`: of prompt tokens that the server had cached; by default that of others."""

    input_usd: Usd
    output_usd: Usd
    cached_usd: Usd | None = None


class JudgeSettings(Section):
    """One model behind an OpenAI-compatible server."""

    enabled: bool = Field(True, description="false: no judge is asked, and its part is missing from results")
    base_url: str = Field(OPENAI_URL, min_length=8, max_length=2_000, description="of any OpenAI-compatible server, with its path: https://host/v1")
    api_key: SecretStr | None = Field(None, description="servers on this machine may need none")
    insecure_http: bool = Field(False, description="send the key over plain http to another machine")
    model: str = Field("gpt-4o-mini", min_length=1, max_length=200, description="name a snapshot where the server has them: scores change with the model")
    temperature: Annotated[Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None, BeforeValidator(_or_none)] = Field(
        0.0, description="none: not sent, for models that refuse it"
    )
    seed: Annotated[Annotated[int, Field(ge=0, le=2**31 - 1)] | None, BeforeValidator(_or_none)] = Field(
        None, description="sent if set; some servers ignore it"
    )
    max_tokens: Annotated[int, Field(ge=16, le=200_000)] = Field(2_000, description="of an answer, including reasoning; reserved from the budget beforehand")
    context_tokens: Annotated[int, Field(ge=512, le=10_000_000)] = Field(128_000, description="a longer prompt is too_long, by estimate, and not sent")
    prompt_chars_max: Annotated[int, Field(ge=1_000, le=10_000_000)] = Field(200_000, description="a longer prompt is too_long, and not sent")
    structured: Literal["auto", "json_schema", "tools", "text"] = Field(
        "auto", description="how the form of an answer is asked for; auto: the strictest way that works"
    )
    connect_timeout_s: Seconds = 10
    timeout_s: Seconds = Field(60, description="one request, from its start to the end of its answer")
    deadline_s: Seconds = Field(180, description="one case, with all waiting and all requests")
    attempts_max: Annotated[int, Field(ge=1, le=100)] = Field(4, description="failures in a row, of three cases or more, after which judge_up is 0")
    retry_backoff_min_s: Annotated[float, Field(ge=0.001, le=60)] = 0.5
    retry_backoff_max_s: Annotated[float, Field(ge=0.001, le=600)] = 20.0
    retry_after_max_s: Annotated[float, Field(ge=0, le=3_600)] = Field(120, description="a longer Retry-After of the server counts as this")
    concurrency: Annotated[int, Field(ge=1, le=10_000)] = Field(20, description="requests in flight, per process; a 429 halves it for a while")
    requests_per_minute: Rate = Field(0, description="per process, never more in any minute; 0: no limit")
    tokens_per_minute: Rate = Field(0, description="the same for tokens, by estimate: prompt and max_tokens; 0: no limit")
    budget_usd: Annotated[Annotated[float, Field(gt=0, le=10_000_000, allow_inf_nan=False)] | None, BeforeValidator(_or_none)] = Field(
        None, description="the most that a suite may spend in a period; needs the model's price"
    )
    budget_period: Literal["hour", "day", "month", "run"] = Field("day", description="in UTC; run: this process, or all that share budget_file")
    budget_file: Path | None = Field(None, description=f"shared by all processes that share the budget; by default {BUDGET_FILE} (run: none)")
    budget_uncertain_share: Share = Field(
        0.1, description="how much of the budget requests without an answer may use up; 1: the bill is never above the budget"
    )
    price: Price | None = Field(None, description="of the model; wins over prices")
    prices: dict[str, Price] = Field(default_factory=dict, max_length=1_000, description="model → price")
    cache: str = Field("memory", min_length=1, max_length=4_000, description="of verdicts: off, memory, or a file, which may hold text of cases (mode 0600)")
    cache_items: Annotated[int, Field(ge=1, le=10_000_000)] = Field(10_000, description="verdicts kept; the least recently used is dropped first")

    @field_validator("base_url")
    @classmethod
    def _can_be_asked(cls, url: str) -> str:
        """Refuse what is not a base URL, without quoting it, because people paste keys."""
        try:
            parts = urlsplit(url)
            valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            valid = False
        if not valid or any(not "!" <= char <= "~" for char in url):
            raise ValueError("write the server's base URL: https://host/v1 or http://127.0.0.1:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("a base URL has no user, password, query or fragment; the key goes into api_key")
        return url.rstrip("/")

    @field_validator("api_key")
    @classmethod
    def _can_be_sent(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and not re.fullmatch(r"[!-~]{1,4096}", key.get_secret_value()):
            raise ValueError("a key is up to 4,096 ASCII characters without blanks")
        return key

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.api_key is not None and self.base_url.startswith("http:") and not self.is_loopback and not self.insecure_http:
            raise ValueError("base_url is plain http to another machine, which would show the key: use https, or set insecure_http")
        if self.retry_backoff_min_s > self.retry_backoff_max_s:
            raise ValueError("retry_backoff_min_s is above retry_backoff_max_s; lower the first or raise the second")
        if self.max_tokens >= self.context_tokens:
            raise ValueError("max_tokens leaves no room for a prompt in context_tokens; lower the first or raise the second")
        return self

    @property
    def is_loopback(self) -> bool:
        """True if the server runs on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return host in LOOPBACK or ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def is_usable(self) -> bool:
        """True if a judge can be asked: there is a key, or a server other than OpenAI's, which may need none."""
        return not self.why_unusable

    @property
    def why_unusable(self) -> str:
        """Why no judge can be asked, and what to set; empty if one can. A suite reports it once."""
        if not self.enabled:
            return f"the judge is switched off: set {PREFIX}ENABLED, or the suite's own variable, to true"
        return "" if self.api_key is not None or self.base_url != OPENAI_URL else NO_KEY

    @property
    def price_of_model(self) -> Price | None:
        """The price of the model; None if it is not known."""
        return self.price or self.prices.get(self.model)


#: What to do without a key.
NO_KEY = f"no key for the judge: set {PREFIX}API_KEY or OPENAI_API_KEY (each also with _FILE), or {PREFIX}BASE_URL to a server without one"


def judge_variables(section: str = "judge") -> dict[str, Key]:
    """Variables that all suites share → keys below `section`. `TOUCHSTONE_JUDGE_…` wins over `OPENAI_…`, and a suite's own variable over both."""
    own = {name: (section, *key) for name, key in variables(JudgeSettings, PREFIX).items()}
    return {"OPENAI_API_KEY": (section, "api_key"), "OPENAI_BASE_URL": (section, "base_url"), **own}


def judge_names() -> frozenset[str]:
    """Every variable `TOUCHSTONE_JUDGE_…`, including those that name a file. Touchstone's own settings leave them to the suites."""
    own = variables(JudgeSettings, PREFIX)
    return frozenset((*own, *in_files(JudgeSettings, own)))


def check_names(env: Mapping[str, str]) -> None:
    """Raise `ConfigError` for an unknown variable `TOUCHSTONE_JUDGE_…`. No suite would notice it, because each knows only its own prefix."""
    shared = variables(JudgeSettings, PREFIX)
    own = {name: value for name, value in env.items() if name.startswith(PREFIX) and name not in judge_names()}
    for _ in environment(own, JudgeSettings, shared, PREFIX):
        pass


@dataclass(frozen=True)
class _Resolver(Resolver[ModelT]):
    """Reads the judge's shared variables only if the settings ask a judge. Otherwise mistakes in them do not matter."""

    shared: Mapping[str, Key] = field(default_factory=dict)
    asks: Callable[[Any], bool] = lambda _: True

    def __call__(
        self, env: Mapping[str, str], document: Mapping[str, Any] | None, overrides: Mapping[str, Any] | None = None, *, document_name: str | None = None
    ) -> ModelT:
        with suppress(ConfigError):  # it is raised below, unless the shared variables fix it
            alone = super().__call__(env, document, overrides, document_name=document_name)
            if not self.asks(alone):
                return alone
        whole = Resolver(self.model, self.prefix, self.document_name, {**self.shared, **(self.variables or {})}, self.read_file)
        return whole(env, document, overrides, document_name=document_name)


def resolver(
    model: type[ModelT],
    prefix: str,
    document_name: str,
    own: Mapping[str, Key] | None = None,
    *,
    section: str = "judge",
    asks: Callable[[ModelT], bool] = lambda _: True,
) -> Resolver[ModelT]:
    """A suite's `Resolver` that also reads the judge's shared variables, and each variable's value from the file that `NAME_FILE` names.

    `model`: has a field `section: JudgeSettings`. `own`: the suite's variables, by default those of its fields. `asks(settings)`: True if these settings ask
    a judge; the shared variables are read only then.
    """
    return _Resolver(model, prefix, document_name, variables(model, prefix) if own is None else own, text_of, judge_variables(section), asks)


def fingerprint(settings: JudgeSettings, prompts: Iterable[Prompt] = ()) -> dict[str, Any]:
    """The settings that change verdicts: the model, its parameters and the prompts; never a key, URL, limit or price."""
    asked = settings.model_dump(mode="json", include={"model", "temperature", "seed", "max_tokens", "structured"})
    return asked | {"prompts": {prompt.name: prompt.digest for prompt in sorted(prompts, key=lambda prompt: prompt.name)}}
