"""The order of hits after a reranker scored some of them. Pure; search and sweeps both use it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from veraz.nouns.evidence import ArmScore

__all__ = ["BEHIND", "Rescored", "normalised", "rescored"]

BEHIND = 1e-6
"""What was not scored stands at least so far behind what was."""


@dataclass(frozen=True, slots=True)
class Rescored:
    """A hit in the new order. `position`: its place, from 0, in the order that was given. `score` falls along the order.
    `rerank`: rank and score by the reranker alone, None where it did not score the hit. `fused` and `reranked` are the
    normalised scores, 0 to 1, that `score` is mixed of."""

    position: int
    score: float
    rerank: ArmScore | None = None
    fused: float = 0.0
    reranked: float = 0.0


def rescored(fused: Sequence[float], scores: Sequence[float | None], weight: float) -> list[Rescored]:
    """`fused`: scores of hits, best first; `scores`: the reranker's of the first of them, None where it gave none.

    A scored hit has (1 - weight) x its fused score + weight x the reranker's, each min-max normalised over the scored hits. Equal
    scores keep the order that was given, which is total; so this one is. Hits without a score follow in the order that was
    given, their fused scores lowered together as far as is needed to stand behind. Raises ValueError for a score that is not
    finite, and for more scores than hits."""
    if len(scores) > len(fused):
        raise ValueError(f"{len(scores)} scores for {len(fused)} hits")
    given = {at: score for at, score in enumerate(scores) if score is not None}
    if not all(map(math.isfinite, given.values())):
        raise ValueError("a score is not finite")
    places = list(given)
    before = normalised([fused[at] for at in places])
    by_reranker = normalised([given[at] for at in places])
    ranks = {at: rank for rank, at in enumerate(sorted(places, key=lambda at: (-given[at], at)), 1)}
    found = [
        Rescored(
            position=at,
            score=(1 - weight) * one + weight * other,
            rerank=ArmScore(ranks[at], given[at]),
            fused=one,
            reranked=other,
        )
        for at, one, other in zip(places, before, by_reranker, strict=True)
    ]
    found.sort(key=lambda entry: (-entry.score, entry.position))
    rest = [at for at in range(len(fused)) if at not in given]
    lowered = max(0.0, fused[rest[0]] - found[-1].score + BEHIND) if rest and found else 0.0
    return [*found, *(Rescored(at, fused[at] - lowered) for at in rest)]


def normalised(scores: Sequence[float]) -> list[float]:
    """(score - lowest) / (best - lowest); 1 where all are equal."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if high / 2 - low / 2 <= 0:
        return [1.0] * len(scores)
    # halved first: the difference of two finite numbers may not be finite
    return [(score / 2 - low / 2) / (high / 2 - low / 2) for score in scores]
