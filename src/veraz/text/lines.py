"""Lines, bullets and wrapping: what plain text shows of its structure without any markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from veraz.nouns.corpus import Span

EOL = r"(?:\r\n|[\n\r\f\v\x85\u2028\u2029])"
_EOL = re.compile(EOL)
_SIGNS = "-–—*+•·◦▪■●○‣⁃"
_ITEM = re.compile(
    rf"[ \t\xa0]*(?:[{_SIGNS}]|\(?\d{{1,3}}[.)]|\d{{1,3}}[-–](?=[ \t])|\(?[a-zA-Z]\))[ \t\xa0]+(?=\S)"
)
_INLINE_ITEM = re.compile(r"(?<=\S)[ \t\xa0]{2,}(?=[-•*·▪●][ \t\xa0]+[^\s\-])")
_GAP = re.compile(r"[ \t\xa0]{2}")
_FIRST_WORD = re.compile(r"\s*(\S*)")
WIDE_GAP = re.compile(r"[ \t\xa0]{3,}")
ENDS_SENTENCE = re.compile(r"""[.!?:…][)\]"'”’»]*$""")
_RULER = re.compile(r"[ \t]*([-=_*~#+.·•])(?:[ \t]*\1){2,}[ \t]*")
# Below this width a short line says nothing about where a paragraph was wrapped.
_NARROW = 45


def lines(text: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """The lines of text[start:end] without their line breaks, whatever the platform that wrote them."""
    end = len(text) if end is None else end
    for eol in _EOL.finditer(text, start, end):
        yield Span(start, eol.start())
        start = eol.end()
    if start < end:
        yield Span(start, end)


def item_marker(text: str, line: Span) -> int:
    """Where the text of a list item begins, after its bullet or number; -1 for a line that is no item."""
    found = _ITEM.match(text, line.start, line.end)
    return found.end() if found else -1


def is_ruler(text: str, line: Span) -> bool:
    """A line drawn from one repeated sign, such as `-----` or `* * *`."""
    found = _RULER.match(text, line.start, line.end)
    return bool(found) and found.end() == line.end  # type: ignore[union-attr]


def wrap_width(group: Sequence[Span]) -> int:
    """The width at which the lines of a group seem to be wrapped, in characters."""
    return max((line.end - line.start for line in group), default=0)


def deliberate_break(text: str, line: Span, following: Span, width: int) -> bool:
    """Whether the author, not a wrapping at `width`, ended `line`: the next word would still have
    fitted, and the next line begins like a new sentence or entry."""
    word_start, word_end = _first_word(text, following)
    if word_start == word_end or text[word_start].islower() or text[word_start] in ",;.:)]}%":
        return False
    used = len(text[line.start : line.end].rstrip())
    return used + 1 + word_end - word_start <= max(width, _NARROW)


def _first_word(text: str, line: Span) -> tuple[int, int]:
    return _FIRST_WORD.match(text, line.start, line.end).span(1)  # type: ignore[union-attr]


@dataclass(slots=True)
class LinePart:
    """A line, or one part of a line; `fresh` begins a new block even after a part of the same kind."""

    item: bool
    start: int
    end: int
    fresh: bool = False


def line_parts(text: str, line: Span) -> list[LinePart]:
    """A line cut where bullets stand inside it, and where a wide gap follows the end of a sentence or of
    the last item.

    Text extracted from web pages often loses its line breaks and keeps their indentation: "include:    -
    Age    - Sex".
    """
    if not _GAP.search(text, line.start, line.end):
        start, end = trim(text, line.start, line.end)
        return [LinePart(False, start, end) if start < end else LinePart(False, line.start, line.end)]
    cuts = [
        (found.end(), found.end() - found.start())
        for found in _INLINE_ITEM.finditer(text, line.start, line.end)
    ]
    usual = sorted(gap for _, gap in cuts)[len(cuts) // 2] if cuts else 0
    starts = [line.start, *(at for at, _ in cuts)]
    parts: list[LinePart] = []
    for n, (start, end) in enumerate(zip(starts, [*starts[1:], line.end], strict=True)):
        # What precedes the first bullet is ordinary text unless the line itself begins with one.
        item = n > 0 or (bool(cuts) and item_marker(text, line) >= 0)
        parts += _at_wide_gaps(text, start, end, item, usual)
    return parts or [LinePart(False, line.start, line.end)]


def _at_wide_gaps(text: str, start: int, end: int, item: bool, usual: int) -> list[LinePart]:
    """Inside an item a gap wider than the one before the bullets ends the list; elsewhere a wide gap
    after a sentence ends the paragraph."""
    parts: list[LinePart] = []
    at = start
    for gap in WIDE_GAP.finditer(text, *trim(text, start, end)):
        ends = ENDS_SENTENCE.search(text[max(at, gap.start() - 8) : gap.start()])
        if (gap.end() - gap.start() >= max(usual + 1, 3)) if item else ends:
            parts.append(LinePart(item, *trim(text, at, gap.start()), fresh=bool(parts)))
            at, item = gap.end(), False
    parts.append(LinePart(item, *trim(text, at, end), fresh=bool(parts)))
    return [part for part in parts if part.end > part.start]


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without outer white space; empty (start == end) when there is nothing else."""
    if start >= end:
        return start, start
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    return (start + left, start + len(part.rstrip())) if left < len(part) else (start, start)
