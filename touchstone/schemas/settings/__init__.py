"""Every setting: unit, bound and default. `house` has the settings of the processes, by section; `engines` those of the models."""

from touchstone.schemas.settings.engines import EngineSettings
from touchstone.schemas.settings.house import (
    ArchiveSettings,
    FhirValidatorSettings,
    HttpSettings,
    KafkaSettings,
    LogSettings,
    ProjectorSettings,
    Section,
    ServeSettings,
    Settings,
    StoreSettings,
    TopicSettings,
    WorkerSettings,
)

__all__ = [
    "ArchiveSettings",
    "EngineSettings",
    "FhirValidatorSettings",
    "HttpSettings",
    "KafkaSettings",
    "LogSettings",
    "ProjectorSettings",
    "Section",
    "ServeSettings",
    "Settings",
    "StoreSettings",
    "TopicSettings",
    "WorkerSettings",
]
