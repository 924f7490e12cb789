"""The label of a summary: by its loss, and lowered by conflicts, by sentences that nothing supports and by what the model is unsure of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from touchstone.scorers.summary.conflicts.conflict import ALTERED, DISPUTED, UNSUPPORTED, Conflict

if TYPE_CHECKING:
    from touchstone.scorers.summary.certainty import Certainty
    from touchstone.scorers.summary.settings import Cap, Conflicts, Labels, SummarySettings

Label = Literal["Pass", "Review", "Fail"]
#: Labels from the best to the worst.
RANKS = {"Pass": 0, "Review": 1, "Fail": 2}


def capped(label: Label, conflicts: Sequence[Conflict], caps: Conflicts) -> Label:
    """The label, capped by the conflicts found (settled point 11). The loss is unchanged."""
    worst = label
    for cap in {cap for conflict in conflicts for cap in _caps_of(conflict, caps)}:
        if cap != "none" and RANKS[cap] > RANKS[worst]:
            worst = cap
    return worst


def _caps_of(conflict: Conflict, caps: Conflicts) -> tuple[Cap, ...]:
    """What bounds the label; a clinical conflict is a conflict too. A judge lowers a clinical cap, and never lifts it: a rule has read another value."""
    if conflict.rule == DISPUTED:
        return ("none" if caps.clinical_cap == "none" else "Review",)
    if not conflict.is_conflict:
        return (caps.altered_cap if conflict.rule == ALTERED else caps.unsupported_cap,)
    return (caps.cap, caps.clinical_cap) if conflict.clinical else (caps.cap,)


def label_of(loss: float, labels: Labels) -> Label:
    """Pass up to the first bound, Review up to the second, else Fail."""
    if loss <= labels.pass_loss_max:
        return "Pass"
    return "Review" if loss <= labels.review_loss_max else "Fail"


class Labelled(NamedTuple):
    """A label. `by_loss`: what the loss alone makes it; `because`: what lowered it to `label`, in words; empty where nothing did."""

    label: Label
    by_loss: Label
    because: tuple[str, ...]


def labelled(loss: float, conflicts: Sequence[Conflict], certainty: Certainty, settings: SummarySettings) -> Labelled:
    """The label by the loss, lowered by conflicts, by unsupported and altered sentences, and by statements that the model is unsure of."""
    labels, whole = settings.labels, certainty.sentences
    by_loss = label_of(loss, labels)
    unsupported, altered = ([one for one in conflicts if one.rule == rule] for rule in (UNSUPPORTED, ALTERED))
    others = [one for one in conflicts if one.rule not in {UNSUPPORTED, ALTERED}]
    reached: dict[str, Label] = {
        "the conflicts found": capped(by_loss, others, settings.conflicts),
        f"sentences that nothing supports ({len(unsupported)} of {whole})": capped(by_loss, unsupported, settings.conflicts),
        f"sentences that are copied but for words which the model does not take for the gold's ({len(altered)} of {whole})": capped(
            by_loss, altered, settings.conflicts
        ),
    }
    if certainty.is_mostly_unborne(labels):
        reached[f"a text that the gold does not support ({len(certainty.unborne)} of {whole} sentences)"] = "Fail"
    if by_loss == "Pass":
        reached |= dict.fromkeys(certainty.too_unsure(labels), "Review")
    label = max([by_loss, *reached.values()], key=RANKS.__getitem__)
    return Labelled(label, by_loss, tuple(why for why, one in reached.items() if one == label != by_loss))
