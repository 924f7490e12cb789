"""Splits labelled cases into train, dev and test: by patient, so that no patient is in two; stratified by verdict; seeded.

Train is for examples in a judge's prompt, dev for improving the prompt, test for the one measurement that counts.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final, Literal

Part = Literal["train", "dev", "test"]
SHARES: Final[dict[Part, float]] = {"train": 0.15, "dev": 0.45, "test": 0.40}


class LeakError(ValueError):
    """An example of the prompt whose patient is in the test set: the judge has seen what it is measured on."""


def split(labelled: Iterable[tuple[str, bool]], seed: int = 0, *, known: Mapping[str, Part] | None = None) -> dict[str, Part]:
    """Return patient → part, of (patient, people fail the case) pairs.

    A patient with any failed case counts as failed. Within a class patients are ordered by a hash of seed and id, and each goes to the part that is
    furthest behind its share; so both classes have the shares, and the order in which labels come changes nothing. `known`: patients of an earlier
    split. They keep their part, or what was an example in a prompt would be tested on later.
    """
    failed: dict[str, bool] = {}
    for patient, fails in labelled:
        failed[patient] = failed.get(patient, False) or fails
    parts = {patient: part for patient, part in (known or {}).items() if patient in failed}
    for verdict in (True, False):
        counts: dict[Part, int] = dict.fromkeys(SHARES, 0)
        for patient, part in parts.items():
            counts[part] += failed[patient] is verdict
        new = sorted((one for one, fails in failed.items() if fails is verdict and one not in parts), key=lambda one: _place(seed, one))
        for number, patient in enumerate(new, 1 + sum(counts.values())):
            behind = max(SHARES, key=lambda part: SHARES[part] * number - counts[part])
            parts[patient] = behind
            counts[behind] += 1
    return parts


def refuse_leaks(parts: Mapping[str, Part], examples: Iterable[str]) -> None:
    """Refuse examples of a prompt that are not training patients. Raises `LeakError`, which names how many and not whom."""
    wrong = [parts[patient] for patient in examples if parts.get(patient, "train") != "train"]
    if wrong:
        raise LeakError(f"{len(wrong)} examples of the prompt are not of the training split ({', '.join(sorted(set(wrong)))}); take them out of the prompt")


def _place(seed: int, patient: str) -> bytes:
    return hashlib.blake2b(f"{seed}\n{patient}".encode(), digest_size=16).digest()
