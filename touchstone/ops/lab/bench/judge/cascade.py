"""What suites ask a judge and what that costs, with their cascade and without it, on the samples of every suite that asks one.

The judge is a script: for each suite, the answers of a careful reader of its samples. So labels show what the cascade changes, and nothing about a
model. Tokens are estimated by length, four characters each, and the price is an example.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from touchstone.ops.batch.cases import BatchCase, cases_of
from touchstone.ops.batch.executor import scored
from touchstone.ops.batch.sources import find_sources
from touchstone.ops.lab.bench.judge import JudgeServer
from touchstone.ops.lab.bench.output import table
from touchstone.schemas.result import Problem, ScoreResult
from touchstone.scorers.base import AsksJudge, ConfigError
from touchstone.scorers.judges.ask.tally import JudgeTally
from touchstone.scorers.judges.settings import PREFIX
from touchstone.scorers.registry import load_suite, missing_libraries, suite_entry_points
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.suite import Suite

#: USD per million tokens, in and out: an example, of the order of what small hosted models cost.
PRICE_USD = (0.15, 0.60)
HEAD = ("suite", "samples", "", "judged", "calls per 1,000 cases", "tokens a call, in and out", "USD per 1,000 cases", "labels that differ")


@dataclass(slots=True)
class Outcome:
    """The results of a suite's samples. `labels`: event id → label."""

    tally: JudgeTally = field(default_factory=JudgeTally)
    labels: dict[str, str] = field(default_factory=dict)

    def per_1000(self, value: float) -> float:
        """The value for 1,000 such cases."""
        return 1000 * value / len(self.labels)

    @property
    def tokens(self) -> str:
        """Tokens of a call, in and out."""
        spent = self.tally.spent
        return " and ".join(f"{spent[name] / spent['calls']:,.0f}" for name in ("tokens_in", "tokens_out")) if spent["calls"] else ""


def suites() -> Iterator[tuple[Suite, AsksJudge, str | None]]:
    """Every installed suite that can ask a judge, and the reason if its samples cannot be scored here."""
    for name in sorted(suite_entry_points()):
        suite = load_suite(name)
        if suite.judged is not None:
            yield suite, suite.judged, missing_libraries({**suite.requires, **suite.judged.samples().requires})


def environment(judged: AsksJudge, base_url: str, *, whole: bool) -> Mapping[str, str]:
    """The variables of a run; nothing else is read. `whole`: without the cascade."""
    return {
        **judged.samples().env,
        f"{PREFIX}BASE_URL": base_url,
        f"{PREFIX}MODEL": "touchstone-scripted",
        f"{PREFIX}CACHE": "off",
        f"{PREFIX}PRICE_INPUT_USD": str(PRICE_USD[0]),
        f"{PREFIX}PRICE_OUTPUT_USD": str(PRICE_USD[1]),
        **judged.env,
        **(judged.env_of_all if whole else {}),
    }


async def outcome(suite: Suite, judged: AsksJudge, *, whole: bool) -> Outcome:
    """Score the samples. Raises `ConfigError` for a case that cannot be read, or that the script does not know."""
    found = Outcome()
    async with JudgeServer(lambda asked: judged.answer(asked.last)) as server:
        settings = suite.resolve(environment(judged, server.base_url, whole=whole), None)
        scoring = Scoring(suite, settings)
        try:
            async for entry in scored(_cases(suite, judged, settings), scoring):
                if isinstance(entry, Problem):
                    raise ConfigError(f"{entry.where}: {entry.what}")
                _count(entry, found)
        finally:
            await scoring.close()
        if server.mistakes:
            raise ConfigError(f"{suite.name}: the scripted judge has no answer to a sample ({type(server.mistakes[0]).__name__}: {server.mistakes[0]})")
    return found


def _cases(suite: Suite, judged: AsksJudge, settings: object) -> Iterator[BatchCase | Problem]:
    for source in find_sources(judged.samples().paths, any_file=suite.read is not None):
        for case in cases_of(source, suite, settings, None):
            if case is not None:
                yield case


def _count(result: ScoreResult, found: Outcome) -> None:
    found.tally.add(result.details)
    found.labels[result.event_id] = result.label


def rows(suite: Suite, cascade: Outcome, whole: Outcome) -> Iterator[tuple[str, ...]]:
    """Two rows of the table."""
    changed = [f"{cascade.labels[name]} → {label}" for name, label in whole.labels.items() if cascade.labels.get(name) != label]
    differ = f"{len(changed)} of {len(whole.labels)}" + (
        f" ({', '.join(f'{change}: {changed.count(change)}' for change in sorted(set(changed)))})" if changed else ""
    )
    for name, one, changes in (("with the cascade", cascade, ""), ("without", whole, differ)):
        judged = str(one.tally.states["answered"])
        calls, cost = one.per_1000(one.tally.spent["calls"]), one.per_1000(one.tally.cost_usd)
        yield suite.name, str(len(one.labels)), name, judged, f"{calls:,.0f}", one.tokens, f"{cost:.3f}", changes


async def measure() -> list[str]:
    """The table, and the suites that are left out."""
    found: list[tuple[str, ...]] = []
    left_out = []
    for suite, judged, reason in suites():
        if reason is not None:
            left_out.append(f"{suite.name} is left out: {reason}")
            continue
        found += rows(suite, await outcome(suite, judged, whole=False), await outcome(suite, judged, whole=True))
    price = f"USD {PRICE_USD[0]:g} per million tokens in and {PRICE_USD[1]:g} out"
    return [
        "## What is asked, and what it costs",
        "",
        f"On the samples of every suite that asks a judge; the answers are scripted, tokens are estimated by length. Example price: {price}.",
        "Without the cascade every case, and every part of one, is asked about.",
        "",
        *table(HEAD, found),
        *left_out,
    ]
