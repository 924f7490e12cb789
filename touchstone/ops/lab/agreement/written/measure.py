"""Touchstone's verdicts on both sets beside the recorded ones of the official validator, by kind for the half that may be read, in sum for the other."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from touchstone.ops.lab.agreement.tally import Tally
from touchstone.ops.lab.agreement.written.cases import FOLDER, HALVES, KINDS, Half, cases, definitions, half_of
from touchstone.ops.lab.agreement.written.changed import RECORD, SOURCES, Mutation, archive_of, digest, made
from touchstone.scorers.clinical.comparison.verdicts import OPTIONS
from touchstone.scorers.clinical.formats.fhir import Options, validate
from touchstone.scorers.clinical.report import Report

#: Kinds of operators, by the first word of their names; all others change the shape.
_KINDS: Final = {
    "references": ("reference",),
    "extensions": ("extension", "primitive", "contained"),
    "narrative": ("narrative",),
    "dates": ("date", "day", "time", "period"),
    "codes and units": ("code", "coding", "wording", "unit", "quantity", "contact", "identifier"),
    "types of values": ("choice", "boolean", "number", "text", "value", "list", "object", "another"),
}


@dataclass(slots=True)
class Halves:
    """One set: a tally for each kind of the half that may be read, one for the other half. `left_out`: why some were not judged → how many."""

    kinds: dict[str, Tally] = field(default_factory=dict)
    dev: Tally = field(default_factory=Tally)
    unread: Tally = field(default_factory=Tally)
    left_out: dict[str, int] = field(default_factory=dict)

    def count(self, name: str, kind: str, official: list[str], report: Report, half: Half) -> None:
        """Count one document. `official`: errors of the official validator, as `id at place`."""
        told = "; ".join(official[:3])
        if half == "unread":
            self.unread.count(name, not official, report, told)
            return
        self.dev.count(name, not official, report, told)
        self.kinds.setdefault(kind, Tally()).count(name, not official, report, told)

    def leave_out(self, why: str) -> None:
        """Count one that cannot be judged here."""
        self.left_out[why] = self.left_out.get(why, 0) + 1

    def as_json(self) -> dict[str, Any]:
        """By kind, with what differs; of the unread half its counts alone."""
        return {
            "kinds": {kind: one.counts() for kind, one in sorted(self.kinds.items())},
            "dev": self.dev.as_json(),
            "unread": self.unread.counts(),
            "left_out": self.left_out,
        }


def measured(
    data: Path | None, say: Callable[[str], None] = lambda _: None, *, folder: Path = FOLDER, kinds: Path | None = KINDS, record: Path = RECORD
) -> dict[str, Any]:
    """All sets, as JSON types. Without `data`, only what needs none: the cases that need no guide. `kinds`: None leaves them out."""
    say("cases")
    found = {"cases": _cases(data, folder).as_json()}
    if kinds is not None:
        say("kinds")
        found["kinds"] = _cases(data, kinds).as_json()
    say("mutations")
    found["mutations"] = _mutations(data, record).as_json()
    return found


def _cases(data: Path | None, folder: Path) -> Halves:
    found = Halves()
    with tempfile.TemporaryDirectory(prefix="touchstone-written-") as scratch:
        files: dict[str, Path] = {}
        for name, definition in definitions(folder).items():
            files[name] = Path(scratch) / f"{definition['resourceType']}-{name}.json"
            files[name].write_text(json.dumps(definition), encoding="utf-8")
        for one in cases(folder):
            guides = [archive_of(data, name) if data is not None else None for name in one.packages]
            if one.official is None:
                found.leave_out("the official validator gave no verdict")
            elif None in guides:
                found.leave_out("its guide is not in the data")
            else:
                packages = (*(files[name] for name in one.uses), *(guide for guide in guides if guide is not None))
                options = _options(packages, rest_references=one.rest_references)
                found.count(one.name, one.kind, one.official["errors"], validate(one.text.encode(), options=options), one.half)
    return found


def _options(packages: tuple[Path, ...], *, rest_references: bool = False) -> Options:
    """The settings of every comparison with the official validator, with these packages."""
    return replace(OPTIONS, packages=packages, rest_references=rest_references)


def _mutations(data: Path | None, record: Path) -> Halves:
    found = Halves()
    for document, operator, where, judged, errors in json.loads(record.read_text("utf-8"))["mutations"]:
        one = Mutation(document, operator, where)
        text = made(data, one) if data is not None else None
        guide = archive_of(data, SOURCES[document.partition("/")[0]]) if data is not None else None
        if text is None or guide is None:
            found.leave_out("its document or its guide is not in the data")
        elif digest(text) != judged:
            found.leave_out("its document is not the one that was judged")
        else:
            found.count(one.name, kind_of(operator), errors, validate(text.encode(), options=_options((guide,))), half_of(one.name))
    return found


def kind_of(operator: str) -> str:
    """What an operator changes."""
    return next((kind for kind, words in _KINDS.items() if operator.partition("-")[0] in words), "members")


def as_text(found: dict[str, Any]) -> str:
    """A table by kind for each set, its halves in sum, and what differs in the half that may be read."""
    lines = [f"{'':44}{'cases':>7}{'agree':>7}{'rate':>9}{'false alarms':>16}{'missed':>8}"]
    for name, one in found.items():
        lines += [_row(f"{name}: {kind}", tally) for kind, tally in one["kinds"].items()]
        lines += [_row(f"{name}, {half} half", one[half]) for half in HALVES]
        lines += [f"{name}, left out: {number} ({why})" for why, number in one["left_out"].items()]
    for name, one in found.items():
        for each in one["dev"]["disagreements"]:
            ours = ", ".join(each["ours"]) or "nothing grave"
            lines.append(f"{name}, {each['case']}: {each['expected']}; ours: {ours}" + (f"; official: {each['official']}" if each["official"] else ""))
    return "\n".join(lines) + "\n"


def _row(name: str, one: dict[str, Any]) -> str:
    rate = "–" if one["agreement"] is None else f"{one['agreement']:.1%}"
    alarms = f"{one['false_alarms']} of {one['valid']}"
    return f"{name:44}{one['cases']:>7}{one['agree']:>7}{rate:>9}{alarms:>16}{one['missed']:>8}"
