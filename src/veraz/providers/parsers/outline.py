"""What every parser produces first: headings and blocks with offsets; and the section tree made from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from veraz.nouns.corpus import Block, BlockKind, Section, Span
from veraz.text.lines import trim


@dataclass(frozen=True, slots=True)
class Heading:
    """`start`/`end` cover the heading's line or lines (markers and underline included); `title` is its
    plain text."""

    start: int
    end: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A block before its section is known."""

    kind: BlockKind
    start: int
    end: int
    caption: Span | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """The structure of one text. `rulers` are ranges that carry no content (thematic breaks, markup); `repeated` those whose
    content was said before, on another page or in another menu; `title` is what the text itself names as its title, "" if it
    names none. `page_starts` as in ParsedDocument."""

    text: str
    headings: Sequence[Heading]
    pieces: Sequence[Piece]
    rulers: Sequence[tuple[int, int]] = ()
    title: str = ""
    warnings: tuple[str, ...] = ()
    page_starts: tuple[int, ...] = ()
    repeated: Sequence[tuple[int, int]] = ()

    @property
    def blank(self) -> bool:
        """Nothing to read: no text, or rulers only."""
        return not self.headings and next(iter(_with_gaps(self)), None) is None


def build_sections(outline: Outline) -> tuple[Section, ...]:
    """The heading tree, section 0 being the root. A section ends where the next heading begins."""
    headings = outline.headings
    ends = [h.start for h in headings[1:]] + [len(outline.text)]
    sections = [Section(0, None, 0, "", (), 0, headings[0].start if headings else len(outline.text))]
    open_sections = [sections[0]]
    for ord_, (heading, end) in enumerate(zip(headings, ends, strict=False), 1):
        while open_sections[-1].level >= heading.level:
            open_sections.pop()
        parent = open_sections[-1]
        path = (*parent.heading_path, heading.title) if heading.title else parent.heading_path
        section = Section(ord_, parent.ord, heading.level, heading.title, path, heading.start, end)
        sections.append(section)
        open_sections.append(section)
    return tuple(sections)


def build_blocks(outline: Outline, sections: Sequence[Section]) -> tuple[Block, ...]:
    """Blocks in reading order, each in its section. Text that no block, heading or ruler claims becomes
    a paragraph, so that nothing a reader could need is left out of every chunk."""
    blocks: list[Block] = []
    section = 0
    captions = {piece.start: piece.caption for piece in outline.pieces if piece.caption is not None}
    for kind, start, end in _with_gaps(outline):
        while section + 1 < len(sections) and sections[section + 1].start <= start:
            section += 1
        blocks.append(Block(section, kind, start, end, captions.get(start)))
    return tuple(blocks)


def ruler_spans(outline: Outline) -> tuple[Span, ...]:
    return tuple(Span(start, end) for start, end in sorted(outline.rulers) if start < end)


def repeated_spans(outline: Outline) -> tuple[Span, ...]:
    return tuple(Span(start, end) for start, end in sorted(outline.repeated) if start < end)


def _with_gaps(outline: Outline) -> Iterable[tuple[BlockKind, int, int]]:
    claimed: list[tuple[int, int, BlockKind | None]] = [
        *((p.start, p.end, p.kind) for p in outline.pieces),
        *((h.start, h.end, None) for h in outline.headings),
        *((start, end, None) for start, end in outline.rulers),
        *((start, end, None) for start, end in outline.repeated),
    ]
    text, at = outline.text, 0
    for start, end, kind in sorted(claimed, key=lambda claim: claim[:2]):
        yield from _gap(text, at, start)
        if kind is not None and end > start:
            yield kind, start, end
        at = max(at, end)
    yield from _gap(text, at, len(text))


def _gap(text: str, start: int, end: int) -> Iterable[tuple[BlockKind, int, int]]:
    start, end = trim(text, start, end)
    if start < end:
        yield "paragraph", start, end
