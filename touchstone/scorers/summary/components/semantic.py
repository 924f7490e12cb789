"""Semantic similarity (Loss V3 §3.D): how close the generated summary and the gold narrative are as a whole."""

import numpy as np
from numpy.typing import NDArray


def cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """The cosine of two vectors, within [−1, 1]; 0 if one has no length."""
    length = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return min(1.0, max(-1.0, float(np.dot(one, other)) / length)) if length else 0.0


def semantic_loss(similarity: float) -> float:
    """L_semantic = min(1, 1 − cos): opposite vectors count no more than orthogonal ones."""
    return min(1.0, max(0.0, 1.0 - similarity))
