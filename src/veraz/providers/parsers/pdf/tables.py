"""From cells on a page to a table: what the cells say, which rows name the columns, and what goes on on the next page."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from veraz.providers.parsers.grid import Cell
from veraz.providers.parsers.pdf.lattice import Lattice, lattices, overlap, words_in
from veraz.providers.parsers.pdf.shapes import (
    Box,
    PageContent,
    Ruling,
    Word,
    right_to_left,
    rows_of,
    segment,
    segments_of,
)

_LEADERS = re.compile(r"\s*(?:\.{4,}|(?:\. ){4,}\.?|_{4,}|…{2,})\s*")
_FIGURE = re.compile(r"[-−–+<>≤≥~±(]*\s*[\d.,]*\d.*|[-−–*.]+|n/?a|n\.?d\.?", re.I)
Join = Callable[[list[str]], str]
"""Makes one text of lines."""
_LIMIT = 400
"""Characters: a longer cell is prose, and its table a way to lay out a page if it has few cells."""


@dataclass(slots=True)
class Table(Box):
    """`height` rows of `width` columns; `breaks` are rows before which a page ends; `xs` the edges of the columns."""

    cells: list[Cell] = field(default_factory=list)
    xs: tuple[float, ...] = ()
    height: int = 0
    breaks: list[int] = field(default_factory=list)
    page: int = 0
    ruled: bool = True
    caption: str = ""

    @property
    def width(self) -> int:
        return len(self.xs) - 1

    @property
    def headers(self) -> int:
        return max((cell.row + cell.rows for cell in self.cells if cell.header), default=0)

    def row(self, number: int) -> list[Cell]:
        return [cell for cell in self.cells if cell.row == number]


@dataclass(slots=True)
class Draft:
    """A cell while it is being read: the words of it, and whether all are bold."""

    row: int
    column: int
    rows: int
    columns: int
    words: list[Word]

    def text(self, join: Join) -> str:
        return join(cell_lines(self.words))

    @property
    def bold(self) -> bool:
        return bool(self.words) and all(w.bold for w in self.words if any(map(str.isalnum, w.text)))


def cell_lines(words: Sequence[Word]) -> list[str]:
    return [_LEADERS.sub(" ", segment(row).text).strip() for row in rows_of(words)]


def ruled_tables(page: PageContent, join: Join) -> tuple[list[Table], list[Word]]:
    """The ruled tables of a page from top to bottom, and the words that are in none.

    Drawn lines come first; the edges of coloured areas count too where lines alone make no table, or one whose cells hold
    words that stand apart: shading often leaves a margin to the lines around it, and then would only blur them."""
    drawn = _tables(page, [line for line in page.rulings if not line.area], join)
    kept = drawn
    if any(line.area for line in page.rulings):
        better = [found for found in _tables(page, page.rulings, join) if not _worse(found, drawn)]
        kept = [found for found in drawn if not any(overlap(found[0], other[0]) for other in better)] + better
    inside = {id(word) for _, words, _ in kept for word in words}
    tables = sorted((table for table, _, _ in kept), key=lambda table: table.top)
    return tables, [word for word in page.words if id(word) not in inside]


_Found = tuple[Table, list[Word], float]


def _worse(found: _Found, drawn: Sequence[_Found]) -> bool:
    rivals = [other for other in drawn if overlap(found[0], other[0])]
    return bool(rivals) and found[2] >= max(other[2] for other in rivals) - 0.1


def _tables(page: PageContent, rulings: Sequence[Ruling], join: Join) -> list[_Found]:
    """Tables with their words, and the share of their cells that hold words which stand apart on one line."""
    found: list[_Found] = []
    for lattice in lattices(rulings):
        if _is_page(lattice, page) or any(overlap(lattice.box, table) for table, _, _ in found):
            continue
        inside = words_in(lattice, page.words)
        if (table := _table(lattice, inside, join)) is not None:
            table.page = page.number
            filled = [words for words in inside if words]
            apart = sum(len(segments_of(words, 2.0)) > len(rows_of(words)) for words in filled)
            found.append((table, [word for words in filled for word in words], apart / len(filled)))
    return found


def _is_page(lattice: Lattice, page: PageContent) -> bool:
    """A frame around everything, with hardly a cell in it."""
    area = (lattice.box.x1 - lattice.box.x0) * (lattice.box.bottom - lattice.box.top)
    return area > 0.9 * page.width * page.height and len(lattice.cells) < 6


def _table(lattice: Lattice, inside: Sequence[list[Word]], join: Join) -> Table | None:
    drafts = [
        Draft(cell.row, cell.column, cell.rows, cell.columns, words)
        for cell, words in zip(lattice.cells, inside, strict=True)
    ]
    drafts = [part for draft in drafts if draft.words for part in _split_columns(draft, lattice.xs)]
    drafts, xs = _without_blank_columns(drafts, lattice.xs)
    drafts, height = _without_blank_rows(_split_rows(drafts, len(lattice.ys) - 1))
    if height < 2 or len(xs) < 3 or not _is_data(drafts, len(xs) - 1):
        return None
    box = lattice.box
    return finished(Table(box.x0, box.top, box.x1, box.bottom, xs=xs, height=height), drafts, join)


def _split_columns(draft: Draft, xs: Sequence[float]) -> list[Draft]:
    """A row without lines between its columns is drawn as one cell; it is several where its words stand apart, each within the
    columns that other rows draw."""
    if draft.columns == 1:
        return [draft]
    edges = xs[draft.column : draft.column + draft.columns + 1]
    shares: dict[int, list[Word]] = {}
    for part in segments_of(draft.words, 0.8):
        column = bisect_right(edges, (part.x0 + part.x1) / 2) - 1
        if (
            not 0 <= column < draft.columns
            or part.x0 < edges[column] - 2
            or part.x1 > edges[column + 1] + (24 if part.text.endswith("...") else 2)
        ):
            return [draft]
        shares.setdefault(column, []).extend(part.words)
    if len(shares) < 2:
        return [draft]
    return [
        Draft(draft.row, draft.column + n, draft.rows, 1, shares.get(n, [])) for n in range(draft.columns)
    ]


def _is_data(drafts: Sequence[Draft], width: int) -> bool:
    """Whether words stand side by side, and are not mostly prose in two or three frames."""
    filled = [draft for draft in drafts if draft.words]
    rows = {draft.row for draft in filled if draft.columns < width and draft.column > 0}
    longest = max(sum(len(word.text) + 1 for word in draft.words) for draft in filled)
    return bool(rows) and not (len(filled) <= 4 and longest > _LIMIT) and len(filled) > 2


def finished(table: Table, drafts: Sequence[Draft], join: Join) -> Table:
    """The table with its cells, those of the header rows marked."""
    drafts = _without_title(table, list(drafts), join)
    named = header_rows(drafts, table.height, table.width)
    table.cells = [
        Cell(d.row, d.column, d.text(join), d.rows, d.columns, d.row < named)
        for d in sorted(drafts, key=lambda d: (d.row, d.column))
        if d.words or d.row < named
    ]
    if right_to_left(" ".join(cell.text for cell in table.cells)):
        table.cells = [
            replace(cell, column=table.width - cell.column - cell.columns) for cell in reversed(table.cells)
        ]
    return table


def _without_title(table: Table, drafts: list[Draft], join: Join) -> list[Draft]:
    """A first row of one cell over the whole width is the table's caption."""
    while table.height > 2:
        first = [draft for draft in drafts if draft.row == 0 and draft.words]
        if len(first) != 1 or first[0].columns < table.width or first[0].rows > 1:
            break
        table.caption = f"{table.caption} {first[0].text(join)}".strip()
        drafts = [replace(draft, row=draft.row - 1) for draft in drafts if draft.row > 0]
        table.height -= 1
    return drafts


# Rows that hold several lines of figures


def _split_rows(drafts: list[Draft], height: int) -> list[Draft]:
    """A body without lines between its rows is one ruled row; its figures, standing on the same lines in every column, show
    where its rows are."""
    done: list[Draft] = []
    shift = 0
    for row in range(height):
        here = [draft for draft in drafts if draft.row == row]
        parts = _figure_lines(here) if _stands_alone(drafts, here) else []
        for draft in here:
            done += _cut(draft, parts, shift)
        if parts:
            shift += len(parts) - 1
    return done


def _stands_alone(drafts: Sequence[Draft], here: Sequence[Draft]) -> bool:
    """Whether cells that begin in one row end in one, and no other reaches in between."""
    worded = [draft for draft in here if draft.words]
    if not worded or len({draft.rows for draft in worded}) > 1:
        return False
    first, last = worded[0].row, worded[0].row + worded[0].rows
    return not any(d.words and d.row < last and first < d.row + d.rows and d.row != first for d in drafts)


def _figure_lines(here: Sequence[Draft]) -> list[float]:
    """The base lines of the rows, when at least two columns of figures agree on them; [] otherwise."""
    lines = [[(row[0].base, segment(row).text) for row in rows_of(d.words)] for d in here if d.words]
    figures = [each for each in lines if len(each) > 1 and all(_FIGURE.fullmatch(text) for _, text in each)]
    if len(figures) < 2 or len({len(each) for each in figures}) > 1:
        return []
    bases = [base for base, _ in figures[0]]
    if any(abs(a - b) > 3 for each in figures for (a, _), b in zip(each, bases, strict=True)):
        return []
    most = sum(len(each) == len(bases) for each in lines)
    return bases if 2 * most >= len(lines) else []


def _cut(draft: Draft, parts: Sequence[float], shift: int) -> list[Draft]:
    if not parts:
        return [replace(draft, row=draft.row + shift)]
    shares: list[list[Word]] = [[] for _ in parts]
    for word in draft.words:
        above = [n for n, base in enumerate(parts) if base <= word.base + 0.5 * word.size]
        shares[above[-1] if above else 0].append(word)
    return [
        Draft(draft.row + shift + n, draft.column, 1, draft.columns, words) for n, words in enumerate(shares)
    ]


# Blank rows and columns


def _without_blank_rows(drafts: Sequence[Draft]) -> tuple[list[Draft], int]:
    kept = sorted({draft.row for draft in drafts if draft.words})
    return _renumbered(drafts, kept, across=False), len(kept)


def _without_blank_columns(
    drafts: Sequence[Draft], xs: Sequence[float]
) -> tuple[list[Draft], tuple[float, ...]]:
    """A column in which no cell begins adds nothing; the edges that remain are those where one does."""
    kept = sorted({draft.column for draft in drafts if draft.words})
    if not kept:
        return [], ()
    edges = (*(xs[column] for column in kept), xs[-1])
    return _renumbered(drafts, kept, across=True), edges


def _renumbered(drafts: Sequence[Draft], kept: Sequence[int], *, across: bool) -> list[Draft]:
    """The cells at their places among the columns (or rows) that are kept."""
    done = []
    for draft in drafts:
        first, count = (draft.column, draft.columns) if across else (draft.row, draft.rows)
        covered = [n for n, at in enumerate(kept) if first <= at < first + count]
        if covered and across:
            done.append(replace(draft, column=covered[0], columns=len(covered)))
        elif covered:
            done.append(replace(draft, row=covered[0], rows=len(covered)))
    return done


# Header rows


def header_rows(drafts: Sequence[Draft], height: int, width: int) -> int:
    """How many leading rows name the columns: bold ones above others, or those down to the end of the spans that begin in the
    first; else one of words above figures."""
    rows = [[d for d in drafts if d.row == row and d.words] for row in range(height)]
    bold = next((n for n, row in enumerate(rows) if row and not all(d.bold for d in row)), height)
    if 0 < bold < height:
        return min(_to_end_of_spans(drafts, bold), height - 1)
    spans = _spanned(drafts, width)
    if 0 < spans < height and not any(_has_figures(d) for d in rows[spans - 1]):
        return spans
    return int(height > 1 and _named(rows, width))


def _to_end_of_spans(drafts: Sequence[Draft], rows: int) -> int:
    reach = max((d.row + d.rows for d in drafts if d.row < rows and d.words and d.columns < 99), default=rows)
    return rows if reach > rows + 3 else reach


def _spanned(drafts: Sequence[Draft], width: int) -> int:
    """The rows that a first row with a heading over several columns makes up with what stands below it."""
    first = [d for d in drafts if d.row == 0]
    grouped = [d for d in first if 1 < d.columns < width and d.words]
    if not grouped:
        return 0
    return max([d.rows for d in first if d.words] + [grouped[0].rows + 1])


def _named(rows: Sequence[Sequence[Draft]], width: int) -> bool:
    filled = sum(d.columns for d in rows[0])
    words = not any(_has_figures(d) for d in rows[0])
    figures = any(_has_figures(d) for row in rows[1:] for d in row)
    return words and filled >= width - 1 and (figures or width > 2)


def _has_figures(draft: Draft) -> bool:
    return bool(_FIGURE.fullmatch(" ".join(word.text for word in draft.words)))


# Over pages


def continues(table: Table, following: Table) -> bool:
    """Whether the first table of a page goes on with the last of the page before: the same columns at the same places."""
    if table.width != following.width or table.ruled != following.ruled:
        return False
    return all(abs(a - b) <= 6 for a, b in zip(table.xs, following.xs, strict=True))


def joined(table: Table, following: Table) -> Table:
    """One table; header rows that are repeated on the next page are left out."""
    again = _repeated(table, following)
    if not again and not table.headers and following.headers:
        again = 0
    first = table.height - again
    moved = [
        replace(cell, row=cell.row + first, header=False) for cell in following.cells if cell.row >= again
    ]
    breaks = [*table.breaks, table.height, *(first + at for at in following.breaks)]
    return replace(
        table,
        cells=[*table.cells, *moved],
        height=first + following.height,
        breaks=breaks,
        bottom=following.bottom,
    )


def _repeated(table: Table, following: Table) -> int:
    count = max(table.headers, 1)
    for rows in range(min(count, following.height - 1), 0, -1):
        before = [(c.row, c.column, c.text) for c in table.cells if c.row < rows]
        after = [(c.row, c.column, c.text) for c in following.cells if c.row < rows]
        if before == after:
            return rows
    return 0
