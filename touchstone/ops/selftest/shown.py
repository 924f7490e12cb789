"""The report of a self-test as readings of its cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

if TYPE_CHECKING:
    from touchstone.schemas.reading import CaseReading

BYTES_MAX: Final = 64 * 1024 * 1024
#: A member that a report has near its beginning, and no case has.
_MARK: Final = b'"run_id"'
_HEAD_BYTES: Final = 4_096


def report_readings(path: Path) -> "list[CaseReading] | None":
    """The readings of a report, the worst case first; None for any other file."""
    from touchstone.schemas.reports.selftest import SelftestReport
    from touchstone.scorers.selftest.reading import readings

    try:
        if not path.is_file() or path.stat().st_size > BYTES_MAX:
            return None
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            if _MARK not in head:
                return None
            return readings(SelftestReport.model_validate_json(head + file.read(BYTES_MAX), strict=False))
    except (OSError, ValidationError):
        return None
