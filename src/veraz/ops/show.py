"""Reading one document as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from veraz.db.rows import rows_of
from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.errors import UsageError
from veraz.nouns.corpus import Access, AccessRule, Section, Span
from veraz.nouns.shown import Shown, ShownChunk, ShownRevision


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """The columns of find_document.sql."""

    document_id: UUID
    external_id: str
    source: str
    source_name: str
    authority: int
    document_type: str | None
    acl: list[str]
    acl_rule: AccessRule
    owner: str | None
    readable_from: datetime | None
    readable_until: datetime | None
    current_revision_id: UUID | None
    superseded_by: str | None
    superseded_at: datetime | None
    superseded_from: date | None
    supersession_pinned: bool
    purged_number: int
    supersedes: list[str]


async def show_document(
    connection: Connection,
    external_id: str,
    source: str | None,
    revision: int | None,
    as_of: date | None = None,
) -> Shown:
    """Raises UsageError where the document or the revision does not exist for this caller, or the id is in several sources."""
    found = await rows_of(
        connection,
        FoundDocument,
        statement("ops", "find_document"),
        {"external_id": external_id, "source": source},
    )
    if not found:
        raise UsageError(
            f"no document {external_id!r} that you may read",
            fix="check the id, --source, --tenant and --roles",
        )
    if len(found) > 1:
        raise UsageError(
            f"{external_id!r} is in several sources: {', '.join(row.source for row in found)}",
            fix="name one with --source",
        )
    [document] = found
    key = {"document_id": document.document_id}
    revisions = tuple(await rows_of(connection, ShownRevision, statement("ops", "document_revisions"), key))
    current = next((r.number for r in revisions if r.revision_id == document.current_revision_id), None)
    if as_of is not None:
        chosen = _held(revisions, as_of, external_id)
    else:
        number = revision if revision is not None else current
        chosen = _choose(revisions, number, external_id, document.purged_number)
    return Shown(
        document_id=document.document_id,
        external_id=external_id,
        source=document.source,
        source_name=document.source_name,
        authority=document.authority,
        document_type=document.document_type,
        acl=tuple(document.acl),
        access=_access(document),
        current_revision=current,
        superseded_by=document.superseded_by,
        superseded_at=document.superseded_at,
        superseded_from=document.superseded_from,
        supersedes=tuple(document.supersedes),
        revisions=revisions,
        shown=chosen.number,
        sections=await _sections(connection, chosen.revision_id),
        chunks=await _chunks(connection, chosen.revision_id),
        supersession_pinned=document.supersession_pinned,
    )


def _access(found: FoundDocument) -> Access:
    return Access(tuple(found.acl), found.acl_rule, found.owner, found.readable_from, found.readable_until)


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
            key, ord_, section, tuple(path), kind, display, header, tokens, spans_of(spans), page, *rest
        )
        for key, ord_, section, path, kind, display, header, tokens, spans, page, *rest in rows
    )


def spans_of(edges: Sequence[int]) -> tuple[Span, ...]:
    return tuple(Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True))


async def _rows(connection: Connection, name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    return await (await connection.execute(statement("ops", name), parameters)).fetchall()
