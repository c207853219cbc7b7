"""Pages without a text layer: their picture goes to an OCR engine, and what it sees becomes words and rulings as on any page.

A page is turned until its lines run across, lines that run askew are set straight, and the size of a line's letters is taken
from its ink: the boxes of an engine are too coarse to tell a heading by. What the engine is not sure of is left out and counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pypdfium2

from veraz.nouns.scan import Picture, SeenLine
from veraz.providers.parsers.pdf.shapes import PageContent, Ruling, Word
from veraz.providers.parsers.pdf.strokes import Ink, ink_of, look_of, straightened, strokes_of
from veraz.providers.ports import OcrEngine
from veraz.text.decode import storable

PIXELS = 4_400_000
"""Of the picture of a page: about 210 dots an inch on A4, whatever the scan has."""
_MAX_SCALE = 400 / 72
_MAX_SIDE = 8_000
_LEAST = 0.5
"""Confidence below which a line is not taken."""
_SURE = 0.85
"""Confidence at which nobody asks whether the page stands on its head."""
_TURNED = 0.35
"""Slope from which a line runs in another direction than its page."""
_STRAIGHT = 0.0015
_RULED_ACROSS, _RULED_DOWN, _RULED_WIDTH = 40, 20, 3  # points
_PALE = 0.5
"""Lines of tables are often printed in grey: they count as ink this far towards the shade of the paper."""
_MARGIN = 0.25
"""Of its box's height: how far the ink of a line may reach out of it."""
_ALIKE = 1.15
"""Sizes that differ by no more than this factor are one: a scan does not tell them apart."""
_HEAVY = 1.27
"""Strokes of bold letters are so much wider, in sizes, than the usual ones."""


def read_scan(page: Any, found: PageContent, engine: OcrEngine) -> None:
    """Adds to `found` what the engine sees on the page. `page` is a pypdfium2 PdfPage, which stays open."""
    picture, scale = _picture(page)
    picture, lines = _upright(picture, engine)
    found.width, found.height = picture.shape[1] / scale, picture.shape[0] / scale
    found.recognised = _confidence(lines)
    sure = [line for line in lines if line.confidence >= _LEAST]
    found.unsure = len(lines) - len(sure)
    if not sure:
        return
    slope = _slope(sure)
    straight = straightened(ink_of(picture), slope)
    for line in sure:
        found.words += _words(line, slope, straight, scale, len(found.words))
    found.rulings = _rulings(ink_of(picture, _PALE), slope, scale)
    found.pictures = 0


def _picture(page: Any) -> tuple[Picture, float]:
    """The page in shades of grey, and its pixels a point."""
    width, height = page.get_size()
    scale = min(math.sqrt(PIXELS / max(width * height, 1.0)), _MAX_SCALE, _MAX_SIDE / max(width, height, 1.0))
    bitmap = page.render(
        scale=scale, grayscale=True, draw_annots=False, may_draw_forms=False,
        bitmap_maker=pypdfium2.PdfBitmap.new_native,
    )  # fmt: skip
    try:
        shown = bitmap.to_numpy()
        return np.ascontiguousarray(shown if shown.ndim == 2 else shown[:, :, 0]), scale
    finally:
        bitmap.close()


# Which way is up


def _upright(picture: Picture, engine: OcrEngine) -> tuple[Picture, Sequence[SeenLine]]:
    """The picture turned so that its lines run across and stand on their feet, with these lines."""
    lines = engine.read(picture)
    if not lines:
        return picture, lines
    if _lies(lines):
        # An engine reads lines that run downwards: where it is sure of them the page is turned back that way.
        turns = [1, 3] if _confidence(lines) >= _SURE else [3, 1]
        tried = []
    elif _confidence(lines) < _SURE:
        turns, tried = [2], [(picture, lines)]
    else:
        return picture, lines
    for quarter in turns:
        turned = np.ascontiguousarray(np.rot90(picture, quarter))
        tried.append((turned, engine.read(turned)))
        if _confidence(tried[-1][1]) >= _SURE:
            break
    return max(tried, key=lambda each: _confidence(each[1]))


def _confidence(lines: Sequence[SeenLine]) -> float:
    """Of a character, on average; 0 where there is none."""
    size = sum(len(line.text) for line in lines)
    return sum(line.confidence * len(line.text) for line in lines) / size if size else 0.0


def _lies(lines: Sequence[SeenLine]) -> bool:
    """Whether most characters stand on lines that run up or down the page."""
    lying = sum(len(line.text) for line in lines if abs(_run(line)[1]) > abs(_run(line)[0]))
    return 2 * lying > sum(len(line.text) for line in lines)


def _run(line: SeenLine) -> tuple[float, float]:
    """From the line's beginning to its end."""
    (x0, y0), (x1, y1) = line.corners[:2]
    return x1 - x0, y1 - y0


def _slope(lines: Sequence[SeenLine]) -> float:
    """What most of the lines fall by for each pixel to the right."""
    runs = [_run(line) for line in lines]
    slopes = sorted((y / x, x) for x, y in runs if x > 0 and abs(y / x) < _TURNED)
    half = sum(x for _, x in slopes) / 2
    for slope, x in slopes:
        half -= x
        if half <= 0:
            return slope if abs(slope) > _STRAIGHT else 0.0
    return 0.0


# Words


@dataclass(frozen=True, slots=True)
class _Place:
    """A line's box in a picture that was set straight: pixels."""

    x0: float
    x1: float
    top: float
    bottom: float


def _words(line: SeenLine, slope: float, straight: Ink, scale: float, order: int) -> list[Word]:
    across, down = _run(line)
    if across <= 0 or abs(down / across) >= _TURNED:
        return [_turned(line, scale, order)]
    box = _place(line, slope)
    margin = math.ceil(_MARGIN * (box.bottom - box.top))
    upper = max(0, math.floor(box.top) - margin)
    xs = [x for x, _ in line.corners]
    strip = straight[upper : math.ceil(box.bottom) + margin, max(0, math.floor(min(xs))) : math.ceil(max(xs))]
    above, below = _reach(line.text)
    commas = sum(map(line.text.count, ",;"))
    look = look_of(strip, margin, 2 if below else 2 + 3 * commas)
    if look:
        size = (look.bottom - look.top) / (above + below)
        base = upper + look.bottom - below * size
    else:
        size, base = 0.72 * (box.bottom - box.top), box.bottom - 0.22 * (box.bottom - box.top)
    stroke = look.stroke / scale if look else 0.0
    return [
        Word(
            storable(word.text)[0],
            (box.x0 + word.start * (box.x1 - box.x0)) / scale,
            (box.x0 + word.end * (box.x1 - box.x0)) / scale,
            base / scale,
            size / scale,
            False,
            order + n,
            stroke=stroke,
        )
        for n, word in enumerate(line.words)
    ]


def _turned(line: SeenLine, scale: float, order: int) -> Word:
    """A line in another direction, as one word at its place."""
    xs, ys = [x for x, _ in line.corners], [y for _, y in line.corners]
    (x0, y0), (x1, y1) = line.corners[0], line.corners[3]
    size = 0.72 * math.hypot(x1 - x0, y1 - y0)
    middle = (min(ys) + max(ys)) / 2
    return Word(
        storable(line.text)[0],
        min(xs) / scale,
        max(xs) / scale,
        (middle + 0.3 * size) / scale,
        size / scale,
        False,
        order,
        turned=True,
    )


def _place(line: SeenLine, slope: float) -> _Place:
    straight = [(x + y * slope, y - x * slope) for x, y in line.corners]
    xs, ys = [x for x, _ in straight], [y for _, y in straight]
    return _Place(min(xs), max(xs), min(ys), max(ys))


_LOW = frozenset("acemnorsuvwxzgpqyı.,:;_…-–—=+<>~•·")
_HANGING = frozenset("gjpqyçÇ()[]{}|µ¿¡")


def _reach(text: str) -> tuple[float, float]:
    """Above and below the line, in sizes, as in common fonts. Accents of capitals stand apart and do not count."""
    above = 0.53 if all(char in _LOW for char in text if not char.isspace()) else 0.73
    return above, 0.21 if any(char in _HANGING for char in text) else 0.0


def _rulings(ink: Ink, slope: float, scale: float) -> list[Ruling]:
    strokes = strokes_of(
        ink,
        round(_RULED_ACROSS * scale),
        round(_RULED_DOWN * scale),
        max(1, round(_RULED_WIDTH * scale)),
        slope,
    )
    return [Ruling(each.across, each.at / scale, each.low / scale, each.high / scale) for each in strokes]


# One look for the whole document


def settle(pages: Sequence[PageContent]) -> None:
    """Gives the words of recognised pages the sizes that the document has, and says which are bold. Close to equal is equal."""
    words = [word for page in pages if page.recognised is not None for word in page.words if not word.turned]
    for group in list(_alike(words, lambda word: word.size)):
        size = _middle(group, lambda word: word.size)
        for word in group:
            word.size = size
    strokes = [word for word in words if word.stroke > 0]
    if not strokes:
        return
    usual = _middle(strokes, lambda word: word.stroke / word.size)
    for word in strokes:
        word.bold = word.stroke / word.size > _HEAVY * usual


def _alike(words: Sequence[Word], measure: Callable[[Word], float]) -> Iterator[list[Word]]:
    """Groups of words of about one measure; the one that holds most characters is taken first."""
    left = sorted(words, key=measure)
    while left:
        best, held, end = (0, 0, 0), 0, 0
        for start, first in enumerate(left):
            while end < len(left) and measure(left[end]) <= _ALIKE * measure(first):
                held += len(left[end].text)
                end += 1
            if held > best[0]:
                best = (held, start, end)
            held -= len(first.text)
        _, start, end = best
        yield left[start:end]
        del left[start:end]


def _middle(words: Sequence[Word], measure: Callable[[Word], float]) -> float:
    """The median over characters."""
    ordered = sorted(words, key=measure)
    half = sum(len(word.text) for word in ordered) / 2
    for word in ordered:
        half -= len(word.text)
        if half <= 0:
            return measure(word)
    return measure(ordered[-1])
