"""Loss V3 with the models that come along: what ought to be better is better."""

import json
from collections.abc import Iterator

import pytest

from touchstone.schemas.settings.engines import EngineSettings
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.engines.open_engines import OpenEngines, open_engines
from touchstone.scorers.summary import score_summary
from touchstone.scorers.summary.components.support import calibration_for
from touchstone.scorers.summary.golds import load_golds
from touchstone.scorers.summary.samples import GOLDS as SAMPLE_GOLDS
from touchstone.scorers.summary.samples import expected, samples
from touchstone.scorers.summary.scorer import SummaryLossScorer
from touchstone.scorers.summary.settings import SummarySettings

pytestmark = [pytest.mark.slow(6), pytest.mark.timeout(600)]

GOLDS = load_golds(SAMPLE_GOLDS)


@pytest.fixture(scope="module")
def engines() -> Iterator[OpenEngines]:
    import asyncio

    opened = open_engines(EngineSettings(warm_up=False))
    yield opened
    asyncio.run(opened.close())


async def test_the_narrative_itself_loses_little_and_each_damage_costs(engines: OpenEngines) -> None:
    scorer = SummaryLossScorer(engines, SummarySettings(), calibration=calibration_for(SummarySettings()))

    async def values(generated: str) -> dict[str, float]:
        return (await scorer.score(SummaryCase(datum=datum, generated=generated))).values

    datum = next(iter(GOLDS.values()))
    narrative = datum.summary.summary
    sentences = [part.strip() + "." for part in narrative.replace("Dr.", "Dr").strip(".").split(". ")]
    good = await values(narrative)
    half = await values(" ".join(sentences[: len(sentences) // 2]))
    backwards = await values(" ".join(reversed(sentences)))
    wrong = await values("The bakery opened a second shop in Ghent. Its bread won a prize. Forty people now work there.")
    truncated = await values(narrative[:-20])
    assert good["loss"] < min(half["loss"], backwards["loss"], wrong["loss"], truncated["loss"])
    assert good["semantic_loss"] == pytest.approx(0, abs=1e-5)
    assert good["recall"] > half["recall"] > wrong["recall"]
    assert backwards["order"] < good["order"]
    assert wrong["entities_loss"] == 1
    assert truncated == {"loss": 1.0}


async def test_alone_and_in_company_a_case_has_the_same_values(engines: OpenEngines) -> None:
    import asyncio

    scorer = SummaryLossScorer(engines, SummarySettings(), calibration=calibration_for(SummarySettings()))
    cases = [SummaryCase(datum=datum, generated=datum.summary.summary) for datum in list(GOLDS.values())[:2]]
    together = await asyncio.gather(*map(scorer.score, cases))
    for case, card in zip(cases, together, strict=True):
        alone = await scorer.score(case)
        assert alone.values == pytest.approx(card.values, abs=1e-2)  # bfloat16 where the processor is fast with it
        assert alone.label == card.label


def test_the_python_call_reuses_engines(engines: OpenEngines) -> None:
    datum = next(iter(GOLDS.values()))
    one, two = (score_summary(datum, datum.summary.key_facts[0], engines=engines) for _ in range(2))
    assert one.values == pytest.approx(two.values, abs=1e-2)
    assert one.models["nli"].split("@")[1]


def test_the_samples_name_their_golds() -> None:
    written = [json.loads(line) for path in samples().paths for line in path.read_text(encoding="utf-8").splitlines()]
    assert {record["id"] for record in written} == set(expected())
    assert {record["gold_ref"] for record in written if "gold_ref" in record} & set(GOLDS)
