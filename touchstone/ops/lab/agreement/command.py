"""Compare Touchstone's verdicts with labelled files, or with the official FHIR validator (docs/agreement.md)."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from touchstone.ops.cli.common.progress import Progress, working
from touchstone.ops.lab.command import Arguments, at_least, show

EXAMPLES = """\
exit codes: 0 measured, whatever the result; 3 an error, such as a validator that cannot be started or stops answering

  python -m touchstone.ops.lab agreement --data DIR
  python -m touchstone.ops.lab agreement --written --data DIR
  python -m touchstone.ops.lab agreement --oracle bundle.json --mutations 500"""


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = Arguments("agreement", __doc__, epilog=EXAMPLES)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE|DIR", help="with --oracle: FHIR files, traces, or folders of them")
    parser.data("folder of labelled files: fhir/, hl7v2/, packages/")
    parser.add_argument("--list-unseen", action="store_true", help="with --data: also list the cases outside the development set whose verdicts differ")
    parser.add_argument("--written", action="store_true", help="the two sets that no rule is tuned to; with --data also what needs its documents")
    parser.add_argument("--record", action="store_true", help="with --written and --data: ask the official validator (Java) about both sets anew, and keep it")
    parser.add_argument("--oracle", action="store_true", help="compare with the official FHIR validator (Java) on the files and folders given")
    parser.add_argument("--mutations", type=at_least(0), default=0, help="with --oracle: also this many seeded mutations of the resources (default: 0)")
    parser.add_argument("--seed", type=at_least(0), default=1, help="seed of the mutations (default: 1)")
    parser.add_argument("--packages", type=Path, action="append", default=[], metavar="DIR", help="with --oracle: folder with hl7.fhir.r4.core; repeatable")
    parser.add_argument("--quote", action="store_true", help="with --oracle: show the messages' text, which may quote the documents")
    parser.add_argument("--warnings", action="store_true", help="with --oracle: also list warnings and hints, which do not count towards a verdict")
    parser.json()
    asked = parser.parse_args(arguments)
    if asked.record and (not asked.written or asked.data is None):
        parser.error("--record needs --written and --data DIR")
    if asked.written:
        if asked.oracle or asked.files:
            parser.error("--written takes no files, and no --oracle")
        _written(asked)
        return
    if (asked.data is None) == (not asked.oracle):
        parser.error("give --data DIR for labelled files, or --oracle FILE|DIR… for the official validator")
    if asked.data is not None and asked.files:
        parser.error("--data takes no files; --oracle does")
    if not asked.oracle and (asked.mutations or asked.packages):
        parser.error("--mutations and --packages need --oracle")
    if asked.oracle:
        from touchstone.ops.lab.agreement.oracle import as_text

        show(_with_the_official_validator(asked), as_text, as_json=asked.json)
        return
    from touchstone.ops.lab.agreement import run

    with working() as say:
        found = run.measured(asked.data, say, list_unseen=asked.list_unseen)
    show(found, run.as_text, as_json=asked.json)


def _written(asked: Any) -> None:
    """Measure both written sets, after recording the official verdicts where that is asked for. Raises `ConfigError`."""
    from touchstone.ops.lab.agreement.written.measure import as_text, measured

    with working() as say:
        if asked.record:
            from touchstone.ops.lab.agreement.written.record import record

            record(asked.data, say)
        found = measured(asked.data, say)
    show(found, as_text, as_json=asked.json)


def _with_the_official_validator(asked: Any) -> dict[str, Any]:
    """Start the official validator, compare documents and mutations, and stop it. Raises `ConfigError`."""
    from touchstone.ops.lab.agreement.oracle import mutated
    from touchstone.ops.local.fhir_validator.documents import fhir_documents
    from touchstone.ops.local.fhir_validator.server import FhirValidator
    from touchstone.scorers.clinical.comparison.verdicts import compared

    documents = fhir_documents(asked.files)  # a mistyped path should not cost the start of a JVM
    validator = FhirValidator(packages=asked.packages)
    try:
        with working() as say:
            say("starting the official validator")
            official = validator.start().validate
        with Progress("documents compared", sys.stderr, total=len(documents), every=1) as progress:
            found: dict[str, Any] = {"oracle": compared(documents, official, quote=asked.quote, warnings=asked.warnings, step=progress.step)}
        if asked.mutations:
            with Progress("mutations compared", sys.stderr, total=asked.mutations, every=1) as progress:
                found["mutations"] = mutated(documents, official, asked.mutations, asked.seed, quote=asked.quote, step=progress.step)
    finally:
        validator.stop()
    return found
