"""SAFE cases for tests: each names only what it is about."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from touchstone.schemas.case import SafeCase
from touchstone.scorers.safe import SUITE


def record(
    test_id: str = "I25-BATCH1-001",
    *,
    archetype: str = "Process_Auditor",
    concern: str = "I25",
    batch: str = "I25_batch_1",
    signals: Sequence[str] = (),
    terms: Sequence[str] = (),
    phrases: Sequence[str] = (),
    found: Sequence[Any] = (),
    summary: str = "",
    questions: Sequence[Any] = (),
    **extra: Any,
) -> dict[str, Any]:
    """A case as a producer writes it. `found`: the output's signals."""
    return {
        "test_id": test_id,
        "archetype": archetype,
        "concern_id": concern,
        "batch_id": batch,
        "expectations": {
            "signal_generation": {"must_find_signals": list(signals)},
            "followup_questions": {"forbidden_terms": list(terms)},
            "event_summary": {"must_contain_phrases": list(phrases)},
        },
        "output": {"signals": list(found), "summary": summary, "followup_questions": list(questions)},
        **extra,
    }


def case(*args: Any, **kwargs: Any) -> SafeCase:
    return SafeCase.model_validate(record(*args, **kwargs))


def partial(test_id: str, archetype: str, cr: tuple[int, int], ah: tuple[int, int], ac: tuple[int, int], **names: Sequence[str]) -> dict[str, Any]:
    """A case of wanted scores, each given as (numerator, denominator).

    `missed`, `used`, `unsaid`: what the first missing signals, used terms and missing phrases are called.
    """
    missed, used, unsaid = (list(names.get(name, ())) for name in ("missed", "used", "unsaid"))
    absent = [*missed, *(f"absent signal {n}" for n in range(cr[1] - cr[0]))][: cr[1] - cr[0]]
    present = [f"present signal {n}!" for n in range(cr[0])]
    violated = [*used, *(f"zz term {n}!" for n in range(ah[1] - ah[0]))][: ah[1] - ah[0]]
    unsaid = [*unsaid, *(f"absent phrase {n}!" for n in range(ac[1] - ac[0]))][: ac[1] - ac[0]]
    said = [f"present phrase {n}!" for n in range(ac[0])]
    return record(
        test_id,
        archetype=archetype,
        signals=[*absent, *present],
        terms=[*violated, *(f"unused term {n}!" for n in range(ah[0]))],
        phrases=[*unsaid, *said],
        found=present,
        summary=" ".join(said),
        questions=[f"Is {term} meant?" for term in violated],
    )


#: Header, metric rows and issues of §5.2: three pass, one to review, one fails; means .85, .90, .78.
SUMMARY_BATCH = [
    partial("I25-BATCH1-001", "Process_Auditor", (5, 5), (4, 4), (1, 1)),
    partial("I25-BATCH1-002", "Delay_Driver_Profiler", (4, 5), (4, 4), (1, 1), missed=["taken to OR over 24 hours"]),
    partial("I25-BATCH1-003", "Process_Auditor", (1, 1), (2, 4), (1, 2), used=["policy"], unsaid=["NPO status violation"]),
    partial("I25-BATCH1-004", "Documentation_Gap", (1, 1), (4, 4), (1, 1)),
    partial("I25-BATCH1-005", "Safety_Signal", (4, 9), (4, 4), (2, 5), missed=["taken to OR over 24 hours"], unsaid=["NPO status violation"]),
]

#: The per-case rows of §5.2. They give two Pass and three Review, so no batch gives both halves of the example.
ROWS_BATCH = [
    partial("I25-BATCH1-001", "Process_Auditor", (1, 1), (1, 1), (1, 1)),
    partial("I25-BATCH1-002", "Delay_Driver_Profiler", (2, 3), (1, 1), (1, 2)),
    partial("I25-BATCH1-003", "Process_Auditor", (1, 1), (1, 2), (1, 1)),
    partial("I25-BATCH1-004", "Documentation_Gap", (1, 1), (1, 1), (1, 1)),
    partial("I25-BATCH1-005", "Safety_Signal", (1, 1), (1, 1), (1, 2)),
]


def samples() -> Path:
    given = SUITE.samples
    assert given is not None
    (folder,) = given().paths
    return folder
