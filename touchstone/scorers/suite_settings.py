"""A suite's settings: from the environment, and from its JSON document in the working directory."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from touchstone.schemas.case import Case
from touchstone.schemas.reading import CaseReading
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_documents import read_document, read_document_if_present
from touchstone.scorers.suite import Suite


def suite_settings(suite: Suite, *, env: Mapping[str, str] | None = None, directory: Path | None = None) -> BaseModel:
    """The suite's settings from the environment and its optional document. Raises `ConfigError`."""
    return suite.resolve(os.environ if env is None else env, read_suite_document(suite, directory))


def reading_here(suite: Suite, case: Case | None, result: ScoreResult, settings: Any = None) -> CaseReading:
    """How a case reads, with what it only names, such as its gold, where the settings have it. `settings`: by default those of this process.

    Where the settings cannot be used, the case reads as it is.
    """
    if case is not None and suite.with_references is not None:
        with suppress(ConfigError):
            case = suite.with_references(case, result, suite_settings(suite) if settings is None else settings)
    return suite.reading_of(case, result)


def read_suite_document(suite: Suite, directory: Path | None = None) -> dict[str, Any] | None:
    """The suite's JSON document in a directory (the working directory by default); None if there is none."""
    if suite.document_name is None:
        return None
    return read_document_if_present((directory or Path()) / suite.document_name)


def suite_settings_for_files(suite: Suite, config: Path | None = None, switches: Mapping[str, bool] | None = None) -> BaseModel:
    """The settings of a command on files: from the file named, else the suite's own document. Raises `ConfigError`.

    `switches`: settings that many suites have under the same name, as the command line gives them.
    """
    settings = suite_settings(suite) if config is None else suite.resolve(os.environ, read_document(config))
    for name in switches or {}:
        if not isinstance(getattr(settings, name, None), bool):
            raise ConfigError(f"--{name}: the suite {suite.name} has no setting {name}; leave the option out")
    return settings.model_copy(update=dict(switches or {}))
