"""The tables of a page: which of them show data, and their cells, caption and header rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser, LexborNode

from veraz.providers.parsers.grid import Cell, Grid, lay_out

_MAX_SPAN = 1000
_MAX_HEADERS = 4
_MOST_CLAIMED = 20_000
_LONGEST_ENTRY = 150
_BOLD = frozenset({"strong", "b", "h1", "h2", "h3", "h4", "h5", "h6"})


@dataclass(frozen=True, slots=True)
class Shown:
    """`read` gives the words of a cell on one line; `hidden` tells what is not shown."""

    read: Callable[[LexborNode], str]
    hidden: Callable[[LexborNode], bool]


@dataclass(frozen=True, slots=True)
class _Row:
    cells: tuple[Cell, ...]
    bold: tuple[bool, ...]  # of each cell: set in bold as a whole
    named: tuple[bool, ...]  # of each cell: a header cell that does not name its row
    stated: bool  # in the head of the table

    def filled(self) -> list[int]:
        return [at for at, cell in enumerate(self.cells) if cell.text]


def layout(tree: LexborHTMLParser) -> frozenset[int]:
    """Tables and lists that only lay out the page: they hold headings, (other) tables or code blocks.

    A table with header cells of its own shows data whatever its cells hold, and so does one of many short cells of which some
    are set as headings."""
    found = _above(tree, "table", lambda table: not _has_headers(table))
    found |= _above(tree, "pre", lambda _: False)
    return found | _above(
        tree, "h1,h2,h3,h4,h5,h6", lambda table: not (_has_headers(table) or _is_grid(table))
    )


def _above(tree: LexborHTMLParser, held: str, lays_out: Callable[[LexborNode], bool]) -> frozenset[int]:
    """Lists, and tables that lay out, above the elements.

    Each climb ends at the first ancestor that an earlier one has passed, so the whole is linear."""
    passed: set[int] = set()
    found: set[int] = set()
    for node in tree.css(held):
        above = node.parent
        while above is not None and above.mem_id not in passed:
            passed.add(above.mem_id)
            if above.tag in ("ul", "ol", "dl") or (above.tag == "table" and lays_out(above)):
                found.add(above.mem_id)
            above = above.parent
    return frozenset(found)


def is_data(node: LexborNode) -> bool:
    """Whether a table shows data, and is not a single column or declared to be layout."""
    if (node.attributes.get("role") or "") in ("presentation", "none"):
        return False
    return node.css_first("th") is not None or node.css_first("td + td") is not None


def read_table(table: LexborNode, shown: Shown) -> tuple[Grid, str]:
    """The grid and its caption. A first row of one cell over the whole width is the caption where no other is stated.

    Raises ValueError for a table that is too large to read."""
    rows = _placed(table, shown)
    stated = next((child for child in _children(table) if child.tag == "caption"), None)
    caption = shown.read(stated) if stated is not None and not shown.hidden(stated) else ""
    while len(rows) > 1 and (title := _over_all(rows)) is not None and not (caption and rows[0].named[0]):
        caption = " ".join(part for part in (caption, title) if part)
        rows = [_moved(row) for row in rows[1:]]
    headers = _header_rows(rows)
    cells = [replace(cell, header=at < headers) for at, row in enumerate(rows) for cell in row.cells]
    return lay_out(_clipped(cells, len(rows), headers), headers=headers), caption


def _has_headers(table: LexborNode) -> bool:
    """Header cells of its own in its first rows, not those of a table within."""
    return any(cell.tag == "th" for row in list(_rows(table))[:2] for cell in _children(row))


def _is_grid(table: LexborNode) -> bool:
    """Three rows or more, most of several cells, and these as short as entries are."""
    rows = [[cell for cell in _children(row) if cell.tag in ("td", "th")] for row in _rows(table)]
    sizes = [len(cell.text() or "") for row in rows for cell in row]
    several = sum(len(row) > 1 for row in rows)
    return several > 2 and several * 2 >= len(rows) and sum(sizes) <= _LONGEST_ENTRY * len(sizes)


def _rows(table: LexborNode) -> Iterator[LexborNode]:
    for child in _children(table):
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in _children(child) if row.tag == "tr")


def _placed(table: LexborNode, shown: Shown) -> list[_Row]:
    """Rows with every cell in its column. Columns in which no cell begins are none: a span may claim more than there are."""
    rows: list[_Row] = []
    taken: dict[int, int] = {}  # by column, the first row that a cell above leaves free
    for row in _rows(table):
        if shown.hidden(row):
            continue
        found = [cell for cell in _children(row) if cell.tag in ("td", "th") and not shown.hidden(cell)]
        rows.append(_row(row, found, len(rows), taken, shown))
    begun = sorted({cell.column for row in rows for cell in row.cells})
    rank = {column: at for at, column in enumerate(begun)}
    return [replace(row, cells=tuple(_narrowed(cell, begun, rank) for cell in row.cells)) for row in rows]


def _row(
    row: LexborNode, found: Sequence[LexborNode], number: int, taken: dict[int, int], shown: Shown
) -> _Row:
    cells: list[Cell] = []
    column = 0
    for cell in found:
        while taken.get(column, 0) > number:
            column += 1
        rows, columns = _span(cell, "rowspan"), _span(cell, "colspan")
        cells.append(Cell(number, column, shown.read(cell), rows, columns))
        taken.update(dict.fromkeys(range(column, column + columns), number + rows))
        column += columns
        if column > _MOST_CLAIMED:
            raise ValueError(f"a table of {column:,} columns")
    return _Row(
        tuple(cells),
        tuple(_is_bold(cell) for cell in found),
        tuple(cell.tag == "th" and cell.attributes.get("scope") not in ("row", "rowgroup") for cell in found),
        row.parent is not None and row.parent.tag == "thead",
    )


def _narrowed(cell: Cell, begun: Sequence[int], rank: dict[int, int]) -> Cell:
    columns = sum(cell.column <= column < cell.column + cell.columns for column in begun)
    return replace(cell, column=rank[cell.column], columns=columns)


def _over_all(rows: Sequence[_Row]) -> str | None:
    """The words of a first row that is one cell over the whole width of a table with more columns."""
    width = max((cell.column + cell.columns for row in rows for cell in row.cells), default=0)
    first = rows[0].cells
    if len(first) == 1 and width > 1 and first[0].columns == width and first[0].rows == 1 and first[0].text:
        return first[0].text
    return None


def _moved(row: _Row) -> _Row:
    return replace(row, cells=tuple(replace(cell, row=cell.row - 1) for cell in row.cells))


def _clipped(cells: Sequence[Cell], height: int, headers: int) -> list[Cell]:
    """A row span ends with the table, and that of a header with the header."""
    return [
        replace(cell, rows=max(1, min(cell.rows, (headers if cell.header else height) - cell.row)))
        for cell in cells
    ]


# Header rows


def _header_rows(rows: Sequence[_Row]) -> int:
    """How many leading rows name the columns: those that the page says do, else those that look it."""
    stated = 0
    for row in rows:
        filled = row.filled()
        if not (row.stated or (filled and all(row.named[at] for at in filled))):
            break
        stated += 1
    if stated:
        return stated if stated < len(rows) else 1
    return _looks_like_headers(rows)


def _looks_like_headers(rows: Sequence[_Row]) -> int:
    if len(rows) < 2 or not rows[0].cells:
        return 0
    if not (
        _all_bold(rows[0])
        or _capitals(rows)
        or _blank_corner(rows)
        or _groups(rows[0], rows)
        or _words_over_figures(rows)
    ):
        return 0
    headers = max(cell.rows for cell in rows[0].cells if cell.text)
    while headers < min(len(rows) - 1, _MAX_HEADERS):
        above = rows[headers - 1]
        below_group = _groups(above, rows) and len(rows[headers].filled()) > 1
        if not below_group and not _all_bold(rows[headers]):
            break
        headers += 1
    if headers > 1 and all(_all_bold(row) for row in rows):
        return 1  # bold says nothing where all is
    return min(headers, len(rows) - 1, _MAX_HEADERS)


def _all_bold(row: _Row) -> bool:
    filled = row.filled()
    return len(filled) > 1 and all(row.bold[at] for at in filled)


def _capitals(rows: Sequence[_Row]) -> bool:
    """A first row in capitals, and no other."""
    found = [
        len(row.filled()) > 1 and all(row.cells[at].text.isupper() for at in row.filled()) for row in rows
    ]
    return found[0] and not any(found[1:])


def _blank_corner(rows: Sequence[_Row]) -> bool:
    """Nothing above a first column of labels."""
    first = rows[0].cells
    labelled = any(cell.column == 0 and cell.text for row in rows[1:] for cell in row.cells)
    return len(first) > 1 and not first[0].text and bool(rows[0].filled()) and labelled


def _groups(row: _Row, rows: Sequence[_Row]) -> bool:
    """Whether a cell names several columns that are told apart below it."""
    width = max(cell.column + cell.columns for r in rows for cell in r.cells)
    return any(1 < cell.columns < width and cell.text for cell in row.cells)


def _words_over_figures(rows: Sequence[_Row]) -> bool:
    first = rows[0].cells
    if len(first) < 3 or not all(cell.text and not cell.text[0].isdigit() for cell in first):
        return False
    below = [cell.text for row in rows[1:] for cell in row.cells if cell.column and cell.text]
    return sum(any(map(str.isdigit, text)) for text in below) * 2 > len(below)


def _is_bold(cell: LexborNode) -> bool:
    """Whether all words of a cell are set in bold. Looks no further than a label is long."""
    if cell.tag == "th":
        return True
    whole = len("".join((cell.text() or "").split()))
    if not 0 < whole <= 400:
        return False
    bold = 0
    for inner in cell.css(",".join(_BOLD)):
        if not any(above.tag in _BOLD for above in _ancestors(inner, cell)):
            bold += len("".join((inner.text() or "").split()))
    return bold >= whole


def _ancestors(node: LexborNode, top: LexborNode) -> Iterator[LexborNode]:
    above = node.parent
    while above is not None and above.mem_id != top.mem_id:
        yield above
        above = above.parent


def _span(cell: LexborNode, name: str) -> int:
    """0 rows mean all that are left."""
    value = (cell.attributes.get(name) or "").strip()
    if not value.isdecimal() or len(value) > 6:
        return 1
    return min(int(value), _MAX_SPAN) or (_MAX_SPAN if name == "rowspan" else 1)


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next
