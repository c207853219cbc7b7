"""Recall against an exact result, and the figures over many queries. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from veraz.nouns.measure import Arm, IndexFigure

Ranked = Sequence[tuple[UUID, float]]
"""Chunk ids with their scores, best first."""
Interval = Callable[[Sequence[float]], tuple[float, float]]
"""A confidence interval of the mean."""
SAME_SCORE = 1e-6
"""Scores that differ by no more, of their size, are of equally good chunks: copies of a text have one vector."""
FLOOR = 0.95
"""What an index should keep of the exact result."""


@dataclass(frozen=True, slots=True)
class Found:
    """Of the first k of an exact result, `expected` of them, how many a method found."""

    expected: int
    found: int

    @property
    def recall(self) -> float:
        """1 where nothing was to be found."""
        return self.found / self.expected if self.expected else 1.0


def compare(ranked: Ranked, exact: Ranked, k: int) -> Found:
    """How many of the first k of `exact` are among the first k of `ranked`. Chunks that score as the k-th does stand for each
    other, so that a method is not blamed for the order of copies; a better score that the exact result does not know counts
    for nothing. Both are best first and hold a chunk once."""
    best = exact[:k]
    if not best:
        return Found(0, 0)
    ids, least = {chunk for chunk, _ in best}, best[-1][1]
    margin = SAME_SCORE * max(1.0, abs(least))
    good = sum(chunk in ids or abs(score - least) <= margin for chunk, score in ranked[:k])
    return Found(len(best), min(good, len(best)))


def ordered(ranked: Ranked, *, without: UUID | None = None) -> list[tuple[UUID, float]]:
    """By score, then id: an iterative scan yields rows slightly out of order. `without` is the chunk that the query is made
    of."""
    kept = (entry for entry in ranked if entry[0] != without)
    return sorted(kept, key=lambda entry: (-entry[1], entry[0]))


@dataclass(frozen=True, slots=True)
class Answers:
    """What one method with one choice of settings returned, in the order of the queries, and the milliseconds that each took."""

    arm: Arm
    method: str
    settings: Mapping[str, Any]
    ranked: Sequence[Ranked]
    times: Sequence[float]
    size_bytes: int = 0
    build_seconds: float | None = None


def figure(answers: Answers, exact: Sequence[Ranked], k: int, interval: Interval) -> IndexFigure | None:
    """The figures of one method at k. Queries to which even the exact scan finds nothing count in no mean; None where all are
    so."""
    pairs = [(compare(a, e, k), len(a[:k])) for a, e in zip(answers.ranked, exact, strict=True) if e]
    if not pairs:
        return None
    recalls = [found.recall for found, _ in pairs]
    low, high = interval(recalls)
    p50, p95 = np.percentile(np.asarray(answers.times), [50, 95])
    return IndexFigure(
        arm=answers.arm,
        method=answers.method,
        settings=answers.settings,
        k=k,
        recall=round(sum(recalls) / len(recalls), 6),
        low=round(low, 6),
        high=round(high, 6),
        worst=round(min(recalls), 6),
        complete=round(sum(r == 1 for r in recalls) / len(recalls), 6),
        short=sum(returned < found.expected for found, returned in pairs),
        p50_ms=round(float(p50), 3),
        p95_ms=round(float(p95), 3),
        size_bytes=answers.size_bytes,
        build_seconds=None if answers.build_seconds is None else round(answers.build_seconds, 3),
    )


def values(figures: Sequence[IndexFigure]) -> dict[str, float]:
    """What gates can name: `recall@10` of the live index, `ivfflat.recall@10` and `ivfflat.worst@10` of any method of the
    semantic arm, `lexical.recall@10` of the other. Of several settings the lowest counts."""
    named: dict[str, list[float]] = {}
    for row in figures:
        if row.method == "exact":
            continue
        name = "lexical" if row.arm == "lexical" else row.method
        named.setdefault(f"{name}.recall@{row.k}", []).append(row.recall)
        named.setdefault(f"{name}.worst@{row.k}", []).append(row.worst)
        if row.arm == "semantic" and row.build_seconds is None:  # the live index
            named.setdefault(f"recall@{row.k}", []).append(row.recall)
    return {name: min(found) for name, found in named.items()}


def gate_names(methods: Sequence[str], ks: Sequence[int]) -> list[str]:
    """Every name that a measurement of these methods gives a value."""
    live = ["recall"] if {"hnsw", "ivfflat", "binary"} & set(methods) else []
    asked = [m for m in (*methods, "lexical") if m != "exact"]
    names = [*live, *(f"{m}.{what}" for m in asked for what in ("recall", "worst"))]
    return [f"{name}@{k}" for name in names for k in ks]


def warnings(figures: Sequence[IndexFigure]) -> list[str]:
    """What is below the floor, and what to do about it: once a method and settings, at its lowest recall."""
    lowest: dict[tuple[str, str], IndexFigure] = {}
    for row in figures:
        key = row.method, stated(row.settings)
        if row.recall < FLOOR and (key not in lowest or row.recall < lowest[key].recall):
            lowest[key] = row
    return [_warning(row) for row in lowest.values()]


def stated(settings: Mapping[str, Any]) -> str:
    """`lists 6, probes 3`"""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _warning(row: IndexFigure) -> str:
    settings = f" ({stated(row.settings)})" if row.settings else ""
    what = f"{row.method}{settings}: recall@{row.k} is {row.recall:.3f}, under {FLOOR}"
    return f"{what}: {_ADVICE[row.method]}"


_ADVICE = {
    "hnsw": "raise [search] ef_search, or rebuild the index: reindex index concurrently",
    "hnsw_fresh": "raise [search] ef_search",
    "ivfflat": "more probes, or another index",
    "binary": "refused for this space; the signs around the mean may do better",
    "binary_centred": "refused for this space",
    "budgeted": "raise [search] budget",
}
