"""Composes a suite: entry point + environment + document → a scorer that is ready to run."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from schemas.config import Settings
from scorers.base import ConfigError, Suite, config_digest
from scorers.registry import known_kinds, load_suite
from streams.codec import Codec
from streams.scoring import RunningSuite

#: A larger suite document is a mistake: it holds weights and thresholds.
DOCUMENT_BYTES_MAX = 1_048_576


def suite_settings(suite: Suite, *, env: Mapping[str, str] | None = None, directory: Path | None = None) -> BaseModel:
    """The suite's settings from the environment and its optional document. Raises `ConfigError`."""
    return suite.resolve(os.environ if env is None else env, read_suite_document(suite, directory))


def read_suite_document(suite: Suite, directory: Path | None = None) -> dict[str, Any] | None:
    """The suite's JSON document in a directory (the working directory by default); None where there is none."""
    if suite.document_name is None:
        return None
    path = (directory or Path()) / suite.document_name
    if not path.exists():
        return None
    try:
        raw = path.read_bytes()
        if len(raw) > DOCUMENT_BYTES_MAX:
            raise ConfigError(f"{path}: larger than {DOCUMENT_BYTES_MAX} bytes; is it the right file?")
        document = json.loads(raw)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        at = f" at line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ConfigError(f"{path}: not valid JSON{at}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: a JSON object is expected")
    return document


def running_suite(name: str, settings: Settings) -> tuple[RunningSuite, tuple[str, ...]]:
    """The suite ready to score, and its input topics. Raises `ConfigError`."""
    suite = load_suite(name)
    own = suite_settings(suite)
    running = RunningSuite(
        name=suite.name,
        version=suite.version,
        digest=config_digest(suite.fingerprint(own)),
        scorer=suite.build(own),
        codec=Codec(suite.cases, known_kinds(), settings.worker.event_bytes_max),
        inline=suite.inline,
    )
    return running, settings.topics.inputs(suite.topics)
