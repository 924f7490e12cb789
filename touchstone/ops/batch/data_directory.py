"""A data directory: `<concern_id>/<batch_id>.json|jsonl`, as SAFE v0 lays batches out (§7)."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from touchstone.ops.batch.sources import Source, is_case_file, stem_of
from touchstone.scorers.base import ConfigError, Place

_NAMES_SHOWN_MAX = 8


def find_batches(data_dir: Path, concern: str | None, pattern: str) -> list[Source]:
    """Files of a data directory whose name matches the pattern, in name order.

    Without a concern there must be only one. Raises `ConfigError` if the directory, the concern or a match is missing.
    """
    concerns = {path.name: path for path in _listed(data_dir) if path.is_dir()}
    if concern is None:
        if len(concerns) != 1:
            raise ConfigError(f"{data_dir}: holds {_names(concerns) or 'no concern directory'}; choose one with --concern")
        concern = next(iter(concerns))
    # The name is looked up in the listing, never joined to a path, so that `../x` finds nothing.
    if concern not in concerns:
        raise ConfigError(f"unknown concern {concern!r}: {data_dir} holds {_names(concerns) or 'no concern directory'}; check --concern and --data")
    files = [path for path in _listed(concerns[concern]) if is_case_file(path) and path.is_file()]
    matching = [path for path in files if fnmatchcase(stem_of(path), pattern)]
    if not matching:
        known = _names([stem_of(path) for path in files]) or "no batch file"
        raise ConfigError(f"no batch of {concern} matches {pattern!r}: {concerns[concern]} holds {known}; check --batch")
    return [Source(path, place=Place(concern, stem_of(path), fixed=True)) for path in matching]


def _listed(directory: Path) -> list[Path]:
    """The entries of a directory, in name order, without hidden files. Raises `ConfigError` if it cannot be read."""
    try:
        return sorted(path for path in directory.iterdir() if not path.name.startswith("."))
    except NotADirectoryError:
        raise ConfigError(f"{directory}: is a file, and --data wants a folder with a folder for each concern; name the file without --data") from None
    except OSError as error:
        raise ConfigError(f"{directory}: cannot be read ({error.strerror}); check --data") from None


def _names(names: Sequence[str] | Mapping[str, Any]) -> str:
    """A few names, for a message."""
    listed = sorted(names)
    rest = len(listed) - _NAMES_SHOWN_MAX
    return ", ".join(listed[:_NAMES_SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")
