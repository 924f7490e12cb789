"""The summaries of the NLI benchmark: the shipped samples with other names and numbers, so that hardly a sentence occurs twice."""

import random
import re
from collections.abc import Iterator
from typing import Any

import orjson

from touchstone.scorers.summary.samples import GOLDS, samples

SENTENCE_ENDS = re.compile(r"(?<=[.!?])(?<!\bDr\.)\s+")
NUMBER = re.compile(r"[0-9]+")
#: Generations of the samples that are whole summaries of a known gold.
WHOLE_SENTENCES_MIN = 5
SYLLABLES = ("bar", "del", "fen", "gor", "hal", "jun", "kes", "lim", "mor", "nad", "por", "ris", "sol", "tav", "vel", "wen")


def summary_events(count: int, seed: str) -> list[dict[str, Any]]:
    """`count` events, each with a gold of its own: 10 to 13 facts, five to ten sentences, five or six outline points."""
    golden = {gold["entry"]["source_id"]: gold for gold in _lines(GOLDS.read_bytes())}
    written = [record for path in samples().paths for record in _lines(path.read_bytes())]
    pairs = [(golden[ref], record["generated"]) for record in written if (ref := record.get("gold_ref")) in golden and _is_whole(record["generated"])]
    return [_event(*pairs[number % len(pairs)], f"{seed}-{number}") for number in range(count)]


def note_events(count: int, seed: str) -> list[dict[str, Any]]:
    """`count` small events: ten facts, a gold of two sentences, one generated sentence, one outline point."""
    return [_shortened(event) for event in summary_events(count, seed)]


def values_of(events: list[dict[str, Any]]) -> list[bytes]:
    """The events as records on a topic."""
    return [orjson.dumps(event) for event in events]


def _lines(content: bytes) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in content.splitlines() if line.strip()]


def _is_whole(generated: str) -> bool:
    """A summary in sentences: neither empty nor cut off nor JSON nor about itself."""
    return len(SENTENCE_ENDS.split(generated)) >= WHOLE_SENTENCES_MIN and generated[-1:] == "." and "summary" not in generated[:60].lower()


def _event(gold: dict[str, Any], generated: str, name: str) -> dict[str, Any]:
    other = _Perturbation(gold["summary"]["entity_list"], name)
    entry, summary = gold["entry"], gold["summary"]
    datum = {
        "entry": entry | {"source_id": f"{entry['source_id']}-{name}", "text": other.text(entry["text"])},
        "summary": {
            "main_theme": other.text(summary["main_theme"]),
            "summary": other.text(summary["summary"]),
            "key_facts": [other.text(fact) for fact in summary["key_facts"]],
            "logical_outline": [other.text(point) for point in summary["logical_outline"]],
            "entity_list": [other.named(entity) for entity in summary["entity_list"]],
        },
    }
    return {"kind": "summary", "id": f"bench-{name}", "datum": datum, "generated": other.text(generated)}


def _shortened(event: dict[str, Any]) -> dict[str, Any]:
    summary = event["datum"]["summary"]
    narrative = SENTENCE_ENDS.split(summary["summary"])
    shorter = summary | {"summary": " ".join(narrative[:2]), "key_facts": summary["key_facts"][:10], "logical_outline": summary["logical_outline"][:1]}
    datum = event["datum"] | {"summary": shorter | {"entity_list": summary["entity_list"][:2]}}
    return event | {"id": f"{event['id']}-note", "datum": datum, "generated": SENTENCE_ENDS.split(event["generated"])[0]}


class _Perturbation:
    """Other names and numbers, the same ones throughout a case; a sentence that has neither gets a number at its end."""

    def __init__(self, entities: list[str], seed: str) -> None:
        self._chance = random.Random(seed)
        words = {word for entity in entities for word in entity.split() if word[:1].isupper() and len(word) > 3}
        self._names = {word: "".join(self._chance.sample(SYLLABLES, 2)).capitalize() for word in sorted(words)}
        self._word = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in self._names) or r"(?!)")
        self._numbers: dict[str, str] = {}
        self._mark = f"{self._chance.randrange(1000, 10_000)}"

    def text(self, text: str) -> str:
        """A text of sentences."""
        return " ".join(self._sentences(text))

    def named(self, text: str) -> str:
        """The same with other names and numbers only."""
        return NUMBER.sub(lambda found: self._number(found.group()), self._word.sub(lambda found: self._names[found.group()], text))

    def _sentences(self, text: str) -> Iterator[str]:
        for sentence in SENTENCE_ENDS.split(text):
            changed = self.named(sentence)
            yield changed if changed != sentence or changed[-1:] != "." else f"{changed[:-1]} (file {self._mark})."

    def _number(self, number: str) -> str:
        """As many digits, the first of them no zero."""
        if number not in self._numbers:
            low = 10 ** (len(number) - 1)
            self._numbers[number] = str(self._chance.randrange(low, 10 * low))
        return self._numbers[number]
