"""Words that mark a statement as unsure, as about another time, or as about a part only."""

from touchstone.scorers.summary.lexical import stem
from touchstone.scorers.summary.word_lists import word_lists

_LISTS = word_lists(__file__, "words")

UNSURE = _LISTS["unsure"]
#: With one of these in a sentence, none of its clauses is stated as a fact.
CONDITIONS = frozenset({"if", "unless", "whether"})
NEGATIVE = _LISTS["negative"]
POINTERS = _LISTS["pointers"]
PERMITS = frozenset({"must", "may", "can", "cannot", "can't", "shall", "allowed", "permitted"})
SHIFTS = _LISTS["shifts"]
PARTS = _LISTS["parts"]
ORDINALS = _LISTS["ordinals"]
SOME = _LISTS["some"]
ZERO = _LISTS["zero"]
PRESENT = _LISTS["present"]
REPORTING = _LISTS["reporting"]
FUTURE = _LISTS["future"]
OFFICES = _LISTS["offices"]
CALENDAR = _LISTS["calendar"]
#: Words that add little: "evidence of infection" is infection.
NEUTRAL = frozenset(map(stem, _LISTS["neutral"]))
NEGATIVE_STEMS = frozenset(map(stem, NEGATIVE))
