"""Samples, written for this project: invented, de-identified cases in the form that producers send."""

import json
from pathlib import Path
from typing import Any


def safe_batches() -> Path:
    """Directory of the SAFE v0 samples, laid out as `--data` wants it: `<concern_id>/<batch_id>.json|jsonl`."""
    return Path(__file__).parent / "safe"


def summaries() -> Path:
    """Directory of the generated summaries: JSON lines, most of them with a `gold_ref` into `golds`."""
    return Path(__file__).parent / "summary"


def golds() -> Path:
    """File of the gold standards that the generated summaries refer to."""
    return Path(__file__).parent / "golds" / "summaries.jsonl"


def expected_summaries() -> dict[str, dict[str, Any]]:
    """Event id of each generated summary → what is expected of it.

    `good`: scored, without a hard fail. `worse_than`, `in`: the values that are worse than another
    sample's of the same gold. `rule`: the hard fail. `unscored`: the named outcome.
    """
    document: dict[str, dict[str, Any]] = json.loads((golds().parent / "expected.json").read_text(encoding="utf-8"))
    return document
