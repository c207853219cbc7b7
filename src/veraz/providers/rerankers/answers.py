"""What rerankers answer, made into one score a passage: shared by all that answer with indices. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

from veraz.errors import MalformedResponse
from veraz.nouns.rerank import RerankScores


def scores_by_index(who: str, found: Iterable[tuple[int, float]], count: int) -> RerankScores:
    """`found`: index from 0 and score, in any order; what it does not name is not scored. Raises MalformedResponse for an index
    that is not there or comes twice, and for a score that is not finite: then nothing tells which of the others are right."""
    scores: list[float | None] = [None] * count
    for index, score in found:
        if not 0 <= index < count:
            raise malformed(who, f"index {index} for {count} passages")
        if scores[index] is not None:
            raise malformed(who, f"index {index} twice")
        if not math.isfinite(score):
            raise malformed(who, f"a score that is not finite for passage {index}")
        scores[index] = float(score)
    return RerankScores(tuple(scores))


def malformed(who: str, what: str) -> MalformedResponse:
    return MalformedResponse(
        f"{who} answered {what}; none of its scores were taken", fix="run again; if it persists, report it"
    )
