"""Pairs about who the patient is: names, identifiers, births, addresses, several patients."""

from __future__ import annotations

from typing import Any, Final

from touchstone.ops.lab.consistency.written.hands import ICD, Written, bundle, condition, document, message, patient, person

_MR: Final = "80221^^^GENHOSP&1.3.6.1.4.1.99.1&ISO^MR"


def _named(fhir: Any, pid: str, name: str, expects: tuple[str, ...] = ()) -> Written:
    """A Bundle with some names beside an ADT with PID-5."""
    return Written(name, (("fhir", bundle(patient(name=fhir))), ("hl7v2", message("ADT^A08", pid=f"PID|1||{_MR}||{pid}||19740312|M"))), expects)


def _told(name: str, changed: dict[str, Any], pid: str, expects: tuple[str, ...] = ()) -> Written:
    """A changed patient beside the whole of a PID segment."""
    return Written(name, (("fhir", bundle(patient(**changed))), ("hl7v2", message("ADT^A01^ADT_A01", "EVN||20250506", "PV1|1|I", pid=pid))), expects)


def _in_ccda(name: str, changed: dict[str, Any], who: str, expects: tuple[str, ...] = ()) -> Written:
    return Written(name, (("fhir", bundle(patient(**changed))), ("ccda", document(who=who))), expects)


def _official(family: str, *first: str, **more: Any) -> dict[str, Any]:
    return {"use": "official", "family": family, "given": list(first)} | more


PAIRS: Final = (
    _named([_official("Sørensen", "Bjørn")], "SORENSEN^BJORN", "letters with strokes written plainly"),
    _named([_official("Müller", "Jürgen")], "MUELLER^JUERGEN", "umlauts written with an e"),
    _named([_official("Łukaszewicz", "Łucja")], "LUKASZEWICZ^LUCJA", "a Polish name without its strokes"),
    _named([_official("Nuñez Peña", "José María")], "NUNEZ PENA^JOSE^MARIA", "two Spanish surnames without tildes"),
    _named([_official("O'Brien", "Mary-Ann")], "OBRIEN^MARYANN", "a hyphenated first name written as one word"),
    _named([_official("D’Angelo", "Anne Marie")], "D'ANGELO^ANNE-MARIE", "another apostrophe, and a hyphen for a blank"),
    _named([_official("van den Berg", "Pieter")], "van den Berg&van den&Berg^Pieter^J^^^^L", "a Dutch surname in subcomponents"),
    _named([_official("St. John", "Eve")], "STJOHN^EVE", "a surname with a point written as one word"),
    _named([_official("Smith-Jones", "Ada")], "Jones^Ada^^^^^L~Smith^Ada^^^^^M", "a double name beside the name and the maiden name"),
    _named([_official("Reed", "Robert"), {"use": "nickname", "given": ["Bob"]}], "REED^BOB^^^^^N", "a nickname alone in the message, and both in the Bundle"),
    _named([_official("Reed", "Robert")], "REED^BOB", "Bob for Robert"),
    _named([_official("Reed", "Katherine")], "REED^KATE", "Kate for Katherine"),
    _named([_official("Reed", "William", prefix=["Dr."], suffix=["III"])], "REED^WILLIAM^^III^DR^MD", "a title, a suffix and a degree"),
    _named([{"use": "official", "text": "Chen Wei"}], "CHEN^WEI", "a name in one text, the family first"),
    _named(
        [_official("王", "小明"), {"use": "usual", "family": "Wang", "given": ["Xiaoming"]}], "WANG^XIAOMING^^^^^L", "Chinese letters and their transcription"
    ),
    _named([_official("Иванов", "Пётр")], "IVANOV^PETR", "a name in letters of another script"),
    _named([_official("Reed", "Anna", period={"end": "2001"}), _official("Holm", "Anna")], "HOLM^ANNA^^^^^L", "a former legal name beside the present one"),
    _named([_official("Reed", "Robert")], "REED^RICHARD", "another first name", ("patient.name",)),
    _named([_official("Reed", "Maria")], "REED^MARK", "a first name that begins alike", ("patient.name",)),
    _named([_official("García Ruiz", "Eva")], "GARCIA LOPEZ^EVA", "another second surname", ("patient.name",)),
    _named([_official("Reed-Holm", "Ada")], "REED-BOHR^ADA", "another half of a double name", ("patient.name",)),
    _named([_official("Sørensen", "Bjørn")], "SARENSEN^BJORN", "a letter that is no way to write the other", ("patient.name",)),
    _in_ccda("a C-CDA name in one text", {}, person().replace("<given>Henrik</given><family>Alvarez</family>", "Henrik Alvarez")),
    _in_ccda("another C-CDA name in one text", {}, person().replace("<given>Henrik</given><family>Alvarez</family>", "Jonas Bohr"), ("patient.name",)),
    _in_ccda(
        "a C-CDA birth name before the name by marriage",
        {"name": [_official("Holm", "Ada")], "gender": "female"},
        person("Ada", "Holm", sex="F").replace("<family>", '<family qualifier="BR">Reed</family><family qualifier="SP">'),
    ),
    _in_ccda("a birth time with a zone in C-CDA", {}, person(birth="197403120415-0500")),
    _in_ccda("a year of birth alone in FHIR", {"birthDate": "1974"}, person()),
    _in_ccda("a year of birth alone, and another", {"birthDate": "1975"}, person(), ("patient.birth-date",)),
    _in_ccda("an unknown sex by null flavour", {"gender": "unknown"}, person().replace('code="M" codeSystem="2.16.840.1.113883.5.1"', 'nullFlavor="UNK"')),
    _in_ccda("another sex in C-CDA", {"gender": "female"}, person(), ("patient.sex",)),
    _in_ccda(
        "a birth date moved by a zone",
        {"birthDate": "1974-03-13"},
        person(birth="19740312"),
        ("patient.birth-date",),
    ),
    _told(
        "a phone in other punctuation",
        {"telecom": [{"system": "phone", "value": "+1 (555) 010-2233"}]},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M|||||(555)010-2233^PRN^PH",
    ),
    _told(
        "a phone in parts",
        {"telecom": [{"system": "phone", "value": "555-010-2233", "use": "home"}]},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M|||||^PRN^PH^^1^555^0102233",
    ),
    _told(
        "another phone",
        {"telecom": [{"system": "phone", "value": "555-010-2233", "use": "home"}]},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M|||||(555)010-9944^PRN^PH",
        ("patient.phone",),
    ),
    _told("an email beside a phone", {"telecom": [{"system": "email", "value": "h@example.org"}]}, f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M|||||5550102233"),
    Written(
        "a C-CDA phone as tel URL",
        (
            ("fhir", bundle(patient(telecom=[{"system": "phone", "value": "555.010.2233 x12"}]))),
            ("ccda", document(who=person(outside='<telecom use="HP" value="tel:+1-555-010-2233"/>'))),
        ),
    ),
    _told(
        "a street abbreviated",
        {"address": [{"line": ["12 North Main Street"], "postalCode": "62701"}]},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M|||12 N MAIN ST^^Springfield^IL^62701-0012",
    ),
    _told(
        "an address elsewhere",
        {"address": [{"line": ["12 Main Street"], "city": "Springfield", "postalCode": "62701"}]},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M|||7 ELM RD^^Portland^OR^97035",
        ("patient.address",),
    ),
    _told(
        "a Canadian postal code without its blank",
        {"address": [{"postalCode": "K1A 0B6"}]},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M|||^^Ottawa^ON^K1A0B6^CAN",
    ),
    _told(
        "a present and a former address",
        {"address": [{"use": "old", "postalCode": "10001"}, {"use": "home", "postalCode": "62701"}]},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M|||1 A ST^^B^IL^62701^^H~9 Z ST^^Y^CA^90001^^BA",
    ),
    _told(
        "the mother's maiden name",
        {"extension": [{"url": "http://hl7.org/fhir/StructureDefinition/patient-mothersMaidenName", "valueString": "Costa"}]},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||COSTA^MARIA|19740312|M".replace("||COSTA^MARIA|", "|COSTA^MARIA|"),
    ),
    _told("an identifier with a check digit", {}, "PID|1||80221^7^M10^GENHOSP&1.3.6.1.4.1.99.1&ISO^MR||ALVAREZ^HENRIK||19740312|M"),
    _told(
        "an old PID of 2.3 with the number in PID-2",
        {"identifier": [{"system": "http://genhosp.example/mrn", "value": "80221"}]},
        "PID|1|80221|5512||ALVAREZ^HENRIK||19740312|M",
    ),
    _told(
        "two hospitals' record numbers",
        {
            "identifier": [
                {"system": "http://genhosp.example/mrn", "value": "80221", "type": {"coding": [{"code": "MR"}]}},
                {"system": "http://westclinic.example/mrn", "value": "W-3", "type": {"coding": [{"code": "MR"}]}},
            ]
        },
        "PID|1||80221^^^GENHOSP^MR~E-9^^^EASTLAB^MR||ALVAREZ^HENRIK||19740312|M",
    ),
    _told(
        "a former record number",
        {"identifier": [{"use": "old", "system": "urn:oid:1.3.6.1.4.1.99.1", "value": "11"}, {"system": "urn:oid:1.3.6.1.4.1.99.1", "value": "80221"}]},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M",
    ),
    _told(
        "another social security number",
        {"identifier": [{"system": "http://hl7.org/fhir/sid/us-ssn", "value": "999-11-2222"}]},
        "PID|1||80221^^^GENHOSP^MR||ALVAREZ^HENRIK||19740312|M|||||||||||999112223",
        ("patient.identifier",),
    ),
    _told("a record number with two digits turned", {}, "PID|1||80212^^^GENHOSP&1.3.6.1.4.1.99.1&ISO^MR||ALVAREZ^HENRIK||19740312|M", ("patient.identifier",)),
    _told("a death with its time", {"deceasedDateTime": "2025-05-06T07:00:00Z"}, f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M|||||||||||||||||||||20250506|Y"),
    _told(
        "dead in one and alive in the other", {"deceasedBoolean": True}, f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M||||||||||||||||||||||N", ("patient.death",)
    ),
    _told(
        "married by the v2 code in FHIR",
        {"maritalStatus": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0002", "code": "M"}]}},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M||||||||M",
    ),
    _told(
        "single by the v2 code in FHIR, and married",
        {"maritalStatus": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0002", "code": "S"}]}},
        f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|M||||||||M",
        ("patient.marital-status",),
    ),
    Written(
        "two messages of one patient, the second of another sex",
        (("fhir", bundle(patient())), ("hl7v2", message("ADT^A01")), ("hl7v2", message("ORU^R01", pid=f"PID|1||{_MR}||ALVAREZ^HENRIK||19740312|F"))),
        ("patient.sex",),
    ),
    Written(
        "two messages of one patient, the second with another birth date",
        (("fhir", bundle(patient())), ("hl7v2", message("ADT^A01")), ("hl7v2", message("ORU^R01", pid=f"PID|1||{_MR}||ALVAREZ^HENRIK||19740321|M"))),
        ("patient.birth-date",),
    ),
    Written(
        "a second message of another patient",
        (("fhir", bundle(patient())), ("hl7v2", message("ADT^A01")), ("hl7v2", message("ORU^R01", pid="PID|1||5^^^GENHOSP^MR||BOHR^JONAS||19500101|M"))),
        ("patient.other",),
    ),
    Written(
        "a second Bundle of another patient",
        (
            ("fhir", bundle(patient())),
            ("fhir", bundle(patient(name=[_official("Bohr", "Jonas")], birthDate="1950-01-01", identifier=None))),
            ("hl7v2", message("ADT^A01")),
        ),
        ("patient.other",),
    ),
    Written(
        "a batch with the patient's PID in each message",
        (
            ("fhir", bundle(patient(), condition(ICD, "I10", "Essential (primary) hypertension"))),
            ("hl7v2", "\r".join([message("ADT^A01", "DG1|1||I10^Hypertension^I10"), message("ADT^A08", "DG1|1||I10^Hypertension^I10")])),
        ),
    ),
    Written(
        "a Bundle by urn:uuid with its patient last",
        (("fhir", bundle(condition(ICD, "I10", "Hypertension"), patient(), by_urn=True)), ("hl7v2", message("ADT^A01", "DG1|1||I10^Hypertension^I10"))),
    ),
    Written("nothing but the patient, and an old version", (("fhir", bundle(patient())), ("hl7v2", message("ADT^A04", version="2.3")))),
    Written("nothing but the patient, and a new version", (("fhir", bundle(patient())), ("hl7v2", message("ADT^A04^ADT_A01", version="2.8")))),
    Written("a C-CDA document of release 1.1", (("fhir", bundle(patient())), ("ccda", document(release="")))),
)
