"""The `touchstone doctor` checks of conformance: whether the configured services answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from touchstone.scorers.base import Check
from touchstone.scorers.clinical.conformance.scorecards import VALIDATORS
from touchstone.scorers.clinical.conformance.service import open_services
from touchstone.scorers.clinical.conformance.settings import ENV_PREFIX, ConformanceSettings


def checks(settings: ConformanceSettings) -> Iterator[Check]:
    """One for each service. A service that is off is a note: conformance is optional."""
    services = open_services(settings)
    for form, validator in VALIDATORS.items():
        variable = f"{ENV_PREFIX}{form.upper()}_URL"
        if form not in services:
            yield Check("conformance", "note", f"{validator}: off", f"to have it asked, set {variable}")
        elif asyncio.run(services[form].is_well()):
            yield Check("conformance", "good", f"{validator}: answers")
        else:
            yield Check("conformance", "bad", f"{validator}: does not answer", f"start it, or correct {variable}; without {variable} it is not asked")
