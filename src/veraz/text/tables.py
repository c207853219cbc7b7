"""Tables of bars and dashes: rows, header rows, what each cell is called, and each row as a sentence.

How a table is written in a text is said at `nouns.corpus.Block`. Markdown that people write is read too: header cells left blank
under a heading that spans columns, short rows, rows without a line of dashes.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from veraz.nouns.corpus import Span
from veraz.text.lines import lines, trim

_SEPARATOR = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_BAR = re.compile(r"(?<!\\)\|")
_DIGIT = re.compile(r"\d")
_LONGEST_LABEL = 160  # code points; a longer text over the whole width is a note, not the label of a group
_LONGEST_STUB = 60  # a longer cell is content, however few figures it holds
_MOST_STUBS = 3
_MOST_GROUPS = 2  # nested group rows repeated above the rows of the inner one
_WORTH_JOINING = 20  # a shorter cell that fills several columns is said once for each


@dataclass(frozen=True, slots=True)
class Row:
    """`cells` are the contents between the bars, trimmed."""

    start: int
    end: int
    cells: tuple[Span, ...]


@dataclass(frozen=True)
class Table:
    """`header` are the rows before the separator line, and a second header row that stands right after it. Rows are counted
    from 0 below the header, columns from 0."""

    text: str
    header: tuple[Row, ...]
    separator: Span | None
    rows: tuple[Row, ...]

    def cell(self, row: Row, column: int) -> str:
        if column >= len(row.cells):
            return ""
        span = row.cells[column]
        return self.text[span.start : span.end]

    @cached_property
    def width(self) -> int:
        return max((len(row.cells) for row in (*self.header, *self.rows)), default=0)

    @cached_property
    def header_cells(self) -> tuple[tuple[str, ...], ...]:
        """The header rows, with a heading that spans columns in each of them."""
        rows = [[self.cell(row, at) for at in range(self.width)] for row in self.header]
        if not _is_laid_out(rows):
            for upper, lower in itertools.pairwise(rows):
                _spread(upper, lower)
        return tuple(map(tuple, rows))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each column is called: its headers from the top down, "2023 Q3 net"; "" for a column without one."""
        columns = zip(*self.header_cells, strict=True) if self.header else ((),) * self.width
        return tuple(
            " ".join(_plain(name) for name, _ in itertools.groupby(filter(None, c))) for c in columns
        )

    @cached_property
    def stub(self) -> int:
        """How many leading columns say what a row is about: the first one, and those after it that hold no figures, or that tell
        apart rows whose label is merged."""
        rows = [row for at, row in enumerate(self.rows) if not self._spans(at)]
        figures = [self._has_figures(rows, column) for column in range(self.width)]
        stub = min(1, self.width - 1)
        while 0 < stub < min(_MOST_STUBS, self.width - 1) and any(figures[stub + 1 :]):
            if not self._is_short(rows, stub) or (figures[stub] and not self._is_merged(rows, stub - 1)):
                break
            stub += 1
        return max(stub, 0)

    @cached_property
    def group_rows(self) -> tuple[tuple[int, ...], ...]:
        """For each row the rows above it that name its group: one cell over the whole width."""
        above: list[tuple[int, ...]] = []
        run: tuple[int, ...] = ()
        for at in range(len(self.rows)):
            if not self.is_group(at):
                above.append(run)
                continue
            outer = run if at and self.is_group(at - 1) else ()
            above.append(outer[-(_MOST_GROUPS - 1) :])
            run = (*outer, at)[-_MOST_GROUPS:]
        return tuple(above)

    def is_group(self, at: int) -> bool:
        return self._spans(at) and len(self.cell(self.rows[at], 0)) <= _LONGEST_LABEL

    def row_at(self, start: int) -> int | None:
        """The row that begins at `start` in the text."""
        at = bisect_left(self.rows, start, key=lambda row: row.start)
        return at if at < len(self.rows) and self.rows[at].start == start else None

    def label_rows(self, at: int) -> tuple[int, ...]:
        """The rows above a row without which it cannot be read: those that name its group, and where its own first cell is blank
        beside other labels, the row that it continues."""
        groups = self.group_rows[at]
        carried = self._carried[at]
        return groups if carried is None else (*groups, carried)

    @cached_property
    def _carried(self) -> tuple[int | None, ...]:
        found: list[int | None] = []
        last: int | None = None
        for at, row in enumerate(self.rows):
            blank = not self.cell(row, 0)
            continues = blank and self.stub > 1 and bool(self.cell(row, 1))
            found.append(last if continues else None)
            if self._spans(at):
                last = None
            elif not blank:
                last = at
        return tuple(found)

    def _spans(self, at: int) -> bool:
        row = self.rows[at]
        return self.width > 1 and bool(self.cell(row, 0)) and all(c.start == c.end for c in row.cells[1:])

    def _has_figures(self, rows: Iterable[Row], column: int) -> bool:
        return any(_DIGIT.search(self.cell(row, column)) for row in rows)

    def _is_short(self, rows: Iterable[Row], column: int) -> bool:
        return all(len(self.cell(row, column)) <= _LONGEST_STUB for row in rows)

    def _is_merged(self, rows: Iterable[Row], column: int) -> bool:
        values = (self.cell(row, column) for row in rows)
        return any(above and above == below for above, below in itertools.pairwise(values))

    # As words

    def sentence(self, at: int, columns: Iterable[int] | None = None) -> str:
        """A row, or some of its columns, as it would be said: "Age 6–11 years: Dose 5 mg once daily"."""
        row = self.rows[at]
        if self._spans(at):
            return _plain(self.cell(row, 0))
        chosen = range(self.width) if columns is None else columns
        label = self.label(row)
        rest = "; ".join(self._said(row, [column for column in chosen if column >= self.stub]))
        if not label or not rest:
            return label or rest
        return f"{label} {rest}" if label.endswith(":") else f"{label}: {rest}"

    def label(self, row: Row) -> str:
        """What a row is about: its leading cells under their names."""
        return ", ".join(self._said(row, range(self.stub)))

    def _said(self, row: Row, columns: Sequence[int]) -> Iterator[str]:
        """Cells under their names. A long cell that fills several columns is said once, under all of their names."""
        filled = [(column, _plain(cell)) for column in columns if (cell := self.cell(row, column))]
        for (cell, _), run in itertools.groupby(filled, key=lambda one: (one[1], _place(*one))):
            names = [name for column, _ in run if column < self.width and (name := self.names[column])]
            name = " / ".join(dict.fromkeys(names))
            joint = ": " if name and self.width == 1 else " "
            yield cell if not name or name == cell else f"{name}{joint}{cell}"


def read_table(text: str, start: int, end: int) -> Table:
    """The table at text[start:end]; without a separator line the first row is its header only if it holds words alone and the
    next holds figures, and in a table of two columns if all others do: otherwise those are a name and its value."""
    parsed = [_row(text, line) for line in lines(text, start, end) if text[line.start : line.end].strip()]
    at = next((n for n, row in enumerate(parsed) if is_separator(text, row)), None)
    if at is None:
        named = _is_named(text, parsed)
        return Table(text, tuple(parsed[:named]), None, tuple(parsed[named:]))
    header, rows = parsed[:at], parsed[at + 1 :]
    if header and len(rows) > 1 and _second_header(text, header[-1], rows[0], rows[1]):
        header, rows = [*header, rows[0]], rows[1:]
    return Table(text, tuple(header), Span(parsed[at].start, parsed[at].end), tuple(rows))


def is_separator(text: str, line: Row | Span) -> bool:
    """Whether text[line] is the line of dashes below a header."""
    return text.find("-", line.start, line.end) >= 0 and bool(
        _SEPARATOR.fullmatch(text, line.start, line.end)
    )


def is_row(line: str) -> bool:
    return line.lstrip().startswith("|") or len(bars(line, 0, len(line))) >= 2


def line_at(text: str, at: int) -> Span:
    """The line that holds `at`, without its line break."""
    end = text.find("\n", at)
    return Span(text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end)


def table_at(text: str, at: int) -> Span | None:
    """The lines of the table that holds `at`; None outside of tables."""
    line = line_at(text, at)
    if not is_row(text[line.start : line.end]):
        return None
    start, end = line.start, line.end
    while start > 0 and _holds_row(text, before := line_at(text, start - 1)):
        start = before.start
    while end + 1 < len(text) and _holds_row(text, after := line_at(text, end + 1)):
        end = after.end
    return Span(start, end)


def _holds_row(text: str, line: Span) -> bool:
    return is_row(text[line.start : line.end])


def bars(text: str, start: int, end: int) -> list[int]:
    """Where the bars between cells stand; an escaped one belongs to its cell."""
    return [bar.start() for bar in _BAR.finditer(text, start, end)]


def _row(text: str, line: Span) -> Row:
    start, end = trim(text, line.start, line.end)
    found = bars(text, start, end)
    edges = [start - 1, *found, end] if not found or found[0] != start else [*found, end]
    cells = [Span(*trim(text, a + 1, b)) for a, b in itertools.pairwise(edges)]
    if found and found[-1] == end - 1:
        cells = cells[:-1]
    return Row(start, end, tuple(cells))


def _is_named(text: str, rows: Sequence[Row]) -> bool:
    if len(rows) < 2 or _figures(text, rows[0].cells) or not _figures(text, rows[1].cells):
        return False
    width = max(len(row.cells) for row in rows)
    if width != 2:
        return width == 1 or sum(cell.start < cell.end for cell in rows[0].cells) > 1
    return len(rows) > 2 and all(_figures(text, row.cells[1:]) for row in rows[1:])


def _second_header(text: str, header: Row, row: Row, following: Row) -> bool:
    """A row of words right after the separator, over a row of figures, without a label of its own, and under a header that
    leaves cells blank: only then is it surely no data."""
    blank = [cell.start == cell.end for cell in header.cells]
    unnamed = row.cells[0].start == row.cells[0].end or (blank[0] and any(blank[1:]))
    several = sum(cell.start < cell.end for cell in row.cells) > 1 or len(row.cells) == 2
    words = not _figures(text, row.cells) and _figures(text, following.cells[1:])
    return any(blank) and not all(blank) and unnamed and several and words


def _figures(text: str, cells: Sequence[Span]) -> bool:
    return any(_DIGIT.search(text[cell.start : cell.end]) for cell in cells)


def _is_laid_out(header: Sequence[Sequence[str]]) -> bool:
    """Whether merged header cells are repeated already, so that a blank one is blank."""
    beside = any(a and a == b for row in header for a, b in itertools.pairwise(row))
    return beside or any(
        a and a == b for rows in itertools.pairwise(header) for a, b in zip(*rows, strict=True)
    )


def _spread(upper: list[str], lower: Sequence[str]) -> None:
    """A blank cell over a named one stands under the last heading to its left, as people write a heading that spans columns."""
    for at in range(2, len(upper)):
        if not upper[at] and lower[at]:
            upper[at] = upper[at - 1]


def _plain(cell: str) -> str:
    return cell.replace("\\|", "|")


def _place(column: int, cell: str) -> int:
    """Equal for cells that may be said together."""
    return -1 if len(cell) >= _WORTH_JOINING else column
