"""Bullets that are drawn: a small dot or square beside the first word of a line, which no text layer holds."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from veraz.nouns.corpus import Span
from veraz.providers.parsers.pdf.shapes import Box, Segment, Word, right_to_left, segments_of
from veraz.text.lines import item_marker

_SIGN = "•"
_SIDES = (0.15, 0.62)  # of a mark, in sizes of the text: less is a speck, more a tick box or a picture
_LONGER = 1.6  # times the other side: what is longer is a dash or a line
_GAP = (0.2, 2.5)  # to the first word
_RISE = (0.08, 0.6)  # of its middle above the line that the words stand on
_WORD = re.compile(r"[^\W\d_]{2}")


def bullets(words: Sequence[Word], marks: Sequence[Box]) -> list[Word]:
    """A bullet for each line of words that a mark stands before; the numbers of charts have none."""
    if not marks:
        return []
    ordered = sorted(marks, key=_middle)
    middles = [_middle(mark) for mark in ordered]
    lines = segments_of([word for word in words if not word.turned])
    lines.sort(key=lambda line: line.base)
    bases = [line.base for line in lines]
    found = []
    for line in lines:
        if not _WORD.search(line.text) or item_marker(line.text, Span(0, len(line.text))) >= 0:
            continue
        first = bisect_left(middles, line.base - _RISE[1] * line.size)
        last = bisect_right(middles, line.base - _RISE[0] * line.size)
        beside = lines[bisect_left(bases, line.base - 1.5) : bisect_right(bases, line.base + 1.5)]
        if mark := next(_before(line, ordered[first:last], beside), None):
            found.append(_word(line, mark))
    return found


def _middle(mark: Box) -> float:
    return (mark.top + mark.bottom) / 2


def _before(line: Segment, marks: Sequence[Box], beside: Sequence[Segment]) -> Iterator[Box]:
    leftwards = right_to_left(line.text)
    for mark in marks:
        small, large = sorted((mark.x1 - mark.x0, mark.bottom - mark.top))
        if not _SIDES[0] * line.size <= small <= large <= min(_SIDES[1] * line.size, _LONGER * small):
            continue
        gap = mark.x0 - line.x1 if leftwards else line.x0 - mark.x1
        if not _GAP[0] * line.size <= gap <= _GAP[1] * line.size:
            continue
        low, high = (line.x1, mark.x1) if leftwards else (mark.x0, line.x0)
        reach = _GAP[0] * line.size
        if not any(
            other.x0 < high + reach and other.x1 > low - reach for other in beside if other is not line
        ):
            yield mark


def _word(line: Segment, mark: Box) -> Word:
    first = line.words[0]
    return Word(
        _SIGN, mark.x0, mark.x1, line.base, line.size, line.bold, first.order - 1, line.mono, turned=False
    )
