"""What is taken of another engine's candidates, and what follows them where they are too few. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from veraz.nouns.lexical import EngineCandidates
from veraz.search.fusion import Candidate

Given = tuple[tuple[UUID, float], ...]


def ordered(found: EngineCandidates, depth: int) -> Given | str:
    """The best `depth` in the order that everything is in, (score, falling; chunk id); or why none of them is taken. One score
    that is not finite, or one chunk twice, tells that something is wrong with all of them."""
    try:
        given = tuple((key, float(score)) for key, score in found.candidates)
    except (TypeError, ValueError):
        return "what it gave are no pairs of a chunk's id and a score"
    if not all(isinstance(key, UUID) for key, _ in given):
        return "an id that is no UUID"
    if not all(math.isfinite(score) for _, score in given):
        return "a score that is not finite"
    if len({key for key, _ in given}) < len(given):
        return "the same chunk twice"
    return tuple(sorted(given, key=lambda pair: (-pair[1], pair[0]))[:depth])


def deeper(depth: int, most: int) -> int | None:
    """The depth of the next question; None: deep enough."""
    return None if depth >= most else min(most, 2 * depth)


def filled(given: Sequence[Candidate], own: Sequence[Candidate]) -> list[Candidate]:
    """The engine's candidates as they are, and behind them those that only the postings found, in the order of their own scores.

    Two engines' scores cannot be compared, so what follows gets the place that its own score, as a part of the best of its own,
    has in a range as wide as the engine's scores are, right below them."""
    known = {c.chunk_id for c in given}
    more = [c for c in own if c.chunk_id not in known]
    if not given or not more:
        return list(given) or list(own)
    lowest = min(c.score for c in given)
    width = max(c.score for c in given) - lowest or abs(lowest) or 1.0
    best = max(c.score for c in own)
    placed = [replace(c, score=lowest - width * _behind(c.score, best)) for c in more]
    return [*given, *sorted(placed, key=lambda c: (-c.score, c.chunk_id))]


def _behind(score: float, best: float) -> float:
    """How far a score is below the best, from 0 to 1; never 0, or the order of the two would be that of their ids."""
    return max(1e-6, 1 - score / best) if best > 0 else 1.0
