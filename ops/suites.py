"""Composes a suite: entry point + environment + document → a scorer that is ready to run."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ops.documents import read_document_if_present
from schemas.config import Settings
from scorers.base import Suite, config_digest
from scorers.registry import known_kinds, load_suite
from streams.codec import Codec
from streams.scoring import RunningSuite


def suite_settings(suite: Suite, *, env: Mapping[str, str] | None = None, directory: Path | None = None) -> BaseModel:
    """The suite's settings from the environment and its optional document. Raises `ConfigError`."""
    return suite.resolve(os.environ if env is None else env, read_suite_document(suite, directory))


def read_suite_document(suite: Suite, directory: Path | None = None) -> dict[str, Any] | None:
    """The suite's JSON document in a directory (the working directory by default); None where there is none."""
    if suite.document_name is None:
        return None
    return read_document_if_present((directory or Path()) / suite.document_name)


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
