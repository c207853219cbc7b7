"""What is found on a page: words, rulings, pictures. Everything is measured in points, downwards from the upper left corner
of the page as its text is read: a page whose text runs upwards is turned first."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(slots=True)
class Word:
    """Characters without white space between them. `base` is the line they stand on; `order` is their place in the file, in
    which right-to-left text is in logical order; `turned` text runs in another direction than its page. `stroke`: how wide its
    strokes are, of a word that was recognised."""

    text: str
    x0: float
    x1: float
    base: float
    size: float
    bold: bool
    order: int
    mono: bool = False
    turned: bool = False
    stroke: float = 0.0

    @property
    def top(self) -> float:
        return self.base - 0.75 * self.size

    @property
    def bottom(self) -> float:
        return self.base + 0.2 * self.size


@dataclass(slots=True)
class Box:
    """Whatever takes up a rectangle and is read as a whole."""

    x0: float
    top: float
    x1: float
    bottom: float


@dataclass(slots=True)
class Segment(Box):
    """Words of one line without a wide gap between them."""

    words: list[Word] = field(default_factory=list)
    text: str = ""
    base: float = 0.0
    size: float = 0.0
    bold: bool = False
    mono: bool = False
    turned: bool = False


@dataclass(frozen=True, slots=True)
class Ruling:
    """A straight line: across at `at` down the page from `low` to `high`, or down at `at`. `area`: the edge of a coloured one."""

    across: bool
    at: float
    low: float
    high: float
    area: bool = False


@dataclass(slots=True)
class PageContent:
    """`marks` are small shapes and pictures, such as bullets. `unread` counts characters whose meaning the font does not tell;
    `nuls` those that were NUL; `notes` annotations and form fields. `crowded`: more was drawn than is worth reading as rulings.
    `recognised`: the confidence of a page whose words come from OCR, 0 to 1; `unsure` counts its lines that were left out."""

    number: int
    width: float = 0.0
    height: float = 0.0
    words: list[Word] = field(default_factory=list)
    rulings: list[Ruling] = field(default_factory=list)
    marks: list[Box] = field(default_factory=list)
    pictures: int = 0
    drawn: bool = False
    unread: int = 0
    nuls: int = 0
    notes: int = 0
    crowded: bool = False
    damaged: bool = False
    recognised: float | None = None
    unsure: int = 0

    @property
    def silent(self) -> bool:
        """Something is drawn on it, and nothing of that is text."""
        return self.drawn and not self.words


def right_to_left(text: str) -> bool:
    """Whether most letters are written from right to left."""
    if text.isascii():
        return False
    sides = [unicodedata.bidirectional(char) for char in text]
    return sum(side in ("R", "AL") for side in sides) > sum(side == "L" for side in sides)


def segment(words: Sequence[Word]) -> Segment:
    """One segment from words in any order."""
    ordered = sorted(words, key=lambda word: word.x0)
    if any(right_to_left(word.text) for word in words):
        ordered = sorted(words, key=lambda word: word.order)
    widest = max(words, key=lambda word: word.size * len(word.text))
    return Segment(
        min(word.x0 for word in words),
        min(word.top for word in words),
        max(word.x1 for word in words),
        max(word.bottom for word in words),
        ordered,
        _spaced(ordered),
        widest.base,
        widest.size,
        all(word.bold for word in words if any(map(str.isalnum, word.text)))
        and any(word.bold for word in words),
        all(word.mono for word in words),
        words[0].turned,
    )


_CLOSING, _OPENING = frozenset(",.;:)]}%"), frozenset("([{")


def _spaced(words: Sequence[Word]) -> str:
    """Words with spaces between them, but for a sign that stands close to its word: a change of font is no space."""
    text = words[0].text
    for before, word in pairwise(words):
        close = abs(word.x0 - before.x1) < 0.06 * min(word.size, before.size)
        close = close and (word.text[0] in _CLOSING or before.text[-1] in _OPENING)
        text += word.text if close else f" {word.text}"
    return text


_MARK = re.compile(r"[*†‡§¶#]{1,3}")
"""What refers to a note. It is raised though often hardly smaller than the words before it."""


def rows_of(words: Sequence[Word]) -> list[list[Word]]:
    """Words that stand on one line, lines from top to bottom. Small raised or lowered words belong to the line they touch."""
    usual = sorted(word.size for word in words)[len(words) // 2] if words else 0.0
    rows: list[tuple[float, list[Word]]] = []
    small = [word for word in words if word.size < (0.95 if _MARK.fullmatch(word.text) else 0.8) * usual]
    held = {id(word) for word in small}
    for word in sorted((word for word in words if id(word) not in held), key=lambda word: word.base):
        if rows and word.base - rows[-1][0] <= 0.3 * min(word.size, 2 * usual):
            rows[-1][1].append(word)
        else:
            rows.append((word.base, [word]))
    for word in sorted(small, key=lambda word: word.base):
        middle = (word.top + word.bottom) / 2
        near = [row for row in rows if row[0] - 0.85 * usual <= middle <= row[0] + 0.25 * usual]
        touching = [row for row in near if _touches(word, row[1], usual)]
        if touching:
            min(touching, key=lambda row: abs(row[0] - word.base))[1].append(word)
        elif same := [row for row in rows if abs(row[0] - word.base) <= 0.3 * word.size]:
            same[0][1].append(word)
        else:
            rows.append((word.base, [word]))
    return [row for _, row in sorted(rows, key=lambda row: row[0])]


def _touches(word: Word, row: Sequence[Word], usual: float) -> bool:
    return any(other.x0 - usual <= word.x1 and word.x0 <= other.x1 + usual for other in row)


def segments_of(words: Sequence[Word], wide: float = 1.15) -> list[Segment]:
    """The words as segments, cut where a gap is wider than `wide` times their size; or narrower, and the word after it begins
    below and above others that follow such a gap: the edge of a column."""
    rows = rows_of(words)
    for row in rows:
        row.sort(key=lambda word: word.x0)
    edges = _edges(rows)
    found: list[Segment] = []
    for row in rows:
        part = [row[0]]
        for before, word in pairwise(row):
            gap = (word.x0 - max(other.x1 for other in part[-3:])) / max(word.size, before.size)
            if gap > wide or (gap > _NARROW and round(word.x0) in edges):
                found.append(segment(part))
                part = []
            part.append(word)
        found.append(segment(part))
    return found


_NARROW = 0.55  # of the size: more than most spaces between words
_ALIGNED = 6  # rows


def _edges(rows: Sequence[Sequence[Word]]) -> set[int]:
    """Places, in whole points, at which words begin after a gap in many rows."""
    starts: Counter[int] = Counter()
    for row in rows:
        after = {
            round(word.x0)
            for before, word in pairwise(row)
            if word.x0 - before.x1 > _NARROW * max(word.size, before.size)
        }
        starts.update(after)
    near = {at: starts[at - 1] + starts[at] + starts[at + 1] for at in starts}
    return {at + by for at, count in near.items() if count >= _ALIGNED for by in (-1, 0, 1)}
