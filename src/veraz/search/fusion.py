"""Fusing ranked candidates of several arms into one total order. Pure.

Score fusion follows Fox & Shaw (1994) with min-max normalisation; reciprocal rank fusion Cormack, Clarke & Buettcher (2009).
"""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """`method` is "minmax" or "rrf"; `semantic_weight` in 0..1 is the semantic arm's share, the lexical arm has the rest;
    `k` is reciprocal rank fusion's constant."""

    method: str
    semantic_weight: float
    k: int


Arms = Mapping[str, Sequence[Candidate]]


def fuse(arms: Arms, settings: FusionSettings) -> list[Fused]:
    """Every candidate of every arm once, best first. Ties: authority, newer revision, then chunk id, so the order is total."""
    ordered = {arm: sorted(candidates, key=_arm_order) for arm, candidates in arms.items()}
    parts = METHODS[settings.method](ordered, arm_weights(arms, settings), settings.k)
    found: dict[UUID, Candidate] = {}
    for candidates in ordered.values():
        for candidate in candidates:
            found.setdefault(candidate.chunk_id, candidate)
    ranks = {arm: {c.chunk_id: i for i, c in enumerate(candidates, 1)} for arm, candidates in ordered.items()}
    scores = {arm: {c.chunk_id: c.score for c in candidates} for arm, candidates in ordered.items()}
    fused = [
        Fused(
            chunk_id=key,
            score=sum(part.get(key, 0.0) for part in parts.values()),
            authority=c.authority,
            revised_at=c.revised_at,
            ranks={arm: r[key] for arm, r in ranks.items() if key in r},
            scores={arm: s[key] for arm, s in scores.items() if key in s},
            parts={arm: part[key] for arm, part in parts.items() if key in part},
        )
        for key, c in found.items()
    ]
    return sorted(fused, key=lambda f: (-f.score, -f.authority, -_day(f.revised_at), f.chunk_id))


def arm_weights(arms: Arms, settings: FusionSettings) -> dict[str, float]:
    """Each arm's share; an arm that was asked alone has all of it."""
    if len(arms) < 2:
        return dict.fromkeys(arms, 1.0)
    return {"semantic": settings.semantic_weight, "lexical": 1 - settings.semantic_weight}


def _arm_order(candidate: Candidate) -> tuple[float, int, int, UUID]:
    return -candidate.score, -candidate.authority, -_day(candidate.revised_at), candidate.chunk_id


def _day(value: date | None) -> int:
    return value.toordinal() if value else 0


Parts = dict[str, dict[UUID, float]]


def _minmax(arms: Arms, weights: Mapping[str, float], _k: int) -> Parts:
    """weight x (score - lowest) / (best - lowest) over the arm's own pool; a chunk that an arm did not return gets 0 from it."""
    parts: Parts = {}
    for arm, candidates in arms.items():
        if candidates:
            best, lowest = candidates[0].score, candidates[-1].score
            spread = best - lowest
            parts[arm] = {
                c.chunk_id: weights[arm] * ((c.score - lowest) / spread if spread > 0 else 1.0)
                for c in candidates
            }
    return parts


def _reciprocal_rank(arms: Arms, weights: Mapping[str, float], k: int) -> Parts:
    return {
        arm: {c.chunk_id: weights[arm] / (k + i) for i, c in enumerate(cs, 1)} for arm, cs in arms.items()
    }


METHODS: Mapping[str, Callable[[Arms, Mapping[str, float], int], Parts]] = {
    "minmax": _minmax,
    "rrf": _reciprocal_rank,
}
