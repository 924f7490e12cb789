"""A difference between a sentence of a summary and the units of the gold that it is about: the result type of all rules."""

from typing import Literal, NamedTuple

Rule = Literal["number", "quantity", "date", "duration", "money", "percentage", "name", "negation", "antonym", "laterality", "allergy", "relation"]


class Difference(NamedTuple):
    """One thing that differs. `here` and `there`: [start, end) in the sentence and in the unit with the index `unit`.

    `clinical`: a clinical quantity (a dose, a frequency, a measured value), an allergy or a side of the body.
    """

    rule: Rule
    here: tuple[int, int]
    there: tuple[int, int]
    unit: int
    clinical: bool = False
