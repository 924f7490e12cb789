"""A small conformance profile of our own, with each construct of NIST's XML, and a message that conforms to it."""

from pathlib import Path

from tests.scorers.clinical.hl7v2.messages import NOW, message
from touchstone.scorers.clinical.formats.hl7v2 import Profiles, load_profiles
from touchstone.scorers.clinical.formats.hl7v2.validator import check_document
from touchstone.scorers.clinical.report import Context, Report

TITLE = "Pond Guide 1.2"


def field(name: str, usage: str = "O", datatype: str = "ST", repeats: str = "0..1", more: str = "") -> str:
    least, most = repeats.split("..")
    length = "" if "Length" in more else 'MinLength="NA" MaxLength="NA" ConfLength="NA"'
    return f'<Field Name="{name}" Usage="{usage}" Datatype="{datatype}" Min="{least}" Max="{most}" {length} {more}/>'


def component(name: str, usage: str = "O", datatype: str = "ST", more: str = "") -> str:
    return f'<Component Name="{name}" Usage="{usage}" Datatype="{datatype}" {more}/>'


def datatype(own: str, name: str, *components: str) -> str:
    return f'<Datatype ID="{own}" Name="{name}" Label="{own}" Version="2.5.1" Description="{name}">{"".join(components)}</Datatype>'


def segment(own: str, *fields: str, more: str = "") -> str:
    return f'<Segment ID="{own}" Name="{own[:3]}" Label="{own}" Version="2.5.1" Description="{own}">{"".join(fields)}{more}</Segment>'


PRIMITIVES = "".join(datatype(name, name) for name in ("ST", "ID", "IS", "SI", "NM", "DTM", "TX", "varies"))
CODED = ("Identifier", "Text", "System", "Other identifier", "Other text", "Other system")
DATATYPES = PRIMITIVES + "".join([
    datatype("TS", "TS", component("Time", "R", "DTM")),
    datatype("HD", "HD", component("Namespace"), component("Universal id", "R"), component("Type", "R", more='ConstantValue="ISO"')),
    datatype("EI", "EI", component("Entity"), component("Namespace"), component("Universal id"), component("Type")),
    datatype("MSG", "MSG", component("Code", "R"), component("Event", "R"), component("Structure", "R")),
    datatype("CX", "CX", component("Id", "R"), component("Digit", "X"), component("Scheme"), component("Authority", "RE", "HD"), component("Type", "C")),
    datatype("CX_SSN", "CX", component("Id", "R", more='MinLength="9" MaxLength="9"'), component("Digit"), component("Scheme"), component("Authority")),
    datatype("XPN", "XPN", component("Family", "R"), component("Given", "RE")),
    datatype("CWE", "CWE", *(component(name) for name in CODED)),
    datatype("CWE_LOINC", "CWE", component("Identifier", "R"), component("Text", "RE"), component("System", "R", more='ConstantValue="LN"')),
])  # fmt: skip
HEADER_FIELDS = (
    field("Separator", "R"), field("Encoding", "R"), field("Application", "R", "HD", "1..1"), field("Facility", "RE", "HD"), field("Receiver", "O", "HD"),
    field("Receiving facility", "O", "HD"), field("Time", "R", "TS", "1..1"), field("Security", "X"), field("Type", "R", "MSG"),
    field("Control id", "R", more='MinLength="1" MaxLength="8"'), field("Processing", "R", "ID"), field("Version", "R", "ID"), field("Sequence", "W", "NM"),
    field("Continuation", "B"), field("Accept"), field("Application ack"), field("Country"), field("Character set"), field("Language"), field("Scheme"),
    field("Profile", "RE", "EI", "0..2"),
)  # fmt: skip
PATIENT_FIELDS = (
    field("Set id", "O", "SI"), field("Old id", "X", "CX"), field("Identifiers", "R", "CX", "1..3"), field("Alternate", "O", "CX"),
    field("Name", "R", "XPN", "1..*"), field("Maiden name", "O", "XPN", more='ConfLength="6="'), field("Birth", "RE", "TS"), field("Sex", "RE", "IS"),
    field("Alias", "O", "XPN"), field("Race", "O", "CWE", "0..*"), field("Nickname", "O", "ST", more='MinLength="2" MaxLength="5"'),
    field("County", "O", "ST", more='ConfLength="4#"'),
)  # fmt: skip
ORDER_FIELDS = (field("Set id", "R", "SI"), field("Placer", "O", "EI"), field("Filler", "R", "EI"), field("Service", "R", "CWE"))
MAPPING = (
    '<DynamicMapping><Mapping Position="5" Reference="2"><Case Value="NM" Datatype="NM"/><Case Value="CWE" Datatype="CWE"/>'
    '<Case Value="CE" SecondValue="1" Datatype="CWE"/></Mapping></DynamicMapping>'
)
RESULT_FIELDS = (
    field("Set id", "R", "SI"), field("Type", "RE", "ID"), field("Test", "R", "CWE"), field("Sub id"), field("Value", "C", "varies", "0..*"),
    field("Unit", "C", "CWE"), field("Range"), field("Flag", "O", "IS", "0..2"), field("Probability"), field("Nature"), field("Status", "R", "ID"),
)  # fmt: skip
STRUCTURE = """
<Segment Ref="MSH_P" Usage="R" Min="1" Max="1"/>
<Group ID="g.patient" Name="PATIENT_RESULT" Usage="R" Min="1" Max="1">
  <Segment Ref="PID_P" Usage="R" Min="1" Max="1"/>
  <Segment Ref="PD1_P" Usage="X" Min="0" Max="1"/>
  <Group ID="g.order" Name="ORDER" Usage="R" Min="1" Max="2">
    <Segment Ref="OBR_P" Usage="R" Min="1" Max="1"/>
    <Group ID="g.result" Name="RESULT" Usage="RE" Min="0" Max="*"><Segment Ref="OBX_P" Usage="R" Min="1" Max="1"/>
      <Segment Ref="NTE_P" Usage="O" Min="0" Max="*"/></Group>
    <Group ID="g.specimen" Name="SPECIMEN" Usage="O" Min="0" Max="1"><Segment Ref="SPM_P" Usage="R" Min="1" Max="1"/></Group>
  </Group>
</Group>"""
PROFILE = f"""<?xml version="1.0"?>
<ConformanceProfile ID="p1"><MetaData Name="Pond Guide" OrgName="Pond" Version="1.2" Date="20260101"/>
<Messages><Message ID="m1" Name="Pond result" Type="ORU" Event="R01" StructID="ORU_R01" Description="">{STRUCTURE}</Message></Messages>
<Segments>{segment("MSH_P", *HEADER_FIELDS)}{segment("PID_P", *PATIENT_FIELDS)}{segment("OBR_P", *ORDER_FIELDS)}
{segment("OBX_P", *RESULT_FIELDS, more=MAPPING)}{segment("OBX_L", *RESULT_FIELDS[:2], field("Test", "R", "CWE_LOINC"), *RESULT_FIELDS[3:], more=MAPPING)}
{segment("PD1_P", field("Living"))}{segment("NTE_P", field("Set id", "R"), field("Source"), field("Comment"))}
{segment("SPM_P", field("Set id", "R"), field("Id"), field("Parent"), field("Type", "R", "CWE"))}</Segments>
<Datatypes>{DATATYPES}</Datatypes></ConformanceProfile>"""

LINES = {
    "MSH": "MSH|^~\\&|LIS^2.16.840.1.113883.3.1234^ISO||||20260211101500-0600||ORU^R01^ORU_R01|M0001|P|2.5.1|||||||||POND^^2.16.840.1.113883.3.1234.9^ISO",
    "PID": "PID|1||4711^^^A&2.16.840.1.113883.3.1234&ISO^MR||Winter^Ada||19610215|F||2106-3^White^HL70005",
    "OBR": "OBR|1||8801^LAB|718-7^Hemoglobin^LN",
    "OBX": "OBX|1|NM|718-7^Hemoglobin^LN||13.4|g/dL^gram^UCUM||N|||F",
}


def edited(**lines: str) -> bytes:
    """The good message with some lines replaced; an empty one is left out, and `more` comes at its end."""
    said = LINES | {name: line for name, line in lines.items() if name != "more"}
    return message(*(line for line in said.values() if line), *lines.get("more", "").split("\n") if lines.get("more") else ())


def changed(name: str, position: int, text: str, line: str = "") -> str:
    """A line of the good message with another text in one field."""
    fields = (line or LINES[name]).split("|")
    at = position - (name == "MSH")
    fields += [""] * (at + 1 - len(fields))
    fields[at] = text
    return "|".join(fields)


def with_field(name: str, position: int, text: str) -> bytes:
    """The good message with another text in one field."""
    return edited(**{name: changed(name, position, text)})


def written(folder: Path, **files: str) -> Path:
    """The profile in a folder, with these files beside it or in its place."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in ({"PROFILE": PROFILE} | files).items():
        (folder / f"{name}.xml").write_text(text, encoding="utf-8")
    return folder


def judged(data: bytes, *folders: Path) -> Report:
    """The report of a message by these profiles. Each of their findings begins with the profile's title, by which a list of known issues finds it."""
    report, profiles = Report(), load_profiles(folders)
    check_document(data, Context(now=lambda: NOW), report, None, Profiles(profiles))
    titles = tuple(one.title for one in profiles)
    assert all(one.message.startswith(titles) for one in report.findings if one.code.startswith("profile."))
    return report


def of_profile(report: Report, *severities: str) -> list[tuple[str, str]]:
    """(code, path) of the profile's findings, the major ones if no severity is named."""
    return [(one.code, one.path) for one in report.findings if one.code.startswith("profile.") and one.severity in (severities or ("major",))]


def reasons(report: Report) -> str:
    """Why something of the profile was not checked."""
    return " ".join(one.reason for one in report.not_checked if one.check == "hl7v2.profile")


def constraints(*statements: str, predicates: str = "") -> str:
    """A CONSTRAINTS file. Each text holds a kind with its contexts."""
    text = "".join(statements)
    return (
        f'<ConformanceContext UUID="c"><MetaData Name="Pond Guide"/><Predicates>{predicates}</Predicates><Constraints>{text}</Constraints></ConformanceContext>'
    )


def statement(assertion: str, kind: str = "Segment", own: str = "PID_P", strength: str = 'Strength="SHALL"', reference: str = "") -> str:
    """A conformance statement about one element."""
    inner = f"{reference}<Description>As it is said.</Description><Assertion>{assertion}</Assertion>"
    return f'<{kind}><ByID ID="{own}"><Constraint ID="S-1" {strength}>{inner}</Constraint></ByID></{kind}>'


def predicate(target: str, if_true: str, if_false: str, condition: str, kind: str = "Segment", own: str = "OBX_P") -> str:
    """A predicate of one element."""
    inner = f"<Description>If it is so</Description><Condition>{condition}</Condition>"
    return f'<{kind}><ByID ID="{own}"><Predicate Target="{target}" TrueUsage="{if_true}" FalseUsage="{if_false}">{inner}</Predicate></ByID></{kind}>'
