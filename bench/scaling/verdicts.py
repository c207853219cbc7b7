"""What the figures must show, and whether they do. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise

import numpy as np
from peers.arithmetic import Ratio, Times, percentile, ratio

__all__ = ["Bound", "Figures", "Ratio", "Times", "bounds", "growth", "interval", "recall"]

LARGE = 500_000
"""From here on the lexical arm is held against the exact answer, below it against the recipe and the sparse scan."""
FLOOR = 0.95
"""Recall below which an index of signs must be refused."""


def recall(found: Sequence[float], exact: Sequence[float], k: int) -> float:
    """Of the first k of the exact result, how many were found, told by their scores, both best first: among equals it does not
    matter which. Chunks that share no word with the question (score 0) are no result."""
    wanted = [score for score in exact[:k] if score > 0]
    if not wanted:
        return 1.0
    least = wanted[-1] * (1 - 1e-6)
    return sum(score >= least for score in found[: len(wanted)]) / len(wanted)


def growth(before: float, after: float, small: int, large: int) -> float:
    """By how much a time is multiplied where the corpus becomes ten times as large."""
    return float((after / before) ** (1 / math.log10(large / small)))


def interval(values: Sequence[float], *, samples: int = 2000, seed: int = 1) -> tuple[float, float]:
    """95 % of the mean, questions drawn anew."""
    found = np.asarray(values, float)
    drawn = np.random.default_rng(seed).integers(len(found), size=(samples, len(found)))
    low, high = np.quantile(found[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def around_the_floor(signs: Mapping[int, float]) -> list[int]:
    """Of recall by oversampling: the last oversampling that is below the floor, and the first that is not."""
    below = [n for n, found in sorted(signs.items()) if found < FLOOR][-1:]
    enough = [n for n, found in sorted(signs.items()) if found >= FLOOR][:1]
    return below + enough


@dataclass(slots=True)
class Figures:
    """Of one size. `sizes`: bytes of each relation; `posting_bytes`: of the blocks' rows, and of their table, a chunk;
    `seconds`: of each step of the build. `signs`: the least recall by oversampling; `refused`: whether a build was, where that
    was tried. The rest as in `Asked`."""

    chunks: int
    real: int
    times: dict[str, Times]
    found: dict[str, list[float]]
    unproven: list[str]
    posting_bytes: tuple[float, float]
    processor: dict[str, Times] = field(default_factory=dict)
    read_all: float = 0.0
    proven: float = 0.0
    postings: float = 0.0
    budgets: dict[int, dict[str, float]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    methods: list[dict[str, object]] = field(default_factory=list)
    signs: dict[int, float] = field(default_factory=dict)
    refused: dict[int, bool] = field(default_factory=dict)

    def p(self, way: str, q: float = 50) -> float:
        return percentile(self.times[way], q)

    def against(self, way: str, base: str, *, processor: bool = False) -> Ratio:
        times = self.processor if processor else self.times
        return ratio(times[way], times[base], 50)

    @property
    def slower(self) -> str:
        """The slower of the two arms, each searched alone."""
        return max(("search lexical", "search semantic"), key=self.p)


@dataclass(frozen=True, slots=True)
class Bound:
    """`figure` must not be above `limit`, or not below it (`least`)."""

    size: int
    what: str
    figure: float
    limit: float
    least: bool = False
    more: str = ""

    @property
    def holds(self) -> bool:
        return self.figure >= self.limit if self.least else self.figure <= self.limit

    @property
    def said(self) -> str:
        sign = "≥" if self.least else "≤"
        verdict = "holds" if self.holds else "FALLS SHORT"
        return f"{self.size:>9,}  {self.what:<52} {self.figure:8.3f} {self.more:<18} {sign} {self.limit:<6g} {verdict}"


def bounds(runs: Sequence[Figures]) -> list[Bound]:
    """All that is required of these runs, the smallest first."""
    found = [bound for run in runs for bound in _of_one(run)]
    for small, large in pairwise(runs):
        for way in ("lexical", "semantic", "search hybrid"):
            grown = growth(small.p(way), large.p(way), small.chunks, large.chunks)
            found.append(Bound(large.chunks, f"{way}: p50 per decade, from {small.chunks:,}", grown, 2.0))
    return found


RATIOS = (
    ("lexical", "recipe"),
    ("lexical", "sparse scan"),
    ("lexical", "lexical --exact"),
    ("semantic", "vector scan"),
    ("search hybrid", "search lexical"),
    ("search hybrid", "search semantic"),
)
"""That tables show, whatever is required of them."""


def _of_one(run: Figures) -> list[Bound]:
    found = [
        _recall(run, "semantic recall@50", 0.98),
        _recall(run, "lexical recall@50", 0.98),
        _recall(run, "lexical recall@10", 0.99),
    ]
    pairs = (
        [("lexical", "lexical --exact", 1 / 3)]
        if run.chunks >= LARGE
        else [("lexical", "recipe", 0.1), ("lexical", "sparse scan", 0.2), ("search hybrid", run.slower, 1.5)]
    )
    for way, base, limit in pairs:
        found.append(_ratio(run, way, base, limit))
    if run.chunks >= LARGE:
        found.append(Bound(run.chunks, "bytes of posting blocks a chunk", run.posting_bytes[0], 400))
    found.append(Bound(run.chunks, "questions whose --exact result is not proved", len(run.unproven), 0))
    for oversampling, refused in run.refused.items():
        below = run.signs.get(oversampling, 1.0) < FLOOR
        what = f"signs × {oversampling}: {'refused' if refused else 'built'} at recall {run.signs.get(oversampling, 1.0):.3f}"
        found.append(Bound(run.chunks, what, float(refused == below), 1, least=True))
    return found


def _recall(run: Figures, name: str, limit: float) -> Bound:
    low, high = interval(run.found[name])
    return Bound(run.chunks, name, float(np.mean(run.found[name])), limit, True, f"({low:.3f} to {high:.3f})")


def _ratio(run: Figures, way: str, base: str, limit: float) -> Bound:
    found = run.against(way, base)
    more = f"({found.low:.2f} to {found.high:.2f})"
    return Bound(run.chunks, f"{way} / {base}, p50", found.value, limit, more=more)


def plain(run: Figures) -> Mapping[str, object]:
    """For a file."""
    listed = {
        name: {way: rows.tolist() for way, rows in times.items()}
        for name, times in (("times", run.times), ("processor", run.processor))
    }
    return {**asdict(run), **listed}
