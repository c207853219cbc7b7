"""What assembling asks of the database: one function per statement, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from veraz.assembly.stored import FURNITURE, Piece, Stored
from veraz.db.rows import rows_of
from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.filters.compose import composed
from veraz.nouns.corpus import Span
from veraz.nouns.question import Filters


@dataclass(frozen=True, slots=True)
class AroundRow:
    """The columns of around.sql."""

    chunk_id: UUID
    revision_id: UUID
    ord: int
    section: int
    kind: str
    heading_path: list[str]
    spans: list[int]
    window_start: int | None
    window_end: int | None
    section_start: int
    section_end: int


async def around(
    connection: Connection, chunk_ids: Sequence[UUID], filters: Filters, *, reach: int, longest: int
) -> list[Piece]:
    """The hits and the chunks around them that may be read and meet the filters, by revision and place."""
    found = composed(filters)
    query = statement("assembly", "around").format(**found.slots())
    given = {"chunk_ids": list(chunk_ids), "reach": reach, "longest": longest, **found.parameters}
    rows = await rows_of(connection, AroundRow, query, given)
    return [
        Piece(
            row.chunk_id,
            row.revision_id,
            row.ord,
            row.section,
            row.kind,
            tuple(row.heading_path),
            _spans(row.spans),
            Span(row.section_start, row.section_end),
            None
            if row.window_start is None or row.window_end is None
            else Span(row.window_start, row.window_end),
        )
        for row in rows
    ]


async def texts(connection: Connection, revision_ids: Sequence[UUID]) -> dict[UUID, Stored]:
    """The revisions that may be read."""
    cursor = await connection.execute(statement("assembly", "texts"), {"revision_ids": list(revision_ids)})
    return {
        revision_id: _stored(text, lang, pages, _spans(dropped), reasons)
        for revision_id, text, lang, pages, dropped, reasons in await cursor.fetchall()
    }


def _stored(
    text: str, lang: str, pages: Sequence[int], dropped: tuple[Span, ...], reasons: Sequence[str]
) -> Stored:
    unwanted = tuple(s for s, why in zip(dropped, reasons, strict=True) if why in FURNITURE)
    return Stored(text, lang, tuple(pages), dropped, unwanted)


def _spans(edges: Sequence[int]) -> tuple[Span, ...]:
    return tuple(Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True))
