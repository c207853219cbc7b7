"""What is known of the text around hits: pure values, as the store reads them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from veraz.nouns.corpus import Span

FURNITURE = frozenset({"repeated", "ruler", "markup"})
"""Reasons for which text is in no chunk and is of no use to a reader; a heading is."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk of a revision, without its text. `window`: what a reader is given for it, where that is more."""

    chunk_id: UUID
    revision_id: UUID
    ord: int
    section: int
    kind: str
    heading_path: tuple[str, ...]
    spans: tuple[Span, ...]
    section_span: Span
    window: Span | None = None

    @property
    def hull(self) -> Span:
        return Span(self.spans[0].start, self.spans[-1].end)

    @property
    def shown(self) -> Span:
        return self.window or self.hull


@dataclass(frozen=True, slots=True)
class Stored:
    """The text of a revision. `dropped` is what of it is in no chunk, white space aside; `furniture` the part of that which no
    reader wants: running heads, rulers, hidden markup."""

    text: str
    lang: str
    page_starts: tuple[int, ...] = ()
    dropped: tuple[Span, ...] = ()
    furniture: tuple[Span, ...] = ()
