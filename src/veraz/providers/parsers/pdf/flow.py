"""From lines to paragraphs, lists, headings and captions, over columns and pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import median
from typing import Literal

from veraz.nouns.corpus import Span
from veraz.providers.parsers.pdf.layout import Item, Line, pitches
from veraz.providers.parsers.pdf.shapes import right_to_left
from veraz.providers.parsers.pdf.tables import Table, continues, joined
from veraz.text.lines import ENDS_SENTENCE, item_marker

_CAPTION = re.compile(
    r"[\[(<]?\s*(?:table|tabla|tabelle|tableau|tabell?a?|tabela|tabel|taulukko|quadro|cuadro|表|표)\s*\.?\s*[\dIVXA-Z]",
    re.I,
)
_FIGURE = re.compile(r"(?:fig(?:ure|ura|\.)?|abb(?:ildung|\.)|afbeelding|图|그림)\s*\.?\s*\d", re.I)
_CONTINUED = re.compile(
    r"\(?\b(?:cont|contd|continued|continuación|suite|fortsetzung|fortsat)\b[.’'d]*\)?\W*$", re.I
)
_ENDS = re.compile(r"""[.!?:;。！？؟…][)\]"'”’»\d⁰-⁹¹²³*†‡]*$""")
_NUMBERED = re.compile(r"((?:[1-9]\d?|[A-Z])(?:\.\d{1,2}){0,4})\.?\s+(?=\S)")
_GLUED = re.compile(r"o\s+(?=\S)|[•·▪‣◦●]\s*(?=\S)|[-–](?=[^\W\d_a-z])")
"""Bullets that are no sign of their own in other texts, or that stand close to the first word."""
_MAX_HEADING = 160
_MAX_HEADING_LINES = 4

Kind = Literal["paragraph", "item", "heading", "code", "caption"]


@dataclass(slots=True)
class Block:
    """Lines that are read together. `level` of a heading from 1; `depth` of a list item by its indentation."""

    lines: list[Line]
    kind: Kind = "paragraph"
    level: int = 0
    marker: int = 0  # characters of the bullet or number

    @property
    def first(self) -> Line:
        return self.lines[0]

    @property
    def last(self) -> Line:
        return self.lines[-1]

    @property
    def size(self) -> float:
        return max(self.lines, key=lambda line: len(line.text)).size

    @property
    def bold(self) -> bool:
        return all(line.bold for line in self.lines if any(map(str.isalnum, line.text)))

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)


Part = Block | Table


@dataclass(slots=True)
class Usual:
    """What most of the text looks like."""

    size: float = 0.0
    bold: bool = False
    pitch: float = 1.2  # distance between lines, in sizes
    mono: bool = False


def usual_of(columns: Sequence[Sequence[Item]]) -> Usual:
    sizes: Counter[tuple[float, bool]] = Counter()
    mono = total = 0
    steps: list[float] = []
    for column in columns:
        for item in column:
            if isinstance(item, Line):
                sizes[round(item.size * 2) / 2, item.bold] += len(item.text)
                total += len(item.text)
                mono += len(item.text) * item.mono
        steps += pitches(column)
    if not sizes:
        return Usual()
    (size, bold), _ = sizes.most_common(1)[0]
    near = [step / size for step in steps if step < 2.6 * size]
    return Usual(size, bold, median(near) if near else 1.2, 2 * mono > total)


# Blocks


def blocks_of(columns: Iterable[Sequence[Item]], usual: Usual) -> list[Part]:
    """Blocks and tables in reading order. What a column or page ends in the middle of goes on in the next."""
    parts: list[Part] = []
    for column in columns:
        if usual.mono:
            for item in column:
                if isinstance(item, Line):
                    item.mono = False  # a document typed as a whole holds no code
        for n, part in enumerate(_column_blocks(column, usual)):
            if n == 0 and parts:
                _drop_doubled(parts, part)
            if n == 0 and parts and _goes_on(parts[-1], part):
                _join(parts, part)
            else:
                parts.append(part)
    for part in parts:
        if isinstance(part, Block) and part.kind == "code" and len(part.lines) == 1:
            part.kind = "paragraph"
    return parts


def _column_blocks(column: Sequence[Item], usual: Usual) -> Iterator[Part]:
    block: Block | None = None
    step = _pitch(column, usual)
    listed = _listed(column, step)
    for item in column:
        if isinstance(item, Table):
            if block:
                yield block
            yield item
            block = None
        elif (
            block is not None
            and not listed.get(id(item), _UNLISTED).begins
            and not _breaks(block, item, step)
        ):
            block.lines.append(item)
        else:
            if block:
                yield block
            block = _begun(item)
            if listed.get(id(item), _UNLISTED).item and block.kind == "paragraph":
                block.kind = "item"
    if block:
        yield block


def _pitch(column: Sequence[Item], usual: Usual) -> float:
    """The distance between the lines of a column, in points; the lower of what is usual here and in the document."""
    steps = pitches(column)
    here = median(steps) if len(steps) >= 4 else usual.pitch * usual.size
    return min(here, 1.3 * usual.pitch * usual.size) if usual.size else here


def _begun(line: Line) -> Block:
    marker = item_marker(line.text, Span(0, len(line.text)))
    if marker < 0 and (found := _GLUED.match(line.text)):
        marker = found.end()
    if marker > 0:
        return Block([line], "item", marker=marker)
    return Block([line], "code" if line.mono else "paragraph")


def _breaks(block: Block, line: Line, step: float) -> bool:
    """Whether a line begins a new block."""
    last = block.last
    size = max(last.size, line.size)
    if line.turned or last.turned or _begun(line).kind == "item":
        return True
    if abs(line.size - block.size) > 0.08 * size + 0.3 or (line.bold != last.bold and _styled(block, line)):
        return True
    if line.mono != last.mono or line.base - last.base > max(1.3 * step, 1.3 * size) or line.base < last.base:
        return True
    return block.kind != "code" and (
        _is_short(last, line)
        or _is_indented(block, line)
        or _is_outdented(block, line)
        or _is_row(last, line)
        or _counts_on(block, line)
    )


def _styled(block: Block, line: Line) -> bool:
    """Whether a change to or from bold is that of a heading: a whole block of one, not a word at a line's end."""
    if block.kind == "item" and line.text[:1].islower():
        return False  # an item that begins in bold
    return block.bold or (line.bold and len(line.text) > 3)


def _is_short(last: Line, line: Line) -> bool:
    """Whether the next word would still have fitted, and the next line begins like something new."""
    rightwards = not right_to_left(last.text)
    room = last.right - last.x1 if rightwards else last.x0 - last.left
    needed = _needed(line)
    if room <= needed + 0.5 * line.size:
        return False
    start = line.text[:1]
    if start.islower() or start in ",;.:)]}%":
        return False
    return bool(_ENDS.search(last.text)) or room > max(2.5 * needed, 0.3 * (last.right - last.left))


def _needed(line: Line) -> float:
    """The room that the first word of a line would have taken at the end of the one above."""
    first = line.segments[0].words[0]
    return first.x1 - first.x0 + 0.3 * line.size


def _is_outdented(block: Block, line: Line) -> bool:
    """Whether a line stands out to where the block began, or further, while those between stand in: a hanging indent."""
    first, last = block.first, block.last
    if right_to_left(line.text) or (block.kind != "item" and line.text[:1].islower()):
        return False
    if first.segments[0].words[0].size > 1.3 * first.size:
        return False  # a large first letter, with lines beside it
    ended = last.right - last.x1 > _needed(line) + line.size
    if len(block.lines) > 1 and block.lines[1].x0 > first.x0 + 0.8 * line.size:
        return line.x0 < first.x0 + 0.3 * line.size and (ended or bool(_ENDS.search(last.text)))
    return ended and block.kind == "item" and line.x0 < first.x0 - 0.5 * line.size


def _is_row(last: Line, line: Line) -> bool:
    """Whether two lines have a wide gap at the same place, as rows of words and figures do."""
    if min(len(last.segments), len(line.segments)) < 2:
        return False
    one, other = last.segments[-1], line.segments[-1]
    wide = min(one.x0 - last.segments[-2].x1, other.x0 - line.segments[-2].x1) > 2.5 * line.size
    figures = all(len(part.text) <= 20 and re.search(r"\d", part.text) for part in (one, other))
    return wide and figures and (abs(one.x0 - other.x0) < 2 or abs(one.x1 - other.x1) < 2)


def _counts_on(block: Block, line: Line) -> bool:
    """Whether both begin with numbers of sections, the second following the first: 5.9 Overdose, 6 Adverse reactions."""
    one, other = _SECTION.match(block.first.text), _SECTION.match(line.text)
    if not one or not other:
        return False
    before, after = ([int(part) for part in found[1].split(".")] for found in (one, other))
    level = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    return len(after) > level and after[level] == (before[level] if level < len(before) else 0) + 1


_SECTION = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+(?=[^\W\d_a-z])")


@dataclass(frozen=True, slots=True)
class _Listed:
    """Of a line of a list without bullets: whether it begins something new because the one above ended early, and whether what
    begins with it is an item. Lines that begin like sentences or titles may be these as well."""

    begins: bool
    item: bool


_UNLISTED = _Listed(begins=False, item=False)


def _listed(column: Sequence[Item], step: float) -> dict[int, _Listed]:
    """The lines of lists without bullets.

    Of three lines or more below one another nearly each must end before the first word of the next would not have fitted. How far
    they could have gone is as far as one of them goes; or, where all hold a few words, as far as the column does."""
    found: dict[int, _Listed] = {}
    for run in _even(column, step):
        if len(run) < 3:
            continue
        widest = max(line.x1 for line in run)
        few = median(len(line.segments[0].words) for line in run) <= 4
        few = few and widest - run[0].x0 < 0.4 * (run[0].right - run[0].x0)
        edge = run[0].right if few else widest
        if sum(_ends_early(a, b, edge) for a, b in pairwise(run)) >= 0.8 * (len(run) - 1):
            small = run[0].text[:1].islower() and sum(b.text[:1].islower() for b in run) >= 0.6 * len(run)
            found[id(run[0])] = _Listed(begins=False, item=small)
            for a, b in pairwise(run):
                begins = _ends_early(a, b, a.right) and (small or not b.text[:1].islower())
                found[id(b)] = _Listed(begins, small)
    return found


def _ends_early(line: Line, following: Line, edge: float) -> bool:
    return line.text[-1:] not in ",-‐–([/" and edge - line.x1 > _needed(following) + following.size


def _even(column: Sequence[Item], step: float) -> Iterator[list[Line]]:
    """Lines that follow one another in one piece each, at one edge and in one size."""
    run: list[Line] = []
    for item in column:
        if not isinstance(item, Line) or item.turned or item.mono or len(item.segments) > 1:
            if run:
                yield run
            run = []
            continue
        last = run[-1] if run else item
        near = 0 <= item.base - last.base <= 1.3 * step
        if (
            not near
            or abs(item.x0 - last.x0) > 1.5
            or abs(item.size - last.size) > 0.5
            or item.bold != last.bold
        ):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def _is_indented(block: Block, line: Line) -> bool:
    """Whether a line stands in from the one above, as the first of a paragraph does."""
    last = block.last
    if block.kind == "item" or right_to_left(line.text):
        return False
    step_in = line.x0 - last.x0
    if not 0.8 * line.size < step_in < 5 * line.size:
        return False
    centred = abs((line.x0 + line.x1) - (last.x0 + last.x1)) < line.size
    return not centred and bool(_ENDS.search(last.text))


# Over columns and pages


def _goes_on(before: Part, part: Part) -> bool:
    if isinstance(before, Table) or isinstance(part, Table):
        return (
            isinstance(before, Table)
            and isinstance(part, Table)
            and part.page == before_page(before) + 1
            and continues(before, part)
        )
    last, first = before.last, part.first
    if part.kind != before.kind and part.kind != "paragraph":
        return False
    if (
        part.kind == "item"
        or abs(last.size - first.size) > 0.5
        or last.bold != first.bold
        or last.turned != first.turned
    ):
        return False
    if last.page not in (first.page, first.page - 1) or _ENDS.search(last.text):
        return False
    start = next((char for char in first.text if char.isalnum()), "")
    caseless = bool(start) and start.lower() == start.upper() and not start.isdecimal()
    full = last.x1 > last.right - 2 * last.size or right_to_left(last.text)
    return start.islower() or (full and (caseless or (len(before.lines) > 1 and last.text[-1:] in ",-‐–(")))


def _drop_doubled(parts: list[Part], part: Part) -> None:
    """A line that was cut in two by the end of a page is drawn on both sides of it: once is enough."""
    before = parts[-1]
    if (
        not isinstance(before, Block)
        or not isinstance(part, Block)
        or part.first.page != before.last.page + 1
    ):
        return
    if len(part.first.text) >= 30 and before.last.text == part.first.text:
        before.lines.pop()
        if not before.lines:
            parts.pop()


def before_page(table: Table) -> int:
    return table.page + len(table.breaks)


def _join(parts: list[Part], part: Part) -> None:
    before = parts[-1]
    if isinstance(before, Table) and isinstance(part, Table):
        parts[-1] = joined(before, part)
    elif isinstance(before, Block) and isinstance(part, Block):
        before.lines += part.lines


# Headings


@dataclass(frozen=True, slots=True)
class Bookmark:
    title: str
    level: int
    page: int


@dataclass(slots=True)
class Bookmarks:
    """What the document's own outline says, by the letters of its titles."""

    found: dict[str, list[Bookmark]] = field(default_factory=dict)

    @classmethod
    def of(cls, bookmarks: Iterable[Bookmark]) -> Bookmarks:
        made = cls()
        for mark in bookmarks:
            if key := letters(mark.title):
                made.found.setdefault(key, []).append(mark)
        return made

    def level(self, text: str, page: int) -> int:
        """Of the bookmark that points at this text on this page; 0 for none."""
        here = [mark for mark in self.found.get(letters(text), ()) if mark.page in (page, 0)]
        return here[0].level if here else 0


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def find_headings(parts: Sequence[Part], usual: Usual, bookmarks: Bookmarks) -> None:
    """Marks the blocks that are headings, with their levels: those of bookmarks as these say, the others by their looks."""
    blocks = [part for part in parts if isinstance(part, Block) and _may_be_heading(part)]
    marked: list[Block] = []
    styled: list[Block] = []
    counted = _counted(blocks)
    for block in blocks:
        if level := bookmarks.level(block.text, block.first.page):
            block.level = level
            marked.append(block)
        elif _looks_like_heading(block, usual) or id(block) in counted:
            styled.append(block)
    contents = _contents(parts, [*marked, *styled])
    marked = [block for block in marked if id(block) not in contents]
    styled = [block for block in styled if id(block) not in contents]
    below = _sizes(marked) if len(marked) >= 3 else {}
    ranks = {style: rank for rank, style in enumerate(sorted({_style(block) for block in styled}))}
    firsts: dict[int, int] = {}
    for block in styled:
        above = max(_above(below, block), default=0)
        firsts[above] = min(ranks[_style(block)], firsts.get(above, len(ranks)))
    for block in styled:
        above = max(_above(below, block), default=0)
        block.level = min(above + 1 + ranks[_style(block)] - firsts[above], 9)
    for block in (*marked, *styled):
        block.kind = "heading"


def _above(sizes: Mapping[int, float], block: Block) -> list[int]:
    return [level for level, size in sizes.items() if size >= block.size - 0.25]


def _sizes(marked: Sequence[Block]) -> dict[int, float]:
    """The size of the headings of each level that bookmarks name."""
    by_level: dict[int, list[float]] = {}
    for block in marked:
        by_level.setdefault(block.level, []).append(block.size)
    return {level: median(sizes) for level, sizes in by_level.items()}


def _may_be_heading(block: Block) -> bool:
    return len(block.text) <= _MAX_HEADING and any(map(str.isalpha, block.text))


_CONTENTS = 5  # headings without a word between them
_FIRST_PAGES = 8


def _contents(parts: Sequence[Part], headings: Sequence[Block]) -> set[int]:
    """The headings that are lines of a table of contents, though bookmarks may point at it: a run of them on one of the first
    pages, most of which are said again further on."""
    named = {id(block) for block in headings}
    last = {
        letters(part.text): n for n, part in enumerate(parts) if isinstance(part, Block) and id(part) in named
    }
    found: set[int] = set()
    for is_named, group in groupby(enumerate(parts), lambda each: id(each[1]) in named):
        run = [(n, part) for n, part in group if isinstance(part, Block)]
        if is_named and len(run) >= _CONTENTS and run[0][1].first.page <= _FIRST_PAGES:
            again = [id(part) for _, part in run if last[letters(part.text)] > run[-1][0]]
            found.update(again if 2 * len(again) >= len(run) else ())
    return found


_TITLED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){1,4})\.?\s+[^\W\d_].*[^\W_]\)?")


def _counted(blocks: Sequence[Block]) -> set[int]:
    """Short lines with a number such as 4.2 that count up through the document: headings whatever they look like."""
    found = [
        (tuple(map(int, named[1].split("."))), id(block))
        for block in blocks
        if len(block.lines) < 3 and len(block.text) <= 110 and (named := _TITLED.fullmatch(block.text))
        if not block.text[-1:].isdigit() and named[0].split(maxsplit=1)[1][0].isupper()
    ]
    rising = sum(a < b for (a, _), (b, _) in pairwise(found))
    return {block for _, block in found} if len(found) > 3 and rising >= 0.8 * (len(found) - 1) else set()


def _looks_like_heading(block: Block, usual: Usual) -> bool:
    text = block.text
    if block.kind == "code" or len(block.lines) > _MAX_HEADING_LINES or block.first.turned:
        return False
    if any(len(line.segments) > 2 for line in block.lines):
        return False  # the names of columns
    if (
        _CAPTION.match(text)
        or _FIGURE.match(text)
        or text[-1:] in ",;-–"
        or not re.search(r"[^\W\d_]{2}", text)
    ):
        return False
    numbered = _NUMBERED.match(text)
    if block.kind == "item" and not numbered:
        return False
    if block.size >= 1.12 * usual.size + 0.3:
        return not _ENDS.search(text) or text[-1:] in "?!" or bool(numbered) or block.size >= 1.3 * usual.size
    if not block.bold or usual.bold or block.size < 0.9 * usual.size:
        return False
    return not ENDS_SENTENCE.search(text) or text[-1:] == "?" or (bool(numbered) and len(text) < 80)


def _style(block: Block) -> tuple[float, int]:
    """Larger is higher; among equals capitals without a number, then numbers by their depth, then the rest."""
    text = block.text
    size = -round(block.size * 2) / 2
    if found := _NUMBERED.match(text):
        return size, 1 + found[1].count(".")
    return size, 0 if text == text.upper() and text != text.lower() else 8


# Captions


def with_captions(parts: Sequence[Part]) -> list[Part]:
    """A line that names a table, right above it, becomes its caption, units below it too; "(continued)" above the rest of one
    goes."""
    done: list[Part] = []
    for part in parts:
        above = _caption_above(done, part) if isinstance(part, Table) else []
        if isinstance(part, Table) and above:
            rest = len(done) > len(above) and _is_rest(done[-len(above) - 1], above[0], part)
            del done[len(done) - len(above) :]
            if rest:
                _join(done, part)
                continue
            part.caption = " ".join([*(block.text for block in above), part.caption]).strip()
        done.append(part)
    return done


def _caption_above(done: Sequence[Part], table: Table) -> list[Block]:
    """The blocks of the caption that ends right above the table; [] if there is none."""
    found: list[Block] = []
    for part in reversed(done[-4:]):
        if not isinstance(part, Block) or part.last.page != table.page or len(part.text) > 2 * _MAX_HEADING:
            return []
        found.insert(0, part)
        if _CAPTION.match(part.text):
            return found
        if not (part.text.startswith("(") and len(part.text) < 60):
            return []
    return []


def _is_rest(before: Part, above: Block, table: Table) -> bool:
    return (
        isinstance(before, Table)
        and before_page(before) + 1 == table.page
        and (bool(_CONTINUED.search(above.text)) or above.text == before.caption)
        and continues(before, table)
    )


def list_depths(items: Sequence[Block]) -> list[int]:
    """How deep each item of a run stands, by where its bullet is. Bullets far to the right are those of a column beside."""
    edges: list[tuple[float, int]] = []
    for item in sorted(items, key=_bullet_at):
        at = _bullet_at(item)
        if not edges or at > edges[-1][0] + 8:
            beside = not edges or at > edges[-1][0] + _COLUMN * item.first.size
            edges.append((at, 0 if beside else edges[-1][1] + 1))
    return [next(depth for at, depth in reversed(edges) if at <= _bullet_at(item) + 1) for item in items]


_COLUMN = 6.0  # sizes: no item stands that much deeper than the one around it


def _bullet_at(item: Block) -> float:
    return item.first.x0 - item.first.left


def runs_of_items(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Parts one by one, list items that follow one another together."""
    run: list[Part] = []
    for part in parts:
        if isinstance(part, Block) and part.kind == "item":
            run.append(part)
            continue
        if run:
            yield run
        run = []
        yield [part]
    if run:
        yield run
