"""Running heads and feet of texts that were exported page by page: lines that come back at the edges of pages.

Pages end at form feeds; without any, at lines that number pages and count up ("Page 3 of 12", "- 3 -"). Unlike in PDF, where
places on the page tell a running head from text, only the words do here: so the first of each stays where it is, and nothing can
become impossible to find. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from veraz.nouns.corpus import Span
from veraz.text.lines import lines

_MIN_PAGES = 3
_NEIGHBOURS = 4  # pages: what comes back later than that is text that is said twice
_SHARE = 0.45  # of the pages around
_EDGE = 3  # lines at each edge of a page
_LONGEST = 120
_PAGE = r"(?:page|pag|pág|página|pagina|seite|blatt|sheet|hoja|folio)"
_NAMED = re.compile(rf"\b{_PAGE}\.?[ ]?\d{{1,4}}(?:[ ]?(?:of|de|von|di|sur|/)[ ]?\d{{1,4}})?\b", re.I)
_SET_OFF = re.compile(
    r"^(?:[-–—][ ]?)?(\d{1,4})(?:[ ]?[-–—]|[ ]?/[ ]?\d{1,4})?(?:$|[ ]{2,}|\t)|(?:[ ]{2,}|\t)(\d{1,4})$"
)
"""A number alone, or parted from the words by a wide gap: the page's, where it goes up with the pages."""
_NUMBER = re.compile(
    rf"^[ \t]*(?:{_PAGE}\.?[ ]?(\d{{1,4}})(?:[ ]?(?:of|de|von|di|sur|/)[ ]?\d{{1,4}})?"
    r"|[-–—][ ]?(\d{1,4})[ ]?[-–—]|(\d{1,4})[ ]?/[ ]?\d{1,4})[ \t]*\r?$",
    re.I | re.M,
)

_Page = list[Span]
"""The lines of one page that hold something, from above."""
_Places = dict[tuple[int, str], list[int]]
"""The pages that say a line at an edge, rising."""


def pages_of(text: str) -> tuple[int, ...]:
    """Where each page begins; nothing for a text without form feeds."""
    ends = [found.end() for found in re.finditer("\f", text)]
    starts = [0, *(end for end in ends if text[end:].strip())] if text.count("\f") < 5_000 else []
    return tuple(starts) if len(starts) > 1 else ()


def repeated_lines(text: str) -> list[Span]:
    """Lines that a page before said at the same edge, in order."""
    pages = list(_pages(text))
    if len(pages) < _MIN_PAGES:
        return []
    places: _Places = defaultdict(list)
    edges = [[(0, page[:_EDGE]), (1, page[: -_EDGE - 1 : -1])] for page in pages]
    for number, sides in enumerate(edges):
        for side, found in sides:
            for line in found:
                if (key := (side, _key(text, line, number))) and places[key][-1:] != [number]:
                    places[key].append(number)
    out: list[Span] = []
    for number, (page, sides) in enumerate(zip(pages, edges, strict=True)):
        gone = {
            line.start: line
            for side, found in sides
            for line, same in _coming_back(text, side, found, places, number, len(pages))
            if same[0] != number
        }
        if len(gone) < len(page):  # a page that says nothing else says this
            out += [gone[start] for start in sorted(gone)]
    return out


def _coming_back(
    text: str, side: int, found: Sequence[Span], places: _Places, page: int, pages: int
) -> Iterator[tuple[Span, Sequence[int]]]:
    """From the edge on, up to the first line that holds something else: each with the pages that say it."""
    for line in found:
        same = places.get((side, _key(text, line, page)), ())
        if not _comes_back(same, page, pages):
            return
        yield line, same


def _comes_back(same: Sequence[int], page: int, pages: int) -> bool:
    near = bisect_right(same, page + _NEIGHBOURS) - bisect_left(same, page - _NEIGHBOURS) - 1
    around = min(page, _NEIGHBOURS) + min(pages - 1 - page, _NEIGHBOURS)
    return near >= max(_MIN_PAGES - 1, _SHARE * around)


def _key(text: str, line: Span, page: int) -> str:
    """What must come back: the words, but for the number of the page. Any other number is part of what is said: a line on 5 mg is
    not one on 10 mg."""
    said = text[line.start : line.end].strip()
    if len(said) > _LONGEST:
        return ""
    if found := _SET_OFF.search(said):
        number = int(found[1] or found[2])
        return f"{said[: found.start()].strip()}{said[found.end() :].strip()} #{number - page}"
    return " ".join(_NAMED.sub("#", said).split())


def _pages(text: str) -> Iterator[_Page]:
    if "\f" in text:
        at = 0
        for part in text.split("\f"):
            yield _held(text, at, at + len(part))
            at += len(part) + 1
    else:
        yield from _numbered_pages(text)


def _held(text: str, start: int, end: int) -> _Page:
    return [line for line in lines(text, start, end) if text[line.start : line.end].strip()]


def _numbered_pages(text: str) -> Iterator[_Page]:
    """The lines between those that number pages; such a line is the last of its page, whichever edge it stood at."""
    found = list(_NUMBER.finditer(text))
    numbers = [int(next(filter(None, each.groups()))) for each in found]
    if len(found) < _MIN_PAGES or any(after != number + 1 for number, after in pairwise(numbers)):
        return
    at = 0
    for each in found:
        yield _held(text, at, each.end())
        at = each.end()
    if rest := _held(text, at, len(text)):
        yield rest
