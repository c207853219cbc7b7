"""Reading order: columns of a page, and the lines in each.

A page is cut at a gutter only where prose stands on both sides of it, line beside line. What reaches over the gutter (a title,
a wide table) parts the columns above it from those below. Everything else is read line by line, so that the two halves of a row
of figures never end up apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from veraz.providers.parsers.pdf.shapes import Box, Segment, Word, right_to_left, rows_of, segment
from veraz.providers.parsers.pdf.tables import Table

_MIN_PAIRS = 4  # lines that must stand beside one another for a gutter
_MAX_LINES = 3_000
_MAX_EDGES = 40
_MAX_DEPTH = 5


@dataclass(slots=True)
class Line(Box):
    """A line of one column, made of segments; `left`/`right` are the edges of its column, `column` its number on the page."""

    segments: list[Segment]
    text: str
    base: float
    size: float
    bold: bool
    mono: bool
    page: int = 0
    column: int = 0
    left: float = 0.0
    right: float = 0.0
    turned: bool = False


Item = Line | Table


def columns_of(items: Sequence[Segment | Table]) -> Iterator[list[Segment | Table]]:
    """The items of each column in reading order."""
    yield from _cut(list(items), 0)


def _cut(items: list[Segment | Table], depth: int) -> Iterator[list[Segment | Table]]:
    gutter = _gutter(items) if depth < _MAX_DEPTH else None
    if gutter is None:
        if items:
            yield items
        return
    over = _over(items, gutter)
    held = {id(item) for item in over}
    rest = [item for item in items if id(item) not in held]
    backwards = _reads_leftwards(rest)
    for band in _bands(over, rest):
        left = [i for i in band if i.x1 <= gutter]
        right = [i for i in band if i.x0 >= gutter]
        if id(band[0]) in held:
            yield band
            continue
        for side in (right, left) if backwards else (left, right):
            yield from _cut(side, depth + 1)


def _over(items: Sequence[Segment | Table], gutter: float) -> list[Segment | Table]:
    """What reaches over the gutter, and pieces on the same line, from top to bottom."""
    over = [item for item in items if item.x0 < gutter < item.x1]
    bases = [item.base for item in over if isinstance(item, Segment)]
    held = {id(item) for item in over}
    over += [
        item
        for item in items
        if id(item) not in held
        and isinstance(item, Segment)
        and any(abs(item.base - base) < 1.5 for base in bases)
    ]
    return sorted(over, key=_middle)


def _reads_leftwards(items: Sequence[Segment | Table]) -> bool:
    return right_to_left(" ".join(i.text for i in items if isinstance(i, Segment)))


def _bands(
    over: Sequence[Segment | Table], rest: Sequence[Segment | Table]
) -> Iterator[list[Segment | Table]]:
    """From top to bottom: items between two that reach over the gutter, and runs of those that do."""
    edges = [_middle(item) for item in over]
    waiting = sorted(rest, key=_middle)
    run: list[Segment | Table] = []
    at = 0
    for item, edge in zip(over, edges, strict=True):
        band = []
        while at < len(waiting) and _middle(waiting[at]) < edge:
            band.append(waiting[at])
            at += 1
        if band:
            if run:
                yield run
            run = []
            yield band
        run.append(item)
    if run:
        yield run
    if at < len(waiting):
        yield waiting[at:]


def _middle(item: Box) -> float:
    return (item.top + item.bottom) / 2


def _gutter(items: Sequence[Segment | Table]) -> float | None:
    """Where most lines stand beside one another with a gap between; None where that is not prose."""
    lines = [item for item in items if isinstance(item, Segment) and not item.turned]
    if not 2 * _MIN_PAIRS <= len(lines) <= _MAX_LINES:
        return None
    best: tuple[int, float, float] = (0, 0.0, 0.0)
    for at in _edges(lines):
        left = [line for line in lines if line.x1 <= at]
        right = [line for line in lines if line.x0 >= at]
        pairs = _pairs(left, right)
        if pairs < _MIN_PAIRS:
            continue
        over = sum(item.x0 < at < item.x1 for item in items)
        room = min(line.x0 for line in right) - max(line.x1 for line in left)
        if over <= 0.6 * pairs + 2 and (pairs - over, room) > best[:2] and _prose(left) and _prose(right):
            best = (pairs - over, room, _between(left, right))
    return best[2] if best[0] > 0 else None


def _edges(lines: Sequence[Segment]) -> list[float]:
    """Where columns may begin: the places at which most lines do."""
    starts = Counter(round(line.x0) for line in lines)
    return sorted(at - 1.0 for at, _ in starts.most_common(_MAX_EDGES))


def _between(left: Sequence[Segment], right: Sequence[Segment]) -> float:
    return (max(line.x1 for line in left) + min(line.x0 for line in right)) / 2


def _pairs(left: Sequence[Segment], right: Sequence[Segment]) -> int:
    """How many lines of the shorter side lie within the height of the other."""
    if not left or not right:
        return 0
    top = max(min(line.top for line in left), min(line.top for line in right))
    bottom = min(max(line.bottom for line in left), max(line.bottom for line in right))
    return min(sum(top <= _middle(line) <= bottom for line in side) for side in (left, right))


def _prose(lines: Sequence[Segment]) -> bool:
    """Whether lines mostly fill their column, and with words."""
    widths = sorted(line.x1 - line.x0 for line in lines)
    filled = median(widths) / max(
        widths[len(widths) * 4 // 5], 1.0
    )  # one long line says nothing of the others
    words = median(len(line.words) for line in lines)
    characters = median(len(line.text) for line in lines)
    wide = sum(ord(char) > 0x2E80 for line in lines[:20] for char in line.text) > 60
    return filled >= 0.5 and (words >= 3 or wide) and characters >= (8 if wide else 16)


# Lines


def lines_of(column: Sequence[Segment | Table], page: int, number: int) -> list[Item]:
    """The lines and tables of a column from top to bottom."""
    found: list[Item] = [item for item in column if isinstance(item, Table)]
    upright = [s for s in column if isinstance(s, Segment) and not s.turned]
    turned = [s for s in column if isinstance(s, Segment) and s.turned]
    words = {id(word): part for part in upright for word in part.words}
    for row in rows_of([word for part in upright for word in part.words]):
        parts = list({id(words[id(word)]): words[id(word)] for word in row}.values())
        found += map(_line, _items_apart(parts))
    found += [_line([part]) for part in turned]
    left = min((item.x0 for item in found), default=0.0)
    right = max((item.x1 for item in found), default=0.0)
    for item in found:
        if isinstance(item, Line):
            item.page, item.column, item.left, item.right = page, number, left, right
    found.sort(key=lambda item: (isinstance(item, Line) and item.turned, item.top))
    return found


_BULLETS = tuple("•·▪■●○◦‣⁃➔❖✓")


def _items_apart(parts: list[Segment]) -> list[list[Segment]]:
    """The pieces of a row; where bullets stand beside one another, each with what follows it."""
    parts.sort(key=lambda part: part.x0, reverse=right_to_left(" ".join(part.text for part in parts)))
    if not parts[0].text.startswith(_BULLETS):
        return [parts]
    groups: list[list[Segment]] = []
    for part in parts:
        if part.text.startswith(_BULLETS) or not groups:
            groups.append([])
        groups[-1].append(part)
    return groups


def _line(parts: list[Segment]) -> Line:
    words: list[Word] = [word for part in parts for word in part.words]
    whole = segment(words)
    parts.sort(key=lambda part: part.x0)
    return Line(
        whole.x0, whole.top, whole.x1, whole.bottom, parts, whole.text, whole.base, whole.size, whole.bold,
        whole.mono, turned=whole.turned,
    )  # fmt: skip


def pitches(lines: Sequence[Item]) -> list[float]:
    """Distances between lines that follow one another in a column."""
    return [
        b.base - a.base
        for a, b in pairwise(lines)
        if isinstance(a, Line) and isinstance(b, Line) and 0 < b.base - a.base < 4 * a.size
    ]
