"""The prompts of traces, from trace files or from the archive. They may tell of patients: they go into the file of cases and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_documents import read_bounded

FILE_BYTES_MAX: Final = 67_108_864
#: Trace id → its prompt.
Prompts = Mapping[str, str]


def prompts_in_files(path: Path, wanted: frozenset[str]) -> Prompts:
    """The prompts of the wanted traces in a trace file, or in the *.json and *.jsonl files below a directory. Raises `ConfigError`."""
    if not path.exists():
        raise ConfigError(f"--traces {path}: no such file or folder; check the path")
    files = [path] if path.is_file() else sorted(one for end in ("json", "jsonl") for one in path.rglob(f"*.{end}") if one.is_file())
    found: dict[str, str] = {}
    for file in files:
        for trace in _traces(file):
            name, prompt = trace.get("traceId") or trace.get("id"), trace.get("prompt")
            if isinstance(name, str) and name in wanted and isinstance(prompt, str) and prompt.strip():
                found.setdefault(name, prompt.strip())
    return found


def prompts_in_archive(documents: Iterable[tuple[str, Callable[[], bytes]]]) -> Prompts:
    """The prompts of kept events: trace id and how its document is read."""
    found: dict[str, str] = {}
    for name, read in documents:
        prompt = next((one.get("prompt") for one in _parsed(read())), None)
        if isinstance(prompt, str) and prompt.strip():
            found[name] = prompt.strip()
    return found


def _traces(file: Path) -> Iterator[Mapping[str, Any]]:
    data = read_bounded(file, FILE_BYTES_MAX, remedy="check --traces", too_large="split the file")
    yield from (one for line in data.splitlines() for one in _parsed(line)) if file.suffix == ".jsonl" else _parsed(data)


def _parsed(data: bytes) -> list[Mapping[str, Any]]:
    """The objects of a document; none of one that is no JSON."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        return []
    return [one for one in (document if isinstance(document, list) else [document]) if isinstance(one, Mapping)]
