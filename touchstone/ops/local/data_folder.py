"""A folder with a result store and an archive in it, for one person on one machine."""

from pathlib import Path
from typing import Final
from urllib.parse import quote

FOLDER: Final = ".touchstone"


def addresses_in(folder: Path) -> tuple[str, str]:
    """The URLs of the store and of the archive in a folder."""
    whole = folder.resolve()
    return f"sqlite:///{whole / 'results.db'}", f"file://{quote(str(whole / 'archive'))}"
