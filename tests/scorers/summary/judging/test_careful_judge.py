import asyncio
from pathlib import Path

import pytest

from tests.doubles.judges.careful_reader import CarefulReader
from tests.doubles.judges.server import JudgeServer
from touchstone.ops.lab.losses.run import Sets, measured
from touchstone.ops.lab.losses.truth import truths
from touchstone.scorers.summary import build
from touchstone.scorers.summary.settings import resolve

pytestmark = [pytest.mark.slow(15), pytest.mark.timeout(600)]

TRUTH = Path(__file__).parents[1] / "truth"
#: The faithful texts in two wordings, and the hardest to order beside them: copies of the gold with an error or two.
CHOSEN = ("paraphrase-faithful", "light-faithful", "gold-wrong-1a", "gold-wrong-2")


async def test_a_faithful_paraphrase_loses_less_than_an_altered_copy_with_a_careful_judge() -> None:
    whole = next(truth for truth in await asyncio.to_thread(truths, TRUTH / "unseen") if truth.name == "halcyon-probe")
    some = whole.model_copy(update={"variants": tuple(variant for variant in whole.variants if variant.id in CHOSEN)})
    assert len(some.variants) == len(CHOSEN)
    async with JudgeServer(CarefulReader([some])) as server:
        document = {"support": "judge", "judge": {"base_url": server.base_url, "model": "touchstone-scripted"}, "engines": {"nli_model": "small"}}
        scorer = await asyncio.to_thread(build, resolve({}, document))
        try:
            told = await measured(scorer, Sets([some], [], {}), documents_max=None, step=lambda *_: None)
        finally:
            await scorer.close()
        assert server.seen.requests <= len(CHOSEN)
        assert server.mistakes == []
    assert told["truth"]["across_wordings"] >= 0.85
    assert told["truth"]["paraphrase_over_copy"] >= 0.85
    assert told["judge"]["requests_a_case"] <= 1
