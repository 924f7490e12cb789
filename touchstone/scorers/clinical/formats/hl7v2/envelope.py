"""Batches: FHS, BHS, BTS and FTS around messages (chapter 2.10.3)."""

from __future__ import annotations

from touchstone.scorers.clinical.formats.hl7v2.findings import Findings
from touchstone.scorers.clinical.formats.hl7v2.lexer import Document, Segment

PAIRS = {"BTS": "BHS", "FTS": "FHS"}


def _check_count(segment: Segment, found: int, what: str, findings: Findings) -> None:
    written = segment.component(1, 1)
    if written and (not written.isascii() or not written.isdigit() or len(written) > 10 or int(written) != found):
        findings.add("major", "structure.batch-count", f"{segment.path}-1", f"The trailer's count is not that of the {what} found, {found}")


def check_control_ids(document: Document, findings: Findings) -> None:
    """Report messages whose control id (MSH-10) an earlier message of the same sender has (chapter 2, MSH-10: it identifies the message uniquely)."""
    known: set[tuple[str, str, str]] = set()
    for message in document.messages:
        header = message.segments[0]
        key = header.field(3), header.field(4), header.field(10)
        if key[2] in {"", '""'}:
            continue
        if key in known:
            text = "An earlier message of this sender in the file has the same control id"
            findings.add("minor", "structure.control-id", f"message[{message.number}]/MSH-10", text, suggestion="Give each message its own")
        known.add(key)


def check_envelope(document: Document, findings: Findings) -> None:
    """Report batches that are not closed, not opened, or have a wrong count."""
    if not document.envelope:
        return
    findings.report.fired("structure", len(document.envelope))
    lines = [(segment.line, segment) for segment in document.envelope] + [(message.segments[0].line, None) for message in document.messages]
    batches = _Batches(findings)
    for _, segment in sorted(lines, key=lambda row: row[0]):
        if segment is None:
            batches.message()
        elif segment.name in {"FHS", "BHS"}:
            batches.header(segment)
        else:
            batches.trailer(segment)
    for segment in batches.opened:
        trailer = "BTS" if segment.name == "BHS" else "FTS"
        findings.add("major", "structure.batch", segment.path, f"{segment.name} is not closed by {trailer}: the batch may be cut off")


class _Batches:
    """Counts the messages and batches between headers and trailers."""

    def __init__(self, findings: Findings) -> None:
        self.opened: list[Segment] = []
        self._findings = findings
        self._messages = self._batches = 0
        self._is_implied = False

    def message(self) -> None:
        self._messages += 1
        if self.opened and self.opened[-1].name == "FHS" and not self._is_implied:
            self._batches += 1  # a batch may go without its own header and trailer (chapter 2.10.3)
            self._is_implied = True

    def header(self, segment: Segment) -> None:
        if any(earlier.name == segment.name for earlier in self.opened) or (segment.name == "FHS" and self.opened):
            self._findings.add("major", "structure.batch", segment.path, f"{segment.name} inside a batch that has not ended; end the batch first")
        self.opened.append(segment)
        if segment.name == "BHS":
            self._messages = 0
            self._batches += 1
            self._is_implied = False

    def trailer(self, segment: Segment) -> None:
        header = PAIRS[segment.name]
        if self.opened and self.opened[-1].name == header:
            self.opened.pop()
        else:
            self._findings.add("major", "structure.batch", segment.path, f"{segment.name} closes no {header}")
        is_batch = segment.name == "BTS"
        _check_count(segment, self._messages if is_batch else self._batches, "messages" if is_batch else "batches", self._findings)
