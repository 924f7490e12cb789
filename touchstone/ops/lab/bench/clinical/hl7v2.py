"""Full HL7 v2 validation beside hl7apy and beside bare splits of the same messages.

Without --data, the messages are built in: results and admissions of several versions, each different. Contenders run in turn, in processor time,
and the ratios are medians over rounds, so that a busy machine affects all alike. Each pass has other messages: control ids, people,
identifiers, times and numbers change, so that nothing is gained by having seen a message before; codes stay, as they do between the messages of
one sender.
"""

import random
import re
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from touchstone.ops.lab.bench.output import table
from touchstone.ops.lab.command import Arguments, show
from touchstone.scorers.clinical.formats.hl7v2 import validate
from touchstone.scorers.clinical.report import Context
from touchstone.scorers.engines.machine import machine

ROUNDS = 7
#: Passes before the first round, in which the patterns of whole segments are learnt.
PASSES_BEFORE = 12
#: hl7apy takes about a tenth of a second per message.
SLOW_MESSAGES_MAX = 60
SLOW_ROUNDS = 2
#: Passes of Touchstone in a turn beside hl7apy: a single one would take some hundredths of a second.
QUICK_PASSES = 10
VERSIONS = ("2.3.1", "2.4", "2.5", "2.5.1", "2.6")
NAMES = ("Winter", "Lindqvist", "Okafor", "Moreau", "Castellan", "Petrov", "Amsel", "Brandt")
GIVEN = ("Ada", "Jonas", "Chidi", "Elise", "Marta", "Ivan", "Noor", "Sam")
TESTS = (
    ("718-7", "Hemoglobin", "g/dL", 13.5),
    ("2345-7", "Glucose", "mg/dL", 96),
    ("2823-3", "Potassium", "mmol/L", 4.1),
    ("2160-0", "Creatinine", "mg/dL", 0.9),
)
#: Shorter numbers stay as they are: another last digit would take them out of their usual range.
DIGITS_VARIED = 4
#: A time to the minute or second, with or without an offset; its minutes are changed.
TIME = re.compile(rb"(\d{10})\d\d((?:\d\d)?(?:\.\d{1,4})?(?:[+-]\d{4})?)")
#: Segment → fields whose digits identify a person or a record.
OWN = {b"MSH": (9,), b"PID": (3, 11, 13, 18, 19), b"ORC": (2, 3), b"OBR": (2, 3), b"PV1": (19,), b"NK1": (4, 5), b"SPM": (2,)}
Contender = Callable[[bytes], object]


def sample(rng: random.Random, number: int) -> bytes:
    """One synthetic message: version, kind, people and values by chance."""
    version = rng.choice(VERSIONS)
    day = f"2025{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}"
    sent = f"{day}{rng.randint(0, 23):02d}{rng.randint(0, 59):02d}00-0600"
    authority = f"HOSP{rng.randint(1, 9)}&2.16.840.1.113883.3.{rng.randint(1000, 9999)}&ISO"
    pid = (
        f"PID|1||{rng.randint(10_000, 99_999)}^^^{authority}^MR||{rng.choice(NAMES)}^{rng.choice(GIVEN)}^^^^^L||19{rng.randint(40, 99)}0{rng.randint(1, 9)}15|"
        f"{rng.choice('FM')}|||{rng.randint(1, 99)} Mill Lane^^Springfield^IL^62701^USA^H||^PRN^PH^^1^217^555{rng.randint(1000, 9999)}"
    )
    pv1 = f"PV1|1|{rng.choice('IOE')}|{rng.randint(1, 9)}W^{rng.randint(1, 40)}^A||||{rng.randint(1000, 9999)}^Low^Ann^^^Dr"
    kind = rng.choice(("ORU^R01^ORU_R01", "ORU^R01^ORU_R01", "ADT^A01^ADT_A01", "ADT^A04^ADT_A01"))
    rows = [f"MSH|^~\\&|LIS|GOODHOPE|EHR|GOODHOPE|{sent}||{kind}|M{number:06d}|P|{version}"]
    if kind.startswith("ADT"):
        rows += [f"EVN|{kind[4:7]}|{sent}", pid, pv1, f"AL1|1|DA|{rng.randint(100, 999)}^Penicillin^L|MO|Rash", "DG1|1||I10^Essential hypertension^I10|||A"]
    else:
        rows += [pid, pv1]
        for order in range(1, rng.randint(2, 4)):
            rows += [
                f"ORC|RE|{number}{order}^EHR|{rng.randint(1000, 9999)}^LAB",
                f"OBR|{order}|{number}{order}^EHR|{rng.randint(1000, 9999)}^LAB|24323-8^Panel^LN|||{sent}|||||||||||||||{sent}||LAB|F",
            ]
            for index, (code, name, unit, usual) in enumerate(rng.sample(TESTS, len(TESTS)), start=1):
                value = round(usual * rng.uniform(0.9, 1.1), 1)
                rows.append(f"OBX|{index}|NM|{code}^{name}^LN|{index}|{value}|{unit}^{unit}^UCUM|||||F|||{sent}")
            rows.append(f"NTE|1|L|Specimen {rng.randint(1, 999)} received in good order.")
    return ("\r".join(rows) + "\r").encode()


def varied(data: bytes, rng: random.Random) -> bytes:
    """The message as if for another patient on another occasion: the same codes, other names, identifiers, minutes and numbers."""
    if not data.startswith(b"MSH|^~\\&"):
        return data
    lines = re.split(rb"(\r\n|\r|\n)", data)
    for index, line in enumerate(lines):
        fields = line.split(b"|")
        name = fields[0]
        for position, value in enumerate(fields):
            if (found := TIME.fullmatch(value)) is not None:
                fields[position] = found[1] + b"%02d" % rng.randrange(60) + found[2]
        for position in OWN.get(name, ()):
            if position < len(fields):
                first, *rest = fields[position].split(b"^", 1)
                fields[position] = b"^".join([re.sub(rb"\d", lambda _: b"%d" % rng.randrange(10), first), *rest])
        if name == b"PID" and len(fields) > 5 and (parts := fields[5].split(b"^"))[1:]:
            parts[:2] = rng.choice(NAMES).encode() + b"%c" % rng.randrange(97, 123), rng.choice(GIVEN).encode()
            fields[5] = b"^".join(parts)
        if name == b"OBX" and len(fields) > 5 and fields[2] == b"NM" and fields[5][-1:].isdigit() and len(fields[5]) >= DIGITS_VARIED:
            fields[5] = fields[5][:-1] + b"%d" % rng.randrange(10)
        lines[index] = b"|".join(fields)
    return b"".join(lines)


def messages_of(folder: Path | None, count: int) -> list[bytes]:
    """Single messages: those of a folder, or the built-in ones."""
    if folder is None:
        rng = random.Random(7)  # a repeatable workload
        return [sample(rng, number) for number in range(count)]
    found = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in {".hl7", ".txt"}]
    return [data for data in found if data.startswith(b"MSH") and data.count(b"MSH|") == 1][:count]


def fields_split(data: bytes) -> object:
    """Segments and fields by str.split."""
    return [line.split("|") for line in data.decode("utf-8", "replace").replace("\n", "\r").split("\r") if line]


def full_split(data: bytes) -> object:
    """Segments, fields, repetitions, components and subcomponents by str.split, as a parser returns them, without a check."""
    return [
        [[[part.split("&") for part in repetition.split("^")] for repetition in value.split("~")] for value in line.split("|")]
        for line in data.decode("utf-8", "replace").replace("\n", "\r").split("\r")
        if line
    ]


def hl7apy_validate(data: bytes) -> object:
    """hl7apy's parser with groups and its validator; a message that it refuses, or fails on, counts as done."""
    from hl7apy.consts import VALIDATION_LEVEL
    from hl7apy.parser import parse_message

    try:
        return parse_message(re.sub(r"\r?\n", "\r", data.decode("utf-8", "replace")), validation_level=VALIDATION_LEVEL.TOLERANT, find_groups=True).validate()
    except Exception:  # noqa: BLE001 - it raises AttributeError on some messages
        return False


def seconds(contender: Contender, messages: Sequence[bytes]) -> float:
    """Processor seconds per message."""
    begun = time.process_time()
    for data in messages:
        contender(data)
    return (time.process_time() - begun) / len(messages)


def ours(data: bytes) -> object:
    """The whole validation."""
    return validate(data, Context(now=lambda: datetime(2026, 3, 1, tzinfo=UTC)))


def measure(messages: list[bytes]) -> dict[str, float]:
    """Messages per second of each contender, and Touchstone's over the others."""
    few = messages[:: max(1, len(messages) // SLOW_MESSAGES_MAX)][:SLOW_MESSAGES_MAX]
    rng = random.Random(11)

    def others(of: list[bytes]) -> list[bytes]:
        return [varied(data, rng) for data in of]

    cold = seconds(ours, messages[:1])
    for _ in range(PASSES_BEFORE):
        once = others(messages)
        for contender in (ours, fields_split, full_split):
            seconds(contender, once)
    rounds = []
    for _ in range(ROUNDS):
        once = others(messages)
        rounds.append({contender.__name__: seconds(contender, once) for contender in (ours, fields_split, full_split)})
    middle = {name: statistics.median(turn[name] for turn in rounds) for name in rounds[0]}
    figures = {f"{name}_per_s": 1 / spent for name, spent in middle.items()}
    figures["over_fields_split"] = statistics.median(turn["fields_split"] / turn["ours"] for turn in rounds)
    figures["over_full_split"] = statistics.median(turn["full_split"] / turn["ours"] for turn in rounds)
    try:
        import hl7apy  # noqa: F401
    except ImportError:
        print("hl7apy is a development dependency and not installed: that row is left out", file=sys.stderr)
    else:
        turns = [(seconds(hl7apy_validate, others(few)), seconds(ours, others(few * QUICK_PASSES))) for _ in range(SLOW_ROUNDS)]
        figures["hl7apy_per_s"] = 1 / statistics.median(theirs for theirs, _ in turns)
        figures["over_hl7apy"] = statistics.median(theirs / mine for theirs, mine in turns)
    figures["first_message_ms"] = cold * 1e3
    figures["bytes_per_message"] = statistics.mean(map(len, messages))
    figures["findings_per_message"] = statistics.mean(len(validate(data).findings) for data in messages)
    large = messages[0] + b"NTE|1||" + b"x" * 10 * 1024 * 1024
    tracemalloc.start()
    validate(large)
    figures["peak_over_size_of_10_mib_field"] = tracemalloc.get_traced_memory()[1] / len(large)
    tracemalloc.stop()
    return figures


def main(arguments: Sequence[str]) -> None:
    """Print the table, or JSON."""
    parser = Arguments("bench hl7v2", __doc__)
    parser.data("folder of .hl7 and .txt files, one message each")
    parser.add_argument("--count", type=int, default=400, help="at most this many messages (default 400)")
    parser.json()
    asked = parser.parse_args(arguments)
    messages = messages_of(asked.data, asked.count)
    if not messages:
        parser.error("no single message (MSH|…) in that folder; name one with .hl7 or .txt files")
    show({"messages": len(messages), **measure(messages)}, as_text, as_json=asked.json)


def as_text(figures: dict[str, Any]) -> str:
    """The table."""
    about = f"{figures['messages']} messages of {figures['bytes_per_message']:,.0f} bytes, {figures['findings_per_message']:.1f} findings each"
    others = (("hl7apy", "hl7apy, tolerant, groups, validate()"), ("full_split", "bare split to subcomponents"), ("fields_split", "bare split to fields"))
    rows = [("full validation", f"{figures['ours_per_s']:,.0f}", "")]
    rows += [(title, f"{figures[f'{name}_per_s']:,.0f}", f"{figures[f'over_{name}']:,.2f}") for name, title in others if f"{name}_per_s" in figures]
    memory = f"Peak memory on a 10 MiB field: {figures['peak_over_size_of_10_mib_field']:.1f} × its size."
    lines = [f"HL7 v2, {about}. {machine()}", "", *table(("", "messages/s", "ours over it"), rows)]
    return "\n".join([*lines, f"First message of a process: {figures['first_message_ms']:.0f} ms. {memory}", ""])
