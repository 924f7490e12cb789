"""Records the official validator's verdicts on both sets, once: needs Java, Maven and the data. Reading them needs neither."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from touchstone.ops.lab.agreement.written.cases import FOLDER, HALVES, KINDS, cases, definitions
from touchstone.ops.lab.agreement.written.changed import NUMBER, RECORD, SEED, SOURCES, Document, archive_of, digest, drawn, made
from touchstone.ops.lab.agreement.written.judge import started, verdict
from touchstone.ops.local.fhir_validator.process import ValidatorProcess
from touchstone.scorers.base import ConfigError

#: HL7's extensions, loaded beside each guide: without them the official validator knows those of R4 only.
EXTENSIONS = "hl7.fhir.uv.extensions.r4-5.3.0"
#: The guide of the cases.
GUIDE = "hl7.fhir.us.core-6.1.0"


def record(data: Path, say: Callable[[str], None] = lambda _: None) -> None:
    """Ask about all, with one validator for each version of US Core, and write the files beside this module. Raises `ConfigError`."""
    with ExitStack() as stack:
        validators: dict[str, ValidatorProcess] = {}
        for guide in sorted(set(SOURCES.values())):
            say(f"starting the official validator with {guide}")
            own = definitions() | definitions(KINDS) if guide == GUIDE else {}
            validators[guide] = stack.enter_context(started(_archives(data, guide), data / "packages", own))
        say("cases")
        for folder in (FOLDER, KINDS):
            said = {one.name: verdict(validators[GUIDE], one.text, one.form, rest_references=one.rest_references) for one in cases(folder)}
            _write_cases(said, folder)
        say("mutations")
        _write_mutations(data, validators)


def _archives(data: Path, guide: str) -> list[Path]:
    found = [archive_of(data, name) for name in (EXTENSIONS, guide)]
    if None in found:
        raise ConfigError(f"{data / 'packages'}: {EXTENSIONS} or {guide} is not there")
    return [one for one in found if one is not None]


def _write_cases(said: dict[str, dict[str, Any] | None], folder: Path) -> None:
    for half in HALVES:
        path = folder / f"{half}.json"
        listed = json.loads(path.read_text("utf-8"))
        for one in listed:
            one["official"] = said[one["name"]]
        rows = ",\n".join(json.dumps(one, indent=1 if folder == FOLDER else None, ensure_ascii=False) for one in listed)
        path.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def _write_mutations(data: Path, validators: dict[str, ValidatorProcess]) -> None:
    known: dict[str, bool] = {}

    def asked(name: str, text: str) -> dict[str, Any] | None:
        return verdict(validators[SOURCES[name.partition("/")[0]]], text)

    def usable(name: str, document: Document) -> bool:
        if name not in known:
            unchanged = asked(name, json.dumps(document, ensure_ascii=False))
            known[name] = unchanged is not None and bool(unchanged["valid"])
        return known[name]

    try:
        chosen = drawn(data, usable)
    except ValueError as error:
        raise ConfigError(f"{data}: no documents of {error}") from None
    rows: list[Sequence[Any]] = []
    for one in chosen:
        text = made(data, one)
        said = asked(one.document, text) if text is not None else None
        if text is not None and said is not None:
            rows.append([one.document, one.operator, one.where, digest(text), said["errors"]])
    about = {"seed": SEED, "number": NUMBER, "columns": ["document", "operator", "place", "digest", "errors of the official validator"]}
    body = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    RECORD.write_text(json.dumps(about, indent=1)[:-2] + ',\n "mutations": [\n' + body + "\n]}\n", encoding="utf-8")
