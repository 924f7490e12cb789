import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scorers.summary.fakes import FACTS, TableEngines, case, gold, same_words, scorer
from touchstone.schemas.result import Scorecard
from touchstone.scorers.base import Closeable, Measured, Unavailable
from touchstone.scorers.engines.base import TextTooLong
from touchstone.scorers.registry import load_suite
from touchstone.scorers.summary import METRICS, NAME, score_summary
from touchstone.scorers.summary.components.support import Calibration
from touchstone.scorers.summary.scorer import SummaryLossScorer
from touchstone.scorers.summary.settings import resolve

CANARY = "Zanzibarcanary"
ALL = " ".join(FACTS)
#: A vector of its own, for texts that are to be near each other and far from all others.
FOURTH = (*[0] * 31, 1)


def code(card: Scorecard) -> str:
    assert (card.label, card.values) == ("unscored", {})
    (failure,) = card.failures
    assert (failure.component, failure.kind) == (NAME, "input")
    return failure.code


async def test_every_component_of_a_case_by_hand() -> None:
    """Three of ten facts, in the wrong order, and a sentence that the gold contradicts.

    Engine: a fact that stands in a premise is entailed with .9, else with 0 and contradicted with .1; the fourth sentence is contradicted with .97.
    Recall: three of ten facts .9 → .27. Precision: the three .9, the fourth 0 → 2.7 / 4 = .675; one in conflict: × (2.7/3.7)⁸ → .0543.
    F = 2·.27·.0543 / .3243 = .0904 → L_facts = .9096.
    Outline: points 1, 5, 10 at sentences 2, 0, 1 → Coverage 1, inversions (2,0), (2,1) of 3 → Order 1/3; L_flow = 1 − (.7 + .1) = .2.
    Semantic: cos .6 by the table → .4. Length: 17 words, the 5 of the fourth sentence borne by nothing, target 300: ln(1 + 288/300) = .6729.
    No entities: L = (.4·.9096 + .2·.2 + .15·.4 + .05·.6729) / .8 = .6219.
    """
    generated = f"{FACTS[4]} {FACTS[9]} {FACTS[0]} Nothing of that is true."

    def answer(premise: str, hypothesis: str) -> tuple[float, float]:
        return (0.0, 0.97) if hypothesis.startswith("Nothing") else (0.9, 0.0) if hypothesis in premise else (0.0, 0.1)

    engines = TableEngines(answer, {generated: (3, 4), ALL: (1, 0), "Nothing of that is true.": FOURTH, FACTS[2]: FOURTH})
    card = await scorer(engines).score(case(generated))
    precision = 0.675 * (2.7 / 3.7) ** 8
    f1 = 2 * 0.27 * precision / (0.27 + precision)
    length = math.log(1 + (300 - (len(generated.split()) - 5)) / 300)
    assert len(generated.split()) == 17
    assert card.values == pytest.approx(
        {
            "loss": (0.4 * (1 - f1) + 0.2 * 0.2 + 0.15 * 0.4 + 0.05 * length) / 0.8,
            "facts_loss": 1 - f1,
            "recall": 0.27,
            "precision": precision,
            "flow_loss": 0.2,
            "coverage": 1.0,
            "order": 1 / 3,
            "semantic_loss": 0.4,
            "cosine": 0.6,
            "length_loss": length,
        },
        abs=1e-6,
    )
    assert card.label == "Fail"
    found = [(finding.code, finding.severity, finding.path) for finding in card.findings]
    assert found[0] == ("conflict.contradiction", "major", "generated.sentences[3]")
    # The third fact is the one that the fourth sentence states wrongly.
    assert found[1:] == [("missing_fact", "minor", f"gold.key_facts[{index}]") for index in (1, 3, 5, 6, 7, 8)]
    assert card.details["conflicts"] == [{"rule": "contradiction", "sentence": 3, "clinical": False, "fact": 2}]
    assert card.components_missing == ("entities",)
    assert card.details["flow"] == {"covered": [0, 1, 2], "places": [2, 0, 1], "inversions": 2, "uncovered": []}
    assert card.details["length"] == {"tokens": 17, "target": 300, "source_tokens": 500}
    assert card.details["facts"]["support"] == [0.9, 0, 0, 0, 0.9, 0, 0, 0, 0, 0.9]
    assert card.details["facts"]["sentences"] == [0.9, 0.9, 0.9, 0]
    assert card.attributes == {"source_id": "source-1", "category": "Test", "model": None, "generated_at": None}
    assert card.models == {"nli": "table-nli@1", "embedder": "table-embedder@1"}


@pytest.mark.parametrize(("form", "precision"), [("summac", (3 * 0.8 + 0) / 4), ("e", 2.7 / 4), ("ratio", 3 * (0.9 / 1.1) / 4)])
async def test_other_forms_of_precision_can_be_had(form: str, precision: float) -> None:
    """`summac` and `e` are asked of the whole gold and know no conflicts; `ratio` is asked of the nearest units."""

    def answer(premise: str, hypothesis: str) -> tuple[float, float]:
        return (0.0, 0.6) if hypothesis.startswith("Nothing") else (0.9, 0.0) if hypothesis in premise else (0.0, 0.1)

    generated = f"{FACTS[4]} {FACTS[9]} {FACTS[0]} Nothing of that is true."
    card = await scorer(TableEngines(answer), precision=form).score(case(generated))
    assert card.values["precision"] == pytest.approx(precision, abs=1e-6)


async def test_a_case_is_one_embedding_call_and_one_nli_round_of_distinct_pairs() -> None:
    engines = TableEngines(same_words)
    card = await scorer(engines, prefilter_top_k=0, windows=[1, 2, 5]).score(case(ALL, datum=gold(entity_list=("Fact number one",))))
    assert len(engines.embedder.calls) == len(engines.nli.calls) == 1
    pairs = engines.nli.calls[0]
    assert len(pairs) == len(set(pairs)) == card.details["pairs"]
    # 25 windows (10 + 9 + 6) of the summary for 10 facts, of which the outline's 3 are some; 10 sentences of 10 facts (the 100 pairs fact × fact
    # were asked above) and of the narrative's 15 longer windows (asked above as well, being the same text)
    assert len(pairs) == 250


async def test_a_summary_that_is_the_narrative_loses_only_by_its_length() -> None:
    card = await scorer(TableEngines(lambda premise, hypothesis: (1.0, 0.0) if hypothesis in premise else (0.0, 0.0))).score(case(ALL))
    assert card.values["facts_loss"] == card.values["flow_loss"] == 0
    assert card.values["semantic_loss"] == pytest.approx(0, abs=1e-6)
    assert card.values["loss"] == pytest.approx(0.05 * card.values["length_loss"] / 0.8)
    assert card.label == "Pass"


@pytest.mark.parametrize(("context", "matched"), [((1.0, 0.3), [0, 1]), ((0.3, 1.0), [1])])
async def test_context_decides_where_both_texts_name_an_entity(context: tuple[float, float], matched: list[int]) -> None:
    """cos((1, 0), (1, .3)) = .958 ≥ .35; cos((1, 0), (.3, 1)) = .287 < .35. The narrative does not name Oslo: it needs no context."""
    narrative, generated = "Washington is a state.", "Washington crossed the river. Oslo was far."
    table = {"Washington crossed the river. Oslo was far": (1, 0), "Washington is a state": context}
    card = await scorer(TableEngines(same_words, table)).score(case(generated, datum=gold(summary=narrative, entity_list=("Washington", "Oslo", "Bonn"))))
    told = card.details["entities"]
    assert told["matched"] == matched
    assert told["missing"] == [2]
    assert told["other_context"] == [index for index in (0, 1) if index not in matched]
    assert card.values["entities_loss"] == pytest.approx(1 - len(matched) / 3)


@pytest.mark.parametrize(
    ("changed", "dropped"),
    [({"entity_list": (), "logical_outline": ()}, ("entities", "flow")), ({"entity_list": ("Fact",), "logical_outline": ()}, ("flow",))],
)
async def test_what_the_gold_has_not_is_dropped_and_named(changed: dict[str, object], dropped: tuple[str, ...]) -> None:
    card = await scorer().score(case(ALL, datum=gold(**changed)))
    assert card.components_missing == dropped
    weights = {"facts": 0.4, "entities": 0.2, "flow": 0.2, "semantic": 0.15, "length": 0.05}
    kept = {name: weight for name, weight in weights.items() if name not in dropped}
    expected = sum(weight * card.values[f"{name}_loss"] for name, weight in kept.items()) / sum(kept.values())
    assert card.values["loss"] == pytest.approx(expected)
    assert not any(name.startswith(part) for name in card.values for part in dropped)


@pytest.mark.parametrize(
    ("generated", "structured", "rule", "path"),
    [
        ("Fact number one holds. This summary covers facts.", False, "meta_commentary", "generated.sentences[1]"),
        ("Fact number one holds. Fact number", False, "truncated", "generated.sentences[1]"),
        ('{"summary": "Fact number one', True, "json", "generated"),
        ('{"summary": "Fact number one"}', True, "truncated", "generated.sentences[0]"),
    ],
)
async def test_a_hard_fail_is_the_greatest_loss_and_asks_no_model(generated: str, structured: bool, rule: str, path: str) -> None:
    engines = TableEngines(same_words)
    card = await scorer(engines).score(case(generated, structured_output_requested=structured))
    assert (card.label, card.values) == ("Fail", {"loss": 1.0})
    assert [(finding.severity, finding.code, finding.path) for finding in card.findings] == [("critical", rule, path)]
    assert card.details["hard_fail"]["rule"] == rule
    assert not engines.nli.calls
    assert not engines.embedder.calls


async def test_structured_output_is_scored_by_its_text() -> None:
    plain = await scorer().score(case(ALL))
    structured = await scorer().score(case('```json\n{"summary": "' + ALL + '"}\n```', structured_output_requested=True))
    assert structured.values == plain.values


@pytest.mark.parametrize(
    ("changed", "limits", "expected"),
    [
        ({"datum": None}, {}, "no_gold"),
        ({"datum": None, "gold_ref": "elsewhere"}, {}, "gold_not_found"),
        ({"generated": ""}, {}, "empty_generation"),
        ({"generated": " \n… "}, {}, "empty_generation"),
        ({"generated": "[]", "structured_output_requested": True}, {}, "empty_generation"),
        ({"generated": "a b. " * 100}, {"generated_chars_max": 100}, "generation_too_long"),
        ({"generated": ALL}, {"sentences_max": 5}, "generation_too_long"),
        ({"generated": FACTS[0]}, {"sentences_max": 5}, "gold_too_long"),
        ({"generated": FACTS[0]}, {"gold_chars_max": 20}, "gold_too_long"),
        ({"generated": FACTS[0], "datum": gold(summary=" ")}, {}, "gold_empty"),
        ({"generated": ALL}, {"pairs_max": 100}, "too_many_pairs"),
    ],
)
async def test_a_case_that_cannot_be_scored_has_a_named_outcome(changed: dict[str, object], limits: dict[str, int], expected: str) -> None:
    made = {"generated": ALL} | changed
    engines = TableEngines(same_words)
    assert code(await scorer(engines, limits=limits).score(case(**made))) == expected
    assert not engines.nli.calls


async def test_a_statement_that_no_model_window_holds_is_named() -> None:
    engines = TableEngines(same_words)
    engines.nli.raises = TextTooLong(900, 512)
    assert code(await scorer(engines).score(case(ALL))) == "statement_too_long"


async def test_an_engine_that_is_down_is_the_worlds_fault() -> None:
    engines = TableEngines(same_words)
    engines.nli.raises = Unavailable("engine_closed")
    with pytest.raises(Unavailable):
        await scorer(engines).score(case(ALL))


async def test_a_gold_is_found_by_its_source() -> None:
    one = SummaryLossScorer(TableEngines(same_words), resolve({}, {"support": "nli"}), {"source-1": gold()})
    referring = await one.score(case(ALL, datum=None, gold_ref="source-1"))
    assert referring == await one.score(case(ALL))


async def test_another_tokenizer_is_said() -> None:
    card = await scorer().score(case(ALL, datum=gold(tokenizer="cl100k_base")))
    assert [each.check for each in card.not_checked] == ["length.tokenizer", "conflicts.unknown"]
    same = await scorer().score(case(ALL, datum=gold(tokenizer="table-embedder")))
    assert [each.check for each in same.not_checked] == ["conflicts.unknown"]


@pytest.mark.parametrize("evidence", ["none", "ids"])
async def test_no_text_leaves_unless_quote_is_set(evidence: str) -> None:
    datum = gold(key_facts=[f"{CANARY} fact {fact}" for fact in FACTS], entity_list=(CANARY,), summary=f"{CANARY} narrative.", logical_outline=(CANARY,))
    for generated in (f"{CANARY} lives here.", f"This summary covers {CANARY}."):
        withheld = await scorer(evidence=evidence).score(case(generated, datum=datum))
        assert CANARY not in withheld.model_dump_json()
        quoted = await scorer(evidence=evidence, quote=True).score(case(generated, datum=datum))
        assert CANARY in quoted.model_dump_json()
        assert withheld.values == quoted.values


async def test_evidence_names_windows_and_facts() -> None:
    card = await scorer(evidence="ids").score(case(f"{FACTS[9]} {FACTS[0]}"))
    told = card.details["evidence"]
    assert told["facts"][0] == [1, 1]  # one sentence from sentence 1
    assert told["facts"][9] == [0, 1]
    assert told["sentences"] == [{"fact": 9}, {"fact": 0}]
    assert "evidence" not in (await scorer().score(case(FACTS[0]))).details


async def test_a_prefilter_asks_fewer_pairs_and_never_gives_more_support() -> None:
    engines, filtered = TableEngines(same_words), TableEngines(same_words)
    whole = await scorer(engines, prefilter_top_k=0).score(case(ALL))
    some = await scorer(filtered, prefilter_top_k=3).score(case(ALL))
    assert some.details["pairs"] < whole.details["pairs"]
    assert len(filtered.embedder.calls) == 1
    assert some.values["recall"] <= whole.values["recall"]


async def test_calibrated_support_combines_model_words_and_vectors() -> None:
    """With weights (0, 0, 10, 0) and bias −5 support is 1 / (1 + e^(5 − 10·containment)): 5/5 of a fact's words → .9933."""
    calibration = Calibration(("containment",), (10.0,), -5.0)
    engines = TableEngines(lambda premise, hypothesis: (0.0, 0.0))
    lexical = SummaryLossScorer(engines, resolve({}, {"support": "calibrated"}), calibration=calibration)
    card = await lexical.score(case(ALL))
    assert card.values["recall"] == pytest.approx(1 / (1 + math.exp(-5)))
    assert (await scorer(engines).score(case(ALL))).values["recall"] == 0
    with pytest.raises(ValueError, match="calibration"):
        scorer(support="calibrated")


async def test_a_mean_with_words_is_for_recall_alone() -> None:
    """A model that entails nothing: half of shared words is recall, and bears neither a sentence nor a point."""
    engines = TableEngines(lambda premise, hypothesis: (0.0, 0.0))
    words = (await scorer(engines, support="nli+lexical").score(case(ALL))).values
    assert words["recall"] == pytest.approx(0.5)
    assert words["precision"] == words["coverage"] == 0.0
    assert words["length_loss"] == (await scorer(engines, support="nli").score(case(ALL))).values["length_loss"]


@given(st.lists(st.sampled_from(FACTS), min_size=1, max_size=8, unique=True), st.sampled_from(FACTS))
@settings(max_examples=25, deadline=None)
async def test_a_supporting_sentence_more_never_lowers_recall(some: list[str], more: str) -> None:
    one = await scorer().score(case(" ".join(some)))
    two = await scorer().score(case(" ".join([*some, more])))
    assert two.values["recall"] >= one.values["recall"]
    assert two.values["coverage"] >= one.values["coverage"]


@given(st.permutations([FACTS[0], FACTS[2], FACTS[4], FACTS[6], FACTS[9]]))
@settings(max_examples=25, deadline=None)
async def test_a_permuted_summary_is_never_more_in_order(permuted: list[str]) -> None:
    datum = gold(logical_outline=(FACTS[0], FACTS[2], FACTS[4], FACTS[6], FACTS[9]))
    ordered = await scorer().score(case(f"{FACTS[0]} {FACTS[2]} {FACTS[4]} {FACTS[6]} {FACTS[9]}", datum=datum))
    other = await scorer().score(case(" ".join(permuted), datum=datum))
    assert ordered.values["order"] == 1
    assert other.values["order"] <= ordered.values["order"]
    assert other.values["coverage"] == ordered.values["coverage"]


TABLE = st.dictionaries(st.tuples(st.integers(0, 20), st.integers(0, 20)), st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)))


@given(TABLE, st.lists(st.sampled_from([*FACTS, "Another thing.", "Rome fell in May!"]), min_size=1, max_size=7))
@settings(max_examples=40, deadline=None)
async def test_every_value_is_a_share(table: dict[tuple[int, int], tuple[float, float]], sentences: list[str]) -> None:
    engines = TableEngines(lambda premise, hypothesis: table.get((len(premise) % 21, len(hypothesis) % 21), (0.0, 0.0)))
    card = await scorer(engines).score(case(" ".join(sentences), datum=gold(entity_list=("Rome", "Fact"))))
    assert all(0 <= value <= 1 for value in card.values.values())
    assert set(card.values) == set(METRICS)


async def test_the_scorer_reads_and_closes_its_engines() -> None:
    engines = TableEngines(same_words)
    one = scorer(engines)
    assert isinstance(one, Measured)
    assert isinstance(one, Closeable)
    assert [reading.name for reading in one.readings()] == ["pairs"]
    await one.close()
    assert engines.closed


def test_a_python_call_scores_one_summary() -> None:
    engines = TableEngines(same_words)
    card = score_summary(gold(), ALL, engines=engines)
    assert card.label == "Pass"
    assert not engines.closed
    assert score_summary(gold(), '"', structured_output_requested=True, engines=engines).values == {}


def test_the_suite_is_installed() -> None:
    suite = load_suite("summary_loss")
    assert (suite.version, suite.topics, suite.inline) == ("3.2", ("generations",), False)
