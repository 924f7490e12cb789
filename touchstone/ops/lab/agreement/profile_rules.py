"""Breaks the rules of HL7 v2 conformance profiles (NIST's XML) in real messages, and counts the breaches that are found (docs/hl7v2-profiles.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from touchstone.ops.cli.common.progress import working
from touchstone.ops.lab.agreement.hl7v2 import message_files
from touchstone.ops.lab.agreement.profile_mutations import Breaking, Spot, written
from touchstone.ops.lab.command import Arguments, show
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.formats.hl7v2 import decode, load_profiles, read
from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.nist.model import Profile
from touchstone.scorers.clinical.formats.hl7v2.nist.selection import Profiles
from touchstone.scorers.clinical.formats.hl7v2.validator import validate
from touchstone.scorers.clinical.report import Context, Report

#: What is looked at of one finding: whether it is grave, and its code.
_MILD: Final = frozenset({"too-long"})
#: Messages of other guides that are tried by each profile, and segments of one message: each place is judged once, so that this stays minutes.
_DRESSED_MAX: Final = 3
_SEGMENTS_MAX: Final = 40
EXAMPLES = """\
exit codes: 0 measured, whatever the result; 3 an error, such as a folder without a profile

  python -m touchstone.ops.lab hl7v2-profiles --data DIR"""


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = Arguments("hl7v2-profiles", __doc__, epilog=EXAMPLES)
    parser.data("folder with hl7v2/ in it: messages, and profiles in folders of their own (PROFILE.xml)")
    parser.add_argument("--list", action="store_true", help="list each breach that was not found")
    parser.json()
    asked = parser.parse_args(arguments)
    if asked.data is None:
        parser.error("give --data DIR")
    with working() as say:
        found = measured(asked.data, say)
    show(found, lambda one: as_text(one, is_listed=asked.list), as_json=asked.json)


def measured(data: Path, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Operator → breaches and those found, and each that was not. Raises `ConfigError` if no profile is there."""
    folders = sorted(path.parent for path in (data / "hl7v2").rglob("PROFILE.xml"))
    if not folders:
        raise ConfigError(f"{data / 'hl7v2'}: no PROFILE.xml below it")
    loaded = {profile.title: profile for profile in load_profiles(folders)}
    made, caught, missed, judged = Counter[str](), Counter[str](), list[dict[str, str]](), Counter[str]()
    seen: set[tuple[str, str, str]] = set()
    for title, file, lines in _messages(data / "hl7v2", loaded):
        profiles = Profiles((loaded[title],))
        message = read("\r".join(lines)).messages[0]
        candidate = profiles.choose(message.segments[0], Findings(Context(), Report()))
        if candidate is None:
            continue
        judged[title] += 1
        say(f"{file}: {title}")
        before, _ = _codes(lines, profiles)
        for one in Breaking(candidate, message, lines).mutations():
            # The same place of another message of the same make says nothing new.
            if (title, one.operator, one.path) in seen or one.lines == lines:
                continue
            seen.add((title, one.operator, one.path))
            made[one.operator] += 1
            after, places = _codes(one.lines, profiles)
            if one.path in places or any(after[key] > before[key] for key in after if key[0] == "grave" or one.operator in _MILD):
                caught[one.operator] += 1
            else:
                missed.append({"operator": one.operator, "profile": title, "file": file, "path": one.path})
    operators = {name: {"made": number, "found": caught[name]} for name, number in sorted(made.items())}
    return {"messages": dict(judged), "operators": operators, "made": made.total(), "found": caught.total(), "missed": missed}


def _messages(folder: Path, loaded: dict[str, Profile]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(profile, file, lines) of each message by the profile that it declares; one that declares none of them is dressed for each that fits its type."""
    every, dressed = Profiles(tuple(loaded.values())), Counter[str]()
    for file in message_files(folder):
        text, _ = decode(file.read_bytes())
        for message in read(text).messages:
            lines = tuple(segment.raw for segment in message.segments)
            if not all(lines) or len(lines) > _SEGMENTS_MAX or not lines[0].startswith("MSH|^~\\&"):
                continue
            declared = every.choose(message.segments[0], Findings(Context(), Report()))
            if declared is not None:
                yield declared.profile.title, file.name, lines
                continue
            for title, profile in loaded.items():
                if dressed[title] == _DRESSED_MAX or not any(one.type == message.segments[0].component(9, 1) for one in profile.messages):
                    continue
                dressed[title] += 1
                names = (f"^^{one}^ISO" if one.replace(".", "").isdigit() else one for one in sorted(profile.identifiers))
                yield title, file.name, written(lines, Spot(0, 21), "~".join(names) or title)


def _codes(lines: Sequence[str], profiles: Profiles) -> tuple[Counter[tuple[str, str]], set[str]]:
    """How many findings there are of each code, and the places of grave ones. A breach that only a milder one names is found only where the rule is mild."""
    report = validate("\r".join(lines).encode() + b"\r", profiles=profiles)
    counts = Counter(("grave" if one.severity in {"critical", "major"} else "mild", one.code) for one in report.findings if one.severity != "info")
    return counts, {one.path for one in report.findings if one.severity in {"critical", "major"}}


def as_text(found: dict[str, Any], *, is_listed: bool) -> str:
    """A row per operator."""
    lines = [f"{'broken':32}{'places':>8}{'found':>8}"]
    lines += [f"{name:32}{one['made']:>8}{one['found']:>8}" for name, one in found["operators"].items()]
    lines.append(f"{'all':32}{found['made']:>8}{found['found']:>8}")
    lines += [f"messages by {title}: {number}" for title, number in found["messages"].items()]
    if is_listed:
        lines += [f"{one['operator']} {one['path']} ({one['file']}, {one['profile']})" for one in found["missed"]]
    return "\n".join(lines) + "\n"
