"""Tables without lines around their cells, where that is safe: rows of short pieces that stand in the same columns.

Wrong tables do more harm than missed ones, so the pieces must leave the same gaps free in every row, most of them must hold
figures or be short, and three rows are the least. What is left as lines is still read row by row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from veraz.providers.parsers.pdf.layout import Item, Line
from veraz.providers.parsers.pdf.shapes import Segment, segment
from veraz.providers.parsers.pdf.tables import Draft, Join, Table, finished

_FIGURES = re.compile(r"\d")
_LEADERS = re.compile(r"\.{5,}|(?:\. ){5,}")
_MARKER = re.compile(r"[•·▪‣◦*–—\-]|\(?\w{1,3}[.)]|o")
_MIN_ROWS = 3
_SHORT = 40  # characters of a cell


@dataclass(slots=True)
class _Row:
    line: Line
    parts: list[Segment]


def with_tables(items: Sequence[Item], join: Join) -> list[Item]:
    """The items of a column with runs of lines that are a table made one."""
    done: list[Item] = []
    at = 0
    while at < len(items):
        run = _run(items, at)
        table = _table(run, join) if len(run) >= _MIN_ROWS else None
        if table is None:
            done.append(items[at])
            at += 1
        else:
            done.append(table)
            at += len(run)
    return done


def _run(items: Sequence[Item], at: int) -> list[_Row]:
    """Lines from `at` on that are in pieces, and short ones between them."""
    rows: list[_Row] = []
    loose = 0
    for item in items[at:]:
        if not isinstance(item, Line) or item.turned or _LEADERS.search(item.text):
            break
        parts = _parts(item)
        if rows and item.base - rows[-1].line.base > 3.2 * max(item.size, rows[-1].line.size):
            break
        loose = 0 if len(parts) > 1 else loose + 1
        if not rows and loose:
            return []
        if loose > 2:
            break
        rows.append(_Row(item, parts))
    while rows and len(rows[-1].parts) < 2:
        rows.pop()
    return rows


def _parts(line: Line) -> list[Segment]:
    """The pieces of a line; a bullet or number belongs to what follows it."""
    parts = list(line.segments)
    if len(parts) > 1 and _MARKER.fullmatch(parts[0].text) and not parts[0].text.isdigit():
        return [segment([*parts[0].words, *parts[1].words]), *parts[2:]]
    return parts


def _table(run: Sequence[_Row], join: Join) -> Table | None:
    columns = _columns(run)
    if len(columns) < 2 or not _is_safe(run, columns):
        return None
    drafts, height = _drafts(run, columns)
    first, last = run[0].line, run[-1].line
    left, right = min(low for low, _ in columns), max(high for _, high in columns)
    xs = (left, *((a[1] + b[0]) / 2 for a, b in pairwise(columns)), right)
    table = Table(left, first.top, right, last.bottom, xs=xs, height=height, page=first.page, ruled=False)
    made = finished(table, drafts, join)
    return made if made.height >= _MIN_ROWS - 1 else None


def _columns(rows: Sequence[_Row]) -> list[tuple[float, float]]:
    """Where the pieces of rows stand that have as many as most do."""
    counts = sorted(len(row.parts) for row in rows if len(row.parts) > 1)
    usual = counts[len(counts) // 2] if counts else 0
    spans = sorted((p.x0, p.x1) for row in rows if len(row.parts) >= usual for p in row.parts)
    merged: list[tuple[float, float]] = []
    for low, high in spans:
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged if len(merged) == usual else []


def _is_safe(rows: Sequence[_Row], columns: Sequence[tuple[float, float]]) -> bool:
    full = [row for row in rows if len(row.parts) == len(columns)]
    if len(full) < _MIN_ROWS or 2 * len(full) < len(rows):
        return False
    cells = [part.text for row in full for part in row.parts[1:]]
    figures = sum(bool(_FIGURES.search(text)) for text in cells)
    if len(columns) < 4 and _is_contents(full):
        return False
    short = median(len(part.text) for row in full for part in row.parts) <= _SHORT
    if len(columns) == 2:
        return short and len(full) >= 4 and figures >= 0.7 * len(cells)
    return short and (figures >= 0.3 * len(cells) or len(columns) > 3 or len(full) > 4)


def _is_contents(rows: Sequence[_Row]) -> bool:
    """Numbered titles with pages that go up: a table of contents."""
    pages = [row.parts[-1].text for row in rows]
    titles = [" ".join(part.text for part in row.parts[:-1]) for row in rows]
    numbered = all(title[0].isdigit() and any(map(str.isalpha, title)) for title in titles)
    return numbered and all(page.isdecimal() for page in pages) and pages == sorted(pages, key=int)


def _drafts(rows: Sequence[_Row], columns: Sequence[tuple[float, float]]) -> tuple[list[Draft], int]:
    """A line in one piece that is not in the first column, close below a row, goes on with that row's cell; and so do the lines
    of a heading above the figures."""
    drafts: list[Draft] = []
    height = 0
    usual = median(b.line.base - a.line.base for a, b in pairwise(rows))
    body = next((n for n, row in enumerate(rows) if any(_FIGURES.search(p.text) for p in row.parts[1:])), 0)
    for n, row in enumerate(rows):
        places = [_place(part, columns) for part in row.parts]
        step = row.line.base - rows[n - 1].line.base if n else 0.0
        above = {c: d for d in drafts if d.row == height - 1 for c in range(d.column, d.column + d.columns)}
        goes_on = len(places) == 1 and places[0][0] > 0 and step <= usual and places[0][0] in above
        if n and (goes_on or (n < body and step <= 1.4 * row.line.size)):
            for part, (column, span) in zip(row.parts, places, strict=True):
                if column in above:
                    above[column].words.extend(part.words)
                else:
                    drafts.append(Draft(height - 1, column, 1, span, list(part.words)))
            continue
        for part, (column, span) in zip(row.parts, places, strict=True):
            drafts.append(Draft(height, column, 1, span, list(part.words)))
        height += 1
    return _merged(drafts), height


def _place(part: Segment, columns: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """The columns that a piece stands over: the first, and how many."""
    over = [n for n, (low, high) in enumerate(columns) if part.x0 < high and part.x1 > low]
    if not over:
        middle = (part.x0 + part.x1) / 2
        near = min(range(len(columns)), key=lambda n: abs(sum(columns[n]) / 2 - middle))
        return near, 1
    return over[0], over[-1] - over[0] + 1


def _merged(drafts: list[Draft]) -> list[Draft]:
    """Two pieces at one place are one cell."""
    found: dict[tuple[int, int], Draft] = {}
    for draft in drafts:
        if (there := found.get((draft.row, draft.column))) is not None:
            there.words += draft.words
            there.columns = max(there.columns, draft.columns)
        else:
            found[draft.row, draft.column] = draft
    return list(found.values())
