"""Sheets of cells, whatever file they come from: found tables with their captions and header rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise

from veraz.providers.parsers.grid import MAX_CELLS, Cell, lay_out
from veraz.providers.parsers.writing import Writer

_MAX_HEADERS = 4
_FIGURE = re.compile(r"[^\w]*\d[\d\s.,:/%+\-–eE]*[^\w]*|(?:n/?a|-+|–|—)", re.I)


@dataclass(frozen=True, slots=True)
class Value:
    """What a cell shows; `figure`: a number, date or truth value; `bold`: set apart."""

    text: str
    figure: bool = False
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Area:
    """Inclusive rows and columns, from 0."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def size(self) -> int:
        return (self.bottom - self.top + 1) * (self.right - self.left + 1)

    def holds(self, row: int, column: int) -> bool:
        return self.top <= row <= self.bottom and self.left <= column <= self.right


@dataclass(slots=True)
class Sheet:
    """Filled cells by row and column. `tables` are areas that the file itself names tables, with their header rows;
    `frozen` is how many rows stay in view. What is hidden is not filled, and no gap."""

    name: str
    rows: dict[int, dict[int, Value]] = field(default_factory=dict)
    merged: list[Area] = field(default_factory=list)
    tables: list[tuple[Area, int]] = field(default_factory=list)
    frozen: int = 0
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)


def write_sheet(out: Writer, sheet: Sheet) -> int:
    """Writes the tables and lines of a sheet in reading order, below its heading. How many merged cells were kept."""
    sheet.merged = list(_sound(sheet.merged))
    out.heading(1, sheet.name)
    kept = 0
    for area in _areas(sheet):
        kept += _write_area(out, sheet, area)
    return kept


def _sound(merged: Iterable[Area]) -> Iterator[Area]:
    """Merged cells, without those that claim more places than a table may have, alone or together."""
    left = MAX_CELLS
    for area in merged:
        if 1 < area.size <= left and area.top <= area.bottom and area.left <= area.right:
            left -= area.size
            yield area


# Finding tables


def _areas(sheet: Sheet) -> list[Area]:
    """Areas parted by blank rows or columns, in reading order; what the file names a table is one."""
    stated = [area for area, _ in sheet.tables]
    free = {
        row: {
            column: value for column, value in cells.items() if not any(a.holds(row, column) for a in stated)
        }
        for row, cells in sheet.rows.items()
    }
    filled = {row: set(cells) for row, cells in free.items() if cells}
    for area in sheet.merged:  # a blank place under a merged cell is no gap
        if area.left in free.get(area.top, {}):
            for row in range(area.top, area.bottom + 1):
                filled.setdefault(row, set()).update(range(area.left, area.right + 1))
    found = [*stated, *_joined(sheet, _split(sheet, filled))]
    return sorted(found, key=lambda area: (area.top, area.left))


def _split(sheet: Sheet, filled: Mapping[int, set[int]]) -> list[Area]:
    found: list[Area] = []
    for band in _runs(sorted(filled), sheet.hidden_rows):
        columns = sorted(set().union(*(filled[row] for row in band)))
        parts = _parts(columns, sheet.hidden_columns)
        if len(parts) == 1:
            found.append(Area(band[0], columns[0], band[-1], columns[-1]))
            continue
        for part in parts:
            inside = set(part)
            rest = {row: filled[row] & inside for row in band if filled[row] & inside}
            found += _split(sheet, rest)
    return found


def _runs(numbers: Sequence[int], hidden: Set[int], gap: int = 1) -> list[list[int]]:
    """Runs of numbers that are at most `gap` apart, hidden ones not counted."""
    runs = [[number] for number in numbers[:1]]
    for before, number in pairwise(numbers):
        if number - before > gap and sum(n not in hidden for n in range(before + 1, number)) >= gap:
            runs.append([])
        runs[-1].append(number)
    return runs


def _parts(columns: Sequence[int], hidden: Set[int]) -> list[list[int]]:
    """Columns of tables side by side. One blank column parts two tables only where each has two columns: it may as well stand
    between the names of the rows and their figures."""
    parts = _runs(columns, hidden)
    if all(len(part) > 1 for part in parts):
        return parts
    return _runs(columns, hidden, gap=2)


def _joined(sheet: Sheet, areas: Sequence[Area]) -> list[Area]:
    """An area below another, of the same columns and without a header of its own, goes on with its table."""
    found: list[Area] = []
    for area in areas:
        near = range(len(found) - 1, max(-1, len(found) - 9), -1)
        at = next((n for n in near if (found[n].left, found[n].right) == (area.left, area.right)), -1)
        above = found[at] if at >= 0 else None
        wide = area.right > area.left
        goes_on = above is not None and wide and area.top - above.bottom == 2 and above.bottom > above.top
        if (
            above is not None
            and goes_on
            and not _headers(sheet, area)
            and not _is_label(sheet, area, area.top)
        ):
            found[at] = replace(above, bottom=area.bottom)
        else:
            found.append(area)
    return found


# Writing them


def _write_area(out: Writer, sheet: Sheet, area: Area) -> int:
    lines: list[str] = []
    while area.top < area.bottom and area.right > area.left and _is_label(sheet, area, area.top):
        lines.append(_line(sheet, area, area.top))
        area = replace(area, top=area.top + 1)
    if area.right == area.left or (area.top == area.bottom and len(_row(sheet, area, area.top)) == 1):
        texts = (_line(sheet, area, row) for row in range(area.top, area.bottom + 1))
        out.block("paragraph", "\n".join(filter(None, (*lines, *texts))))
        return 0
    for line in lines[:-1]:
        out.block("paragraph", line)
    cells, kept = _cells(sheet, area)
    headers = _headers(sheet, area)
    out.table(lay_out(cells, headers=headers), lines[-1] if lines else "")
    return kept


def _row(sheet: Sheet, area: Area, row: int) -> dict[int, Value]:
    return {c: v for c, v in sheet.rows.get(row, {}).items() if area.left <= c <= area.right}


def _line(sheet: Sheet, area: Area, row: int) -> str:
    return " ".join(value.text for _, value in sorted(_row(sheet, area, row).items()))


def _is_label(sheet: Sheet, area: Area, row: int) -> bool:
    """A row of one text: above a table, its caption."""
    cells = _row(sheet, area, row)
    if len(cells) != 1:
        return False
    column, value = next(iter(cells.items()))
    spans = any(m.top == row and m.left == column and m.bottom > row for m in sheet.merged)
    return column == area.left and not value.figure and not spans


def _cells(sheet: Sheet, area: Area) -> tuple[list[Cell], int]:
    spans = {(m.top, m.left): m for m in sheet.merged if area.holds(m.top, m.left)}
    cells: list[Cell] = []
    for row in range(area.top, area.bottom + 1):
        for column, value in _row(sheet, area, row).items():
            over = spans.get((row, column), Area(row, column, row, column))
            rows, columns = min(over.bottom, area.bottom) - row + 1, min(over.right, area.right) - column + 1
            cells.append(Cell(row - area.top, column - area.left, value.text, rows, columns))
    return cells, sum(cell.rows > 1 or cell.columns > 1 for cell in cells)


def _headers(sheet: Sheet, area: Area) -> int:
    """Header rows of an area: as the file states; else the rows that stay in view; else those of names over figures."""
    stated = next((count for table, count in sheet.tables if table == area), None)
    if stated is not None:
        return stated
    if area.top < sheet.frozen <= area.top + _MAX_HEADERS and sheet.frozen <= area.bottom:
        return sheet.frozen - area.top
    rows = [_row(sheet, area, row) for row in range(area.top, min(area.bottom, area.top + 200) + 1)]
    below = [m.bottom - area.top + 1 for m in sheet.merged if m.top == area.top and area.holds(m.top, m.left)]
    wide = any(m.right > m.left for m in sheet.merged if m.top == area.top and area.holds(m.top, m.left))
    return min(header_rows(rows, area.right - area.left + 1, max([*below, 1 + wide])), area.bottom - area.top)


def header_rows(rows: Sequence[Mapping[int, Value]], width: int, least: int = 1) -> int:
    """How many leading rows name the columns: none, or at least `least`. A row of names has words in nearly every column, no
    figure, and stands over rows that are not like it, or has every name once."""
    if len(rows) <= least or not rows[0] or least > _MAX_HEADERS:
        return 0
    if any(value.figure for row in rows[:least] for value in row.values()):
        return 0
    named = {column for row in rows[:least] for column in row}
    if least == 1 and len(named) * 2 <= width:
        return 0
    body = rows[least:]
    bold = all(v.bold for v in rows[0].values()) and not all(v.bold for row in body for v in row.values())
    figures = any(value.figure for row in body for value in row.values())
    names = [value.text.casefold() for value in rows[0].values()]
    return least if bold or figures or (len(names) >= width > 1 and len(set(names)) == len(names)) else 0


def is_figure(text: str) -> bool:
    """Whether a text that may hold anything, as in a CSV file, is a number, an amount, a date or a blank."""
    return bool(_FIGURE.fullmatch(text.strip()))


def counted(names: Iterable[str]) -> str:
    """Names in a warning: the first few."""
    listed = [f"“{name}”" for name in names]
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")
