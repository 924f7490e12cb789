"""The archive as commands and services use it: what is kept, and what people do with it. All methods block."""

from datetime import datetime
from pathlib import Path

from touchstone.ops.store.archive.encryption import Cipher
from touchstone.ops.store.archive.keeping import Hits, Keeping, Place
from touchstone.ops.store.archive.objects import Objects
from touchstone.ops.store.archive.reindexing import Told, reindex
from touchstone.ops.store.archive.removal import forget, retain
from touchstone.ops.store.archive.searching import search
from touchstone.ops.store.case_filter import CaseFilter
from touchstone.ops.store.cases import CaseIndex
from touchstone.schemas.settings.house import ArchiveSettings

FOLDER = "touchstone-archive"


class Archive(Keeping):
    """The whole archive. Safe to use from several threads. Raises `ArchiveAway` and `StoreUnavailable`."""

    def forget(self, identifier: str, *, dry_run: bool = True) -> list[Place]:
        """Remove an event, or all events of a trace, from objects and store; returns the places. See `removal`."""
        return forget(self, identifier, self._clock(), dry_run=dry_run)

    def retention(self, *, before: datetime | None = None, keep_newest: int | None = None, dry_run: bool = True) -> tuple[int, int]:
        """Remove cases by age and number; returns how many, and their bytes. See `removal`."""
        return retain(self, before=before, keep_newest=keep_newest, dry_run=dry_run)

    def reindex(self, told: Told = lambda _: None) -> dict[str, int]:
        """Write the rows of all objects that have none; returns counts. See `reindexing`."""
        return reindex(self, told)

    def search_text(self, wanted: CaseFilter, text: str, cursor: str | None = None, budget_s: float = 2.0) -> Hits:
        """Search the text of kept cases, newest first, one step; without an archive `NoArchive`, not "nothing found". See `searching`."""
        self.objects.check_there()
        return search(self, wanted, text, cursor, budget_s)


def archive_url(settings: ArchiveSettings) -> str:
    """The address of the objects: that of the settings, else a folder of the working directory."""
    return settings.url or f"file://{Path.cwd() / FOLDER}"


def open_archive(settings: ArchiveSettings, index: CaseIndex) -> Archive:
    """The archive of the settings. Raises `ConfigError`."""
    cipher = Cipher.from_file(settings.key_file) if settings.key_file is not None else None
    return Archive(Objects.open(archive_url(settings), cipher), index, settings)
