"""Phase 1 of Loss V3: prepares the text, its sentences and windows, hard fails, and entities found by spelling."""

from collections.abc import Sequence
from dataclasses import dataclass

from touchstone.schemas.gold import GoldStandardDatum
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.summary.components.entities import Mention, Sought, Words, seek
from touchstone.scorers.summary.hard_fails.breaches import JSON, Breach, Told, breaches
from touchstone.scorers.summary.hard_fails.generation import Generation, Unreadable, read_generation
from touchstone.scorers.summary.premises import premises
from touchstone.scorers.summary.sentences import Span, Window, split
from touchstone.scorers.summary.settings import SummarySettings

NO_GOLD, GOLD_NOT_FOUND = "no_gold", "gold_not_found"
GOLD_EMPTY, GOLD_TOO_LONG = "gold_empty", "gold_too_long"
EMPTY_GENERATION, GENERATION_TOO_LONG, TOO_MANY_PAIRS = "empty_generation", "generation_too_long", "too_many_pairs"
STATEMENT_TOO_LONG = "statement_too_long"
#: The most windows that a statement is asked of in both rounds, times `prefilter_top_k`: twice as many single sentences, and twice as many pairs.
FIRST_AND_SECOND = 4
#: Sentences per unit of the source text; a longer run says too much to be compared with one sentence.
SOURCE_WINDOWS = (1, 2)

#: A source text of fewer words for each token that the gold counts is an extract, or a mere title.
WHOLE_SOURCE_MIN = 0.4


class Unscored(Exception):
    """A case that gets a named outcome in place of a number."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Split:
    """A text in sentences, and in windows that are premises."""

    text: str
    spans: tuple[Span, ...]
    windows: tuple[Window, ...]

    @classmethod
    def of(cls, text: str, sizes: Sequence[int], words_max: int = 0) -> "Split":
        """Split a text. `words_max`: the longest premise, in words; 0: of any length."""
        spans = split(text)
        return cls(text, tuple(spans), tuple(premises(text, spans, sizes, words_max)))

    @property
    def sentences(self) -> list[str]:
        """The texts of the sentences."""
        return [self.text[span.start : span.end] for span in self.spans]

    @property
    def premises(self) -> list[str]:
        """The texts of the windows."""
        return [self.text[window.start : window.end] for window in self.windows]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case that can be scored, or that failed hard (`breaches`; the rest is then not used)."""

    datum: GoldStandardDatum
    generated: Split
    breaches: tuple[Breach, ...]
    gold: Split
    source: Split = Split("", (), ())
    source_cut: bool = False
    entities: tuple[str, ...] = ()
    sought: tuple[Sought, ...] = ()
    words: tuple[Words, Words] | None = None

    @property
    def has_whole_source(self) -> bool:
        """True if the source text was read, to its end, and is about as long as the gold says: what it does not name is then unknown."""
        words = len(self.source.text.split())
        return not self.source_cut and words >= max(WHOLE_SOURCE_MIN * self.datum.entry.token_count, WHOLE_SOURCE_MIN * len(self.gold.text.split()), 1)

    @property
    def known_sentences(self) -> tuple[str, ...]:
        """What is known: facts, and the sentences of the narrative and of the source."""
        return (*self.datum.summary.key_facts, *self.gold.sentences, *self.source.sentences)

    def contexts(self, side: int, mentions: Sequence[Mention], words: int) -> list[str]:
        """The contexts of mentions; `side` 0: in the generated summary, 1: in the gold narrative."""
        assert self.words is not None
        return [self.words[side].context(mention, words) for mention in mentions]


def prepare(case: SummaryCase, datum: GoldStandardDatum, settings: SummarySettings) -> Prepared:
    """Check, read, split, guard, and look for entities. Raises `Unscored`. Pure work of some milliseconds."""
    limits = settings.limits
    if len(case.generated) > limits.generated_chars_max:
        raise Unscored(GENERATION_TOO_LONG)
    if not any(map(str.isalnum, case.generated)):
        raise Unscored(EMPTY_GENERATION)
    nothing = Split("", (), ())
    try:
        generation = read_generation(case.generated, case.structured_output_requested)
    except Unreadable:
        return Prepared(datum, nothing, (Breach(JSON),), nothing)
    if not any(map(str.isalnum, generation.text)):
        raise Unscored(EMPTY_GENERATION)
    generated = Split.of(generation.text, settings.windows, settings.premise_words_max)
    if len(generated.spans) > limits.sentences_max:
        raise Unscored(GENERATION_TOO_LONG)
    if found := breaches(generation, generated.spans, _told(datum, settings)):
        return Prepared(datum, generated, tuple(found), nothing)
    return _with_gold(datum, generation, generated, settings)


def _told(datum: GoldStandardDatum, settings: SummarySettings) -> Told:
    """What the gold tells, for the hard fails; no longer than what is scored."""
    summary, limits = datum.summary, settings.limits
    return Told((summary.summary[: limits.gold_chars_max], *summary.key_facts), datum.entry.text[: limits.source_chars_max])


def _with_gold(datum: GoldStandardDatum, generation: Generation, generated: Split, settings: SummarySettings) -> Prepared:
    """The same with the gold's narrative split and the entities sought."""
    limits, narrative = settings.limits, datum.summary.summary
    if not any(map(str.isalnum, narrative)):
        raise Unscored(GOLD_EMPTY)
    if len(narrative) > limits.gold_chars_max:
        raise Unscored(GOLD_TOO_LONG)
    gold = Split.of(narrative, settings.windows, settings.premise_words_max)
    if len(gold.spans) > limits.sentences_max:
        raise Unscored(GOLD_TOO_LONG)
    source, is_cut = _source(datum, settings)
    if pair_count(datum, generated, gold, source, settings) > limits.pairs_max:
        raise Unscored(TOO_MANY_PAIRS)
    words = (Words(generation.text), Words(narrative))
    entities = distinct(datum.summary.entity_list)
    summary = datum.summary
    rest = (datum.entry.text, summary.main_theme, *summary.key_facts, *summary.logical_outline, *entities)
    sought = seek(entities, *words, settings.thresholds.fuzzy, rest, shortened=settings.short_names)
    return Prepared(datum, generated, (), gold, source, is_cut, entities, tuple(sought), words)


def _source(datum: GoldStandardDatum, settings: SummarySettings) -> tuple[Split, bool]:
    """The gold's source text in sentences and runs of two, and whether its end was left out."""
    if not settings.source or not settings.looks_near:
        return Split("", (), ()), False
    text = datum.entry.text[: settings.limits.source_chars_max]
    return Split.of(text, SOURCE_WINDOWS, settings.premise_words_max), len(text) < len(datum.entry.text)


def pair_count(datum: GoldStandardDatum, generated: Split, gold: Split, source: Split, settings: SummarySettings) -> int:
    """Upper bound of the pairs to ask: facts and outline of the generated windows, sentences of facts and windows of gold and source."""
    of_generated, of_gold = len(generated.windows), len(gold.windows) + len(datum.summary.key_facts)
    if top_k := settings.prefilter_top_k:
        of_generated = min(of_generated, FIRST_AND_SECOND * top_k)
    if settings.looks_near:
        of_gold = min(of_gold + len(source.windows), settings.nearest_units) + 1  # the nearest single statement, where others crowded it out
    return (len(datum.summary.key_facts) + len(datum.summary.logical_outline)) * of_generated + len(generated.spans) * of_gold


def distinct(entities: Sequence[str]) -> tuple[str, ...]:
    """Entities in their order, each spelling once."""
    return tuple(dict.fromkeys(entities))
