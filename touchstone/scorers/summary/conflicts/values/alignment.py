"""How surely two values are about the same thing: by their nouns, the words around them, and their look."""

from touchstone.scorers.summary.conflicts.values.surroundings import Placed, laboratory
from touchstone.scorers.summary.conflicts.values.value import Value

#: Something else is counted: people, not refugees. A noun may be a synonym, so it is a hint only.
OTHER_NOUN = -1.0
#: Two counts that differ by such a factor are hardly of the same thing, unless the sentence is a copy; a typo adds one zero.
APART, FAR_APART = 15.0, -3.0
#: Penalty for comparing a number without a unit to one with a unit.
UNITLESS = -1.0
#: Shared stems that two bare scores need: 3-2 belongs to one match, 1-0 to another.
SCORES_NEAR = 2
#: The value looks like the other one mistyped.
SLIP = 0.75


def sureness_of(mine: Placed, its: Placed, weights: dict[str, float], *, slips: bool = True) -> float:
    """How surely two values are about the same thing, by their nouns and the words around them."""
    heads, other = mine.value.heads, its.value.heads
    named = (heads & its.far) | (other & mine.far) if not heads & other else frozenset()
    score = 0.0
    if heads & other:
        score += 2.0
    else:
        score += bool(named) + OTHER_NOUN * bool(heads and other and mine.value.kind in {"number", "ordinal"})
    if ("number" in {mine.value.kind, its.value.kind}) and mine.value.kind != its.value.kind and not (laboratory(mine) and laboratory(its)):
        score += UNITLESS
    if slips and _apart(mine.value, its.value):
        score += FAR_APART
    near = (mine.near & its.near) - named
    half = ((mine.near & its.far) | (mine.far & its.near)) - near - named
    far = (mine.far & its.far) - near - half - named
    score += min(3.0, sum(weights.get(word, 1.0) for word in near))
    score += min(1.5, sum(0.5 * weights.get(word, 1.0) for word in half))
    score += min(1.0, sum(0.25 * weights.get(word, 1.0) for word in far))
    if mine.value.is_score and its.value.is_score and len(near) < SCORES_NEAR:
        return 0.0
    return score + (SLIP if slips and _slip(mine.value, its.value) else 0.0)


def _apart(mine: Value, its: Value) -> bool:
    figures = [abs(value.figures[0]) for value in (mine, its) if value.kind in {"number", "money"} and value.figures]
    same_digits = len({f"{figure:e}".partition("e")[0] for figure in figures}) == 1
    return len(figures) == 2 and not same_digits and max(figures) > APART * min(figures)


def _slip(mine: Value, its: Value) -> bool:
    """True if one looks like the other one mistyped: a date but for one part; digits exchanged, one changed, added or lost, or a zero more."""
    if any(one.parts_alike(other) for one in mine.whens for other in its.whens):
        return True
    if not mine.figures or not its.figures or not mine.figures[0] or not its.figures[0]:
        return False
    one, two = (f"{figure:.10g}".replace(".", "").strip("0") for figure in (mine.figures[0], its.figures[0]))
    if one == two:
        return True
    if abs(len(one) - len(two)) == 1:
        short, long = sorted((one, two), key=len)
        return any(long[:place] + long[place + 1 :] == short for place in range(len(long)))
    return len(one) == len(two) > 1 and (sorted(one) == sorted(two) or sum(a != b for a, b in zip(one, two, strict=True)) == 1)


def nearness(index: int) -> float:
    """Bonus for the nearest unit and the next."""
    return (0.5, 0.25)[index] if index < 2 else 0.0
