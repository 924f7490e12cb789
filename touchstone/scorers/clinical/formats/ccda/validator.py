"""The C-CDA validator: bytes in, a report out, whatever the bytes are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from touchstone.scorers.clinical.formats.ccda.attachments import check_body
from touchstone.scorers.clinical.formats.ccda.codes import check_terminology, check_value_sets
from touchstone.scorers.clinical.formats.ccda.document import Document, OutOfTime
from touchstone.scorers.clinical.formats.ccda.identifiers import check_identifiers
from touchstone.scorers.clinical.formats.ccda.measures import check_measures
from touchstone.scorers.clinical.formats.ccda.narrative import check_narrative
from touchstone.scorers.clinical.formats.ccda.null_flavors import check_nulls
from touchstone.scorers.clinical.formats.ccda.options import Options
from touchstone.scorers.clinical.formats.ccda.releases import NONE, R11, release_of
from touchstone.scorers.clinical.formats.ccda.rules import check_rules
from touchstone.scorers.clinical.formats.ccda.schema import check_schema
from touchstone.scorers.clinical.formats.ccda.template_checks import check_cda, check_templates
from touchstone.scorers.clinical.formats.ccda.time_limit import GIVEN_UP_MAX, within
from touchstone.scorers.clinical.formats.ccda.times import check_times
from touchstone.scorers.clinical.formats.ccda.watermarks import check_marks
from touchstone.scorers.clinical.formats.ccda.xml_reader import read
from touchstone.scorers.clinical.report import Context, Report

#: Groups of rules that are of C-CDA's templates; where none of them fired, a document was not validated as C-CDA, whatever else was checked.
OF_TEMPLATES = ("rules", "templates")
#: A document whose time was over before all was checked: undecided.
OUT_OF_TIME = "ccda.internal.time"
#: Seconds of the processor beyond its own that a document has to come to an end by itself, before it is given up.
GRACE_S = 1.0


def validate(data: bytes, context: Context | None = None, options: Options | None = None) -> Report:
    """Validate one C-CDA document; never raises for what it holds.

    `rules_fired` counts by group: `rules` and `recommendations` (Schematron), `templates` (our own of C-CDA's templates), `schema`, and the checks of
    content.
    """
    report = Report()
    document = Document(report, context or Context(), options or Options())
    try:
        ended = within(document.options.seconds_max + GRACE_S, lambda: _validate(data, document))
    except Exception as error:  # noqa: BLE001 - no thread can be had; nothing may cost the caller more than a verdict
        _say_failed(document, "the validator", error)
        return report
    if ended == "done":
        return report
    # The call may still be under way, and would write into its report.
    document.given_up = True
    document.report = _copied(report)
    if ended == "refused":
        document.skip("ccda", f"{GIVEN_UP_MAX} documents before it are still checked beyond their time; nothing of this one was")
        document.add("critical", OUT_OF_TIME, None, "Not checked: documents before it took all the time there is", suggestion="Restart this process")
    else:
        _say_out_of_time(document)
    return document.report


def _validate(data: bytes, document: Document) -> None:
    document.begun_s = time.thread_time()
    try:
        if read(data, document):
            _check(document)
    except OutOfTime:
        _say_out_of_time(document)
    except Exception as error:  # noqa: BLE001 - nothing that a document holds may cost the caller more than a verdict
        _say_failed(document, "the validator", error)


def _say_out_of_time(document: Document) -> None:
    limit = f"{document.options.seconds_max:g} s"
    document.skip("ccda", f"the document had its {limit} before all was checked")
    message = f"The document had its {limit} of the processor before all was checked; what was not is undecided"
    document.add("critical", OUT_OF_TIME, None, message, suggestion="Where it is sound, give it more (ccda.time_max_s)")


def _copied(report: Report) -> Report:
    """What a report holds now. Each part is copied at one stroke, for another thread may be adding to it."""
    return Report(list(report.findings), Counter(dict(report.rules_fired)), list(report.not_checked), Counter(dict(report.beyond)), report.findings_max)


def is_valid(report: Report) -> bool:
    """Whether a report says that every rule of the standard that was applied is kept; what the shared checks find is another matter."""
    return not any(code.startswith("ccda.") and severity in {"critical", "major"} for code, severity in report.counts())


def was_validated(report: Report) -> bool:
    """Whether a rule of C-CDA's templates fired: a document of R1.1, or without templates, fires none and is never a pass.

    Nor is one whose time was over before all was checked: its verdict is not known.
    """
    return any(report.rules_fired[group] for group in OF_TEMPLATES) and not any(code == OUT_OF_TIME for code, _ in report.counts())


def _check(document: Document) -> None:
    document.release = release_of(document)
    if document.release == NONE:
        document.skip("ccda", "no template id of C-CDA in the header: not a C-CDA document, only what every CDA document must keep was checked")
    elif document.release == R11:
        document.skip("ccda", "a document of C-CDA R1.1: rules of R2.1 and 3.0 do not apply to it")
    fired_on: set[Any] = set()
    schema: list[bool] = []
    rules: dict[str, Callable[[], object]] = {
        "rules": lambda: fired_on.update(check_rules(document)),
        "schema": lambda: schema.append(check_schema(document)),
        "structure": lambda: check_cda(document, by_schema=any(schema)),
        "templates": lambda: check_templates(document, fired_on),
        "nulls": lambda: check_nulls(document),
        "valuesets": lambda: check_value_sets(document),
        "narrative": lambda: check_narrative(document),
        "attachments": lambda: check_body(document),
    }
    if document.options.clinical:
        rules["identifiers"] = lambda: check_identifiers(document)
        rules["datetimes"] = lambda: check_times(document)
        rules["units and values"] = lambda: check_measures(document)
        rules["terminology"] = lambda: check_terminology(document)
    if document.options.marks:
        rules["watermarks"] = lambda: check_marks(document)
    for name, rule in rules.items():
        document.check_time()
        try:
            rule()
        except OutOfTime:
            raise
        except Exception as error:  # noqa: BLE001 - a rule that fails must not stop the others, nor the caller
            _say_failed(document, f"the rules of {name}", error)


def _say_failed(document: Document, what: str, error: Exception) -> None:
    """Tell of a defect of the validator: no fault of the document, and yet not a pass, for not all of it was checked."""
    document.skip("ccda", f"{what} failed: {type(error).__name__}")
    document.add("critical", "internal.rule", None, f"{what[0].upper()}{what[1:]} failed ({type(error).__name__}); not all was checked")
