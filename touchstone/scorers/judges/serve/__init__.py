"""One judge behind an OpenAI-compatible server. `open_judge` opens it; the libraries that it needs are imported only then."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_extras
from touchstone.scorers.judges.settings import PREFIX, JudgeSettings

if TYPE_CHECKING:
    from touchstone.scorers.judges.ask.judge import Judge

_NEEDED = ("openai", "aiolimiter")


def open_judge(settings: JudgeSettings, *, suite: str, transport: Any = None) -> Judge:
    """The judge of a suite, with the suite's own budget. `transport`: replaces the network in tests.

    Raises `ConfigError` if a library or a needed key is missing, if there is a budget and no price, and if a file cannot be used.
    """
    if absent := [name for name in _NEEDED if find_spec(name) is None]:
        raise ConfigError(f"{suite}: no module {absent[0]!r} here; {install_extras('judge')}")
    if why := settings.why_unusable:
        raise ConfigError(f"{suite}: {why}")
    if settings.budget_usd is not None and settings.price_of_model is None:
        raise ConfigError(
            f"{suite}: judge.budget_usd is set, and the price of {settings.model!r} is not known: set {PREFIX}PRICE_INPUT_USD and {PREFIX}PRICE_OUTPUT_USD, "
            "in USD per million tokens, or judge.prices in the suite's document"
        )
    from touchstone.scorers.judges.serve.budget import Budget
    from touchstone.scorers.judges.serve.client import Client
    from touchstone.scorers.judges.serve.served_judge import ServedJudge
    from touchstone.scorers.judges.serve.verdict_cache import open_cache

    budget = Budget(settings, suite) if settings.budget_usd is not None else None
    return ServedJudge(settings, Client(settings, transport), budget=budget, cache=open_cache(settings))
