"""The events of a run: seeded cases, poison among them, ids that come twice, and batch files with the same cases."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONCERN = "I25"
#: Concern of the events of a topic that was deleted before the plan's own came.
FORMER = "I99"
BATCH_CASES_MAX = 500
#: The header that identifies a record on the input topic: its place in the plan.
PLACE = "chaos-place"
#: The header of a record that no plan has: it belongs to a batch which unpacks to too much.
BOMB = "chaos-bomb"
#: Planted in every poison payload, key and header; no worker may write it to its log.
CANARY = "CANARY-5d1e"
MEGABYTES_5 = 5_000_000
NESTED_DEEP = 10_000
#: More items than a case may have, in less bytes than an event may have.
ARRAY_ITEMS = 100_000

_ARCHETYPES = ("Process_Auditor", "Delay_Driver_Profiler", "Exclusion_Hunter", "Data_Scavenger")
_SIGNALS = ("delay to surgery", "fever on day three", "missed antibiotic dose", "wound drainage", "late transfer", "transfusion without consent")
_TERMS = ("malpractice", "negligence", "blame", "lawsuit")
_PHRASES = ("postoperative day", "hip fracture", "time to theatre", "antibiotic prophylaxis")


@dataclass(frozen=True)
class Poison:
    """The share of poison among the events, and its forms."""

    share: float
    forms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """One record to produce. `form`: event, repeat, or the form of poison; `case`: number of the case, -1 for poison."""

    place: int
    partition: int
    form: str
    case: int

    @property
    def poison(self) -> bool:
        """True if a worker must reject it."""
        return self.form in POISON


@dataclass(frozen=True, slots=True)
class Wire:
    """A record as it goes over the wire."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


@dataclass(frozen=True)
class Plan:
    """Everything that one run feeds, in order."""

    seed: int
    records: list[Planned]
    cases: list[dict[str, Any]]

    def wire(self, record: Planned) -> Wire:
        """The record's bytes, made when they are needed: five-megabyte ones would not all fit in memory."""
        place: tuple[str, bytes | None] = (PLACE, str(record.place).encode())
        if not record.poison:
            case = self.cases[record.case]
            return Wire(case["test_id"].encode(), json.dumps(case).encode(), [place])
        # Keys that are not text, a name that comes twice, a header without a value: all of it must come back.
        headers = [place, ("origin", b"\xff\x00" + CANARY.encode()), ("origin", b"again"), ("nothing", None)]
        return Wire(b"\xfe" + str(record.place).encode() + CANARY.encode(), POISON[record.form](record.place), headers)

    def poison(self) -> Iterator[Planned]:
        """The records that must become dead letters."""
        return (record for record in self.records if record.poison)

    def write_batches(self, folder: Path) -> None:
        """The same cases as the batch command reads them: `<concern>/<batch>.jsonl`."""
        (folder / CONCERN).mkdir(parents=True)
        batches: dict[str, list[str]] = {}
        for case in self.cases:
            batches.setdefault(case["batch_id"], []).append(json.dumps(case))
        for name, lines in batches.items():
            (folder / CONCERN / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def make_plan(seed: int, events: int, *, partitions: int, poison: Poison | None = None, repeat_share: float = 0.0, first_partitions: int = 0) -> Plan:
    """The same plan for the same arguments. `events` counts every record; of each form of poison there is at least one.

    `first_partitions`: the first half goes to so many partitions; 0: to all.
    """
    draw = random.Random(f"plan {seed}")
    forms = poison.forms if poison else ()
    poisoned = max(len(forms), round(events * poison.share)) if poison else 0
    repeats = round(events * repeat_share)
    cases = [_case(draw, seed, number) for number in range(events - poisoned - repeats)]
    _declare_sizes(cases)
    rest = [(forms[number % len(forms)], -1) for number in range(poisoned)]
    rest += [("repeat", draw.randrange(len(cases))) for _ in range(repeats)]
    drawn = [("event", number) for number in range(len(cases))] + rest
    draw.shuffle(drawn)
    half = len(drawn) // 2 if first_partitions else 0
    records = [Planned(place, draw.randrange(first_partitions if place < half else partitions), form, case) for place, (form, case) in enumerate(drawn)]
    return Plan(seed, records, cases)


def _case(draw: random.Random, seed: int, number: int) -> dict[str, Any]:
    """One SAFE v0 case whose scores vary."""
    wanted, phrases = draw.sample(_SIGNALS, draw.randint(1, 3)), draw.sample(_PHRASES, draw.randint(0, 2))
    said = [f"Note of {signal} in record {number}" for signal in wanted if draw.random() < 0.8]
    slip = draw.choice(_TERMS) if draw.random() < 0.15 else "care"
    return {
        "kind": "safe",
        "id": f"chaos-{seed}-{number}",
        "test_id": f"T{number:06d}",
        "archetype": draw.choice(_ARCHETYPES),
        "concern_id": CONCERN,
        "batch_id": f"batch_{number // BATCH_CASES_MAX:03d}",
        "expectations": {
            "signal_generation": {"must_find_signals": wanted},
            "followup_questions": {"forbidden_terms": list(_TERMS)},
            "event_summary": {"must_contain_phrases": phrases},
        },
        "output": {
            "signals": said,
            "summary": "Summary: " + "; ".join(phrase for phrase in phrases if draw.random() < 0.8),
            "followup_questions": [f"Was there any {slip} at handover?"],
        },
    }


def _declare_sizes(cases: list[dict[str, Any]]) -> None:
    """Every case declares its batch's size, so that each batch gets a final report."""
    sizes: dict[str, int] = {}
    for case in cases:
        sizes[case["batch_id"]] = sizes.get(case["batch_id"], 0) + 1
    for case in cases:
        case["batch_size"] = sizes[case["batch_id"]]


def _marked(place: int, rest: str) -> bytes:
    return f'{{"kind":"safe","id":"poison-{place}-{CANARY}",{rest}}}'.encode()


#: Form → the payload of the record at a place of the plan.
POISON: dict[str, Callable[[int], bytes | None]] = {
    "not_utf8": lambda place: f'{{"id":"{CANARY}{place}'.encode() + b"\xff\xfe\xc3",
    "not_json": lambda place: _marked(place, '"output":')[:-1],
    "wrong_schema": lambda place: _marked(place, '"test_id":["a list"],"concern_id":7,"output":"text"'),
    "unknown_kind": lambda place: f'{{"kind":"{CANARY}","id":"poison-{place}"}}'.encode(),
    "five_megabytes": lambda place: _marked(place, '"output":{"summary":"' + "x" * MEGABYTES_5 + '"}'),
    "nested_deep": lambda place: _marked(place, '"output":' + "[" * NESTED_DEEP + "]" * NESTED_DEEP),
    "huge_array": lambda place: _marked(
        place,
        '"test_id":"T","concern_id":"I25","batch_id":"b","output":{},"expectations":{"signal_generation":{"must_find_signals":["x"'
        + ',"x"' * ARRAY_ITEMS
        + "]}}",
    ),
    "empty": lambda _: b"",
    "null": lambda _: None,
}
