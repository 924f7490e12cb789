r"""Text to messages, segments and fields. Nothing is dropped, and nothing is reported but what cannot be read.

A message may declare any delimiters (MSH-1, MSH-2), four or five of them, in any version. Messages with other delimiters are rewritten to the usual
`|^~\&`, with usual delimiters in their text escaped, so that the other modules know only these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from touchstone.scorers.clinical.formats.hl7v2.findings import Problem

USUAL = "|^~\\&"
DATA_BYTES_MAX = 64 * 1024 * 1024
SEGMENTS_MAX = 100_000
FIELDS_MAX = 1_000
#: Repetitions, components or subcomponents of one value that are checked.
PARTS_MAX = 2_000
#: Replacements for a usual delimiter that a message uses in another place.
SPARE = "!$%*@"
WRITE_USUAL = "Write MSH|^~\\&|"
LINE = re.compile(r"[A-Z][A-Z0-9]{2}")
ENVELOPE = frozenset({"FHS", "BHS", "BTS", "FTS"})
HEADERS = frozenset({"MSH", "FHS", "BHS"})
OUTSIDE = ENVELOPE | HEADERS
#: Segments that occur once in a message: their path needs no number.
SINGLE = frozenset({"MSH", "EVN", "PID", "PD1", "PV1", "PV2", "MSA", "QRD", "QRF", "QPD", "RCP", "QAK", "SCH", "TXA", "MRG", "FHS", "BHS", "BTS", "FTS", "MFI"})
ESCAPED = {"|": "\\F\\", "^": "\\S\\", "~": "\\R\\", "\\": "\\E\\", "&": "\\T\\"}


@dataclass(slots=True)
class Segment:
    """One segment. `fields[n]` is field n as HL7 counts (MSH-1 is the field separator); `name` is `?` for a line that is not a segment.

    `raw`: the line as written, if its delimiters are the usual ones or it is not a segment. `is_typed`: OBX-5 matches the type in OBX-2.
    """

    name: str
    fields: list[str]
    line: int
    number: int = 1
    is_alone: bool = True
    raw: str = ""
    is_typed: bool = False

    @property
    def path(self) -> str:
        """`PID`, or `OBX[2]` for a segment that may repeat."""
        return self.name if self.is_alone and self.name in SINGLE else f"{self.name}[{self.number}]"

    def field(self, position: int) -> str:
        """A field's text; empty if the segment ends before it."""
        return self.fields[position] if position < len(self.fields) else ""

    def component(self, position: int, component: int) -> str:
        """A component of a field's first repetition, as written."""
        if position >= len(self.fields):
            return ""
        return part(self.fields[position].split("~", 1)[0], "^", component)


@dataclass(slots=True)
class Message:
    """One message of a document. `number` counts from 1; `delimiters`: those that it declares."""

    number: int
    delimiters: str = USUAL
    segments: list[Segment] = field(default_factory=list)

    def named(self, name: str) -> list[Segment]:
        """All segments of one name, in order."""
        return [segment for segment in self.segments if segment.name == name]


@dataclass(slots=True)
class Document:
    """All lines of a text: messages, the segments of their envelope, and lines before any header."""

    messages: list[Message] = field(default_factory=list)
    envelope: list[Segment] = field(default_factory=list)
    strays: list[Segment] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unread_lines: int = 0


def part(value: str, separator: str, position: int) -> str:
    """The part at a position, counted from 1; empty if there are fewer."""
    parts = value.split(separator, position)
    return parts[position - 1] if len(parts) >= position else ""


def lines_of(text: str, problems: list[Problem]) -> list[str]:
    """The lines of a text without MLLP frames; CR, LF and CRLF end a segment."""
    if "\x0b" in text or "\x1c" in text:
        starts, ends = text.count("\x0b"), text.count("\x1c")
        if starts != ends:
            problems.append(Problem("major", "structure.frame", "MSH", "An MLLP frame is not closed, or not opened: the message may be cut off"))
        text = text.replace("\x0b", "\r").replace("\x1c", "\r")
    if "\n" in text:
        text = text.replace("\r\n", "\r").replace("\n", "\r")
    return text.split("\r")


def filled(delimiters: str) -> str:
    """Five delimiters: those that could be read, and the usual ones, or others, for the rest."""
    for place in range(len(delimiters), len(USUAL)):
        delimiters += USUAL[place] if USUAL[place] not in delimiters else next(sign for sign in SPARE if sign not in delimiters)
    return delimiters


def delimiters_of(line: str, name: str, problems: list[Problem]) -> str:
    """The delimiters that a header line declares. Reports unusable ones, and returns the usual ones for them."""
    if len(line) < 4 or line[3].isalnum() or line[3] <= " " or line[3] > "~":
        problems.append(Problem("critical", "structure.field-separator", f"{name}-1", "The field separator is missing or not a delimiter"))
        return USUAL
    separator = line[3]
    encoding = line[4:16].split(separator, 1)[0]
    if not encoding:
        problems.append(Problem("critical", "structure.encoding-characters", f"{name}-2", "The encoding characters are missing", WRITE_USUAL))
        return filled(separator)
    declared = separator + encoding[:5]
    if len(set(declared)) < len(declared) or any(sign.isalnum() or sign <= " " or sign > "~" for sign in encoding):
        problems.append(Problem("critical", "structure.encoding-characters", f"{name}-2", "The encoding characters are not distinct delimiters", WRITE_USUAL))
        return filled(separator)
    if not 4 <= len(encoding) <= 5:
        problems.append(Problem("major", "structure.encoding-characters", f"{name}-2", "Four encoding characters, or five, must be declared"))
        return filled(declared)
    return declared


def rewriting(delimiters: str) -> dict[int, str] | None:
    """A table for `str.translate` from these delimiters to the usual ones; None if they are the usual ones."""
    own = delimiters[:5]
    if own == USUAL:
        return None
    table = {ord(mine): usual for mine, usual in zip(own, USUAL, strict=True)}
    table.update({ord(usual): ESCAPED[usual] for usual in USUAL if usual not in own})
    return table


@lru_cache(maxsize=4_096)
def is_name(text: str) -> bool:
    """True if three characters are a segment's name. Remembered, because documents use a few dozen."""
    return LINE.fullmatch(text) is not None


@lru_cache(maxsize=4_096)
def is_inner(text: str) -> bool:
    """True if three characters name a segment inside a message, which is read like any other."""
    return text not in OUTSIDE and is_name(text)


def segment_of(line: str, number: int, separator: str, table: dict[int, str] | None) -> Segment:
    """One line as a segment. A line that is not a segment has its text in field 1."""
    name = line[:3]
    if not is_name(name) or (len(line) > 3 and line[3] != separator):
        return Segment("?", ["?", line], number, raw=line)
    if name in HEADERS:
        encoding, _, rest = line[4:].partition(separator)
        if table is not None:
            rest = rest.translate(table)
        fields = [name, separator, encoding, *rest.split("|", FIELDS_MAX)] if rest else [name, separator, encoding]
    else:
        fields = (line if table is None else line.translate(table)).split("|", FIELDS_MAX)
        fields[0] = name
    return Segment(name, fields, number, 1, True, line if table is None else "")  # positional: this is the lexer's inner loop


def numbered(segments: list[Segment]) -> None:
    """Give segments of one name their numbers."""
    last: dict[str, Segment] = {}
    for segment in segments:
        name = segment.name
        earlier = last.get(name)
        if earlier is not None:
            segment.number = earlier.number + 1
            segment.is_alone = earlier.is_alone = False
        last[name] = segment


class _Reader:
    """Reads lines one by one into a document."""

    def __init__(self) -> None:
        self.document = Document()
        self.message: Message | None = None
        self.separator = "|"
        self.table: dict[int, str] | None = None
        self.segments: list[Segment] = []
        self.is_usual = False

    def header(self, line: str, name: str) -> None:
        """Use the delimiters that a header declares; MSH begins a message."""
        problems: list[Problem] = []
        delimiters = delimiters_of(line, name, problems)
        self.separator = delimiters[0]
        self.table = rewriting(delimiters)
        if name == "MSH":
            self.message = Message(len(self.document.messages) + 1, delimiters)
            self.document.messages.append(self.message)
        else:
            self.message = None
        self.is_usual = self.message is not None and self.separator == "|" and self.table is None
        self.segments = self.message.segments if self.message is not None else []
        where = f"message[{self.message.number}]/" if self.message is not None and self.message.number > 1 else ""
        self.document.problems.extend(problem._replace(path=where + problem.path) for problem in problems)

    def line(self, line: str, number: int) -> None:
        """Add one line to the message, the envelope or the strays."""
        name = line[:3]
        is_outside = name in OUTSIDE
        if is_outside and name in HEADERS and not line[3:4].isalnum():
            self.header(line, name)
        segment = segment_of(line, number, self.separator, self.table)
        if is_outside and segment.name in ENVELOPE:
            self.document.envelope.append(segment)
            if segment.name in {"BTS", "FTS"}:
                self.message = None
                self.is_usual = False
        elif self.message is not None:
            self.message.segments.append(segment)
        else:
            self.document.strays.append(segment)


def read(text: str) -> Document:
    """The messages of a text. Never fails; every line that is not blank is in the result."""
    reader = _Reader()
    document = reader.document
    lines = lines_of(text, document.problems)
    indented = False
    taken = 0
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        is_plain = reader.is_usual and line[3:4] == "|" and is_inner(line[:3])
        if not is_plain and line.isspace():
            continue
        if taken == SEGMENTS_MAX:
            document.unread_lines = len(lines) - number + 1
            break
        taken += 1
        if is_plain:
            # Most lines of most messages: a shorter way to what the reader would do.
            reader.segments.append(Segment(line[:3], line.split("|", FIELDS_MAX), number, 1, True, line))
            continue
        if line[0] in " \t\ufeff":
            line = line.lstrip(" \t\ufeff")
            indented = True
        reader.line(line, number)
    if indented:
        document.problems.append(Problem("minor", "structure.segment-indented", "MSH", "Blanks stand before a segment's name"))
    for message in document.messages:
        numbered(message.segments)
    numbered(document.envelope)
    numbered(document.strays)
    return document
