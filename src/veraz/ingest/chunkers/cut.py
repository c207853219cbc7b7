"""Where a text may be cut, and which cuts are best: the pure half of the structure chunker."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from veraz.ingest.tables import NamedTable, read_named
from veraz.nouns.corpus import Block, BlockKind, ParsedDocument, Section, Span
from veraz.text.lines import ENDS_SENTENCE, item_marker, line_parts, lines, trim
from veraz.text.sentences import sentence_spans

# What it costs to end a chunk here, against 1 for one more chunk.
AT_BLOCK = 0.0
AT_ITEM = 0.15
AT_SENTENCE = 0.35
AT_WORD = 0.9
INSIDE_WORD = 1.2
AFTER_LABEL = 0.6

_SIGNS = "<>≤≥±~≈=+−"
_COMPARISONS = "<>≤≥±~≈"
_UNIT_SIGNS = "%‰‱°º′″℃℉"
_VIRAMA = 9  # the combining class of marks that join two consonants
_TRAILING_VOWELS = (
    "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3"  # of Thai and Lao, which are letters to Unicode
)
_LEADING_VOWELS = "\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4"
_DIGIT_JOIN = re.compile(r"[\d.,:/\-–·٫'’]")


@dataclass(slots=True)
class Unit:
    """A range that goes into a chunk as a whole: a block, or a part of one.

    `before`/`after` are shown when a chunk begins/ends with this unit (a table's header, a fence).
    `shown` replaces the display form and keeps the unit alone in its chunk (some cells of a wide row).
    `said` and `said_before` are the embedded forms of text and `before`, where those are others: rows as sentences.
    `tokens` is -1 until counted.
    """

    section: int
    kind: BlockKind
    start: int
    end: int
    level: int = 0
    before: str = ""
    after: str = ""
    shown: str | None = None
    end_cost: float = AT_BLOCK
    tokens: int = -1
    before_tokens: int = 0
    after_tokens: int = 0
    table: NamedTable | None = field(default=None, repr=False)
    ends_chunk: bool = False  # what follows would be read without its table header
    row: int = -1  # of the table, when the unit is that row or some of its cells
    columns: tuple[int, ...] | None = None  # None: all
    said: str | None = None
    said_before: str = ""

    @property
    def cost(self) -> int:
        """Tokens of a chunk that holds this unit only, header excluded."""
        return self.tokens + self.before_tokens + self.after_tokens

    @property
    def atomic(self) -> bool:
        return self.end - self.start <= 1

    @property
    def lead(self) -> str:
        """`before` as it is embedded."""
        return self.said_before if self.kind == "table" else self.before

    def body(self, text: str) -> str:
        """As it is embedded."""
        return text[self.start : self.end] if self.said is None else self.said


def whole_blocks(doc: ParsedDocument) -> Iterator[Unit]:
    """Every block as one unit; and headings with nothing below them, when they state something or are
    all there is."""
    text, filled = doc.text, {block.section for block in doc.blocks}
    parents = {section.parent for section in doc.sections}
    units = [_whole_block(text, block) for block in doc.blocks]
    for section in doc.sections:
        bare = section.level > 0 and section.ord not in filled and section.ord not in parents
        if bare and (not filled or _states_something(section)):
            units.append(Unit(section.ord, "paragraph", *trim(text, section.start, section.end)))
    units = [
        unit for unit in units if any(map(str.isalnum, text[unit.start : unit.end])) or _solid(text, unit)
    ]
    units.sort(key=lambda unit: unit.start)
    for unit, following in pairwise(units):
        if (
            unit.kind == "paragraph"
            and following.section == unit.section
            and _leads_on(text, unit.start, unit.end)
        ):
            unit.end_cost = AFTER_LABEL
    return iter(units)


def _whole_block(text: str, block: Block) -> Unit:
    unit = Unit(block.section, block.kind, *trim_block(text, block.kind, block.start, block.end))
    if block.kind == "table":
        named = read_named(text, unit.start, unit.end, block.caption)
        if named.table.rows:
            unit.table, unit.said = named, named.said()
        unit.before = unit.said_before = named.above()
    return unit


def trim_block(text: str, kind: BlockKind, start: int, end: int) -> tuple[int, int]:
    """Without outer white space; code keeps the indentation of its first line."""
    left, right = trim(text, start, end)
    if kind == "code" and left < right:
        line = max(text.rfind("\n", start, left), text.rfind("\r", start, left)) + 1
        left = max(start, line) if text[max(start, line) : left].isspace() else left
    return left, right


def _leads_on(text: str, start: int, end: int) -> bool:
    """Whether a piece is only worth reading with what follows: it ends with a colon, or is a short line
    without a stop, such as the title of a part that has no markup."""
    return text[end - 1] == ":" or (
        end - start <= 80 and not ENDS_SENTENCE.search(text[max(start, end - 8) : end])
    )


def _solid(text: str, unit: Unit) -> bool:
    return not text[unit.start : unit.end].isspace() and unit.end > unit.start


def _states_something(section: Section) -> bool:
    """A label such as "Notes" says nothing alone; "Call 112 at once" does."""
    return any(map(str.isdigit, section.heading)) or len(section.heading.split()) >= 5


# Cutting


def cut_unit(text: str, unit: Unit, room: int, lang: str) -> list[Unit]:
    """Smaller units that together hold the same characters except white space. At least two, or one that
    is atomic or at a finer level; so repeated cutting ends."""
    if unit.kind == "table" and unit.level < 2:
        return _cut_table(text, unit, room, lang)
    if unit.level == 0:
        return _cut_structure(text, unit)
    if unit.level == 1:
        spans = sentence_spans(text[unit.start : unit.end], lang)
        parts = _parts(text, unit, [unit.start + span.start for span in spans], 2, AT_SENTENCE)
        for part in parts[:-1]:
            part.end_cost += AFTER_LABEL * _leads_on(text, part.start, part.end)
        return parts
    return _cut_again(text, unit, room)


def _cut_structure(text: str, unit: Unit) -> list[Unit]:
    if unit.kind == "list":
        return _parts(text, unit, _item_starts(text, unit), 1, AT_ITEM)
    if unit.kind == "code":
        return _cut_code(text, unit)
    return _parts(text, unit, [unit.start], 1, AT_SENTENCE)


def _parts(text: str, unit: Unit, starts: Sequence[int], level: int, cost: float) -> list[Unit]:
    """The unit cut at `starts` (its own start first), parts trimmed, blank ones dropped."""
    parts: list[Unit] = []
    for start, end in pairwise([*starts, unit.end]):
        left, right = trim(text, start, end) if unit.kind != "code" else _trim_lines(text, start, end)
        if left < right:
            parts.append(Unit(unit.section, unit.kind, left, right, level, end_cost=cost))
    if parts:
        parts[0].before, parts[-1].after, parts[-1].end_cost = unit.before, unit.after, unit.end_cost
    return parts


def _trim_lines(text: str, start: int, end: int) -> tuple[int, int]:
    return (start, start + len(text[start:end].rstrip())) if text[start:end].strip() else (start, start)


def _item_starts(text: str, unit: Unit) -> list[int]:
    """Items of the outermost level: nested ones stay with their parent while it fits."""
    found: list[tuple[int, int]] = []
    for line in lines(text, unit.start, unit.end):
        for n, part in enumerate(line_parts(text, line)):
            if item_marker(text, Span(part.start, part.end)) >= 0:
                margin = len(text[line.start : part.start]) if n == 0 else 0
                found.append((part.start, margin if line.start > unit.start else 0))
    outer = min((margin for _, margin in found), default=0)
    starts = [at for at, margin in found if margin <= outer + 1]
    return [unit.start, *(at for at in starts if at > unit.start)]


def _cut_code(text: str, unit: Unit) -> list[Unit]:
    rows = list(lines(text, unit.start, unit.end))
    parts = _parts(text, unit, [row.start for row in rows], 2, AT_ITEM)
    opening = text[rows[0].start : rows[0].end].strip()
    if opening.startswith(("```", "~~~")) and len(parts) > 1:
        fence = opening[: len(opening) - len(opening.lstrip(opening[0]))]
        for part in parts[1:]:
            part.before = f"{opening}\n"
        for part in parts[:-1]:
            part.after = f"\n{fence}"
        _keep_fences(text, parts)
    return parts


def _keep_fences(text: str, parts: list[Unit]) -> None:
    """An opening or closing fence goes with its neighbour: alone it would be a chunk of nothing."""
    if len(parts) > 2:
        parts[0:2] = [_joined(parts[0], parts[1])]
    if len(parts) > 1 and set(text[parts[-1].start : parts[-1].end].strip()) <= {"`", "~"}:
        parts[-2:] = [_joined(parts[-2], parts[-1])]


def _joined(first: Unit, second: Unit) -> Unit:
    first.end, first.after, first.end_cost = second.end, second.after, second.end_cost
    return first


def _cut_table(text: str, unit: Unit, room: int, lang: str) -> list[Unit]:
    if unit.table is None:
        return _cut_anywhere(text, unit, room)
    if unit.level:
        return _cut_row(text, unit, unit.table, room, lang)
    table = unit.table.table
    parts = _parts(text, unit, [unit.start, *(row.start for row in table.rows[1:])], 1, AT_ITEM)
    for at, part in enumerate(parts):
        part.table, part.row, part.said = unit.table, at, table.sentence(at)
        part.before = unit.table.shown_above(at) if at else unit.before
        part.said_before = unit.table.said_above(at)
        if at + 1 < len(parts) and table.is_group(at):
            part.end_cost += AFTER_LABEL
    return parts


def _cut_row(text: str, unit: Unit, named: NamedTable, room: int, lang: str) -> list[Unit]:
    """A row too wide for one chunk: groups of cells, each after the row's label and under the headers of its columns. A single
    cell that is too long is cut as text, under the names of its row and column."""
    table, row = named.table, named.table.rows[unit.row]
    columns = range(table.stub, len(row.cells)) if unit.columns is None else unit.columns
    filled = [column for column in columns if table.cell(row, column)]
    if len(filled) < 2:
        return _cut_cell(text, unit, named, room, lang)
    groups = max(2, -(-unit.cost * 6 // (room * 5)))
    share = max(1, -(-len(filled) // groups))
    parts, begin = [], unit.start
    for first in range(0, len(filled), share):
        group = tuple(filled[first : first + share])
        end = unit.end if group[-1] == filled[-1] else row.cells[group[-1]].end
        part = Unit(unit.section, unit.kind, *trim(text, begin, end), 1, end_cost=AT_WORD, table=named)
        part.row, part.columns, part.said_before = unit.row, group, named.said_above(unit.row)
        part.shown, part.said = named.columns(unit.row, group), table.sentence(unit.row, group)
        parts.append(part)
        begin = end
    return parts


def _cut_cell(text: str, unit: Unit, named: NamedTable, room: int, lang: str) -> list[Unit]:
    """Pieces of one long cell, each led by what its row and its column are called. What stands before the cell goes with its
    first piece."""
    table, row = named.table, named.table.rows[unit.row]
    columns = range(len(row.cells)) if unit.columns is None else unit.columns
    column = max((column for column in columns if table.cell(row, column)), default=0)
    rate = unit.cost / max(1, len(unit.lead) + len(unit.body(text)))
    # Names that fill the chunk would leave no room for what they name.
    fits = int(room / rate / 2)
    full, short = (named.cell_said(unit.row, column, labelled=labelled) for labelled in (True, False))
    said = next((words for words in (full, short) if len(words) <= fits), "")
    above = named.said_above(unit.row)
    above = above if len(above) + len(said) <= fits else ""
    before = _opening(text, unit, row.cells[column].start)
    begin = row.cells[column].start if before else unit.start
    rest = Unit(unit.section, unit.kind, begin, unit.end, 3, end_cost=unit.end_cost)
    pieces = _cut_sentences(text, rest, room / rate, lang)
    for piece in pieces:
        piece.before, piece.said_before = named.cell_shown(unit.row, column), above + said
        piece.said = text[piece.start : piece.end].strip("| ").replace("\\|", "|") or None
    for opening in before:
        opening.said = full.strip() if full == said and full else None
        opening.before = named.shown_above(unit.row) if unit.row else named.above()
        opening.said_before, opening.columns = above, ()
    return [*before, *pieces]


def _cut_sentences(text: str, unit: Unit, size: float, lang: str) -> list[Unit]:
    """Sentences of a cell, and pieces of those that are longer than `size` characters."""
    spans = sentence_spans(text[unit.start : unit.end], lang)
    parts = _parts(text, unit, [unit.start, *(unit.start + span.start for span in spans[1:])], 3, AT_SENTENCE)
    pieces: list[Unit] = []
    for part in parts:
        part.tokens = part.end - part.start
        pieces += [part] if part.tokens * 2 <= size else _cut_anywhere(text, part, int(size))
    for piece in pieces:
        piece.tokens, piece.ends_chunk = -1, piece is pieces[-1]
    return pieces


def _opening(text: str, unit: Unit, end: int) -> list[Unit]:
    """What a unit holds before its long cell, where that is more than bars: header rows, the label of the row."""
    start, end = trim(text, unit.start, end)
    if not any(map(str.isalnum, text[start:end])):
        return []
    return [Unit(unit.section, unit.kind, start, end, 3, end_cost=INSIDE_WORD)]


def _cut_again(text: str, unit: Unit, room: int) -> list[Unit]:
    """Pieces of a piece, each with its names while these leave room."""
    parts = _cut_anywhere(text, unit, room)
    if unit.kind == "table" and unit.columns is None and unit.before_tokens * 2 <= room:
        for part in parts:
            part.before, part.said_before = unit.before, unit.said_before
    return parts


def _cut_anywhere(text: str, unit: Unit, room: int) -> list[Unit]:
    """Pieces of about a quarter of the room, by the unit's own ratio of characters to tokens, at white
    space if possible."""
    size = max(1, (unit.end - unit.start) * room // (4 * max(unit.cost, 1)))
    starts = [unit.start]
    costs: list[float] = []
    while unit.end - starts[-1] > size:
        at, cost = cut_point(text, starts[-1], min(starts[-1] + size, unit.end), unit.end)
        if at >= unit.end:
            break
        starts.append(at)
        costs.append(cost)
    parts = []
    for n, (start, end) in enumerate(pairwise([*starts, unit.end])):
        left, right = trim(text, start, end)
        if left < right:
            cost = costs[n] if n < len(costs) else unit.end_cost
            parts.append(Unit(unit.section, unit.kind, left, right, 3, end_cost=cost))
    if parts and unit.kind == "table":
        parts[-1].ends_chunk = True
    return parts


def cut_point(text: str, start: int, target: int, end: int) -> tuple[int, float]:
    """The last white space before `target`, else the nearest place up to it that parts no quantity, else the
    next one a little after it, else the same for what parts no number, else `target`."""
    for at in range(target, start, -1):
        if text[at - 1].isspace() and not _parts_number(text, at):
            return at, AT_WORD
    for tied in (joins, spell_one):
        for at in range(target, start, -1):
            if at < end and not tied(text[at - 1], text[at]):
                return at, INSIDE_WORD
        # Targets are a quarter of the room away, so that a number a little longer than that still fits.
        for at in range(target + 1, min(start + 3 * (target - start), end - 1) + 1):
            if not tied(text[at - 1], text[at]):
                return at, INSIDE_WORD
    return target, INSIDE_WORD


def _parts_number(text: str, at: int) -> bool:
    """White space inside "1 000 mg", between a number and its unit, or between a number and the sign before it: "± 0.2"."""
    before = text[:at].rstrip()[-1:] if at < 4 else text[at - 3 : at].rstrip()[-1:]
    return parts_quantity(before, text[at : at + 1])


def parts_quantity(before: str, after: str) -> bool:
    """Whether white space between the two characters (or none: "") stands inside a quantity."""
    if not before or not after:
        return False
    if _is_number(before):
        return after.isalnum() or after in _UNIT_SIGNS
    return before in _COMPARISONS and _is_number(after)


def joins(left: str, right: str) -> bool:
    """Whether a cut between the two characters could change a number, a quantity, a word, a character or a sign."""
    if spell_one(left, right):
        return True
    if _is_number(left):
        return right.isalpha() or right in _UNIT_SIGNS
    return _is_spaced(left) and _is_spaced(right)


def spell_one(left: str, right: str) -> bool:
    """The same but for words, and for a number and the unit behind it."""
    if _DIGIT_JOIN.match(left) and _DIGIT_JOIN.match(right):
        return True
    if _is_number(right) and (left in _SIGNS or _is_number(left)):
        return True
    return _attaches(left, right) or (left == "\r" and right == "\n")


def _is_spaced(char: str) -> bool:
    """Letters of the scripts that stand before Hebrew in Unicode and all part words by spaces, as in 用量为5mg."""
    return char < "\u0590" and char.isalpha()


def _is_number(char: str) -> bool:
    """Digits, also raised ones, and fractions: 10⁵ without its last sign is another number."""
    return unicodedata.category(char) in ("Nd", "No")


def _attaches(left: str, right: str) -> bool:
    """Marks, joiners, skin tones and vowels that are written around a consonant belong to it; two letters that spell a flag, and
    consonants that are written as one, belong together."""
    code, before = ord(right), ord(left)
    return (
        unicodedata.category(right)[0] == "M"
        or code == 0x200D
        or before == 0x200D
        or 0x1F3FB <= code <= 0x1F3FF
        or (0x1F1E6 <= code <= 0x1F1FF and 0x1F1E6 <= before <= 0x1F1FF)
        or unicodedata.combining(left) == _VIRAMA
        or right in _TRAILING_VOWELS
        or left in _LEADING_VOWELS
    )


# Packing


class Cost:
    """Chooses the boundaries of a run of units: as few chunks as possible, ended where it costs least,
    of even sizes."""

    def __init__(self, units: Sequence[Unit], room: int) -> None:
        self.units, self.room = units, room

    def best(self) -> list[tuple[int, int]]:
        """Half-open ranges of unit positions, in order. A shortest path over the ends of chunks; each
        end looks back only over the units that fit one chunk, so it is linear in the number of units."""
        n = len(self.units)
        best = [0.0] + [float("inf")] * n
        back = [0] * (n + 1)
        for end in range(1, n + 1):
            price = 1 + (self.units[end - 1].end_cost if end < n else 0.0)
            for start, tokens in self._starts(end):
                shortfall = 1 - tokens / self.room if tokens < self.room else 0.0
                cost = best[start] + (price + shortfall * shortfall / 2)
                if cost < best[end]:
                    best[end], back[end] = cost, start
        bounds: list[tuple[int, int]] = []
        while n:
            bounds.append((back[n], n))
            n = back[n]
        return bounds[::-1]

    def _starts(self, end: int) -> Iterator[tuple[int, int]]:
        """Where a chunk that ends at `end` may begin, with its tokens; always at least one."""
        last = self.units[end - 1]
        total = last.after_tokens
        for start in range(end - 1, -1, -1):
            unit = self.units[start]
            total += unit.tokens
            alone = start == end - 1
            if not alone and (total + unit.before_tokens > self.room and total > self.room):
                return
            if not alone and (unit.shown is not None or last.shown is not None or unit.ends_chunk):
                return
            if alone or total + unit.before_tokens <= self.room:
                yield start, total + unit.before_tokens
