"""Opposites, as they appear where a summary gets a text wrong: `opposites.txt` and lists of words that need more care."""

from touchstone.scorers.summary.word_lists import rows, word_lists

_LISTS = word_lists(__file__, "words")
#: Families of opposites; the two sides of each are parted by a bar.
FAMILIES = rows(__file__, "opposites")

PEOPLE = _LISTS["people"]
RELATIONAL = _LISTS["relational"]
COMPARATIVES = _LISTS["comparatives"]
#: Words whose complement, up to a mark, may come first: "before lunch, they voted".
TEMPORAL = frozenset({"before", "after", "prior", "following"})
