"""Checks of header, sections and entries: the main requirements of their templates, and of every CDA document.

Where a rule of a Schematron file fired on an element, that rule covers all of this, and the element is not checked again.
"""

from __future__ import annotations

from typing import Any, Final

from touchstone.scorers.clinical.formats.ccda.codes import is_no_status
from touchstone.scorers.clinical.formats.ccda.document import BOOLEANS, Document
from touchstone.scorers.clinical.formats.ccda.element_names import CDA, NAMES, XSI_TYPE
from touchstone.scorers.clinical.formats.ccda.elements import below, carries, child, children, is_null, local, tag
from touchstone.scorers.clinical.formats.ccda.releases import HEADER, NONE, R11
from touchstone.scorers.clinical.formats.ccda.template_requirements import DOCUMENTS, ENTRIES, SECTIONS, Entry

#: Elements that CDA R2's schema requires of every document.
_CDA_HEADER: Final = ("typeId", "id", "code", "effectiveTime", "confidentialityCode", "recordTarget", "author", "custodian", "component")
#: Path of an element → what the US Realm Header requires below it.
_US_HEADER: Final = (
    ((), ("realmCode", "title", "languageCode")),
    (("recordTarget", "patientRole"), ("id", "addr", "telecom", "patient")),
    (("recordTarget", "patientRole", "patient"), ("name", "administrativeGenderCode", "birthTime", "raceCode", "ethnicGroupCode")),
    (("recordTarget", "patientRole", "patient", "name"), ("given", "family")),
    (("author",), ("time", "assignedAuthor")),
    (("author", "assignedAuthor"), ("id", "addr", "telecom")),
    (("custodian", "assignedCustodian", "representedCustodianOrganization"), ("id", "name", "telecom", "addr")),
)
#: Elements of the header with a value, or a nullFlavor.
_US_VALUES: Final = (("effectiveTime",), ("recordTarget", "patientRole", "patient", "birthTime"), ("author", "time"))
_TYPE_ID: Final = ("2.16.840.1.113883.1.3", "POCD_HD000040")
_CCD: Final = "2.16.840.1.113883.10.20.22.1.2"
_CCD_CODE: Final = "34133-9"
_UNSTRUCTURED: Final = "2.16.840.1.113883.10.20.22.1.10"
_PROGRESS: Final = frozenset({"2.16.840.1.113883.10.20.22.1.3", "2.16.840.1.113883.10.20.22.1.4", "2.16.840.1.113883.10.20.22.1.9"})
_ASSESSMENT: Final = "2.16.840.1.113883.10.20.22.2.8"
_PLAN: Final = "2.16.840.1.113883.10.20.22.2.10"
#: The DICOM catalogue section, which has no narrative.
_DICOM: Final = "2.16.840.1.113883.10.20.6.1.1"
_ASSESSMENT_AND_PLAN: Final = "2.16.840.1.113883.10.20.22.2.9"
_MOODED: Final = ("act", "encounter", "observation", "organizer", "procedure", "substanceAdministration", "supply")
_MOODS: Final = frozenset({
    "EVN", "INT", "RQO", "PRMS", "PRP", "ARQ", "APT", "GOL", "DEF", "OPT", "CRT", "EXPEC", "PERM", "PERMRQ", "RSK", "RMD", "SLOT", "APTRQ",
    "EVN.CRT", "PRMS.CRT", "GOL.CRT", "INT.CRT", "PRP.CRT", "RQO.CRT",
})  # fmt: skip


def check_cda(document: Document, *, by_schema: bool) -> None:
    """Check the requirements of every CDA document, whatever its guide. `by_schema`: an XSD has checked elements and attributes already."""
    report, root = document.report, document.root
    report.fired("structure", len(document.elements))
    if not by_schema:
        _check_attributes(document)
        for name in _CDA_HEADER:
            if child(root, name) is None:
                document.add("major", "ccda.structure.header", root, f"CDA requires {name} in the header")
        undefined = {name for name in {one.tag for one in document.elements} if name.startswith(f"{{{CDA}}}") and name[len(CDA) + 2 :] not in NAMES}
        for one in document.elements if undefined else ():
            if one.tag in undefined:
                message = "an element of CDA's namespace that CDA R2 does not define; extensions have a namespace of their own"
                document.add("minor", "ccda.structure.element", one, message, value=local(one))
    type_id = child(root, "typeId")
    if type_id is not None and (type_id.get("root"), type_id.get("extension")) != _TYPE_ID:
        document.add("major", "ccda.structure.type-id", type_id, f'typeId is root="{_TYPE_ID[0]}" extension="{_TYPE_ID[1]}" in every CDA document')
    body = child(root, "component")
    if body is not None and child(body, "structuredBody") is None and child(body, "nonXMLBody") is None:
        document.add("major", "ccda.structure.body", body, "a document has a structuredBody or a nonXMLBody")


def _check_attributes(document: Document) -> None:
    """Check attributes of clinical statements, booleans, and the types of observations' values."""
    _check_statements(document)
    for one in document.having(*sorted(BOOLEANS)):
        for name in sorted(BOOLEANS.intersection(one.keys())):
            if one.get(name) not in {"true", "false"}:
                document.add("major", "ccda.structure.boolean", one, f"{name} is true or false", value=one.get(name), at=name)
    for observation in below(document.root, "observation"):
        for value in children(observation, "value"):
            if value.get(XSI_TYPE) is None and not is_null(value):
                message = "the value of an observation names its data type by xsi:type; without one it cannot be read"
                document.add("major", "ccda.structure.type", value, message, suggestion='For a number with a unit, write xsi:type="PQ"')


def _check_statements(document: Document) -> None:
    for one in below(document.root, *_MOODED):
        if local(one.getparent()) == "structuredBody":
            continue
        for name in ("classCode", "moodCode"):
            if one.get(name) is None:
                document.add("major", "ccda.structure.attribute", one, f"CDA requires {name} here")
        mood = one.get("moodCode")
        if mood is not None and mood not in _MOODS:
            document.add("major", "ccda.structure.mood", one, "no mood of CDA: EVN, INT, RQO, PRMS, PRP, ARQ, APT, GOL, DEF, ...", value=mood, at="moodCode")


def check_templates(document: Document, fired_on: set[Any]) -> None:
    """Check the main requirements of the document's templates, except in documents of R1.1 and of other guides."""
    if document.release in {NONE, R11}:
        return
    if document.root not in fired_on:
        _check_root(document)
    for number, (title, code, element, entries) in SECTIONS.items():
        for section, _ in document.templates.get(number, ()):
            if section.tag == tag("section") and section not in fired_on:
                _check_section(document, section, title, code, element, entries)
    for number, entry in ENTRIES.items():
        for carrier in dict.fromkeys(carrier for carrier, _ in document.templates.get(number, ())):
            if carrier not in fired_on:
                _check_entry(document, carrier, entry)
    _check_sections(document, fired_on)


def _check_root(document: Document) -> None:
    root = document.root
    if carries(root, HEADER):
        _check_header(document)
        _check_header_values(document)
    else:
        document.report.fired("templates")
        # HL7's own examples of R2.0 do not have it, and no rule of the Schematron requires it.
        document.add("minor", "ccda.templates.header", root, f"no template id {HEADER} (US Realm Header), whose rules all C-CDA documents keep")
    for number, (name, required) in DOCUMENTS.items():
        if carries(root, number):
            _check_document(document, number, name, required)


def _check_header(document: Document) -> None:
    for path, names in _US_HEADER:
        places = [document.root] if not path else document.root.findall("/".join(tag(step) for step in path))
        for place in places:
            document.report.fired("templates", len(names))
            if place is not document.root and is_null(place):
                continue
            for name in names:
                if child(place, name) is None:
                    document.add("major", "ccda.templates.header", place, f"the US Realm Header requires {name} here")


def _check_header_values(document: Document) -> None:
    for path in _US_VALUES:
        for place in document.root.findall("/".join(tag(step) for step in path)):
            document.report.fired("templates")
            if place.get("value") is None and child(place, "low") is None and not is_null(place):
                document.add("major", "ccda.templates.header", place, "the US Realm Header requires a value here, or a nullFlavor")
    realm = child(document.root, "realmCode")
    if realm is not None and realm.get("code") not in {None, "US"}:
        document.add("major", "ccda.templates.header", realm, "the US Realm Header has the realm US", value=realm.get("code"), at="code")


def _check_document(document: Document, number: str, name: str, required: tuple[tuple[str, ...], ...]) -> None:
    report = document.report
    body = child(document.root, "component", "structuredBody")
    if number == _UNSTRUCTURED:
        report.fired("templates")
        if child(document.root, "component", "nonXMLBody") is None:
            document.add("major", "ccda.templates.body", document.root, f"the document type {name} has a nonXMLBody")
        return
    report.fired("templates", len(required) + 1)
    code = child(document.root, "code")
    if number == _CCD and code is not None and not is_null(code) and code.get("code") != _CCD_CODE:
        document.add("major", "ccda.templates.code", code, f"the document type {name} has the code {_CCD_CODE} of LOINC", value=code.get("code"), at="code")
    if body is None:
        document.add("major", "ccda.templates.body", document.root, f"the document type {name} has a structuredBody")
        return
    there = {one.get("root") for section in below(body, "section") for one in children(section, "templateId")}
    for title, *roots in required:
        if there.isdisjoint(roots):
            message = f"the document type {name} requires the section {title} (template {' or '.join(roots)})"
            document.add("major", "ccda.sections.required", body, message, suggestion='Add it; without entries it has nullFlavor="NI"')
    if number in _PROGRESS and _ASSESSMENT_AND_PLAN not in there and not {_ASSESSMENT, _PLAN} <= there:
        message = f"the document type {name} requires the section Assessment and Plan, or both Assessment and Plan of Treatment"
        document.add("major", "ccda.sections.required", body, message)


def _check_section(document: Document, section: Any, title: str, code: str, element: str, entries: tuple[str, ...]) -> None:
    document.report.fired("templates", 2)
    found = child(section, "code")
    if found is None or found.get("code") != code:
        document.add("major", "ccda.sections.code", section, f"the section {title} has the code {code} of LOINC")
    if is_null(section):
        return
    statements = [one for entry in children(section, "entry") for one in entry.iterchildren("*")]
    if not any(carries(one, number) for one in statements for number in entries):
        what = element or "a clinical statement"
        message = f"the section {title} (entries required) has at least one entry that holds {what} of template {' or '.join(entries)}"
        document.add("major", "ccda.entries.required", section, message, suggestion='Without information, write nullFlavor="NI" on the section')


def _check_sections(document: Document, fired_on: set[Any]) -> None:
    """Check that every section has a code, a title and a narrative."""
    for section in below(document.root, "section"):
        if section in fired_on:
            continue
        document.report.fired("templates")
        if child(section, "templateId") is None or carries(section, _DICOM):
            continue  # a section of another guide, or one that people do not read
        missing = [name for name in ("code", "title", "text") if child(section, name) is None]
        for name in missing:
            document.add("minor" if name == "title" else "major", f"ccda.sections.{name}", section, f"a section of C-CDA has {name}")


def _check_entry(document: Document, carrier: Any, entry: Entry) -> None:
    report = document.report
    report.fired("templates", len(entry.children) + 1)
    if carrier.tag != tag(entry.element):
        document.add("major", "ccda.entries.element", carrier, f"the template {entry.title} belongs on {entry.element}")
        return
    for name in entry.children:
        found = child(carrier, name)
        if found is None:
            document.add("major", f"ccda.entries.{name}", carrier, f"{entry.title} requires {name}")
        elif name == "effectiveTime" and entry.has_low and not is_null(found) and child(found, "low") is None:
            document.add("major", "ccda.entries.effectiveTime", found, f"{entry.title} requires low: since when; where that is not known, with a nullFlavor")
    status = child(carrier, "statusCode")
    if entry.statuses and status is not None and not is_null(status):
        code = status.get("code")
        # `check_value_sets` reports a code that no act can have, and `check_nulls` a missing one.
        if code is not None and code not in entry.statuses and not is_no_status(status):
            listed = ", ".join(sorted(entry.statuses))
            document.add("major", "ccda.entries.status", status, f"{entry.title} has a status of {listed}", value=code)
    if entry.holds and not is_null(carrier) and not any(carries(one, entry.holds) for held in carrier.iterchildren("*") for one in held.iterchildren("*")):
        document.add("major", "ccda.entries.holds", carrier, f"{entry.title} holds at least one {ENTRIES[entry.holds].title} (template {entry.holds})")
