"""When a chunk earns a judged span, and where a judged text stands in another revision. Pure.

Lengths are code points. A chunk covers a span when they share at least half of the shorter one: a long chunk earns the
sentence that it holds, a short one the passage that it is a piece of, and none earns what it only touches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from veraz.nouns.corpus import Span
from veraz.nouns.suite import JudgedSpan


def overlap(chunk: Iterable[Span], span: Span) -> int:
    """Code points that they share."""
    return sum(max(0, min(s.end, span.end) - max(s.start, span.start)) for s in chunk)


def length(chunk: Iterable[Span]) -> int:
    return sum(s.end - s.start for s in chunk)


def covers(chunk: Sequence[Span], span: Span) -> bool:
    """Whether they share at least half of the shorter one."""
    shared = overlap(chunk, span)
    return shared > 0 and 2 * shared >= min(length(chunk), span.end - span.start)


def earned(chunk: Sequence[Span], judged: Mapping[JudgedSpan, Span]) -> tuple[JudgedSpan, ...]:
    """The judged spans of one document, given where each stands, that a chunk earns: best grade first, then in reading order.

    A chunk inside a span does not earn it where a narrower span, which is the better part of the chunk, was judged to be
    worth less: what a judge said of a passage is not true of each of its pieces once somebody looked at the piece.
    """
    covered = {span: place for span, place in judged.items() if covers(chunk, place)}
    kept = [span for span, place in covered.items() if not _overruled(chunk, span, place, covered)]
    return tuple(sorted(kept, key=lambda span: (-span.grade, covered[span].start, span.unit)))


def _overruled(
    chunk: Sequence[Span], span: JudgedSpan, place: Span, covered: Mapping[JudgedSpan, Span]
) -> bool:
    size = length(chunk)
    return any(
        other.grade < span.grade
        and where.end - where.start < place.end - place.start
        and 2 * overlap(chunk, where) >= size
        for other, where in covered.items()
    )


def places(text: str, spans: Iterable[JudgedSpan]) -> dict[JudgedSpan, Span]:
    """Where the judged texts stand in `text`: as far from their offsets as the span before them turned out to be, or at their
    offsets, or else at the nearest place where a text of the same length has the same hash. A span whose text is not there
    is left out."""
    rolling = _Rolling(text)
    found: dict[JudgedSpan, Span] = {}
    shift = 0
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        start = rolling.find(span, (shift, 0))
        if start is not None:
            shift = start - span.start
            found[span] = Span(start, start + span.end - span.start)
    return found


class _Rolling:
    """Hashes of windows of a text, which is encoded once."""

    def __init__(self, text: str) -> None:
        self._bytes = memoryview(text.encode())
        self._length = len(text)
        self._offsets: Sequence[int] = range(self._length + 1)
        if len(self._bytes) != self._length:
            points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
            widths = 1 + (points > 0x7F) + (points > 0x7FF).astype(int) + (points > 0xFFFF)
            self._offsets = [0, *np.cumsum(widths).tolist()]

    def find(self, span: JudgedSpan, shifts: Iterable[int]) -> int | None:
        size, wanted = span.end - span.start, bytes.fromhex(span.sha256)
        if size > self._length:
            return None
        for shift in shifts:
            start = span.start + shift
            if 0 <= start <= self._length - size and self._hash(start, size) == wanted:
                return start
        for start in _outwards(span.start, self._length - size):
            if self._hash(start, size) == wanted:
                return start
        return None

    def _hash(self, start: int, size: int) -> bytes:
        window = self._bytes[self._offsets[start] : self._offsets[start + size]]
        return hashlib.sha256(window).digest()


def _outwards(start: int, last: int) -> Iterator[int]:
    """0 … last, nearest to `start` first."""
    start = min(max(start, 0), last)
    yield start
    for step in range(1, max(start, last - start) + 1):
        if start - step >= 0:
            yield start - step
        if start + step <= last:
            yield start + step
