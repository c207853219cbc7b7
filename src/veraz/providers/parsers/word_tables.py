"""Tables of Word documents: cells by their places, merged ones included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from lxml import etree

from veraz.providers.parsers.grid import Cell
from veraz.providers.parsers.word_styles import Styles, W, on, value, whole

_MAX_SPAN = 200


@dataclass(slots=True)
class _Row:
    cells: list[Cell]
    header: bool  # as the table states
    set_apart: bool = False  # every filled cell bold or shaded


@dataclass(frozen=True, slots=True)
class Rows:
    cells: tuple[Cell, ...]
    headers: int
    merged: int  # cells that span rows or columns


def read_rows(
    table: etree._Element, styles: Styles, read: Callable[[etree._Element], tuple[str, bool]]
) -> Rows:
    """The cells of a table and how many of its rows are headers. `read` gives a cell's text and whether all of it is bold."""
    rows: list[_Row] = []
    open_cells: dict[int, tuple[int, int]] = {}  # by column, the row and index of a cell that may go on below
    for node in table_rows(table):
        rows.append(_row(node, len(rows), read, rows, open_cells))
    headers = _headers(rows, table, styles)
    cells = tuple(
        replace(
            cell,
            header=cell.row < headers,
            rows=min(cell.rows, headers - cell.row) if cell.row < headers else cell.rows,
        )
        for row in rows
        for cell in row.cells
    )
    return Rows(cells, headers, sum(cell.rows > 1 or cell.columns > 1 for cell in cells))


def table_rows(table: etree._Element) -> Iterator[etree._Element]:
    for node in _children(table, "tr"):
        properties = node.find(f"{W}trPr")
        if properties is None or properties.find(f"{W}del") is None:
            yield node


def row_cells(row: etree._Element) -> Iterator[etree._Element]:
    return _children(row, "tc")


def _children(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    """Children of that name, content controls and markup around them looked through."""
    for node in parent:
        if node.tag == f"{W}{name}":
            yield node
        elif node.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins", f"{W}moveTo"):
            yield from _children(node, name)


def _row(
    node: etree._Element,
    number: int,
    read: Callable[[etree._Element], tuple[str, bool]],
    rows: list[_Row],
    open_cells: dict[int, tuple[int, int]],
) -> _Row:
    properties = node.find(f"{W}trPr")
    found = _Row([], on(properties.find(f"{W}tblHeader")) if properties is not None else False)
    column = max(0, min(whole(value(properties, "gridBefore")), _MAX_SPAN))
    apart: list[bool] = []
    for cell in row_cells(node):
        span = max(1, min(whole(value(cell, "tcPr/gridSpan"), 1), _MAX_SPAN))
        merge = cell.find(f"{W}tcPr/{W}vMerge")
        text, bold = read(cell)
        if merge is not None and merge.get(f"{W}val", "continue") == "continue" and column in open_cells:
            _go_on(rows, open_cells[column], number)
        elif (beside := value(cell, "tcPr/hMerge")) is not None and beside != "restart" and found.cells:
            found.cells[-1] = replace(found.cells[-1], columns=found.cells[-1].columns + span)
        else:
            if merge is not None:
                open_cells[column] = (number, len(found.cells))
            else:
                open_cells.pop(column, None)
            found.cells.append(Cell(number, column, text, 1, span))
            apart += [bold or _shaded(cell)] if text else []
        column += span
    found.set_apart = bool(apart) and all(apart)
    return found


def _go_on(rows: list[_Row], place: tuple[int, int], number: int) -> None:
    row, index = place
    if row < len(rows):
        cell = rows[row].cells[index]
        rows[row].cells[index] = replace(cell, rows=number - row + 1)


def _shaded(cell: etree._Element) -> bool:
    shade = cell.find(f"{W}tcPr/{W}shd")
    return shade is not None and shade.get(f"{W}fill", "auto").lower() not in ("auto", "ffffff")


def _headers(rows: list[_Row], table: etree._Element, styles: Styles) -> int:
    """The leading rows that repeat on each page; else those set apart from the rest; else the first where its style says so."""
    stated = _leading([row.header for row in rows])
    if not stated and len(rows) > 1:
        apart = _leading([row.set_apart for row in rows])
        stated = apart if apart < len(rows) else 0
    if not stated and len(rows) > 1:
        stated = int(_first_row_shown(table) and styles.first_row(value(table, "tblPr/tblStyle")))
    if not stated:
        return 0
    reach = max(
        (cell.row + cell.rows for row in rows[:stated] for cell in row.cells if cell.columns < 2),
        default=stated,
    )
    return stated if reach >= len(rows) else max(stated, reach)


def _leading(flags: list[bool]) -> int:
    return next((at for at, flag in enumerate(flags) if not flag), len(flags))


def _first_row_shown(table: etree._Element) -> bool:
    look = table.find(f"{W}tblPr/{W}tblLook")
    if look is None:
        return False
    stated = look.get(f"{W}firstRow")
    if stated is not None:
        return stated in ("1", "true", "on")
    try:
        return bool(int(look.get(f"{W}val", "0"), 16) & 0x20)
    except ValueError:
        return False
