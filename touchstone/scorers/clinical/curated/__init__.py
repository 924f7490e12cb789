"""Curated test cases of generated patients: prompts, what the patients must have, and the scores they must reach. See docs/eval-runs.md.

`cases.toml` holds them, `terms.toml` the terms that they expect; both were written for this project.
"""

from touchstone.scorers.clinical.curated.cases import CuratedCase, Expected, curated_cases
from touchstone.scorers.clinical.curated.enrichment import enriched
from touchstone.scorers.clinical.curated.expectations import check_expectations
from touchstone.scorers.clinical.curated.outputs import SAMPLE_OUTPUTS

__all__ = ["SAMPLE_OUTPUTS", "CuratedCase", "Expected", "check_expectations", "curated_cases", "enriched"]
