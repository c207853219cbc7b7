"""Random tables: each data cell can be read in the written text with its full row and column labels."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from hypothesis import given, settings
from hypothesis import strategies as st

from veraz.ingest.tables import read_table
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.grid import Cell, lay_out
from veraz.providers.parsers.html import HtmlParser


@dataclass(frozen=True)
class Layout:
    """Cells tiled over `width` × `height`, the first `headers` rows of them headers; `text` of a cell is unique."""

    cells: tuple[Cell, ...]
    width: int
    height: int
    headers: int

    def at(self, row: int, column: int) -> str:
        """What is to be read there: a subheading over the whole width stands once."""
        return next(
            "" if column and cell.columns == self.width else cell.text
            for cell in self.cells
            if cell.row <= row < cell.row + cell.rows and cell.column <= column < cell.column + cell.columns
        )


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    width, headers = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    height = headers + draw(st.integers(1, 8))
    free = {(row, column) for row in range(height) for column in range(width)}
    cells: list[Cell] = []
    for row in range(height):
        for column in range(width):
            if (row, column) in free:
                last = headers if row < headers else height
                rows = draw(st.integers(1, min(3, last - row)))
                columns = draw(st.integers(1, min(3, width - column)))
                # Over the whole width stand subheadings of the body alone: a header would be the title.
                columns = 1 if columns == width and row < headers else columns
                area = {(r, c) for r in range(row, row + rows) for c in range(column, column + columns)}
                if not area <= free:
                    rows, columns, area = 1, 1, {(row, column)}
                free -= area
                cells.append(Cell(row, column, f"r{row}c{column}|x", rows, columns, row < headers))
    return Layout(tuple(cells), width, height, headers)


def assert_reachable(layout: Layout, text: str) -> None:
    """Read back by the reader that chunks tables, which knows nothing of spans."""
    table = read_table(text, 0, len(text))
    assert len(table.header) == layout.headers
    assert len(table.rows) == layout.height - layout.headers

    def cells(at: int) -> list[str]:
        row = (*table.header, *table.rows)[at]
        return [text[cell.start : cell.end].replace("\\|", "|") for cell in row.cells]

    for row in range(layout.height):
        assert cells(row) == [layout.at(row, column) for column in range(layout.width)]
    for row in range(layout.headers, layout.height):
        for column in range(1, layout.width):
            if not layout.at(row, column):
                continue
            labels = [layout.at(row, 0), *(layout.at(header, column) for header in range(layout.headers))]
            said = table.sentence(row - layout.headers).replace("\\|", "|")
            assert [label for label in (*labels, layout.at(row, column)) if label not in said] == []


@given(layouts())
def test_every_cell_of_a_grid_is_reachable_with_its_labels(layout: Layout) -> None:
    assert_reachable(layout, lay_out(layout.cells).pipes())


def markup(layout: Layout, *, head: bool) -> str:
    """As a page, its header rows in a `thead` or told by `th` alone."""
    rows = []
    for row in range(layout.height):
        tag = "th" if row < layout.headers else "td"
        cells = "".join(
            f"<{tag} rowspan={cell.rows} colspan={cell.columns}>{escape(cell.text)}</{tag}>"
            for cell in layout.cells
            if cell.row == row
        )
        rows.append(f"<tr>{cells}</tr>")
    split = layout.headers
    body = "".join(rows[split:])
    return (
        f"<table><thead>{''.join(rows[:split])}</thead><tbody>{body}</tbody></table>"
        if head
        else f"<table>{''.join(rows)}</table>"
    )


def parse(page: str) -> ParsedDocument:
    return HtmlParser().parse(RawItem("a.html", "a.html", "html", payload=page.encode()))


def begins_everywhere(layout: Layout) -> bool:
    """Columns and rows in which no cell begins are not shown by a page."""
    return {cell.column for cell in layout.cells} == set(range(layout.width)) and {
        cell.row for cell in layout.cells
    } == set(range(layout.height))


@given(layouts().filter(begins_everywhere), st.booleans())
@settings(max_examples=200)
def test_every_cell_of_a_table_on_a_page_is_reachable_with_its_labels(layout: Layout, head: bool) -> None:
    doc = parse(markup(layout, head=head))
    assert [block.kind for block in doc.blocks] == ["table"]
    assert_reachable(layout, doc.text)


def test_five_thousand_rows_keep_their_labels() -> None:
    cells = [Cell(0, 0, "Drug", 2, header=True), Cell(0, 1, "Dose", 1, 2, header=True)]
    cells += [Cell(1, 1, "adult", header=True), Cell(1, 2, "child", header=True)]
    for row in range(2, 5002, 2):
        cells += [
            Cell(row, 0, f"d{row}", 2),
            *(Cell(row + at, 1 + c, f"v{row + at}.{c}") for at in (0, 1) for c in (0, 1)),
        ]
    text = lay_out(cells).pipes()
    table = read_table(text, 0, len(text))
    assert len(table.rows) == 5000
    for at, row in enumerate(table.rows, 2):
        said = table.sentence(at - 2, [0, 2])
        assert said.startswith(f"Drug d{at - at % 2}")
        assert said.endswith(f"Dose child v{at}.1")
        assert text[row.cells[2].start : row.cells[2].end] == f"v{at}.1"
