"""Words and rulings of a page, read with PDFium. The only module that calls it on pages."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pypdfium2.raw as pdfium

from veraz.providers.parsers.pdf.bullets import bullets
from veraz.providers.parsers.pdf.shapes import Box, PageContent, Ruling, Word, segments_of
from veraz.text.scripts import LOWERED, RAISED

MAX_CHARACTERS = 400_000
MAX_OBJECTS = 30_000
MAX_RULINGS = 12_000
_MAX_DEPTH = 6
MAX_MARKS = 4_000
_SMALL = 16.0  # points: no bullet is larger
_THIN = 3.0  # points: a filled rectangle no wider than this is a line
_LIGATURES = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
# Signs of the Symbol and Wingdings fonts, which stand in the private area.
_SYMBOLS = {
    0xF0B7: "•", 0xF0A7: "▪", 0xF0D8: "‣", 0xF0FC: "✓", 0xF02D: "−", 0xF0B0: "°", 0xF0B1: "±", 0xF0A3: "≤", 0xF0B3: "≥",
    0xF06D: "μ", 0xF061: "α", 0xF062: "β", 0xF067: "γ", 0xF0B4: "×", 0xF0AE: "→", 0xF0AD: "↑", 0xF0AF: "↓", 0xF0A5: "∞",
    0xF0E8: "➔", 0xF0A8: "▪", 0xF076: "❖", 0xF0BB: "≈", 0xF044: "Δ", 0xF020: " ",
}  # fmt: skip
_HYPHEN = 0x02  # what PDFium gives for a hyphen at the end of a line
_SPACES = frozenset(
    {0x09, 0x0A, 0x0D, 0x20, 0xA0, 0x2002, 0x2003, 0x2004, 0x2005, 0x2009, 0x200A, 0x202F, 0x3000}
)


@dataclass(slots=True)
class _Style:
    size: float
    bold: bool
    mono: bool
    angle: int  # degrees, anticlockwise


@dataclass(slots=True)
class _Open:
    """The word being read, in the frame of its own direction."""

    style: _Style
    x0: float
    x1: float
    base: float
    order: int
    end: int  # the last character's place in the file, and its origin
    across: float
    chars: list[str] = field(default_factory=list)


def read_page(page: Any, number: int) -> PageContent:
    """What is on the page. `page` is a pypdfium2 PdfPage, which stays open."""
    text = page.get_textpage()
    found = PageContent(number)
    try:
        by_angle = _words_by_angle(text.raw, found)
    finally:
        text.close()
    angle = _direction(by_angle)
    frame = _Frame.of(page, angle)
    found.width, found.height = frame.width, frame.height
    for each, words in by_angle.items():
        found.words += [frame.placed(word) for word in words] if each == angle else frame.turned(words, each)
    _read_drawings(page, frame, found)
    found.words += bullets(found.words, found.marks)
    found.notes = _count_notes(page)
    return found


def _direction(by_angle: dict[int, list[Word]]) -> int:
    sizes = {angle: sum(len(word.text) for word in words) for angle, words in by_angle.items()}
    straight = {angle: size for angle, size in sizes.items() if angle % 90 == 0}
    return max(straight, key=lambda angle: straight[angle]) if straight else 0


# Frames


@dataclass(slots=True)
class _Frame:
    """Turns places on the page into those of its reading direction."""

    cos: float
    sin: float
    left: float
    top: float
    width: float
    height: float

    @classmethod
    def of(cls, page: Any, angle: int) -> _Frame:
        cos, sin = _unit(angle)
        x0, y0, x1, y1 = page.get_mediabox()
        corners = [_turn(x, y, cos, sin) for x in (x0, x1) for y in (y0, y1)]
        left, top = min(x for x, _ in corners), min(y for _, y in corners)
        return cls(cos, sin, left, top, max(x for x, _ in corners) - left, max(y for _, y in corners) - top)

    def point(self, x: float, y: float) -> tuple[float, float]:
        across, down = _turn(x, y, self.cos, self.sin)
        return across - self.left, down - self.top

    def placed(self, word: Word) -> Word:
        word.x0, word.x1, word.base = word.x0 - self.left, word.x1 - self.left, word.base - self.top
        return word

    def turned(self, words: list[Word], angle: int) -> list[Word]:
        """Lines of text in another direction, each as one word at its place."""
        cos, sin = _unit(angle)
        lines = []
        for line in segments_of(words):
            corners = [
                self.point(x * cos + y * sin, x * sin - y * cos)
                for x in (line.x0, line.x1)
                for y in (line.top, line.bottom)
            ]
            x0, x1 = min(x for x, _ in corners), max(x for x, _ in corners)
            middle = sum(y for _, y in corners) / 4
            first = line.words[0]
            lines.append(
                Word(
                    line.text,
                    x0,
                    x1,
                    middle + 0.3 * line.size,
                    line.size,
                    line.bold,
                    first.order,
                    turned=True,
                )
            )
        return lines


def _unit(angle: int) -> tuple[float, float]:
    return math.cos(math.radians(angle)), math.sin(math.radians(angle))


def _turn(x: float, y: float, cos: float, sin: float) -> tuple[float, float]:
    """Across and down, for text that runs at the angle."""
    return x * cos + y * sin, x * sin - y * cos


# Words


def _words_by_angle(raw: Any, found: PageContent) -> dict[int, list[Word]]:
    words: dict[int, list[Word]] = {}
    seen: dict[str, list[tuple[float, float]]] = {}
    for angle, word in _Reader(raw, found).words():
        twins = seen.setdefault(word.text, [])
        near = 0.2 * word.size
        # Bold is sometimes made by writing twice, a little apart.
        if any(abs(word.x0 - x) < near and abs(word.base - y) < near for x, y in twins[-50:]):
            continue
        twins.append((word.x0, word.base))
        words.setdefault(angle, []).append(word)
    return words


class _Reader:
    """Cuts the characters of a page into words: at white space, and where the next one stands elsewhere.

    A page holds thousands of characters and each call of PDFium costs, so inside a word only the code and the origin are asked
    for; boxes are read where a word begins and ends, and where a character stands far from the last one.
    """

    def __init__(self, raw: Any, found: PageContent) -> None:
        self.raw, self.found = raw, found
        self.box, self.matrix = pdfium.FS_RECTF(), pdfium.FS_MATRIX()
        self.x, self.y = ctypes.c_double(), ctypes.c_double()
        self.fonts: dict[int, tuple[bool, bool]] = {}
        self.unit: tuple[float, float] = (1.0, 0.0)

    def words(self) -> Iterator[tuple[int, Word]]:
        count = min(pdfium.FPDFText_CountChars(self.raw), MAX_CHARACTERS)
        unicode_of, origin_of = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetCharOrigin
        raw, x, y = self.raw, self.x, self.y
        open_: _Open | None = None
        for at in range(count):
            code = unicode_of(raw, at)
            char = chr(code) if 0x20 < code < 0x7F else "" if code in _SPACES else self._char(code, at)
            if not char:
                if code in _SPACES and open_ is not None:
                    yield self._closed(open_)
                    open_ = None
                continue
            origin_of(raw, at, x, y)
            if open_ is not None and not self._follows(open_, at):
                yield self._closed(open_)
                open_ = None
            if open_ is None:
                open_ = self._opened(at)
            self._add(open_, char, at)
        if open_ is not None:
            yield self._closed(open_)

    def _opened(self, at: int) -> _Open:
        style = self._style(at)
        x0, x1 = self._sides(at)
        across, base = self._origin()
        return _Open(style, x0, x1, base, at, at, across)

    def _origin(self) -> tuple[float, float]:
        cos, sin = self.unit
        return (
            (self.x.value, -self.y.value)
            if sin == 0.0 and cos == 1.0
            else _turn(self.x.value, self.y.value, cos, sin)
        )

    def _sides(self, at: int) -> tuple[float, float]:
        """Left and right of a character in the direction of the open word."""
        pdfium.FPDFText_GetLooseCharBox(self.raw, at, self.box)
        box, (cos, sin) = self.box, self.unit
        if sin == 0.0 and cos == 1.0:
            return box.left, box.right
        across = [_turn(x, y, cos, sin)[0] for x in (box.left, box.right) for y in (box.bottom, box.top)]
        return min(across), max(across)

    def _follows(self, open_: _Open, at: int) -> bool:
        """Whether a character stands next to the last one, on either side, or is raised or lowered a little."""
        across, base = self._origin()
        size = open_.style.size
        if abs(base - open_.base) > 0.55 * size:
            return False
        if -0.1 * size <= across - open_.across <= 0.8 * size:
            return True
        self._stretch(open_, *self._sides(open_.end))
        x0, x1 = self._sides(at)
        over = min(x1, open_.x1) - max(x0, open_.x0)
        return over < 0.3 * size and max(x0 - open_.x1, open_.x0 - x1) <= 0.35 * size

    def _stretch(self, open_: _Open, x0: float, x1: float) -> None:
        open_.x0, open_.x1 = min(open_.x0, x0), max(open_.x1, x1)

    def _closed(self, open_: _Open) -> tuple[int, Word]:
        self._stretch(open_, *self._sides(open_.end))
        style = open_.style
        text = "".join(open_.chars)
        return style.angle, Word(
            text, open_.x0, open_.x1, open_.base, style.size, style.bold, open_.order, style.mono
        )

    def _char(self, code: int, at: int) -> str:
        """The character, or "" for what is no text."""
        if code == _HYPHEN:
            return "-"
        if code == 0:
            self.found.nuls += 1
            return ""
        if code in (0xFFFD, 0xFFFE, 0xFFFF) or (
            code < 0x20 and pdfium.FPDFText_HasUnicodeMapError(self.raw, at) == 1
        ):
            self.found.unread += 1
            return ""
        if code < 0x20 or code == 0xFEFF:
            return ""
        if 0xE000 <= code <= 0xF8FF:
            return self._symbol(code)
        return _LIGATURES.get(code) or chr(code)

    def _symbol(self, code: int) -> str:
        known = _SYMBOLS.get(code)
        if known is None:
            self.found.unread += 1
        return known or ""

    def _style(self, at: int) -> _Style:
        pdfium.FPDFText_GetMatrix(self.raw, at, self.matrix)
        matrix = self.matrix
        scale = math.hypot(matrix.c, matrix.d) or 1.0
        size = pdfium.FPDFText_GetFontSize(self.raw, at) * scale
        angle = round(math.degrees(math.atan2(matrix.b, matrix.a)))
        angle = angle if angle % 90 > 2 else angle // 90 * 90
        angle = (angle + 2) // 90 * 90 if angle % 90 > 87 else angle
        bold, mono = self._font(at)
        angle %= 360
        self.unit = (1.0, 0.0) if angle == 0 else _unit(angle)
        return _Style(max(abs(size), 0.1), bold, mono, angle)

    def _font(self, at: int) -> tuple[bool, bool]:
        owner = pdfium.FPDFText_GetTextObject(self.raw, at)
        font = pdfium.FPDFTextObj_GetFont(owner) if owner else None
        if not font:
            return False, False
        key = ctypes.addressof(font.contents)
        if key not in self.fonts:
            self.fonts[key] = _font_style(font)
        return self.fonts[key]

    def _add(self, open_: _Open, char: str, at: int) -> None:
        across, base = self._origin()
        size = open_.style.size
        if open_.chars:
            near = abs(across - open_.across) < 0.12 * size
            if near and char == open_.chars[-1] and self._is_twin(open_.end, at, across != open_.across):
                return
            if abs(rise := open_.base - base) > 0.08 * size:
                char = self._small(open_, char, rise, at)
        open_.chars.append(char)
        open_.end, open_.across = at, across

    def _is_twin(self, before: int, at: int, apart: bool) -> bool:
        """Whether a character is written twice to look bold; the two letters of a ligature have one place and one owner."""
        one = pdfium.FPDFText_GetTextObject(self.raw, before)
        other = pdfium.FPDFText_GetTextObject(self.raw, at)
        return (
            apart
            or not one
            or not other
            or ctypes.addressof(one.contents) != ctypes.addressof(other.contents)
        )

    def _small(self, open_: _Open, char: str, rise: float, at: int) -> str:
        """A raised or lowered figure as the sign that says so: 10⁵ is not 105."""
        pdfium.FPDFText_GetMatrix(self.raw, at, self.matrix)
        size = abs(pdfium.FPDFText_GetFontSize(self.raw, at) * math.hypot(self.matrix.c, self.matrix.d))
        if char not in RAISED or size > 0.85 * open_.style.size:
            return char
        return (RAISED if rise > 0 else LOWERED).get(char, char)


def _font_style(font: Any) -> tuple[bool, bool]:
    name = ctypes.create_string_buffer(256)
    pdfium.FPDFFont_GetBaseFontName(font, name, 256)
    low = name.value.lower()
    bold = any(word in low for word in (b"bold", b"black", b"heavy", b"semibd", b"demi"))
    weight = pdfium.FPDFFont_GetWeight(font)
    flags = pdfium.FPDFFont_GetFlags(font)
    mono = bool(flags & 1) or b"courier" in low or b"mono" in low
    return bold or 600 <= weight <= 1000 or bool(flags & (1 << 18)), mono


# Drawings


@dataclass(slots=True)
class _Budget:
    objects: int = MAX_OBJECTS


def _read_drawings(page: Any, frame: _Frame, found: PageContent) -> None:
    budget = _Budget()
    identity = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    count = pdfium.FPDFPage_CountObjects(page.raw)
    found.drawn = count > 0
    for at in range(count):
        _read_object(pdfium.FPDFPage_GetObject(page.raw, at), identity, frame, found, budget, 0)
        if found.crowded:
            break


def _read_object(
    obj: Any, outer: tuple[float, ...], frame: _Frame, found: PageContent, budget: _Budget, depth: int
) -> None:
    budget.objects -= 1
    if budget.objects < 0 or len(found.rulings) > MAX_RULINGS:
        found.crowded = True
        return
    kind = pdfium.FPDFPageObj_GetType(obj)
    if kind == pdfium.FPDF_PAGEOBJ_TEXT:
        return
    matrix = _combined(_matrix(obj), outer)
    if kind in (pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE) and len(found.marks) < MAX_MARKS:
        found.marks += _marks(obj, kind, outer, frame)
    if kind == pdfium.FPDF_PAGEOBJ_PATH:
        found.rulings += _rulings(obj, matrix, frame)
    elif kind == pdfium.FPDF_PAGEOBJ_IMAGE:
        found.pictures += abs(matrix[0]) + abs(matrix[1]) > 48 and abs(matrix[2]) + abs(matrix[3]) > 48
    elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
        for at in range(pdfium.FPDFFormObj_CountObjects(obj)):
            _read_object(pdfium.FPDFFormObj_GetObject(obj, at), matrix, frame, found, budget, depth + 1)
            if found.crowded:
                return


def _matrix(obj: Any) -> tuple[float, ...]:
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(obj, matrix):
        return (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    return (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _combined(inner: tuple[float, ...], outer: tuple[float, ...]) -> tuple[float, ...]:
    a, b, c, d, e, f = inner
    p, q, r, s, t, u = outer
    return (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u)


def _marks(obj: Any, kind: int, outer: tuple[float, ...], frame: _Frame) -> Iterator[Box]:
    """The place of what is small and can be seen."""
    a, b, c, d, e, f = outer
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not pdfium.FPDFPageObj_GetBounds(obj, left, bottom, right, top):
        return
    places = [
        frame.point(x * a + y * c + e, x * b + y * d + f)
        for x in (left.value, right.value)
        for y in (bottom.value, top.value)
    ]
    xs, ys = [x for x, _ in places], [y for _, y in places]
    box = Box(min(xs), min(ys), max(xs), max(ys))
    if not 0 < max(box.x1 - box.x0, box.bottom - box.top) < _SMALL:
        return
    if kind == pdfium.FPDF_PAGEOBJ_PATH:
        fill, stroke = _painted(obj)
        if not stroke and (not fill or _is_white(obj)):
            return
    yield box


def _painted(obj: Any) -> tuple[bool, bool]:
    """Whether a path is filled, and whether its outline is drawn."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    known = pdfium.FPDFPath_GetDrawMode(obj, fill, stroke)
    return bool(known and fill.value), bool(known and stroke.value)


def _rulings(obj: Any, matrix: tuple[float, ...], frame: _Frame) -> Iterator[Ruling]:
    fill, stroke = _painted(obj)
    if not (fill or stroke):
        return
    white = fill and not stroke and _is_white(obj)
    for points in _subpaths(obj, matrix, frame):
        if stroke:
            yield from _straight(points)
        elif 4 <= len(points) <= 6:
            yield from _filled(points, white)


def _subpaths(obj: Any, matrix: tuple[float, ...], frame: _Frame) -> Iterator[list[tuple[float, float]]]:
    """Runs of points joined by straight lines; a curve ends one."""
    a, b, c, d, e, f = matrix
    x, y = ctypes.c_float(), ctypes.c_float()
    points: list[tuple[float, float]] = []
    for at in range(min(pdfium.FPDFPath_CountSegments(obj), 2 * MAX_RULINGS)):
        part = pdfium.FPDFPath_GetPathSegment(obj, at)
        kind = pdfium.FPDFPathSegment_GetType(part)
        pdfium.FPDFPathSegment_GetPoint(part, x, y)
        place = frame.point(x.value * a + y.value * c + e, x.value * b + y.value * d + f)
        if kind != pdfium.FPDF_SEGMENT_LINETO:
            if len(points) > 1:
                yield points
            points = []
        points.append(place)
        if pdfium.FPDFPathSegment_GetClose(part) and len(points) > 1:
            points.append(points[0])
            yield points
            points = []
    if len(points) > 1:
        yield points


def _straight(points: list[tuple[float, float]], area: bool = False) -> Iterator[Ruling]:
    for (x0, y0), (x1, y1) in pairwise(points):
        if abs(y0 - y1) < 1 < abs(x0 - x1):
            yield Ruling(True, (y0 + y1) / 2, min(x0, x1), max(x0, x1), area)
        elif abs(x0 - x1) < 1 < abs(y0 - y1):
            yield Ruling(False, (x0 + x1) / 2, min(y0, y1), max(y0, y1), area)


def _filled(points: list[tuple[float, float]], white: bool) -> Iterator[Ruling]:
    """A thin rectangle is a line; the edges of a coloured area are as good as lines."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    x0, x1, y0, y1 = min(xs), max(xs), min(ys), max(ys)
    wide, high = x1 - x0, y1 - y0
    if high <= _THIN < wide:
        yield Ruling(True, (y0 + y1) / 2, x0, x1)
    elif wide <= _THIN < high:
        yield Ruling(False, (x0 + x1) / 2, y0, y1)
    elif not white and wide > 2 * _THIN and high > 2 * _THIN:
        yield from _straight([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], area=True)


def _is_white(obj: Any) -> bool:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not pdfium.FPDFPageObj_GetFillColor(obj, red, green, blue, alpha):
        return False
    return min(red.value, green.value, blue.value) > 250 or alpha.value < 8


def _count_notes(page: Any) -> int:
    """Annotations that hold words of their own, and form fields: neither is in the text of the page."""
    worded = (pdfium.FPDF_ANNOT_TEXT, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_WIDGET)
    found = 0
    for at in range(min(pdfium.FPDFPage_GetAnnotCount(page.raw), 10_000)):
        if annotation := pdfium.FPDFPage_GetAnnot(page.raw, at):
            found += pdfium.FPDFAnnot_GetSubtype(annotation) in worded
            pdfium.FPDFPage_CloseAnnot(annotation)
    return found
