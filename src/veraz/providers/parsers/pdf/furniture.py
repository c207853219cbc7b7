"""Running headers, footers and page numbers: known by coming back, page after page, at the same place."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from veraz.providers.parsers.pdf.shapes import Segment
from veraz.providers.parsers.pdf.tables import Table

_ZONE = 0.15  # of the page's height, above and below
_MIN_PAGES = 3
_NEIGHBOURS = 4  # pages: what comes back later than that is text that is said twice
_MAX_LINES = 5  # of one margin
_SHORT = 60  # characters: in a longer line another number is another statement
_SAME = 4.0  # points
_NUMBER = re.compile(
    r"\W*(?:[^\W\d]{1,9}\W{0,3})?(\d{1,4}|[ivxlc]{1,7})(?:\W*(?:[^\W\d]{1,4}\W{0,3})?\d{1,4})?\W*", re.I
)
_DIGITS = re.compile(r"\d+")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass(slots=True)
class Sheet:
    """One page with what stands on it, before it has a reading order."""

    number: int
    width: float
    height: float
    items: list[Segment | Table] = field(default_factory=list)


_Item = Segment | Table


def without_furniture(sheets: Sequence[Sheet]) -> int:
    """Takes running headers, footers and page numbers out of the sheets; how many that were.

    A line goes if it comes back, digits aside if it is short, on about every second page around it and on three at least, and
    nothing but such lines stands between it and the edge; page numbers go if they count up with the pages. A page that would be
    left with nothing stays as it is."""
    margins = [list(_margins(sheet)) for sheet in sheets]
    back = _coming_back(margins)
    numbers = _page_numbers(margins)
    gone: list[set[int]] = []
    for sheet, runs in zip(sheets, margins, strict=True):
        out = {id(item) for run in runs[:2] for item in _leading(run, back | numbers)}
        out |= {
            id(item) for item in sheet.items if isinstance(item, Segment) and item.turned and id(item) in back
        }
        gone.append(out if len(out) < len(sheet.items) or out <= numbers else set())
    for sheet, out in zip(sheets, gone, strict=True):
        sheet.items = [item for item in sheet.items if id(item) not in out]
    return sum(map(len, gone))


def _margins(sheet: Sheet) -> Iterator[list[_Item]]:
    """The items in the upper zone from the edge on, those in the lower one, and text that runs another way wherever it stands."""
    limit = _ZONE * sheet.height
    upright = [item for item in sheet.items if not (isinstance(item, Segment) and item.turned)]
    yield sorted((item for item in upright if item.bottom <= limit), key=lambda item: item.top)
    yield sorted(
        (item for item in upright if item.top >= sheet.height - limit), key=lambda item: -item.bottom
    )
    yield [item for item in sheet.items if isinstance(item, Segment) and item.turned]


def _leading(run: Sequence[_Item], known: set[int]) -> Iterator[_Item]:
    """Items from the edge of the page on, up to the first line that holds something else. Many such lines are no margin."""
    lines: list[list[_Item]] = []
    for item in run:
        if lines and item.top < lines[-1][0].bottom and item.bottom > lines[-1][0].top:
            lines[-1].append(item)
        else:
            lines.append([item])
    leading = list(takewhile(lambda line: all(id(item) in known for item in line), lines))
    if len(leading) <= _MAX_LINES:
        yield from (item for line in leading for item in line)


def _coming_back(margins: Sequence[Sequence[Sequence[_Item]]]) -> set[int]:
    places: dict[tuple[int, str], list[tuple[int, float, _Item]]] = defaultdict(list)
    for page, runs in enumerate(margins):
        for zone, run in enumerate(runs):
            for item in run:
                said = _said(item)
                key = _DIGITS.sub("#", said) if len(said) <= _SHORT else said
                places[zone, key].append((page, item.top, item))
    found: set[int] = set()
    for same in places.values():
        same.sort(key=lambda each: each[1])
        for page, top, item in same:
            near = {
                other
                for other, at, _ in same
                if abs(at - top) <= _SAME and 0 < abs(other - page) <= _NEIGHBOURS
            }
            around = min(page, _NEIGHBOURS) + min(len(margins) - 1 - page, _NEIGHBOURS)
            if len(near) >= max(_MIN_PAGES - 1, 0.45 * around):
                found.add(id(item))
    return found


def _said(item: _Item) -> str:
    return item.text if isinstance(item, Segment) else " ".join(cell.text for cell in item.cells)


def _page_numbers(margins: Sequence[Sequence[Sequence[_Item]]]) -> set[int]:
    """Outermost lines that are a number which goes up by one from page to page."""
    offsets: dict[tuple[int, int], dict[int, _Item]] = defaultdict(dict)
    for page, runs in enumerate(margins):
        for zone, run in enumerate(runs[:2]):
            for item in run[:2]:
                if (value := _value(item)) is not None:
                    offsets[zone, value - page].setdefault(page, item)
    return {id(item) for pages in offsets.values() if len(pages) > 1 for item in pages.values()}


def _value(item: _Item) -> int | None:
    if not isinstance(item, Segment) or not (found := _NUMBER.fullmatch(item.text)):
        return None
    number = found[1].lower()
    return int(number) if number.isdecimal() else _roman(number)


def _roman(number: str) -> int:
    values = [_ROMAN[sign] for sign in number]
    return sum(
        -value if value < following else value
        for value, following in zip(values, [*values[1:], 0], strict=True)
    )
