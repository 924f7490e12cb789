"""A truth set: golds with variants whose errors and omissions are known, in several wordings, and the order that losses must have.

One JSON file a gold: `name`, `kind`, `gold` (a gold standard) and `variants`, each with `id`, `wording`, `kind` (faithful, wrong, incomplete, padded),
`errors`, `omitted` (key facts that are missing) and `text`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from touchstone.schemas.case import Text
from touchstone.schemas.gold import GoldStandardDatum
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.base import ConfigError

if TYPE_CHECKING:
    from touchstone.schemas.result import Scorecard

Kind = Literal["faithful", "wrong", "incomplete", "padded"]
#: Wordings that share few words with their gold.
PARAPHRASES = frozenset({"paraphrase", "paraphrase2"})
FILE_BYTES_MAX = 4_194_304


class Error(BaseModel):
    """One thing that a variant gets wrong."""

    rule: str
    note: str = ""


class Variant(BaseModel):
    """One summary of a gold, with its known errors and omissions."""

    id: str
    wording: str
    kind: Kind
    errors: tuple[Error, ...] = ()
    omitted: Annotated[int, Field(ge=0)] = 0
    text: Text


class Truth(BaseModel):
    """A gold and its variants."""

    name: str
    kind: str
    gold: GoldStandardDatum
    variants: Annotated[tuple[Variant, ...], Field(min_length=1)]


def truths(folder: Path) -> list[Truth]:
    """Every gold of the folder's JSON files, in the order of the files' names. Raises `ConfigError` that names the file and the field."""
    found: list[Truth] = []
    for path in sorted(folder.glob("*.json")):
        try:
            if path.stat().st_size > FILE_BYTES_MAX:
                raise ConfigError(f"{path}: is larger than {FILE_BYTES_MAX:,} bytes; a truth set has one gold a file")
            truth = Truth.model_validate_json(path.read_bytes())
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror}); a truth set has one gold a file") from None
        except ValidationError as error:
            where = ".".join(map(str, error.errors(include_input=False)[0]["loc"])) or "the file"
            raise ConfigError(f"{path}: {where} does not fit a truth set; it needs name, kind, gold and variants") from None
        if any(truth.name == known.name for known in found):
            raise ConfigError(f"{path}: another file has a gold of the same name; give each its own")
        found.append(truth)
    return found


class Scored(NamedTuple):
    """A variant of a gold and its scorecard."""

    gold: str
    variant: Variant
    card: Scorecard

    @property
    def loss(self) -> float:
        """Its loss; the greatest if it has none."""
        return self.card.values.get("loss", 1.0)


def cases(given: Sequence[Truth]) -> Iterator[tuple[str, Variant, SummaryCase]]:
    """Each variant as a case."""
    for truth in given:
        for variant in truth.variants:
            yield truth.name, variant, SummaryCase(datum=truth.gold, generated=variant.text)


def figures(scored: Sequence[Scored]) -> dict[str, float | int | None]:
    """How well losses and labels fit the truth. Shares are of pairs or of variants; None if there is none.

    `same_wording`: of pairs of one gold in one wording, of which one has no more errors and omissions and fewer of one of them, it has the lower loss. Made-up
    sentences are compared with faithful texts only. `across_wordings`: a faithful text loses less than one with falsehoods in another wording;
    `paraphrase_over_copy`: the hard part of these, a faithful paraphrase against an altered copy of the gold's own words, or nearly.
    """
    same: list[bool] = []
    across: list[bool] = []
    hard: list[bool] = []
    for _, group in groupby(sorted(scored, key=lambda one: one.gold), key=lambda one: one.gold):
        for one, other in permutations(group, 2):
            better = one.loss < other.loss
            if one.variant.wording == other.variant.wording:
                same += [better] if _is_better(one.variant, other.variant) else []
            elif one.variant.kind == "faithful" and other.variant.kind == "wrong":
                across.append(better)
                if one.variant.wording in PARAPHRASES and other.variant.wording in {"gold", "light", "bullets"}:
                    hard.append(better)
    return {
        "golds": len({one.gold for one in scored}),
        "variants": len(scored),
        "same_wording": _share(same),
        "across_wordings": _share(across),
        "paraphrase_over_copy": _share(hard),
        "wrong_pass": _passing(scored, lambda variant: variant.kind == "wrong"),
        "paraphrase_pass": _passing(scored, lambda variant: variant.kind == "faithful" and variant.wording in PARAPHRASES),
        "faithful_pass": _passing(scored, lambda variant: variant.kind == "faithful"),
        "incomplete_pass": _passing(scored, lambda variant: variant.kind == "incomplete" and variant.wording != "short"),
        "padded_pass": _passing(scored, lambda variant: variant.kind == "padded"),
        "hard_fails": sum(card.values == {"loss": 1.0} for _, _, card in scored),
        "errors_found": _share([_has_conflict(one.card) for one in scored if one.variant.kind == "wrong"]),
        "false_alarms": _share([_has_conflict(one.card) for one in scored if one.variant.kind in {"faithful", "incomplete"}]),
    }


def _is_better(one: Variant, other: Variant) -> bool:
    """True if the first is better in something and worse in nothing. An invented sentence and a wrong one cannot be compared."""
    if (one.kind == "padded") != (other.kind == "padded") and one.kind != "faithful":
        return False
    fewer = (len(one.errors), one.omitted)
    more = (len(other.errors), other.omitted)
    return fewer != more and fewer[0] <= more[0] and fewer[1] <= more[1]


def _passing(scored: Sequence[Scored], chosen: Callable[[Variant], bool]) -> float | None:
    return _share([one.card.label == "Pass" for one in scored if chosen(one.variant)])


def _has_conflict(card: Scorecard) -> bool:
    return any(finding.code.startswith("conflict.") for finding in card.findings)


def _share(answers: Sequence[bool]) -> float | None:
    return sum(answers) / len(answers) if answers else None
