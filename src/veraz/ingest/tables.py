"""How rows of a table are shown and said when they stand in a chunk without the rest of their table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from veraz.nouns.corpus import Span
from veraz.text.tables import Row, Table, read_table


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table with the words that name it. What is shown is in bars; what is said, in words for the arms."""

    table: Table
    caption: str

    def said(self) -> str:
        """All rows, one a line."""
        return "\n".join(map(self.table.sentence, range(len(self.table.rows))))

    def above(self) -> str:
        """What stands above the first row, header aside."""
        return f"{self.caption}\n\n" if self.caption else ""

    def shown_above(self, at: int) -> str:
        """What a reader needs above row `at`: caption, all header rows, the rows that name its group."""
        groups = [self._group(up) for up in self.table.label_rows(at)]
        lines = [part for part in (self._header(), *groups) if part]
        return self.above() + "".join(f"{line}\n" for line in lines)

    def said_above(self, at: int) -> str:
        """The same in words; column names are said with each cell."""
        return self.above() + "".join(f"{self._group_name(up)}\n" for up in self.table.label_rows(at))

    def columns(self, at: int, columns: Sequence[int]) -> str:
        """Some columns of a row, after its label and under their headers."""
        table = self.table
        chosen = [*range(table.stub), *(column for column in columns if column >= table.stub)]
        shown = [_line(row[column] for column in chosen) for row in table.header_cells]
        rule = ["|" + "---|" * len(chosen)] if table.separator else []
        names = [self._group_name(up) for up in table.label_rows(at)]
        groups = [_line([name, *[""] * (len(chosen) - 1)]) for name in names]
        row = _line(table.cell(table.rows[at], column) for column in chosen)
        return self.above() + "\n".join([*shown, *rule, *groups, row])

    def cell_shown(self, at: int, column: int) -> str:
        """What a reader calls a cell: the label of its row and the name of its column."""
        label = range(self.table.stub) if column >= self.table.stub else ()
        cells = (self.table.cell(self.table.rows[at], known) for known in label)
        groups = (self._group_name(up) for up in self.table.label_rows(at))
        parts = (*groups, *cells, *self._name(column))
        return self.above() + (f"{' | '.join(filter(None, parts))}: " if any(parts) else "")

    def cell_said(self, at: int, column: int, *, labelled: bool) -> str:
        """The same, as the sentence of its row begins, with or without the label of the row."""
        label = self.table.label(self.table.rows[at]) if labelled and column >= self.table.stub else ""
        name = " ".join(self._name(column))
        said = f"{label}: {name}".strip() if label else name
        return f"{said} " if said else ""

    def _name(self, column: int) -> tuple[str, ...]:
        return (self.table.names[column],) if self.table.names[column] else ()

    def _header(self) -> str:
        """Header rows and separator as they are written."""
        table, text = self.table, self.table.text
        shown = [_text(text, row) for row in table.header]
        if table.separator and shown:
            at = sum(row.start < table.separator.start for row in table.header)
            shown.insert(at, _text(text, table.separator))
        return "\n".join(shown)

    def _group(self, at: int) -> str:
        """A row that names a group as it is written; of one that a blank cell continues, the label alone."""
        if self.table.is_group(at):
            return _text(self.table.text, self.table.rows[at])
        return _line([self._group_name(at), *[""] * (self.table.width - 1)])

    def _group_name(self, at: int) -> str:
        return self.table.cell(self.table.rows[at], 0)


def read_named(text: str, start: int, end: int, caption: Span | None) -> NamedTable:
    words = " ".join(text[caption.start : caption.end].split()) if caption else ""
    return NamedTable(read_table(text, start, end), words)


def _text(text: str, line: Row | Span) -> str:
    return text[line.start : line.end].strip()


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
