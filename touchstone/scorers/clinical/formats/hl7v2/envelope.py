"""Batches: FHS, BHS, BTS and FTS around messages (chapter 2.10.3)."""

from __future__ import annotations

from touchstone.scorers.clinical.formats.hl7v2.findings import Notes
from touchstone.scorers.clinical.formats.hl7v2.lexer import Document, Segment

PAIRS = {"BTS": "BHS", "FTS": "FHS"}


def _count(segment: Segment, found: int, what: str, notes: Notes) -> None:
    """Note a trailer whose count is not what was found."""
    written = segment.component(1, 1)
    if written and (not written.isascii() or not written.isdigit() or len(written) > 10 or int(written) != found):
        notes.add("major", "structure.batch-count", f"{segment.path}-1", f"The trailer's count is not that of the {what} found, {found}")


def check_envelope(document: Document, notes: Notes) -> None:
    """Note batches that are not closed, not opened, or that count wrongly."""
    if not document.envelope:
        return
    notes.report.fired("structure", len(document.envelope))
    lines: list[tuple[int, Segment | None]] = [(segment.line, segment) for segment in document.envelope]
    lines += [(message.segments[0].line, None) for message in document.messages]
    lines.sort(key=lambda row: row[0])
    opened: list[Segment] = []
    messages = batches = 0
    is_implied = False
    for _, segment in lines:
        if segment is None:
            messages += 1
            if opened and opened[-1].name == "FHS" and not is_implied:
                batches += 1  # a batch may go without its own header and trailer (chapter 2.10.3)
                is_implied = True
        elif segment.name in {"FHS", "BHS"}:
            if any(earlier.name == segment.name for earlier in opened) or (segment.name == "FHS" and opened):
                notes.add("major", "structure.batch", segment.path, f"{segment.name} stands inside of an open batch")
            opened.append(segment)
            if segment.name == "BHS":
                messages = 0
                batches += 1
                is_implied = False
        else:
            header = PAIRS[segment.name]
            if opened and opened[-1].name == header:
                opened.pop()
            else:
                notes.add("major", "structure.batch", segment.path, f"{segment.name} closes no {header}")
            _count(segment, messages if segment.name == "BTS" else batches, "messages" if segment.name == "BTS" else "batches", notes)
    for segment in opened:
        trailer = "BTS" if segment.name == "BHS" else "FTS"
        notes.add("major", "structure.batch", segment.path, f"{segment.name} is not closed by {trailer}: the batch may be cut off")
