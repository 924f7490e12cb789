"""The settings of Loss V3: weights, thresholds, the compression schedule, limits, labels, engines."""

from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from touchstone.schemas.settings.engines import EngineSettings
from touchstone.schemas.settings.house import Section
from touchstone.scorers.judges.ask.judge import OnBudget
from touchstone.scorers.judges.settings import JudgeSettings, resolver
from touchstone.scorers.judges.settings import fingerprint as judge_fingerprint

NAME = "summary_loss"
VERSION = "3.2"
DOCUMENT_NAME = "summary.config.json"
ENV_PREFIX = "SUMMARY_LOSS_"
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=1, le=100_000_000)]


class Weights(Section):
    """How much each component counts (§2); they are divided by their sum."""

    facts: Weight = 0.40
    entities: Weight = 0.20
    flow: Weight = 0.20
    semantic: Weight = 0.15
    length: Weight = 0.05

    @model_validator(mode="after")
    def _something_counts(self) -> Self:
        """Refuse a loss without a component; facts, semantic and length can always be computed."""
        if self.facts + self.semantic + self.length <= 0:
            raise ValueError("give facts, semantic or length a weight; entities and flow may be absent from a gold")
        return self


class Thresholds(Section):
    """When an entity matches (ratio above `fuzzy`, cosine of at least `context`), and when an outline point is covered."""

    fuzzy: Share = 0.90
    context: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] = 0.35
    coverage: Share = 0.50


class Labels(Section):
    """Bounds of the labels, which Touchstone adds to the specification: Pass up to the first, Review up to the second, else Fail."""

    pass_loss_max: Share = 0.35
    review_loss_max: Share = 0.55
    sure_min: Share = Field(0.5, description="the model is sure of a statement with so much support; below, and not unsupported, it is unsure")
    unsure_share_max: Share = Field(0.5, description="a summary with a greater share of unsure sentences, or of unsure facts, is Review at best; 1: never")
    pass_sentence_min: Share = Field(0, description="a summary with a sentence that is supported less is Review at best")
    pass_fact_min: Share = Field(0, description="a summary in which a key fact is supported less is Review at best")
    unsupported_share_max: Share = Field(0.5, description="a summary with a greater share of unsupported sentences is Fail; 1: never")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.pass_loss_max > self.review_loss_max:
            raise ValueError("pass_loss_max is above review_loss_max; lower the first or raise the second")
        return self


Cap = Literal["none", "Review", "Fail"]


class Conflicts(Section):
    """Which conflicts are looked for, and their cost. `nearest`: units of the gold that a sentence is compared with."""

    values: bool = Field(True, description="compare numbers, quantities, dates, durations, money and percentages")
    wording: bool = Field(True, description="compare names in a role, negations, opposites, sides of the body and allergies")
    relations: bool = Field(True, description="with wording: compare words with a scale too (doubled, tripled; all, some), and a time span with its two times")
    unknown: bool = Field(
        True, description="find names, numbers and codes that neither the gold nor its source has, where the gold brings that text as a whole"
    )
    contradiction_min: Share = Field(0.95, description="a sentence conflicts where its nearest unit contradicts it so much and none bears it; 1: never")
    unsupported_max: Share = Field(0.05, description="a sentence is unsupported where nothing near it supports it more than this; 0: never")
    unsupported_far_max: Share = Field(0.15, description="the same for a sentence that nothing is near to …")
    near_min: Share = Field(0.45, description="… because no unit has such a cosine with it")
    altered_max: Share = Field(0.4, description="a sentence copied from a unit but for one or two places is altered where no unit entails it so much; 0: never")
    nearest: Annotated[int, Field(ge=1, le=20)] = 8
    cosine_min: Share = Field(0.35, description="a unit less close than this is not what the sentence is about")
    weight: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = Field(
        8.0, description="precision is multiplied by borne / (borne + conflicts), in sentences, to this power; 0: a sentence in conflict merely bears nothing"
    )
    cap: Cap = Field("Review", description="the best label of a summary with a conflict")
    clinical_cap: Cap = Field("Fail", description="the best label where a clinical quantity, an allergy or a side of the body is wrong")
    unsupported_cap: Cap = Field("Review", description="the best label of a summary with an unsupported sentence")
    altered_cap: Cap = Field("none", description="the best label of a summary with an altered sentence")


class CompressionTier(Section):
    """Texts of up to `max_input` tokens are summarised to `ratio` of that, within bounds."""

    max_input: Tokens
    ratio: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    min_tokens: Tokens
    max_tokens: Tokens


COMPRESSION_SCHEDULE = (
    CompressionTier(max_input=2_000, ratio=0.15, min_tokens=300, max_tokens=400),
    CompressionTier(max_input=10_000, ratio=0.10, min_tokens=400, max_tokens=1_000),
    CompressionTier(max_input=40_000, ratio=0.05, min_tokens=1_000, max_tokens=2_000),
)


class Compression(Section):
    """The compression schedule, tiers in ascending order of `max_input`; a longer text is summarised to `global_max_tokens`."""

    schedule: tuple[CompressionTier, ...] = Field(COMPRESSION_SCHEDULE, max_length=100)
    global_max_tokens: Tokens = 2_500

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if any(first.max_input >= second.max_input for first, second in pairwise(self.schedule)):
            raise ValueError("schedule: max_input must rise from tier to tier")
        if any(tier.min_tokens > tier.max_tokens for tier in self.schedule):
            raise ValueError("schedule: min_tokens is above max_tokens")
        return self


class Limits(Section):
    """Bounds of a case; beyond them it is unscored, with a failure."""

    generated_chars_max: Annotated[int, Field(ge=1, le=1_000_000)] = 60_000
    gold_chars_max: Annotated[int, Field(ge=1, le=1_000_000)] = 60_000
    source_chars_max: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        60_000, description="of the source text, so much is looked at; the result says where there is more"
    )
    sentences_max: Annotated[int, Field(ge=1, le=20_000)] = 600
    pairs_max: Annotated[int, Field(ge=1, le=10_000_000)] = 50_000


class SummarySettings(Section):
    """Everything that can be set. `beta`: how much recall counts beside precision. `windows`: sentences per premise."""

    weights: Weights = Weights()
    thresholds: Thresholds = Thresholds()
    beta: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] = 1.0
    order_weight: Share = Field(0.3, description="share of order in flow; the rest is coverage")
    context_words: Annotated[int, Field(ge=1, le=200)] = Field(12, description="words on each side of a mention")
    windows: tuple[Annotated[int, Field(ge=1, le=50)], ...] = Field((1, 2), min_length=1, max_length=8)
    premise_words_max: Annotated[int, Field(ge=0, le=10_000)] = Field(
        60, description="words of the longest premise; longer sentences are cut into clauses; 0: no bound. The models were shown to answer for so many"
    )
    precision: Literal["nearest", "ratio", "e", "summac"] = Field(
        "nearest",
        description="nearest: support by the units nearest to a sentence, and conflicts count; ratio: e/(e + c + 0.1) over them, and conflicts count; "
        "e: entailment by any unit of the gold; summac: the greatest entailment less the greatest contradiction over all units",
    )
    nearest_units: Annotated[int, Field(ge=1, le=100)] = Field(
        6, description="units that a sentence is asked of where the nearest two leave doubt, nearest by cosine first; nearest and ratio"
    )
    headings: bool = Field(True, description="an outline point without a verb is covered through the facts nearest to it")
    short_names: bool = Field(True, description="an entity counts where the text has its surname or short name alone")
    source: bool = Field(True, description="sentences of the gold's source text are units too; nearest, ratio and conflicts")
    support: Literal["auto", "nli", "nli+lexical", "calibrated", "judge"] = Field(
        "auto",
        description="what shows that a statement is present: entailment; its mean with shared words; or what was calibrated for the model from entailment, "
        "embedding and words. auto: calibrated for Touchstone's own models, else entailment; judge: as auto, and what that leaves uncertain a judge settles",
    )
    judge: JudgeSettings = JudgeSettings()
    judge_band_low: Share = Field(0.02, description="a judge is asked about facts and sentences whose support is from this value …")
    judge_band_high: Share = Field(0.95, description="… to here, and of what is in a conflict or unsupported")
    judge_facts_max: Annotated[int, Field(ge=0, le=100)] = Field(20, description="facts in one call, the most uncertain first")
    judge_sentences_max: Annotated[int, Field(ge=0, le=600)] = Field(40, description="sentences in one call, those in conflict and the most uncertain first")
    judge_source_chars_max: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        12_000, description="of the source text that a judge is shown; of a longer one, the sentences nearest to those it is asked of"
    )
    on_budget: OnBudget = Field("wait", description="live, with the judge's budget spent: wait for its next period, or give the event the outcome shed(budget)")
    prefilter_top_k: Annotated[int, Field(ge=0, le=1_000)] = Field(
        2,
        description="sentences that a statement is asked of first, nearest by cosine; where these leave doubt, as many more and twice as many runs; 0: all",
    )
    doubt_max: Share = Field(0.95, description="a support below this is in doubt after the first round, and a second one asks more; 0: one round only")
    compression: Compression = Compression()
    limits: Limits = Limits()
    labels: Labels = Labels()
    conflicts: Conflicts = Conflicts()
    gold: Path | None = Field(None, description="file of gold standards, JSON or JSON lines, that `gold_ref` refers to")
    evidence: Literal["none", "ids"] = Field("none", description="ids: which window supported which fact, point and sentence")
    quote: bool = Field(False, description="results may carry facts, entities and sentences as they were written")
    engines: EngineSettings = EngineSettings()

    @model_validator(mode="after")
    def _can_be_judged(self) -> Self:
        """Refuse a judge where no conflict is looked for, and a band that is none."""
        if self.judge_band_low > self.judge_band_high:
            raise ValueError("judge_band_low is above judge_band_high; lower the first or raise the second")
        if self.asks_judge and not self.looks_near:
            raise ValueError("support: judge needs precision nearest or ratio, which compare each sentence with what is near it")
        return self

    @property
    def asks_judge(self) -> bool:
        """True if a judge decides what is uncertain."""
        return self.support == "judge"

    @property
    def looks_near(self) -> bool:
        """True if sentences are compared with the units nearest to them."""
        return self.precision in {"nearest", "ratio"}

    @property
    def supported_by(self) -> Literal["nli", "nli+lexical", "calibrated"]:
        """`support` of the models, with `auto` settled: a calibration holds for the model that it was made for."""
        if self.support != "auto" and self.support != "judge":  # noqa: PLR1714  # what remains is a type of its own
            return self.support
        from touchstone.scorers.engines.catalogue import answering

        return "calibrated" if answering(self.engines) is not None else "nli"


#: Keys that change no score: what results show, and how the engines run.
SHOWN_ONLY = frozenset({"evidence", "quote", "gold", "engines", "on_budget"})
#: Keys of the judge alone.
OF_JUDGE = frozenset({"judge", "judge_band_low", "judge_band_high", "judge_facts_max", "judge_sentences_max", "judge_source_chars_max"})


resolve = resolver(SummarySettings, ENV_PREFIX, DOCUMENT_NAME, asks=lambda settings: settings.asks_judge)


def fingerprint(settings: SummarySettings) -> dict[str, Any]:
    """The part that changes scores and labels: everything but what results show and where the engines run.

    Models and golds are named by their content where it is on this machine, so that a path never enters and a new content always does.
    """
    from touchstone.scorers.engines.catalogue import answering, identity

    engines = settings.engines
    own = answering(engines)
    calibration = f"+{_digest(own.adapter / 'calibration.json')}" if own is not None and settings.supported_by == "calibrated" else ""
    keys = settings.model_dump(mode="json", exclude=set(SHOWN_ONLY | OF_JUDGE))
    if settings.asks_judge:
        from touchstone.scorers.summary.judge_prompt import prompt

        bounds = settings.model_dump(mode="json", include=set(OF_JUDGE - {"judge"}))
        keys |= bounds | {"judge": judge_fingerprint(settings.judge, [prompt()]) if settings.judge.is_usable else None}
    return keys | {
        "support": settings.supported_by,
        "nli": identity(engines) + calibration,
        "embedder": _named(engines.embedder_model, engines.embedder_revision),
        "gold": _digest(settings.gold) if settings.gold else None,
    }


def _named(model: str, revision: str | None) -> str:
    """The name of the embedder: `default`, a hub name, or a folder's name, with the digest of its weights where they lie here."""
    from touchstone.scorers.engines.weights import folder_here

    if model == "default":
        return model  # one content, whatever package brings it
    if (folder := folder_here(model)) is not None:
        return f"{folder.resolve().name}@{_weights_digest(folder)}"
    return f"{model}@{revision}" if revision else model


@lru_cache(maxsize=16)
def _weights_digest(folder: Path) -> str:
    """Twelve hex digits that name a folder's model; `absent` where it cannot be read (building it reports that)."""
    from touchstone.scorers.engines.weights import digest_of

    try:
        return digest_of(folder)
    except (OSError, ValueError):
        return "absent"


def _digest(path: Path) -> str:
    """Twelve hex digits that name a file's content; `absent` where it cannot be read (building reports that)."""
    try:
        return sha256(path.expanduser().read_bytes()).hexdigest()[:12]
    except (OSError, RuntimeError):
        return "absent"
