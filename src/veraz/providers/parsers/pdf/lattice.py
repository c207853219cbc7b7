"""Ruled tables: cells from the lines drawn around them.

The lines of a page fall into groups that touch. The places of a group's lines make the finest grid that they could mean; two
neighbours in it without a line between them are one cell. So spans over rows and columns come out as they were drawn, and a
side that was left open is no obstacle.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from veraz.providers.parsers.pdf.shapes import Box, Ruling, Word

_NEAR = 3.0  # points: lines this close are one, and reach one another
_COVERED = 0.6  # share of a cell's side that a line must cover to count as its border
_MAX_LINES = 1_500
_MAX_PLACES = 40_000


@dataclass(frozen=True, slots=True)
class Frame:
    """One cell by its place in the grid, and where it is on the page."""

    row: int
    column: int
    rows: int
    columns: int
    box: Box


@dataclass(frozen=True, slots=True)
class Lattice:
    box: Box
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cells: tuple[Frame, ...]


def lattices(rulings: Sequence[Ruling]) -> list[Lattice]:
    """Every group of lines that encloses at least two cells, the largest first. One inside another's cell is not told apart from
    it: its words belong to that cell."""
    across, down = _joined(rulings, True), _joined(rulings, False)
    if not across or not down or len(across) + len(down) > _MAX_LINES:
        return []
    found = [lattice for group in _groups(across, down) if (lattice := _lattice(*group)) is not None]
    return sorted(found, key=lambda each: -_area(each.box))


def overlap(one: Box, other: Box) -> bool:
    """Whether the middle of one lies in the other."""
    return _inside(one, other) or _inside(other, one)


def _area(box: Box) -> float:
    return (box.x1 - box.x0) * (box.bottom - box.top)


def _inside(inner: Box, outer: Box) -> bool:
    middle_x, middle_y = (inner.x0 + inner.x1) / 2, (inner.top + inner.bottom) / 2
    return outer.x0 <= middle_x <= outer.x1 and outer.top <= middle_y <= outer.bottom


# Lines


def _joined(rulings: Iterable[Ruling], across: bool) -> list[Ruling]:
    """Lines of one direction, pieces that continue or double one another made one."""
    rows: list[list[Ruling]] = []
    for line in sorted((r for r in rulings if r.across == across), key=lambda r: r.at):
        if rows and line.at - rows[-1][0].at <= _NEAR:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [whole for row in rows for whole in _end_to_end(row)]


def _end_to_end(row: list[Ruling]) -> Iterator[Ruling]:
    row.sort(key=lambda line: line.low)
    at = sum(line.at for line in row) / len(row)
    low, high = row[0].low, row[0].high
    for line in row[1:]:
        if line.low > high + _NEAR:
            yield Ruling(line.across, at, low, high)
            low = line.low
            high = line.high
        high = max(high, line.high)
    yield Ruling(row[0].across, at, low, high)


def _groups(across: Sequence[Ruling], down: Sequence[Ruling]) -> list[tuple[list[Ruling], list[Ruling]]]:
    """Lines that touch one another, directly or through others."""
    owner = list(range(len(across) + len(down)))

    def root(n: int) -> int:
        while owner[n] != n:
            owner[n] = owner[owner[n]]
            n = owner[n]
        return n

    places = [line.at for line in across]
    for n, line in enumerate(down, len(across)):
        for m in range(bisect_left(places, line.low - _NEAR), len(across)):
            other = across[m]
            if other.at > line.high + _NEAR:
                break
            if other.low - _NEAR <= line.at <= other.high + _NEAR:
                owner[root(n)] = root(m)
    groups: dict[int, tuple[list[Ruling], list[Ruling]]] = {}
    for n, line in enumerate((*across, *down)):
        groups.setdefault(root(n), ([], []))[0 if line.across else 1].append(line)
    return [group for group in groups.values() if group[0] and group[1]]


# Cells


def _lattice(across: list[Ruling], down: list[Ruling]) -> Lattice | None:
    xs = _places([line.at for line in down], [line.low for line in across], [line.high for line in across])
    ys = _places([line.at for line in across], [line.low for line in down], [line.high for line in down])
    if len(xs) < 2 or len(ys) < 2 or not 1 < (len(xs) - 1) * (len(ys) - 1) <= _MAX_PLACES:
        return None
    walls = _borders(down, xs, ys)
    floors = _borders(across, ys, xs)
    cells = tuple(_cells(walls, floors, xs, ys))
    return Lattice(Box(xs[0], ys[0], xs[-1], ys[-1]), xs, ys, cells) if len(cells) > 1 else None


def _places(lines: Iterable[float], lows: Sequence[float], highs: Sequence[float]) -> tuple[float, ...]:
    """Where lines stand, and how far those across them reach: a side without a line of its own."""
    found: list[float] = []
    for at in sorted(lines):
        if not found or at - found[-1] > _NEAR:
            found.append(at)
    reach_low, reach_high = min(lows), max(highs)
    if reach_low < found[0] - 3 * _NEAR:
        found.insert(0, reach_low)
    if reach_high > found[-1] + 3 * _NEAR:
        found.append(reach_high)
    return tuple(found)


def _borders(
    lines: Sequence[Ruling], places: Sequence[float], across: Sequence[float]
) -> set[tuple[int, int]]:
    """(place, gap): a line at the place covers the gap between two neighbouring places of the other direction. The outermost
    places are always borders."""
    covered = {(place, gap) for place in (0, len(places) - 1) for gap in range(len(across) - 1)}
    for line in lines:
        place = min(range(len(places)), key=lambda n: abs(places[n] - line.at))
        for gap in range(len(across) - 1):
            low, high = across[gap], across[gap + 1]
            if min(high, line.high) - max(low, line.low) >= _COVERED * (high - low):
                covered.add((place, gap))
    return covered


def _cells(
    walls: set[tuple[int, int]], floors: set[tuple[int, int]], xs: Sequence[float], ys: Sequence[float]
) -> Iterator[Frame]:
    """Rectangles that grow from their upper left place, first to the right and then down, until a border stops them."""
    taken: set[tuple[int, int]] = set()
    for row in range(len(ys) - 1):
        for column in range(len(xs) - 1):
            if (row, column) in taken:
                continue
            right = column + 1
            while (right, row) not in walls and right < len(xs) - 1 and (row, right) not in taken:
                right += 1
            below = row + 1
            while below < len(ys) - 1 and _continues(walls, floors, below, column, right):
                below += 1
            taken.update((r, c) for r in range(row, below) for c in range(column, right))
            box = Box(xs[column], ys[row], xs[right], ys[below])
            yield Frame(row, column, below - row, right - column, box)


def _continues(
    walls: set[tuple[int, int]], floors: set[tuple[int, int]], row: int, left: int, right: int
) -> bool:
    """Whether the places of the row belong to the cell above: nothing parts them from it, or from one another, and its sides
    go on."""
    if any((row, column) in floors for column in range(left, right)):
        return False
    if any((wall, row) in walls for wall in range(left + 1, right)):
        return False
    return (left, row) in walls and (right, row) in walls


def words_in(lattice: Lattice, words: Iterable[Word]) -> list[list[Word]]:
    """The words of each cell, in the order of `lattice.cells`."""
    owner = {
        (row, column): n
        for n, cell in enumerate(lattice.cells)
        for row in range(cell.row, cell.row + cell.rows)
        for column in range(cell.column, cell.column + cell.columns)
    }
    inside: list[list[Word]] = [[] for _ in lattice.cells]
    for word in words:
        down = bisect_left(lattice.ys, word.base - 0.3 * word.size) - 1
        n = owner.get((down, bisect_left(lattice.xs, (word.x0 + word.x1) / 2) - 1))
        if n is not None:
            inside[n].append(word)
    return inside
