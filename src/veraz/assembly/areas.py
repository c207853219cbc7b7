"""Which parts of a text are wanted, and the passages that these make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from veraz.assembly.stored import Stored
from veraz.assembly.units import Units, without
from veraz.nouns.corpus import Span
from veraz.text.lines import trim
from veraz.text.tables import line_at

Areas = tuple[Span, ...]
"""Disjoint ranges of one text, in order, between any two of which something stands that a reader would miss."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A passage before it has a document: the ranges of the text that it is made of. `at`: where it begins, but for the
    header of a table."""

    at: int
    spans: tuple[Span, ...]
    text: str


@dataclass(frozen=True, slots=True)
class _Group:
    at: int
    areas: list[Span]


class Page:
    """One text, with what is in no chunk of it, and its sentences."""

    def __init__(self, stored: Stored) -> None:
        self.stored, self.units = stored, Units(stored.text, stored.lang)

    def joined(self, areas: Areas, span: Span) -> Areas:
        """The areas with one more; those that touch or overlap become one."""
        made: list[Span] = []
        for area in sorted([*areas, span], key=lambda one: (one.start, one.end)):
            if made and (area.start <= made[-1].end or self._is_blank(Span(made[-1].end, area.start))):
                made[-1] = Span(made[-1].start, max(made[-1].end, area.end))
            else:
                made.append(area)
        return tuple(made)

    def _is_blank(self, gap: Span) -> bool:
        return not self._says(gap, self.stored.dropped)

    def says(self, span: Span) -> bool:
        """Whether anything but furniture stands there."""
        return self._says(span, self.stored.furniture)

    def _says(self, span: Span, left_out: Sequence[Span]) -> bool:
        return any(self.stored.text[part.start : part.end].strip() for part in without(span, left_out))

    def passages(self, areas: Areas) -> list[Drawn]:
        """One for each area; parts of one table are one passage, and stand below its header."""
        groups: list[_Group] = []
        reached: Span | None = None  # the table in which the last area ends
        for area in areas:
            table = self.units.table(area.start)
            if groups and table is not None and table == reached:
                groups[-1].areas.append(area)
            else:
                groups.append(_Group(area.start, [*self._header_above(area, table), area]))
            reached = self.units.table(area.end - 1)
        return [self._drawn(group) for group in groups]

    def _header_above(self, area: Span, table: Span | None) -> list[Span]:
        header = None if table is None or area.start == table.start else self.units.header(table)
        return [header] if header is not None and header.end <= area.start else []

    def _drawn(self, group: _Group) -> Drawn:
        text, spans = self.stored.text, list[Span]()
        for n, area in enumerate(group.areas):
            last = n == len(group.areas) - 1
            parts = [
                part for part in without(area, self.stored.furniture) if text[part.start : part.end].strip()
            ]
            if parts and last:
                parts[-1] = Span(parts[-1].start, trim(text, parts[-1].start, parts[-1].end)[1])
            elif parts:  # the row that follows begins a line
                parts[-1] = Span(parts[-1].start, min(line_at(text, parts[-1].end - 1).end + 1, len(text)))
            spans += parts
        if spans:
            spans[0] = Span(trim(text, spans[0].start, spans[0].end)[0], spans[0].end)
        return Drawn(group.at, tuple(_seamless(spans)), "".join(text[s.start : s.end] for s in spans))


def _seamless(spans: Sequence[Span]) -> list[Span]:
    made: list[Span] = []
    for span in spans:
        if made and made[-1].end == span.start:
            made[-1] = Span(made[-1].start, span.end)
        else:
            made.append(span)
    return made


def holds(areas: Areas, span: Span) -> bool:
    return any(area.start <= span.start and span.end <= area.end for area in areas)
