import json
import time
from pathlib import Path

import pytest

from touchstone.scorers.summary.hard_fails.breaches import Told, breaches
from touchstone.scorers.summary.hard_fails.commentary.detection import commentary_in, is_commentary
from touchstone.scorers.summary.hard_fails.commentary.model import score
from touchstone.scorers.summary.hard_fails.commentary.nouns import tokens
from touchstone.scorers.summary.hard_fails.generation import Generation
from touchstone.scorers.summary.sentences import split

CORPORA = Path(__file__).parents[1] / "corpus"


def rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (CORPORA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


CORPUS = rows("meta_commentary")
#: Least shares of texts that are read right: those that the rules were written and the model was trained on, and those that neither has seen.
SHARES_MIN = {
    "hard_fails_written": {"mention": 1.0, "commentary": 0.95, "whole": 1.0, "cut": 1.0},
    "hard_fails_dev": {"mention": 1.0, "commentary": 0.99, "whole": 1.0, "cut": 0.98},
    "hard_fails_unseen": {"mention": 0.93, "commentary": 0.79, "whole": 1.0, "cut": 1.0},
    # Every second text (the odd lines) was read for these counts alone.
    "hard_fails_third": {"mention": 1.0, "commentary": 0.86, "whole": 0.9, "cut": 0.91},
    # Every third text (003, 006, …) was counted and never read.
    "hard_fails_fourth": {"mention": 0.96, "commentary": 0.94, "whole": 1.0, "cut": 1.0},
}


def told_of(row: dict[str, str]) -> Told:
    return Told((row["gold"],)) if "gold" in row else Told()


def right_of(name: str) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for row in rows(name):
        found = {breach.rule for breach in breaches(Generation(row["text"]), split(row["text"]), told_of(row))}
        reading = row["reading"]
        rule = "meta_commentary" if reading in {"mention", "commentary"} else "truncated"
        right, every = counts.get(reading, (0, 0))
        counts[reading] = right + ((rule in found) == (reading in {"commentary", "cut"})), every + 1
    return counts


def test_the_corpus_is_large_enough() -> None:
    assert sum(not row["fires"] for row in CORPUS) >= 60
    assert sum(bool(row["fires"]) for row in CORPUS) >= 40


@pytest.mark.parametrize("row", CORPUS, ids=lambda row: row["text"][:60])
def test_no_false_hit_and_no_miss(row: dict[str, object]) -> None:
    assert is_commentary(str(row["text"])) is row["fires"]


@pytest.mark.parametrize("name", SHARES_MIN)
def test_texts_are_read_right_at_least_as_often_as_measured(name: str) -> None:
    counts = right_of(name)
    assert {reading: right >= SHARES_MIN[name][reading] * every for reading, (right, every) in counts.items()} == dict.fromkeys(SHARES_MIN[name], True), counts


@pytest.mark.parametrize(
    ("sentences", "indices"),
    [
        (["A memo leaked on Friday.", "The document states that 40 jobs will go."], []),
        (["She left a will.", "The document says the farm is to be sold."], []),
        (["The discharge summary arrived on Monday.", "The summary states that the drain was removed."], []),
        (["Fares fall in May.", "The document states that 40 jobs will go."], [1]),
        (["A memo leaked on Friday.", "The document you provided states that 40 jobs will go."], [1]),
        (["Fares fall in May.", "I hope this helps!", "Trains run late.", "The text does not say when."], [1, 3]),
    ],
)
def test_a_text_that_the_story_brought_up_is_its_subject(sentences: list[str], indices: list[int]) -> None:
    assert list(commentary_in(sentences)) == indices


@pytest.mark.parametrize(
    "sentence",
    [
        "The dam, the text notes, was old.",
        "The dam was old, as the passage explains.",
        "Fares fall in May (as mentioned in the article).",
        "Fares fall. [End of summary]",
        "**Key takeaways from the article**",
        "<p>Here is a summary of the note.</p>",
    ],
)
def test_commentary_is_found_inside_a_sentence_and_its_markup(sentence: str) -> None:
    assert is_commentary(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The opening paragraph describes the harbour.",
        "The source does not say how many were hurt.",
        "There is no indication in the passage of when he left.",
        "Nothing in the supplied notes indicates that she smokes.",
        "The document in question describes the duties of the tenant.",
        "In this video, a cook shows how to bone a fish.",
        "What the writer wants to say is that rents are too high.",
        "The author is trying to show that war is senseless.",
        "The authors of the paper argue that microphones are cheaper.",
        "The input is empty.",
        "Word count: 18",
    ],
)
def test_parts_media_and_what_was_given_are_commentary_as_speakers(sentence: str) -> None:
    assert is_commentary(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The first paragraph of Article 5 guarantees the right to liberty.",
        "The document in question was a deed of 1912.",
        "The video shows two men near the car, the court heard.",
        "The article's author, Dana Roth, has since been sued twice.",
        "The authors advise against the drug in pregnancy.",
        "The authors suggest checking magnesium once a year.",
        "Publications: the Skarv article, at first rejected, credited in print to a brother, Anders (1927); Atlas of Ice (1962; 40,000 sold).",
        "The author uses a wheelchair.",
        "You asked for a refund on 3 May.",
        "Your request was refused.",
        "As requested, the lift was repaired.",
        "Would you like a lift, he asked.",
        "I can't open the jar with this hand.",
        "I think I needed those years to figure out what I really wanted to do.",
        "Can you send me more about the Silver plan?",
        "Users can paste text into a box and get a summary.",
    ],
)
def test_letters_and_what_people_say_of_themselves_are_content(sentence: str) -> None:
    assert not is_commentary(sentence)


BREAD = "The bakery in Vik bakes with local oats. Its sales rose by a fifth."


@pytest.mark.parametrize(
    ("text", "gold", "source", "fires"),
    [
        # Without a gold, the article is the one given; a gold that tells of an article makes it part of the story, and so does a source.
        ("The article describes the mayor as a thief.", "", "", True),
        ("The article describes the mayor as a thief.", "The mayor sued a paper over an article.", "", False),
        ("The article describes the mayor as a thief.", "The mayor sued.", "An article in the Courier led to the suit.", False),
        ("The article describes the mayor as a thief.", "The mayor sued.", "This article tells why. The article is long.", True),
        ("The article describes the mayor as a thief.", "The article discusses the mayor.", "", True),
        ("This passage covers the north.", "Ships use the passage.", "", True),
        ("The passage is free of ice. This passage covers eleven miles.", "Ships use the passage.", "", False),
        ("The text does not say who got the sheep.", "A clay tablet lists 240 sheep.", "", False),
        ("The provided text states the price.", "A text was found.", "", True),
        # A gold without any text knows nothing of an advisory.
        ("The advisory adds that sales rose.", "", "", False),
        ("The advisory adds that sales rose.", BREAD, "", True),
        ("Sales rose by a fifth, the blog entry reveals.", BREAD, "", True),
        ("The reporter, visibly moved, depicts the oven.", BREAD, "", True),
        ("The reporter, visibly moved, depicts the oven.", BREAD, "A reporter saw the oven.", False),
        ("The report notes that sales rose.", BREAD, "", True),
        ("The report notes that sales rose.", f"Inspectors saw it. {BREAD}", "", False),
        ("A bulletin came in May. The advisory adds that sales rose.", f"{BREAD} A letter says so.", "", False),
        ("The review praises the bread, and the owner hung it on the wall.", BREAD, "", False),
        ("Later on we are told that sales rose.", BREAD, "", True),
        ("Later on we are told that sales rose.", f"We were there. {BREAD}", "", False),
        ("We are told that bread is scarce, a nurse said.", BREAD, "", False),
        # What is left unsaid is a remark, unless the gold itself says that something is not known.
        ("How many loaves were sold is not mentioned.", BREAD, "", True),
        ("How many loaves were sold is not mentioned.", f"{BREAD} The cause is unexplained.", "", False),
        ("No price for the loaf is given.", BREAD, "", True),
        ("No price for the loaf is given to buyers.", BREAD, "", False),
        ("Details of the recipe are missing.", BREAD, "", True),
        # Nobody in the gold says "I".
        ("I could not make out who baked it.", BREAD, "", True),
        ("I could not make out who baked it.", f"I was there. {BREAD}", "", False),
        ("Frederick I was fond of rye bread.", BREAD, "", False),
        ("I bake every day, the baker said.", BREAD, "", False),
        # "It" is nothing that was named.
        ("It then goes on to explain how rye is milled.", BREAD, "", True),
        ("It then goes on to explain how rye is milled.", f"A report came out. {BREAD}", "", False),
        ("It begins with rye and ends with a look at sales.", BREAD, "", True),
        ("It is about how rye is milled.", BREAD, "", True),
        ("It is about 40 km to the mill.", BREAD, "", False),
        # What is a few lines long is a text, whatever it is called.
        ("The listing, only a few lines long, announces new loaves.", BREAD, "", True),
        ("The queue, only a few metres long, moves slowly.", BREAD, "", False),
        ("The interview with the baker revolves around rye.", BREAD, "", True),
        ("The article described how rye is milled.", BREAD, "", True),
        ("The article described how rye is milled.", f"An article appeared. {BREAD}", "", False),
    ],
)
def test_what_the_gold_tells_of_is_the_story(text: str, gold: str, source: str, fires: bool) -> None:
    told = Told((gold,) if gold else (), source)
    assert bool(breaches(Generation(text), split(text), told)) is fires


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        ("The text states that the borders stay, and both delegations signed it.", False),
        ("The text describes the treaty, and both delegations signed it.", True),
        ("The text states that the borders stay. It was signed in Oslo.", False),
        ("The delegates adopted the text. The text states that the borders stay.", False),
        ("The passage describes a wide arc around the island.", False),
        ("The passage describes a wide valley.", True),
        ("The passage opens into a cave with painted bulls.", False),
        ("The passage delves into the causes of the war.", True),
        ("Kolb argues that the document leaves out the price of steel.", False),
        ("The ferry ran aground. Later in the same article we find out that nobody was hurt.", True),
        ("The author argues with his neighbour.", False),
        ("The author speaks to the reader.", True),
        ("The author tells her sister that the house is sold.", False),
        ("The authors conclude that salt is harmful.", False),
        ("The author concludes that salt is harmful.", True),
        ("The passage forbids interest, the rabbi argued.", False),
        ("The passage forbids interest, the author argues.", True),
        ("A plan was filed. The document describes three roads.", False),
        ("A plan was filed. The document also mentions three roads.", True),
        ("The article, published on Tuesday, discusses rents.", True),
        ("The document, signed in 1920, describes the border.", False),
        ("This report outlines the flood.", True),
        ("This report covers fiscal year 2019.", False),
        ("TL;DR: the post explains how roses are pruned.", True),
        ("The post is held by nineteen men.", False),
        ("No further details are given in the source.", True),
        ("The police gave no further details.", False),
        ("The second paragraph adds that fares fall.", True),
        ("The article contrasts it (see the third paragraph).", True),
    ],
)
def test_what_is_said_of_a_text_shows_whose_it_is(text: str, fires: bool) -> None:
    assert (next(commentary_in([text[span.start : span.end] for span in split(text)]), None) is not None) is fires


@pytest.mark.parametrize(
    "sentence",
    [
        'He wrote: "I hope this helps!"',
        "“The text does not say so,” she said.",
        "«The article discusses it», he said.",
        "'Let me know if you need anything', she said.",
        'The pipe is 6" wide and the text message said so.',
    ],
)
def test_quotations_are_somebodys_words(sentence: str) -> None:
    assert not is_commentary(sentence)


def test_the_model_knows_a_wording_that_no_rule_has() -> None:
    words = tokens("the passage is set in a small village in Peru.")
    assert score(words, frozenset()) > score(tokens("the house is set in a small village in Peru."), frozenset())


@pytest.mark.parametrize(
    "text",
    [
        *("the " * 200, "the document " * 100, "here is " + "a-b " * 200, "* " * 10_000, "As an AI " * 100, "the main " * 1000),
        *("I have " * 1000, "; here " * 1000, "in the text, " * 1000, "'a " * 3000, '"a ' * 3000, "<a " * 3000, "if you " * 1000, "the user wants " * 800),
    ],
)
def test_a_hostile_beginning_costs_no_time(text: str) -> None:
    begun = time.process_time()
    is_commentary(text)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("sentence", "fires"),
    [
        ("Nothing is said about the price of the land.", True),
        ("No information about the age of the patients is provided.", True),
        ("An overview of the new fares is given.", True),
        ("The losses of the growers are touched upon.", True),
        ("In this abstract, a trial with 40 children is presented.", True),
        ("One learns that the mill was sold.", True),
        ("In my view the key point is that rents will rise.", True),
        ("Okay, so the tram line opens in May.", True),
        ("Main points of the post: fares rise.", True),
        ("Also discussed: fares and rents.", True),
        ("Covered here: fares and rents.", True),
        ("Also covered are the rents.", True),
        ("Main subject: fares.", True),
        ("Further on, the rents are brought up.", True),
        ("It is stressed that fares rise.", True),
        ("Readers get to know that fares rise.", True),
        ("Need it shorter?", True),
        ("Sports report in two sentences: Bayern won.", True),
        ("The text tells us nothing about fares.", True),
        ("Fares rise, says the article.", True),
        ("The board discussed: fares, rents and parking.", False),
        ("Also covered with snow is the road.", False),
        ("Further on, the rents are discussed by the council.", False),
        ("Readers get to know the author at the fair.", False),
        ("The letter says nothing about fares.", False),
        ("Need is growing in the north.", False),
        ("Nothing is said about tolls in the treaty.", False),
        ("No information is given to third parties.", False),
        ("No reason was given for the delay.", False),
        ("No paracetamol is given to infants.", False),
        ("A daily account is given to the guardian.", False),
        ("The plan is discussed in parliament.", False),
        ("In this trial, 40 children were observed.", False),
        ("One of the boys reads that shelf every year.", False),
    ],
)
def test_what_is_left_unsaid_and_what_is_given_by_nobody(sentence: str, fires: bool) -> None:
    assert is_commentary(sentence) is fires
