"""The C-CDA validator: a report for any bytes."""

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

#: Groups of rules of C-CDA's templates. A document in which none of them fired was not validated as C-CDA.
OF_TEMPLATES = ("rules", "templates")
#: The code of a finding for a document that was not checked in time: undecided.
OUT_OF_TIME = "ccda.internal.time"
#: Seconds of processor time after a document's limit in which it may end by itself, before it is given up.
GRACE_S = 1.0


def validate(data: bytes, context: Context | None = None, options: Options | None = None) -> Report:
    """Validate one C-CDA document. Never raises for what it holds.

    `rules_fired` counts by group: `rules` and `recommendations` (Schematron), `templates` (our own for C-CDA's templates), `schema`, and the checks
    of content.
    """
    report = Report()
    document = Document(report, context or Context(), options or Options())
    try:
        ended = within(document.options.seconds_max + GRACE_S, lambda: _validate(data, document))
    except Exception as error:  # noqa: BLE001 - no thread is available: the document has no verdict
        _report_defect(document, "the validator", error)
        return report
    if ended == "done":
        return report
    # The call may still be running, and would write into its report.
    document.given_up = True
    document.report = _copied(report)
    if ended == "refused":
        document.skip("ccda", f"{GIVEN_UP_MAX} documents before it are still checked beyond their time; nothing of this one was")
        document.add("critical", OUT_OF_TIME, None, "Not checked: documents before it took all the time there is", suggestion="Restart this process")
    else:
        _report_out_of_time(document)
    return document.report


def _validate(data: bytes, document: Document) -> None:
    document.begun_s = time.thread_time()
    try:
        if read(data, document):
            _check(document)
    except OutOfTime:
        _report_out_of_time(document)
    except Exception as error:  # noqa: BLE001 - a defect of the validator costs one document its verdict
        _report_defect(document, "the validator", error)


def _report_out_of_time(document: Document) -> None:
    limit = f"{document.options.seconds_max:g} s"
    document.skip("ccda", f"the document had its {limit} before all was checked")
    message = f"The document had its {limit} of the processor before all was checked; what was not is undecided"
    document.add("critical", OUT_OF_TIME, None, message, suggestion="Where it is sound, give it more (ccda.time_max_s)")


def _copied(report: Report) -> Report:
    """A copy of a report. Each part is copied in one step, because another thread may be adding to it."""
    return Report(list(report.findings), Counter(dict(report.rules_fired)), list(report.not_checked), Counter(dict(report.beyond)), report.findings_max)


def is_valid(report: Report) -> bool:
    """True if the document keeps every applied rule of the standard, whatever the shared checks found."""
    return not any(code.startswith("ccda.") and severity in {"critical", "major"} for code, severity in report.counts())


def was_validated(report: Report) -> bool:
    """True if a rule of C-CDA's templates fired, and all was checked in time. A document of R1.1, or without templates, is never a pass."""
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
        except Exception as error:  # noqa: BLE001 - a defect in one rule must not stop the others
            _report_defect(document, f"the rules of {name}", error)


def _report_defect(document: Document, what: str, error: Exception) -> None:
    """Report a defect of the validator. It is not the document's fault, but no pass either, because not all was checked."""
    document.skip("ccda", f"{what} failed: {type(error).__name__}")
    document.add("critical", "internal.rule", None, f"{what[0].upper()}{what[1:]} failed ({type(error).__name__}); not all was checked")
