"""The second NLI round of a case: statements that the first left in doubt are asked of more premises, runs of sentences among them. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from touchstone.scorers.summary.components import facts
from touchstone.scorers.summary.components.nli_round import nearest_k
from touchstone.scorers.summary.components.support import for_sentences
from touchstone.scorers.summary.components.weighing import support_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from touchstone.scorers.engines.base import Floats
    from touchstone.scorers.summary.components.nli_round import Block
    from touchstone.scorers.summary.components.questions import Asked, Questions
    from touchstone.scorers.summary.components.support import Calibration
    from touchstone.scorers.summary.settings import SummarySettings
    from touchstone.scorers.summary.vectors import Vectors


def ask_again(asked: Asked, questions: Questions, probabilities: Floats, vectors: Vectors, settings: SummarySettings, calibration: Calibration | None) -> Asked:
    """The same with more pairs, after those already asked. `probabilities`: the answers of the first round.

    In doubt is a statement whose best support is below `doubt_max`. Facts and outline points are then asked of as many sentences more, and of twice as many
    runs; a sentence is asked of its nearest units of any length.
    """
    top_k = settings.prefilter_top_k
    if not top_k:
        return asked

    def again(block: Block, kept: NDArray[np.bool_], calibrated: Calibration | None) -> Block:
        doubtful = facts.best(support_of(block, probabilities, vectors, calibrated)) < settings.doubt_max
        return asked.round.ask(block.premises, block.hypotheses, (block.numbers >= 0) | (kept & doubtful[:, None]))

    def windows(block: Block) -> NDArray[np.bool_]:
        cosines = vectors.cosines(block.premises, block.hypotheses)
        return nearest_k(cosines, 2 * top_k, questions.single_windows) | nearest_k(cosines, 2 * top_k, ~questions.single_windows)

    of_facts = again(asked.facts, windows(asked.facts), calibration)
    of_outline = again(asked.outline, windows(asked.outline), for_sentences(calibration))
    of_sentences = asked.sentences
    if settings.looks_near:
        cosines = vectors.cosines(of_sentences.premises, of_sentences.hypotheses)
        of_sentences = again(of_sentences, nearest_k(cosines, settings.nearest_units, questions.short_units), for_sentences(calibration))
    return replace(asked, facts=of_facts, outline=of_outline, sentences=of_sentences)
