"""Reading one document as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID

from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.errors import UsageError
from veraz.nouns.corpus import Access, Section, Span
from veraz.nouns.shown import Shown, ShownChunk, ShownRevision


async def show_document(
    connection: Connection,
    external_id: str,
    source: str | None,
    revision: int | None,
    as_of: date | None = None,
) -> Shown:
    """Raises UsageError where the document or the revision does not exist for this caller, or the id is in several sources."""
    found = await _rows(connection, "find_document", {"external_id": external_id, "source": source})
    if not found:
        raise UsageError(
            f"no document {external_id!r} that you may read",
            fix="check the id, --source, --tenant and --roles",
        )
    if len(found) > 1:
        raise UsageError(
            f"{external_id!r} is in several sources: {', '.join(row[2] for row in found)}",
            fix="name one with --source",
        )
    (
        document_id,
        _,
        slug,
        name,
        authority,
        kind,
        labels,
        *access,
        current_id,
        superseded_by,
        at,
        since,
        pinned,
        purged_number,
        supersedes,
    ) = found[0]
    revisions = tuple(
        ShownRevision(*row)
        for row in await _rows(connection, "document_revisions", {"document_id": document_id})
    )
    current = next((r.number for r in revisions if r.revision_id == current_id), None)
    if as_of is not None:
        chosen = _held(revisions, as_of, external_id)
    else:
        chosen = _choose(revisions, revision if revision is not None else current, external_id, purged_number)
    return Shown(
        document_id=document_id,
        external_id=external_id,
        source=slug,
        source_name=name,
        authority=authority,
        document_type=kind,
        acl=tuple(labels),
        access=Access(tuple(labels), *access),
        current_revision=current,
        superseded_by=superseded_by,
        superseded_at=at,
        superseded_from=since,
        supersedes=tuple(supersedes),
        revisions=revisions,
        shown=chosen.number,
        sections=await _sections(connection, chosen.revision_id),
        chunks=await _chunks(connection, chosen.revision_id),
        supersession_pinned=pinned,
    )


def _held(revisions: Sequence[ShownRevision], day: date, external_id: str) -> ShownRevision:
    """The last that had begun on that day, if it had not ended: the rule of `valid_revisions` in the schema."""
    begun = [r for r in revisions if r.effective_from <= day]
    last = max(begun, key=lambda r: (r.effective_from, r.number), default=None)
    if last is None or (last.valid_to is not None and day > last.valid_to):
        dates = ", ".join(f"{r.number} from {r.effective_from}" for r in reversed(revisions))
        raise UsageError(
            f"no revision of {external_id!r} held on {day}", fix=f"it has revision {dates or 'none'}"
        )
    return last


def _choose(
    revisions: Sequence[ShownRevision], number: int | None, external_id: str, purged_number: int
) -> ShownRevision:
    for revision in revisions:
        if revision.number == number:
            return revision
    known = ", ".join(str(r.number) for r in reversed(revisions))
    if number is not None and number <= purged_number:
        raise UsageError(
            f"revision {number} of {external_id!r} was purged: its text is gone",
            fix=f"what is kept: revision {known or 'none'}",
        )
    raise UsageError(f"{external_id!r} has no revision {number}", fix=f"it has: {known or 'none'}")


async def _sections(connection: Connection, revision_id: UUID) -> tuple[Section, ...]:
    rows = await _rows(connection, "revision_sections", {"revision_id": revision_id})
    return tuple(
        Section(o, parent, level, heading, tuple(path), start, end)
        for o, parent, level, heading, path, start, end in rows
    )


async def _chunks(connection: Connection, revision_id: UUID) -> tuple[ShownChunk, ...]:
    rows = await _rows(connection, "revision_chunks", {"revision_id": revision_id})
    return tuple(
        ShownChunk(
            key, ord_, section, tuple(path), kind, display, header, tokens, spans_of(spans), page, current
        )
        for key, ord_, section, path, kind, display, header, tokens, spans, page, current in rows
    )


def spans_of(edges: Sequence[int]) -> tuple[Span, ...]:
    return tuple(Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True))


async def _rows(connection: Connection, name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    return await (await connection.execute(statement("ops", name), parameters)).fetchall()
