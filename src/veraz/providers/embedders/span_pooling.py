"""Vectors of parts of one long text, from its token vectors: the pure half of late chunking (Günther et al. 2024).

The text is cut into segments where spans begin and end, and each is tokenised alone, so that every token belongs to one segment.
The model sees windows of the tokens; a token's vector is taken from the window in which it is farther from the edge.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from veraz.nouns.corpus import Span, Vectors

_OVERLAP = 4
"""Neighbouring windows share a quarter of their tokens."""


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens `start` to `end` are seen, the vectors of `first` to `last` are kept."""

    start: int
    end: int
    first: int
    last: int


def segments(text: str, groups: Sequence[Sequence[Span]]) -> list[int]:
    """Where segments begin, and the end of the text."""
    edges = {0, len(text)}
    for group in groups:
        edges.update(edge for span in group for edge in (span.start, span.end))
    return sorted(edges)


def windows(tokens: int, size: int) -> Iterator[Window]:
    """Windows of `size` tokens over `tokens` of them; what they keep covers each token exactly once."""
    step = max(1, size - size // _OVERLAP)
    starts = [*range(0, max(1, tokens - size), step), tokens - size] if tokens > size else [0]
    ends = [min(start + size, tokens) for start in starts]
    middles = [(start + end) // 2 for start, end in zip(starts[1:], ends, strict=False)]
    for start, end, (first, last) in zip(starts, ends, pairwise([0, *middles, tokens]), strict=True):
        yield Window(start, end, first, last)


class Pool:
    """Sums of token vectors by segment, so that a text of any length needs memory for its segments only."""

    def __init__(self, lengths: Sequence[int], dimension: int) -> None:
        """`lengths`: the tokens of each segment, which may be none."""
        self._ends = list(accumulate(lengths))
        self._sums = np.zeros((len(lengths), dimension), np.float64)
        self._counts = np.zeros(len(lengths), np.int64)

    @property
    def tokens(self) -> int:
        return self._ends[-1]

    def add(self, first: int, vectors: npt.NDArray[np.float32]) -> None:
        """The vectors of the tokens from `first` on."""
        at = first
        while at < first + len(vectors):
            segment = bisect_left(self._ends, at + 1)
            end = min(self._ends[segment], first + len(vectors))
            self._add(segment, vectors[at - first : end - first])
            at = end

    def add_opening(self, vectors: npt.NDArray[np.float32]) -> None:
        """Prefix and special tokens before the text, which count as part of its first words."""
        self._add(bisect_left(self._ends, 1) if self.tokens else 0, vectors)

    def add_closing(self, vectors: npt.NDArray[np.float32]) -> None:
        self._add(bisect_left(self._ends, self.tokens) if self.tokens else 0, vectors)

    def _add(self, segment: int, vectors: npt.NDArray[np.float32]) -> None:
        self._sums[segment] += vectors.sum(axis=0, dtype=np.float64)
        self._counts[segment] += len(vectors)

    def means(self, edges: Sequence[int], groups: Sequence[Sequence[Span]]) -> Vectors:
        """The mean vector of each group of spans; that of the whole text for a group without a token."""
        means = np.empty((len(groups), self._sums.shape[1]), np.float32)
        for n, group in enumerate(groups):
            held = [
                at
                for span in group
                for at in range(bisect_left(edges, span.start), bisect_left(edges, span.end))
            ]
            if not held or not self._counts[held].sum():
                held = list(range(len(self._counts)))
            means[n] = self._sums[held].sum(axis=0) / self._counts[held].sum()
        return means
