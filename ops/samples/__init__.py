"""Sample batches, written for this project: invented, de-identified cases in the form that producers send."""

from pathlib import Path


def safe_batches() -> Path:
    """Directory of the SAFE v0 samples, laid out as `--data` wants it: `<concern_id>/<batch_id>.json|jsonl`."""
    return Path(__file__).parent / "safe"
