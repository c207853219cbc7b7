"""What every embedder refuses, on the way in and on the way out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veraz.errors import MalformedResponse
from veraz.nouns.corpus import Vectors


def refuse_blanks(texts: Sequence[str]) -> None:
    """Raises ValueError for the first text without a visible character."""
    for i, text in enumerate(texts):
        if not text.strip():
            raise ValueError(f"text {i} is blank: blank texts have no embedding and must be left out")


def first_degenerate(vectors: Vectors) -> int | None:
    """Position of the first row that is zero or not finite: neither has a direction to compare."""
    bad = ~np.isfinite(vectors).all(axis=1) | ~vectors.any(axis=1)
    return int(np.argmax(bad)) if bad.any() else None


def as_stored(vectors: Vectors) -> Vectors:
    """In the half precision of the database, where what is above 65,504 is infinite and what is below 6e-8 is zero: vectors that
    are not of length 1 may be either."""
    with np.errstate(over="ignore"):
        return vectors.astype(np.float16).astype(np.float32)


def refuse_degenerate(vectors: Vectors) -> None:
    """Raises MalformedResponse for the first row that is zero or not finite where it is stored."""
    position = first_degenerate(as_stored(vectors))
    if position is not None:
        raise MalformedResponse(
            f"text {position} got a vector that is zero or not finite",
            fix="leave this text out, and report it: the model should give every text a direction",
        )
