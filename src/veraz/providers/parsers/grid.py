"""Cells that span rows and columns, laid out as rows that can each be read alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_CELLS = 500_000
MAX_COLUMNS = 1_000


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell by the place of its upper left corner, counted from 0. `text` is on one line or several; `header`: names what
    stands below it."""

    row: int
    column: int
    text: str
    rows: int = 1
    columns: int = 1
    header: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of equal width, the first `headers` of them header rows. A cell that spans rows or columns stands in each of them,
    so that every row can be read by itself; one that spans the whole width of a body row stands in its first column alone."""

    rows: tuple[tuple[str, ...], ...]
    headers: int = 0

    @property
    def width(self) -> int:
        return len(self.rows[0]) if self.rows else 0

    def pipes(self) -> str:
        """The table as it is written in a document's text: see Block. "" for a table without a word."""
        if not any(any(row) for row in self.rows):
            return ""
        lines = [pipe_row(row) for row in self.rows]
        if self.headers:
            lines.insert(self.headers, "|" + "---|" * self.width)
        return "\n".join(lines)


def pipe_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def lay_out(cells: Sequence[Cell], *, headers: int | None = None) -> Grid:
    """The grid of the cells, without rows and columns in which nothing is written. `headers` is the number of header rows where
    the format states it; otherwise the leading rows whose cells are all headers.

    Raises ValueError for a table that would be too large to read: a span can claim more places than any file holds bytes.
    """
    height = max((cell.row + cell.rows for cell in cells), default=0)
    width = max((cell.column + cell.columns for cell in cells), default=0)
    if width > MAX_COLUMNS or height * width > MAX_CELLS:
        raise ValueError(f"a table of {height:,} rows and {width:,} columns")
    rows = [[""] * width for _ in range(height)]
    named = [True] * height
    for cell in cells:
        whole = cell.columns == width > 1 and not cell.header and (headers is None or cell.row >= headers)
        for row in range(cell.row, cell.row + cell.rows):
            named[row] = named[row] and cell.header
            for column in range(cell.column, cell.column + (1 if whole else cell.columns)):
                rows[row][column] = cell.text
    if headers is None:
        headers = next((at for at, header in enumerate(named) if not header), 0)
    return _compact(rows, headers)


def _compact(rows: Sequence[Sequence[str]], headers: int) -> Grid:
    kept = [(at, row) for at, row in enumerate(rows) if any(map(str.strip, row))]
    width = len(rows[0]) if rows else 0
    columns = [column for column in range(width) if any(row[column].strip() for _, row in kept)]
    return Grid(
        tuple(tuple(row[column] for column in columns) for _, row in kept),
        sum(at < headers for at, _ in kept),
    )
