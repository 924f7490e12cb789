"""Synonyms, for the rules about wording."""

from touchstone.scorers.summary.lexical import stem
from touchstone.scorers.summary.word_lists import rows

#: Stem → the stem that represents its group.
SAME = {stem(word): stem(group.split()[0]) for group in rows(__file__, "synonyms") for word in group.split()}
