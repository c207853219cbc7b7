"""What is in no chunk, and why: the proof that chunking lost nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from veraz.nouns.corpus import Chunk, Dropped, DropReason, ParsedDocument, Span
from veraz.text.lines import trim


def dropped(doc: ParsedDocument, chunks: Iterable[Chunk]) -> tuple[Dropped, ...]:
    """The ranges of `doc.text` that no span of `chunks` covers, in order, each with its reason; with the spans they hold every
    character, and exactly once where spans do not overlap.

    A heading without any text below it counts as a heading: the section tree keeps it. Raises ValueError where anything else
    with a letter or digit is in no chunk: then a chunker lost text.
    """
    named = between_blocks(doc)
    spans = sorted((span.start, span.end) for chunk in chunks for span in chunk.spans)
    return tuple(part for gap in _gaps(doc.text, spans) for part in _named_parts(doc.text, gap, named))


def between_blocks(doc: ParsedDocument) -> list[Dropped]:
    """Headings, rulers, hidden markup and what is repeated: all that stands between the blocks of a document but white space."""
    repeated = [Dropped(span.start, span.end, "repeated") for span in doc.repeated]
    parts = sorted([*_headings(doc), *_rulers(doc), *repeated], key=lambda part: part.start)
    return [part for part in parts if part.start < part.end]


def _headings(doc: ParsedDocument) -> Iterator[Dropped]:
    first = {block.section: block.start for block in reversed(doc.blocks)}
    lines = sorted(part.start for part in (*doc.rulers, *doc.repeated))
    for section in doc.sections:
        if section.level:
            end = first.get(section.ord, section.end)
            line = bisect_right(lines, section.start)
            start, end = trim(doc.text, section.start, min([end, *lines[line : line + 1]]))
            yield Dropped(start, end, "heading" if section.heading else "markup")


def _rulers(doc: ParsedDocument) -> Iterator[Dropped]:
    """Drawn lines; what holds a letter is hidden markup, such as a comment."""
    for ruler in doc.rulers:
        hidden = _states(doc.text, ruler.start, ruler.end)
        yield Dropped(ruler.start, ruler.end, "markup" if hidden else "ruler")


def _gaps(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[Span]:
    at = 0
    for start, end in [*spans, (len(text), len(text))]:
        if start > at:
            yield Span(at, start)
        at = max(at, end)


def _named_parts(text: str, gap: Span, named: Sequence[Dropped]) -> Iterator[Dropped]:
    at = gap.start
    for n in range(bisect_right(named, at, key=lambda part: part.end), len(named)):
        start, end = max(named[n].start, at), min(named[n].end, gap.end)
        if start >= gap.end:
            break
        if start < end:
            yield from _nameless(text, at, start)
            yield from _trimmed(text, start, end, named[n].why)
            at = end
    yield from _nameless(text, at, gap.end)


def _nameless(text: str, start: int, end: int) -> Iterator[Dropped]:
    left, right = trim(text, start, end)
    if _states(text, left, right):
        raise ValueError(f"text in no chunk at {left}: {text[left : min(right, left + 60)]!r}")
    return _trimmed(text, start, end, "markup")


def _trimmed(text: str, start: int, end: int, why: DropReason) -> Iterator[Dropped]:
    left, right = trim(text, start, end)
    left, right = (left, right) if left < right else (end, end)
    ranges: list[tuple[int, int, DropReason]] = [
        (start, left, "blank"),
        (left, right, why),
        (right, end, "blank"),
    ]
    return (Dropped(*part) for part in ranges if part[0] < part[1])


def _states(text: str, start: int, end: int) -> bool:
    return any(map(str.isalnum, text[start:end]))
