"""Conformance: external validators check the documents of a trace. See docs/conformance.md.

Importing this package loads no client; building a scorer does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from touchstone.schemas.conformance import ConformanceRequest
from touchstone.schemas.result import FileRef, Problem
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import Check, Document, Found, Lacking
from touchstone.scorers.clinical.batch import group
from touchstone.scorers.clinical.conformance.settings import DOCUMENT_NAME, ENV_PREFIX, ConformanceSettings, fingerprint, resolve
from touchstone.scorers.clinical.patient import identity_of
from touchstone.scorers.clinical.trace_files import read_for_stage
from touchstone.scorers.reporting import Column
from touchstone.scorers.suite import Suite

if TYPE_CHECKING:
    from touchstone.schemas.case import Case
    from touchstone.schemas.reading import CaseReading
    from touchstone.schemas.result import ScoreResult
    from touchstone.scorers.clinical.conformance.scorer import ConformanceScorer

NAME = "clinical_conformance"
VERSION = "1.1"
METRICS = ("conformant", "fhir_conformant", "ccda_conformant")


def build(settings: ConformanceSettings) -> ConformanceScorer:
    """The scorer of the settings. Opens no connection."""
    from touchstone.scorers.clinical.conformance.scorer import ConformanceScorer

    return ConformanceScorer(settings, NAME, VERSION)


def notes(settings: ConformanceSettings) -> Iterator[str]:
    """The services that are asked, and those that are not."""
    for form, service in (("fhir", settings.fhir), ("ccda", settings.ccda)):
        if service.url is None:
            yield Lacking(f"{form}_conformant is missing from every result: no service is configured ({ENV_PREFIX}{form.upper()}_URL)")
        else:
            yield f"{form} documents: {service.url}"


def doctor(settings: ConformanceSettings) -> Iterator[Check]:
    """Whether the services answer."""
    from touchstone.scorers.clinical.conformance.checkup import checks

    yield from checks(settings)


def read(document: Document, settings: ConformanceSettings) -> Iterable[Found | Problem] | None:
    """The traces of a file, and a problem in place of each invalid one; None for a file of requests.

    A document without a service is passed over if the other service has an address: nobody was to check it.
    """
    entries = read_for_stage(document, settings, "conformance_request")
    return None if entries is None else (_passed_over(entry, document, settings) for entry in entries)


def _passed_over(entry: Found | Problem, document: Document, settings: ConformanceSettings) -> Found | Problem:
    """The entry, or its document as not checked. A whole trace stays, and says itself what was not checked."""
    forms = tuple(entry.record["outputs"]) if isinstance(entry, Found) and not entry.place and isinstance(entry.record.get("outputs"), dict) else ()
    off = {form: settings.fhir.url is None if form == "fhir" else settings.ccda.url is None for form in ("fhir", "ccda")}
    if len(forms) != 1 or not off.get(forms[0]) or all(off.values()):
        return entry
    what = f"not checked: no external validator of {forms[0]} is configured ({ENV_PREFIX}{forms[0].upper()}_URL)"
    return Problem(source=FileRef(file=document.file), what=what, kind="passed_over", format=forms[0])


def reading(case: Case | None, result: ScoreResult) -> CaseReading:
    """How a request, or a trace, reads beside its result, as in the suite of the validators."""
    from touchstone.scorers.clinical.reading.case_reading import read_case

    return read_case(case, result, SUITE.case_name(result))


SUITE = Suite(
    name=NAME,
    version=VERSION,
    title="Clinical conformance",
    topics=("conformance",),
    # The request first: a trace belongs to the validators, and is taken from files only.
    cases={"conformance_request": ConformanceRequest, "trace": ProductionTrace},
    resolve=resolve,
    build=build,
    fingerprint=fingerprint,
    document_name=DOCUMENT_NAME,
    env_prefix=ENV_PREFIX,
    notes=notes,
    execution="window",
    window_cases=16,  # the last of them waits for the others' answers, and must have its own within worker.score_timeout_s
    read=read,
    columns=(Column("conformant", "Conformant", places=1), Column("fhir_conformant", "FHIR", places=1), Column("ccda_conformant", "C-CDA", places=1)),
    metrics=METRICS,
    patient=identity_of,
    reading=reading,
    value_max=100.0,
    group=group,
    doctor=doctor,
)

__all__ = ["METRICS", "NAME", "SUITE", "VERSION", "ConformanceSettings", "build", "fingerprint", "resolve"]
