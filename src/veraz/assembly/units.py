"""Sentences and rows of tables: where a text may begin and end without saying something else."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from veraz.nouns.corpus import Span
from veraz.text.sentences import sentence_spans
from veraz.text.tables import is_row, line_at, read_table, table_at

FAR = 20_000
"""Code points: a paragraph that is longer on one side of an edge is read in part."""


class Units:
    """Of one text. `edge` and `within` read the paragraph around a place, each once."""

    def __init__(self, text: str, lang: str) -> None:
        self._text, self._lang = text, lang
        self._known: dict[Span, tuple[Span, ...]] = {}
        self._tables: dict[Span, Span | None] = {}
        """Tables that were met, and their headers."""

    def around(self, at: int) -> Span | None:
        """The sentence or row that `at` stands inside of: not where one begins or ends."""
        units = self._of(self._paragraph(at))
        n = bisect_left(units, at, key=lambda unit: unit.start) - 1
        return units[n] if n >= 0 and at < units[n].end else None

    def within(self, span: Span) -> tuple[Span, ...]:
        """The sentences and rows of a range, those at its edges as far as they lie in it."""
        at, found = span.start, list[Span]()
        while at < span.end:
            paragraph = self._paragraph(at)
            for unit in self._of(paragraph):
                start, end = max(unit.start, span.start), min(unit.end, span.end)
                if start < end and (not found or start >= found[-1].end):
                    found.append(Span(start, end))
            at = max(paragraph.end, at + 1)
        return tuple(found)

    def table(self, at: int) -> Span | None:
        """The lines of the table that `at` stands in."""
        for known in self._tables:
            if known.start <= at < known.end:
                return known
        found = table_at(self._text, at)
        if found is not None:
            read = read_table(self._text, found.start, found.end)
            named = bool(read.header and read.rows)
            self._tables[found] = Span(found.start, read.rows[0].start) if named else None
        return found

    def header(self, table: Span) -> Span | None:
        """The header rows of a table that `table` gave and the line below them, up to where its first row begins."""
        return self._tables[table]

    def _paragraph(self, at: int) -> Span:
        """What no blank line parts, or what is near of it."""
        before = self._text.rfind("\n\n", max(0, at - FAR), at)
        after = self._text.find("\n\n", at, at + FAR)
        start = before + 2 if before >= 0 else line_at(self._text, max(0, at - FAR)).start
        end = after + 2 if after >= 0 else line_at(self._text, min(len(self._text), at + FAR)).end
        return Span(start, end)

    def _of(self, paragraph: Span) -> tuple[Span, ...]:
        if paragraph not in self._known:
            found: list[Span] = []
            for inner in sentence_spans(self._text[paragraph.start : paragraph.end], self._lang):
                start, end = inner.start + paragraph.start, inner.end + paragraph.start
                if found and self._in_one_row(found[-1], start):
                    start = found.pop().start
                found.append(Span(start, end))
            self._known[paragraph] = tuple(found)
        return self._known[paragraph]

    def _in_one_row(self, before: Span, at: int) -> bool:
        line = line_at(self._text, at)
        return line.start <= before.start and is_row(self._text[line.start : line.end])


def whole(units: Units, span: Span, allowed: Span) -> Span | None:
    """The range with no sentence or row cut at its edges: these are completed as far as `allowed` goes, else left out. None where
    nothing stays."""
    start, end = span.start, span.end
    first, last = units.around(start), units.around(end)
    if first is not None:
        start = first.start if first.start >= allowed.start else first.end
    if last is not None:
        end = last.end if last.end <= allowed.end else last.start
    return Span(start, end) if start < end else None


def without(span: Span, gaps: Sequence[Span]) -> list[Span]:
    """The range without what lies in `gaps`, which are in order and do not overlap."""
    kept, at = [], span.start
    for gap in gaps[bisect_right(gaps, span.start, key=lambda gap: gap.end) :]:
        if gap.start >= span.end:
            break
        if gap.start > at:
            kept.append(Span(at, gap.start))
        at = max(at, gap.end)
    if at < span.end:
        kept.append(Span(at, span.end))
    return kept
