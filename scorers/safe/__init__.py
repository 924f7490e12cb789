"""SAFE v0: three deterministic metrics over a case's own expectations. See docs/safe.md."""

from touchstone.schemas.case import SafeCase
from touchstone.scorers.base import Suite
from touchstone.scorers.safe.scorer import NAME, VERSION, SafeScorer
from touchstone.scorers.safe.settings import DOCUMENT_NAME, ENV_PREFIX, METRICS, fingerprint, resolve

SUITE = Suite(
    name=NAME,
    version=VERSION,
    topics=("generations",),
    cases={"safe": SafeCase},
    resolve=resolve,
    build=SafeScorer,
    fingerprint=fingerprint,
    document_name=DOCUMENT_NAME,
    env_prefix=ENV_PREFIX,
    execution="inline",
    metrics=(*METRICS, "composite"),
)
