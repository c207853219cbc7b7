"""Fusing ranked candidates of several arms into one total order. Pure.

Score fusion follows Fox & Shaw (1994); reciprocal rank fusion Cormack, Clarke & Buettcher (2009). Min-max with an arm's least
possible score in place of the lowest seen is that of Bruch, Gai & Ingber (2023). A candidate's part is multiplied by its share:
else one word that two languages have in common would count as much as a whole answer, wherever it is all that an arm found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from veraz.nouns.evidence import Candidate

__all__ = ["METHODS", "Arms", "Candidate", "Fused", "FusionSettings", "arm_weights", "fuse"]


@dataclass(frozen=True, slots=True)
class Fused:
    chunk_id: UUID
    score: float
    authority: int
    revised_at: date | None
    ranks: Mapping[str, int]
    scores: Mapping[str, float]
    parts: Mapping[str, float]  # what each arm adds to the score; they sum to it
    shares: Mapping[str, float]  # where they are below 1


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """`method` is one of `METHODS`; `semantic_weight` in 0..1 is the semantic arm's share, the lexical arm has the rest; `k` is
    reciprocal rank fusion's constant."""

    method: str
    semantic_weight: float
    k: int


Arms = Mapping[str, Sequence[Candidate]]
"""Rankings by name. An arm that was asked several questions gives several: `semantic`, `semantic:2`."""


def fuse(arms: Arms, settings: FusionSettings) -> list[Fused]:
    """Every candidate of every arm once, best first. Ties: authority, newer revision, then chunk id, so the order is total."""
    ordered = {arm: sorted(candidates, key=_arm_order) for arm, candidates in arms.items()}
    part_of, weights = METHODS[settings.method], arm_weights(arms, settings)
    found: dict[
        UUID, tuple[Candidate, dict[str, int], dict[str, float], dict[str, float], dict[str, float]]
    ] = {}
    for arm, candidates in ordered.items():
        parts = part_of(arm, candidates, weights[arm], settings.k) if candidates else []
        for rank, (candidate, part) in enumerate(zip(candidates, parts, strict=True), 1):
            entry = found.get(candidate.chunk_id)
            if entry is None:
                entry = found[candidate.chunk_id] = (candidate, {}, {}, {}, {})
            _, entry_ranks, entry_scores, entry_parts, entry_shares = entry
            entry_ranks[arm], entry_scores[arm] = rank, candidate.score
            entry_parts[arm] = part * candidate.share
            if candidate.share < 1:
                entry_shares[arm] = candidate.share
    fused = [
        Fused(key, sum(added.values()), c.authority, c.revised_at, ranks, scores, added, shares)
        for key, (c, ranks, scores, added, shares) in found.items()
    ]
    return sorted(fused, key=lambda f: (-f.score, -f.authority, -_day(f.revised_at), f.chunk_id))


def arm_weights(arms: Arms, settings: FusionSettings) -> dict[str, float]:
    """Each ranking's share: that of its arm, divided evenly among the arm's rankings. An arm that was asked alone has all of it.
    Raises ValueError for the name of no arm."""
    kinds = Counter(map(_kind, arms))
    if len(kinds) < 2:
        return dict.fromkeys(arms, 1.0 / max(1, len(arms)))
    shares = {"semantic": settings.semantic_weight, "lexical": 1 - settings.semantic_weight}
    return {name: shares[_kind(name)] / kinds[_kind(name)] for name in arms}


def _kind(name: str) -> str:
    kind = name.partition(":")[0]
    if kind not in FLOORS:
        raise ValueError(f"{name!r} is no ranking of an arm")
    return kind


def _arm_order(candidate: Candidate) -> tuple[float, int, int, UUID]:
    return -candidate.score, -candidate.authority, -_day(candidate.revised_at), candidate.chunk_id


def _day(value: date | None) -> int:
    return value.toordinal() if value else 0


Part = Callable[[str, Sequence[Candidate], float, int], list[float]]
"""Name of a ranking, its candidates, best first and at least one, its weight, the constant of reciprocal rank fusion → what it
adds to the score of each of them. What a ranking did not return gets 0 from it."""


def _minmax(_name: str, candidates: Sequence[Candidate], weight: float, _k: int) -> list[float]:
    """weight x (score - lowest) / (best - lowest) over the ranking's own pool."""
    best, lowest = candidates[0].score, candidates[-1].score
    spread = best - lowest
    return [weight * ((c.score - lowest) / spread if spread > 0 else 1.0) for c in candidates]


def _reciprocal_rank(_name: str, candidates: Sequence[Candidate], weight: float, k: int) -> list[float]:
    return [weight / (k + rank) for rank in range(1, len(candidates) + 1)]


def _zscore(_name: str, candidates: Sequence[Candidate], weight: float, _k: int) -> list[float]:
    """weight x (score - lowest) / the standard deviation of the ranking's pool: z-scores, moved so that the lowest has 0, as what
    it did not return."""
    _, deviation = _spread(candidates)
    lowest = candidates[-1].score
    return [weight * ((c.score - lowest) / deviation if deviation > 0 else 1.0) for c in candidates]


def _distribution(_name: str, candidates: Sequence[Candidate], weight: float, _k: int) -> list[float]:
    """weight x where the score stands between three standard deviations below the mean of the ranking's pool, 0, and as many
    above, 1; what lies outside is moved to the end."""
    mean, deviation = _spread(candidates)
    return [
        weight * (min(1.0, max(0.0, (c.score - mean) / (6 * deviation) + 0.5)) if deviation > 0 else 0.5)
        for c in candidates
    ]


def _spread(candidates: Sequence[Candidate]) -> tuple[float, float]:
    """Mean and standard deviation; the latter is 0 where all scores are equal, whatever rounding says."""
    scores = [c.score for c in candidates]
    mean = math.fsum(scores) / len(scores)
    if min(scores) == max(scores):
        return mean, 0.0
    return mean, math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))


FLOORS: Mapping[str, float] = {"lexical": 0.0, "semantic": -1.0}
"""The least score that an arm can give: BM25 is not negative, and a cosine at least -1. Other distances of vectors that are not
of length 1 may give less; then the lowest of the ranking counts."""


def _convex(name: str, candidates: Sequence[Candidate], weight: float, _k: int) -> list[float]:
    """weight x (score - floor) / (best - floor): of the pool only the best counts, so a deeper one changes nothing."""
    floor = min(FLOORS[_kind(name)], candidates[-1].score)
    span = candidates[0].score - floor
    return [weight * ((c.score - floor) / span if span > 0 else 1.0) for c in candidates]


METHODS: Mapping[str, Part] = {
    "minmax": _minmax,
    "rrf": _reciprocal_rank,
    "zscore": _zscore,
    "dbsf": _distribution,
    "convex": _convex,
}
