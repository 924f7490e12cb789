"""Meta-commentary: sentences about the text that was given to the summariser, or about the summary, instead of about its subject.

The principle: a summary speaks in its text's place. It is commentary where the *given* text or its writer comes up as such ("The article discusses …",
"…, as the passage explains", "According to the provided text, …", "The text does not say when"), and where the writer of the summary does: it announces,
describes, excuses or offers ("Here is a summary", "This summary covers …", "I was unable to …", "Let me know if …"), anywhere in the text.

It is content where a text is part of the story: a report, a study, a law's article ("The article provides that …"), a document that did or suffered
something ("was leaked", "warned"), that has a name, an owner or a kind of its own ("the discharge summary lists", "the article in the Herald"), that the
story brought up before ("A memo leaked on Friday. The document states …"), that somebody in the story speaks of ("The judge ruled that the document
describes a loan"); and whatever stands in quotation marks.

`source_texts` judges nouns for texts and writers by the words around them, `assistant` knows the phrases of assistants, and `model` is trained on examples.
Measured: the model alone finds 11 points less at the same false alarms (docs/summary-loss-figures.md), so all three decide.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from touchstone.scorers.summary.hard_fails.commentary.assistant import is_assistant
from touchstone.scorers.summary.hard_fails.commentary.foreign import is_foreign, opens_with_it
from touchstone.scorers.summary.hard_fails.commentary.model import score
from touchstone.scorers.summary.hard_fails.commentary.nouns import introduces, noun_at, phrase, tokens, word_kind
from touchstone.scorers.summary.hard_fails.commentary.remarks import is_remark
from touchstone.scorers.summary.hard_fails.commentary.source_texts import is_about_its_source
from touchstone.scorers.summary.hard_fails.commentary.story import belongs, sums_up_itself, told
from touchstone.scorers.summary.hard_fails.commentary.vocabulary import ARTICLE, AUTHOR, AUTHORS, CUES, DOCUMENT, FOREIGN, PIECE, SUMMARY, TEXT

#: Of these kinds of texts and writers the model is asked.
_ASKED_ABOUT = frozenset((ARTICLE, AUTHOR, AUTHORS, DOCUMENT, PIECE, SUMMARY, TEXT))
#: So much of a sentence is read.
SENTENCE_CHARS = 4_000

#: Marks before a sentence that are no part of it: markers of lists, headings and emphasis. No quotation mark.
_BEFORE = re.compile(r"(?:[#>*_\s•◦▪‣·+-]|\(?\d{1,3}[.)](?=\s))+")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,100}>")
_EMPHASIS = re.compile(r"[*_`]+|\s+")
_OPENING = re.compile(r"[\"“«„]|(?<![^\s(\[])['‘](?=\w)")
_CLOSED_BY = {'"': '"', "“": "”", "«": "»", "„": "“”", "'": "'’", "‘": "'’"}
_WORD_END = re.compile(r"['’](?!\w)")


def commentary_in(sentences: Iterable[str], told: AbstractSet[str] = frozenset()) -> Iterator[int]:
    """The indices of those sentences of one text that are commentary. `told`: the texts and writers that the gold tells of (`told_by`)."""
    introduced: frozenset[str] = frozenset()
    spoken = [bare(sentence) for sentence in sentences]
    read = [tokens(sentence) for sentence in spoken]
    for index, words in enumerate(read):
        nouns = [noun for at in range(len(words)) if (noun := noun_at(words, at))] if has_cue(words) else []
        if is_remark(spoken[index].lower(), told):
            yield index
        elif has_cue(words):
            following = read[index + 1] if index + 1 < len(read) else []
            own = frozenset(
                noun.at for noun in nouns if (phrase(words, noun) in told and not sums_up_itself(words, noun)) or belongs(words, noun, following, introduced)
            )
            foreign = bool(told) and not introduced and is_foreign(words, told)
            if (
                foreign
                or (index == 0 and opens_with_it(words))
                or is_about_its_source(words, introduced, own)
                or is_assistant(spoken[index].lower())
                or _is_likely(words, introduced, own)
            ):
                yield index
        introduced |= introduces(words)
        told = told | {f"this {known.removeprefix('the ')}" for noun in nouns if (known := phrase(words, noun)) in told}


def told_by(narrative: Sequence[str], source: Iterable[str]) -> frozenset[str]:
    """The texts and writers that a gold tells of, by the sentences of its narrative and facts and of its source text, for `commentary_in`.

    Sentences of the narrative that a rule takes for commentary tell of nothing.
    """
    spoken = [bare(sentence) for sentence in narrative]
    about = [words for sentence in spoken if not (is_about_its_source(words := tokens(sentence), frozenset()) or is_assistant(sentence.lower()))]
    return told(about, (tokens(bare(sentence)) for sentence in source))


def has_cue(words: Sequence[str]) -> bool:
    """True if a sentence has a word for a text or its writer, or one of those that assistants use."""
    return any(word in CUES or word in FOREIGN or word_kind(word.removesuffix("'s")) for word in map(str.lower, words))


def _is_likely(words: Sequence[str], introduced: AbstractSet[str], own: AbstractSet[int]) -> bool:
    """True if the model takes a sentence for commentary; it is asked only where a text or its writer comes up, as people say "I" and "you" of anything.

    A text that the sentence itself names is not the one given: "the Skarv article".
    """
    asked = any(
        word_kind(word.removesuffix("'s")) in _ASKED_ABOUT and at not in own and not (at > 1 and words[at - 1][:1].isupper()) for at, word in enumerate(words)
    )
    return asked and score(words, introduced) > 0


def is_commentary(sentence: str) -> bool:
    """True if a sentence, alone, is commentary."""
    return next(commentary_in((sentence,)), None) is not None


def bare(sentence: str) -> str:
    """A sentence without markers, tags, emphasis and quotations."""
    read = sentence[:SENTENCE_CHARS]
    if marked := _BEFORE.match(read):
        read = read[marked.end() :]
    read = _unquoted(_EMPHASIS.sub(" ", _TAG.sub(" ", read))).replace("’", "'")
    return " ".join(read.split()).replace(" ,", ",")


def _unquoted(text: str) -> str:
    """A text with a pair of quotation marks in the place of each quotation; one that is not closed goes on to the end. Takes linear time."""
    parts: list[str] = []
    at = 0
    while opened := _OPENING.search(text, at):
        mark = opened[0]
        if mark in "'‘":
            end = closed.end() if (closed := _WORD_END.search(text, opened.end())) else -1
        elif mark == '"' and not parts and text[opened.start() - 1 : opened.start()].isdigit():
            end = -1  # inches
        else:
            found = [place for closing in _CLOSED_BY[mark] if (place := text.find(closing, opened.end())) >= 0]
            end = min(found) + 1 if found else len(text)
        if end < 0:
            parts.append(text[at : opened.end()].rstrip("'‘\""))
            at = opened.end()
            continue
        parts.append(f"{text[at : opened.start()]}“”")
        at = end
    return "".join((*parts, text[at:]))
