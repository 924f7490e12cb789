"""Texts that are about something else, with the model that comes along: none may be Pass, and each must say why."""

import asyncio
from collections.abc import Iterator

import pytest

from touchstone.schemas.result import Scorecard
from touchstone.schemas.settings.engines import EngineSettings
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.engines.open_engines import OpenEngines, open_engines
from touchstone.scorers.summary.components.support import calibration_for
from touchstone.scorers.summary.golds import load_golds
from touchstone.scorers.summary.samples import GOLDS as SAMPLE_GOLDS
from touchstone.scorers.summary.scorer import SummaryLossScorer
from touchstone.scorers.summary.settings import SummarySettings

pytestmark = [pytest.mark.slow(6), pytest.mark.timeout(900)]

GOLDS = load_golds(SAMPLE_GOLDS)
WEATHER = "the weather over the northern hills was mild and dry for most of that afternoon"
LONG_SENTENCES = (
    (
        "When the choir returned from its tour of the lake villages in late autumn, the conductor, who had promised the younger singers a week without "
        "rehearsals, found that the hall had been let to a chess club, so that everybody met in the old dairy instead and sang there by candlelight."
    ),
    (
        "The vines on the southern slope, which had been planted by a retired teacher and his two brothers after the great frost, gave so many grapes that "
        "the neighbours were asked to help with the picking, and most of them came with baskets, ladders, sandwiches and a great deal of good advice."
    ),
    (
        "Although the swimming lessons had been moved to the early morning because the roof of the pool was being painted, more children than ever took "
        "part, and at the end of the term nearly all of them could cross the deep end without holding the rope or calling for one of the parents."
    ),
    (
        "A baker from the next valley, whose rye loaves are sold as far away as the coast, told the evening class that patience matters more than flour, "
        "and that anyone who opens the oven before the crust has set will spend the rest of the day explaining to customers why the bread is flat."
    ),
    (
        "Since the pottery had no room for a second kiln, its owners bought a disused railway carriage, lined the inside with bricks and clay, and fired "
        "their blue plates in it all through the winter, while travellers on the slow train waved at the smoke and took photographs from the windows."
    ),
)
BULLETS = "\n".join(
    f"- {line}"
    for line in (
        "Tomatoes need six hours of sun a day",
        "Water the roots and keep the leaves dry",
        "Pinch out the side shoots every week",
        "Feed the plants with potash once they flower",
        "Pick the fruit while it is still firm",
        "Clear the bed before the first frost",
    )
)
GERMAN = (
    "Der Chor kehrte im Herbst von seiner Reise zurück. Im Saal spielte inzwischen ein Schachverein. Deshalb traf man sich in der alten Molkerei. "
    "Dort wurde bei Kerzenlicht gesungen. Am Ende gab es Suppe für alle."
)


def about(*entities: str) -> str:
    """A text about a harbour fair that names the entities of a gold and says nothing of it."""
    visitors = ("was seen at the harbour fair on Sunday", "won a raffle there", "bought two jars of honey", "left before the fireworks", "waved from the ferry")
    return " ".join(f"{entity} {visitors[number % len(visitors)]}." for number, entity in enumerate(entities))


TEXTS = {
    "one clause again and again, with semicolons": ("; ".join([WEATHER] * 18)).capitalize() + ".",
    "one clause again and again, with commas": (", ".join([WEATHER] * 18)).capitalize() + ".",
    "five sentences of 45 words": " ".join(LONG_SENTENCES),
    "a list about something else": BULLETS,
    "the gold's names in another story": None,
    "another language": GERMAN,
    "the source of another gold": None,
    "the narrative of another gold": None,
}


@pytest.fixture(scope="module")
def engines() -> Iterator[OpenEngines]:
    opened = open_engines(EngineSettings(nli_model="small", warm_up=False))
    yield opened
    asyncio.run(opened.close())


def text_of(kind: str, name: str) -> str:
    names = list(GOLDS)
    other = GOLDS[names[(names.index(name) + 1) % len(names)]]
    if kind == "the gold's names in another story":
        return about(*GOLDS[name].summary.entity_list)
    if kind == "the source of another gold":
        return other.entry.text
    return TEXTS[kind] or other.summary.summary


@pytest.mark.parametrize("kind", TEXTS)
async def test_a_text_about_something_else_is_no_pass_and_says_why(engines: OpenEngines, kind: str) -> None:
    settings = SummarySettings()
    scorer = SummaryLossScorer(engines, settings, calibration=calibration_for(settings))
    cards: dict[str, Scorecard] = {}
    for name in list(GOLDS)[:2]:
        card = await scorer.score(SummaryCase(datum=GOLDS[name], generated=text_of(kind, name)))
        codes = [finding.code for finding in card.findings]
        assert card.label == "Fail", (name, card.values)
        # Nearly every key fact is named as missing: that is what the writer has to add.
        assert codes.count("missing_fact") >= 0.8 * len(GOLDS[name].summary.key_facts), (name, card.values)
        cards[name] = card
    assert all(card.values["recall"] < 0.2 for card in cards.values()), {name: card.values for name, card in cards.items()}
