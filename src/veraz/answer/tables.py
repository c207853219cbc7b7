"""Rows of tables as quotations: where a row stands in its table, and how it is read outside of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from veraz.answer.words import stems
from veraz.text.tables import Table, is_row, line_at, read_table, table_at


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a table in a text; `at` counts rows below the header, None for the header and its line of dashes."""

    table: Table
    at: int | None

    @property
    def label(self) -> list[str]:
        """What the row is about: the names of its group, and its leading cells under their names."""
        return [*self._groups, *self._said(range(self.table.stub))]

    def read(self, start: int, end: int, asked: Collection[str] = ()) -> str:
        """The row, or the part of it at text[start:end], as a reader sees it outside its table: "eGFR: 30 to 44; Dose: 1000 mg".

        Columns that rival one which `asked`, stems of a question, name better ("Adult dose", asked for the child's) are left out.
        """
        if self.at is None:
            return ""
        inside = [
            column
            for column, cell in enumerate(self.table.rows[self.at].cells)
            if column >= self.table.stub and cell.start < min(end, cell.end) and start < cell.end
        ]
        kept = _without_rivals(self.table.names, inside, frozenset(asked))
        return "; ".join([*self.label, *self._said(kept, start, end)])

    def passage(self) -> str:
        """Everything that the row says: header rows, the rows that name its group, the row."""
        table, at = self.table, self.at
        if at is None:
            return ""
        rows = [*table.header, *(table.rows[up] for up in table.label_rows(at)), table.rows[at]]
        return "\n".join(table.text[row.start : row.end] for row in rows)

    def left_out(self, claim: str) -> str | None:
        """The cells that a claim leaves out which is made of the row's label and of named cells of it, and of nothing else.

        None for any other claim."""
        if self.at is None:
            return None
        columns = range(self.table.stub, self.table.width)
        said = {column: part for column in columns for part in self._said([column])}
        repeated = [column for column in said if said[column] in claim.split("; ") or said[column] == claim]
        made = "; ".join([*self.label, *(said[column] for column in repeated)])
        row = self.table.rows[self.at]
        missing = (self.table.cell(row, column) for column in said if column not in repeated)
        return "; ".join(missing) if made == claim and repeated else None

    @property
    def _groups(self) -> list[str]:
        if self.at is None:
            return []
        rows = (self.table.rows[up] for up in self.table.label_rows(self.at))
        return [_one_line(self.table.cell(row, 0)) for row in rows]

    def _said(self, columns: Iterable[int], start: int = 0, end: int | None = None) -> list[str]:
        if self.at is None:
            return []
        row, text, parts = self.table.rows[self.at], self.table.text, []
        for column in columns:
            if column >= len(row.cells):
                break
            cell = row.cells[column]
            words = _one_line(text[max(start, cell.start) : cell.end if end is None else min(end, cell.end)])
            name = self.table.names[column]
            if words:
                parts.append(f"{name}: {words}" if name else words)
        return parts


class Tables:
    """The tables of one text, each read once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: list[tuple[int, int, Table]] = []

    def at(self, start: int) -> Place | None:
        """The row that the character at `start` belongs to; None outside of tables."""
        line = line_at(self._text, start)
        if not is_row(self._text[line.start : line.end]):
            return None
        table = self._table(line.start)
        shown = self._text[line.start : line.end].lstrip()
        return Place(table, table.row_at(line.end - len(shown)))

    def _table(self, at: int) -> Table:
        for start, end, table in self._known:
            if start <= at < end:
                return table
        lines = table_at(self._text, at)
        assert lines is not None
        table = read_table(self._text, lines.start, lines.end)
        self._known.append((lines.start, lines.end, table))
        return table


def _without_rivals(names: Sequence[str], columns: Sequence[int], asked: frozenset[str]) -> list[int]:
    held = {column: stems(names[column]) & asked for column in columns}
    return [c for c in columns if not held[c] or not any(held[c] < other for other in held.values())]


def _one_line(text: str) -> str:
    return " ".join(text.replace("\\|", "|").split())
