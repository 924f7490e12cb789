"""The `touchstone doctor` check of SAFE v0: whether its directory of reports can be written."""

import os
from collections.abc import Iterator
from pathlib import Path

from touchstone.scorers.base import Check
from touchstone.scorers.safe.settings import ENV_PREFIX, SafeSettings

_MEND = f"set {ENV_PREFIX}REPORT_DIR or reportDir to a directory that can be written"


def doctor(settings: SafeSettings) -> Iterator[Check]:
    """The directory of reports: one that exists must be writable, one that does not must have a parent where it can be created. Creates nothing."""
    directory = settings.report_dir
    is_there = directory.exists()
    place = directory if is_there else _nearest(directory)
    if not place.is_dir():
        yield Check("reports", "bad", f"{place}: is not a directory", _MEND)
    elif not os.access(place, os.W_OK | os.X_OK):
        yield Check("reports", "bad", f"{place}: cannot be written", _MEND)
    else:
        yield Check("reports", "good", f"{directory} can be {'written' if is_there else 'made'}")


def _nearest(path: Path) -> Path:
    """The nearest directory above that is there."""
    return next(above for above in path.absolute().parents if above.exists())
