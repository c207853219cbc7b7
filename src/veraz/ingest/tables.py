"""Pipe tables: rows, header rows and cells with their places in the text."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from veraz.nouns.corpus import Span
from veraz.text.lines import lines, trim

_SEPARATOR = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Row:
    """`cells` are the contents between the bars, trimmed."""

    start: int
    end: int
    cells: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """`header` are the rows before the separator line, and a second header row that stands right after it."""

    header: tuple[Row, ...]
    separator: Span | None
    rows: tuple[Row, ...]

    def header_text(self, text: str) -> str:
        """Header rows and separator, as a reader needs them above any later rows."""
        if not self.header:
            return ""
        shown = [text[row.start : row.end] for row in self.header]
        if self.separator:
            at = sum(row.start < self.separator.start for row in self.header)
            shown.insert(at, text[self.separator.start : self.separator.end])
        return "\n".join(line.strip() for line in shown)

    def row_at(self, start: int) -> Row | None:
        at = bisect_left(self.rows, start, key=lambda row: row.start)
        return self.rows[at] if at < len(self.rows) and self.rows[at].start == start else None

    def cell_name(self, text: str, row: Row, column: int) -> str:
        """What a reader calls a cell: its row's first cell and its column's headers; "" when neither is known."""
        names = [_spanning(text, header.cells, column) for header in self.header]
        label = _cell(text, row.cells, 0) if column else ""
        return " | ".join(name for name in (label, *names) if name)

    def columns(self, text: str, row: Row, columns: Sequence[int]) -> str:
        """Some columns of a row with the row's first cell and their headers. A blank header cell stands
        under the last filled one to its left, which is how a heading that spans columns is written."""
        chosen = [0, *(column for column in columns if column)]
        shown = [_line(_spanning(text, header.cells, column) for column in chosen) for header in self.header]
        rule = ["|" + "---|" * len(chosen)] if self.separator else []
        return "\n".join([*shown, *rule, _line(_cell(text, row.cells, column) for column in chosen)])


def read_table(text: str, start: int, end: int) -> Table:
    """The table at text[start:end]; without a separator line the first row is its header only if
    it holds words alone and the next holds figures."""
    parsed = [_row(text, line) for line in lines(text, start, end) if text[line.start : line.end].strip()]
    at = next((n for n, row in enumerate(parsed) if _SEPARATOR.fullmatch(text, row.start, row.end)), None)
    if at is None:
        named = len(parsed) > 1 and not _figures(text, parsed[0].cells) and _figures(text, parsed[1].cells)
        return Table(tuple(parsed[:named]), None, tuple(parsed[named:]))
    header, rows = parsed[:at], parsed[at + 1 :]
    if header and len(rows) > 1 and _second_header(text, header[-1], rows[0], rows[1]):
        header, rows = [*header, rows[0]], rows[1:]
    return Table(tuple(header), Span(parsed[at].start, parsed[at].end), tuple(rows))


def _row(text: str, line: Span) -> Row:
    start, end = trim(text, line.start, line.end)
    bars = [bar.start() for bar in _BAR.finditer(text, start, end)]
    edges = [start - 1, *bars, end] if not bars or bars[0] != start else [*bars, end]
    cells = [Span(*trim(text, a + 1, b)) for a, b in itertools.pairwise(edges)]
    if bars and bars[-1] == end - 1:
        cells = cells[:-1]
    return Row(start, end, tuple(cells))


def _second_header(text: str, header: Row, row: Row, following: Row) -> bool:
    """A row of words right after the separator, over a row of figures, and under a header that leaves
    cells blank: only then is it surely no data."""
    blanks = sum(cell.start == cell.end for cell in header.cells)
    return blanks > 0 and not _figures(text, row.cells) and _figures(text, following.cells[1:])


def _figures(text: str, cells: Sequence[Span]) -> bool:
    return any(any(map(str.isdigit, text[cell.start : cell.end])) for cell in cells)


def _cell(text: str, cells: Sequence[Span], column: int) -> str:
    return text[cells[column].start : cells[column].end] if column < len(cells) else ""


def _spanning(text: str, cells: Sequence[Span], column: int) -> str:
    filled = (content for at in range(column, 0, -1) if (content := _cell(text, cells, at)))
    return _cell(text, cells, column) if column == 0 else next(filled, "")


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
