import random

from hypothesis import given
from hypothesis import strategies as st

from tests.scorers.safe.cases import case
from touchstone.scorers.safe.batch import build_report, result_of
from touchstone.scorers.safe.scorer import SafeScorer
from touchstone.scorers.safe.settings import SafeSettings, Weights

SCORER = SafeScorer(SafeSettings(quote=True))
ALPHABET = "aAbB é\u00a0ß\nＡ"
TEXT = st.text(ALPHABET, max_size=12)
EXPECTED = st.lists(st.text(ALPHABET, min_size=1, max_size=5).filter(lambda text: text.strip()), max_size=6)
LISTS = st.lists(TEXT, max_size=4)


@st.composite
def cases(draw: st.DrawFn) -> dict[str, object]:
    return {
        "signals": draw(EXPECTED),
        "terms": draw(EXPECTED),
        "phrases": draw(EXPECTED),
        "found": draw(LISTS),
        "summary": draw(TEXT),
        "questions": draw(LISTS),
    }


def values(parts: dict[str, object]) -> dict[str, float]:
    return SCORER.evaluate(case(**parts)).values  # type: ignore[arg-type]


@given(cases())
def test_scores_are_between_zero_and_one(parts: dict[str, object]) -> None:
    assert all(0 <= value <= 1 for value in values(parts).values())


@given(cases(), st.tuples(*[st.just(0.0) | st.floats(1e-6, 1_000)] * 3).filter(lambda weights: sum(weights) > 0))
def test_the_composite_lies_between_the_smallest_and_the_largest_metric(parts: dict[str, object], weights: tuple[float, ...]) -> None:
    settings = SafeSettings(weights=Weights(CR=weights[0], AH=weights[1], AC=weights[2]))
    scored = SafeScorer(settings).evaluate(case(**parts)).values  # type: ignore[arg-type]
    metrics = [scored["CR"], scored["AH"], scored["AC"]]
    assert min(metrics) - 1e-9 <= scored["composite"] <= max(metrics) + 1e-9


@given(cases(), st.randoms())
def test_the_order_of_expectations_and_items_does_not_matter(parts: dict[str, object], rng: random.Random) -> None:
    shuffled = {name: rng.sample(part, len(part)) if isinstance(part, list) else part for name, part in parts.items()}
    assert values(shuffled) == values(parts)


@given(cases())
def test_ascii_case_does_not_matter(parts: dict[str, object]) -> None:
    def swap(text: str) -> str:
        return "".join(character.swapcase() if character.isascii() else character for character in text)

    swapped = {name: [swap(text) for text in part] if isinstance(part, list) else swap(str(part)) for name, part in parts.items()}
    assert values(swapped) == values(parts)


@given(cases())
def test_duplicated_expectations_do_not_matter(parts: dict[str, object]) -> None:
    doubled = {name: [*part, *part] if name in {"signals", "terms", "phrases"} else part for name, part in parts.items()}  # type: ignore[misc]
    assert values(doubled) == values(parts)


@given(cases(), TEXT)
def test_another_question_never_raises_ah(parts: dict[str, object], question: str) -> None:
    more = parts | {"questions": [*parts["questions"], question]}  # type: ignore[misc]
    assert values(more)["AH"] <= values(parts)["AH"]


@given(cases())
def test_a_used_forbidden_term_never_raises_ah(parts: dict[str, object]) -> None:
    term = "zz forbidden"
    listed = parts | {"terms": [*parts["terms"], term]}  # type: ignore[misc]
    used = listed | {"questions": [*parts["questions"], f"about {term}?"]}  # type: ignore[misc]
    assert values(used)["AH"] < values(listed)["AH"]


@given(cases(), TEXT)
def test_another_signal_never_lowers_cr(parts: dict[str, object], signal: str) -> None:
    more = parts | {"found": [*parts["found"], signal]}  # type: ignore[misc]
    assert values(more)["CR"] >= values(parts)["CR"]


@given(cases())
def test_strict_ah_never_exceeds_proportional_ah(parts: dict[str, object]) -> None:
    strict = SafeScorer(SafeSettings(strict_ah=True)).evaluate(case(**parts)).values["AH"]  # type: ignore[arg-type]
    assert strict in {0.0, 1.0}
    assert strict <= values(parts)["AH"]


@given(st.lists(cases(), max_size=6), st.randoms())
def test_a_report_does_not_depend_on_the_order_of_its_cases(many: list[dict[str, object]], rng: random.Random) -> None:
    results = [result_of(SCORER.evaluate(case(f"T{n % 3}", **parts))) for n, parts in enumerate(many)]  # type: ignore[arg-type]
    shuffled = rng.sample(results, len(results))
    assert build_report(results, concern_id="C", batch_id="B") == build_report(shuffled, concern_id="C", batch_id="B")
