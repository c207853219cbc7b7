"""What ingest asks of the database: one function per statement, each inside a transaction that db/session.py opened."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec
import numpy as np

from veraz.db.session import Connection
from veraz.db.statements import space_statement, statement
from veraz.ingest.listing import LiveDocument
from veraz.nouns.corpus import Access, Chunk, Dropped, ParsedDocument, SourceSettings, Vectors


@dataclass(frozen=True, slots=True)
class StoredSource:
    source_id: UUID
    name: str
    chunker: str | None


@dataclass(frozen=True, slots=True)
class KnownRevision:
    """`bytes_hash` is None in revisions of an earlier Veraz; `stated` is what callers said beside the bytes."""

    raw_hash: bytes
    bytes_hash: bytes | None
    stated: Mapping[str, str]

    def is_of(self, raw_hash: bytes, stated: Mapping[str, str]) -> bool:
        return self.raw_hash == raw_hash and stated.items() <= self.stated.items()


@dataclass(frozen=True, slots=True)
class KnownDocument:
    external_id: str
    document_id: UUID
    current_revision_id: UUID | None
    deleted_at: datetime | None
    erased_at: datetime | None
    access: Access
    revisions: tuple[
        KnownRevision, ...
    ]  # the current one first, then those that hold from another day, newest first
    has_current: bool
    replaced: frozenset[
        bytes
    ]  # of revisions that were current once, without a date or with the current one's

    def holds(self, raw_hash: bytes, stated: Mapping[str, str]) -> bool:
        """Whether exactly this is stored already: as the current revision, or as a dated one of the history. What is `stated`
        now must be; what was stated earlier stays."""
        return self.deleted_at is None and any(r.is_of(raw_hash, stated) for r in self.revisions)

    def is_current(self, raw_hash: bytes, stated: Mapping[str, str]) -> bool:
        return self.has_current and self.revisions[0].is_of(raw_hash, stated)

    def stated_of(self, bytes_hash: bytes) -> Mapping[str, str]:
        """What callers stated of the same bytes."""
        return next((r.stated for r in self.revisions if r.bytes_hash == bytes_hash), {})

    def held(self, raw_hash: bytes) -> bool:
        """Whether exactly this was current once and was replaced, though no date says that what replaced it is newer."""
        return self.deleted_at is None and raw_hash in self.replaced


@dataclass(frozen=True, slots=True)
class DocumentState:
    current_revision_id: UUID | None
    last_number: int
    stated_from: date | None = None
    deleted_at: datetime | None = None
    erased_at: datetime | None = None
    is_stored: bool = False  # exactly this revision is there already


@dataclass(frozen=True, slots=True)
class Written:
    """What the transaction sees of a revision before it commits. A document that is already superseded has no current chunks."""

    current_chunks: int
    lexical_rows: int
    vectors: int
    is_superseded: bool


@dataclass(frozen=True, slots=True)
class Links:
    """`made`: documents that another one replaces now; `removed`: those that count again."""

    made: int
    removed: int


@dataclass(frozen=True, slots=True)
class PendingPostings:
    analyser: str
    delta: int
    merged: int


def source_key(tenant_id: UUID, slug: str) -> UUID:
    """Ids are derived from the tenant's random id, so that equal corpora get equal orders whatever the order of ingest."""
    return uuid.uuid5(tenant_id, f"source/{slug}")


def document_key(source_id: UUID, external_id: str) -> UUID:
    return uuid.uuid5(source_id, f"document/{external_id}")


def revision_key(document_id: UUID, number: int) -> UUID:
    return uuid.uuid5(document_id, f"revision/{number}")


def chunk_key(revision_id: UUID, ord: int) -> UUID:
    return uuid.uuid5(revision_id, f"chunk/{ord}")


async def ensure_source(connection: Connection, tenant_id: UUID, source: SourceSettings) -> StoredSource:
    parameters = {
        "source_id": source_key(tenant_id, source.slug),
        "slug": source.slug,
        "name": source.name,
        "license": source.license,
        "jurisdiction": source.jurisdiction,
        "authority": source.authority,
        "base_url": source.base_url,
        "chunker": source.chunker,
    }
    row = await (await connection.execute(statement("ingest", "ensure_source"), parameters)).fetchone()
    assert row is not None
    return StoredSource(*row)


async def stored_source(connection: Connection, source_id: UUID) -> StoredSource | None:
    cursor = await connection.execute(statement("ingest", "stored_source"), {"source_id": source_id})
    row = await cursor.fetchone()
    return StoredSource(*row) if row else None


async def known_documents(
    connection: Connection, source_id: UUID, external_ids: Sequence[str]
) -> dict[str, KnownDocument]:
    parameters = {"source_id": source_id, "external_ids": list(external_ids)}
    rows = await (await connection.execute(statement("ingest", "known_documents"), parameters)).fetchall()
    return {row[0]: _known(row) for row in rows}


def _known(row: Sequence[Any]) -> KnownDocument:
    external_id, document_id, current, deleted_at, erased_at, labels, *access = row[:10]
    return KnownDocument(
        external_id,
        document_id,
        current,
        deleted_at,
        erased_at,
        Access(tuple(labels), *access),
        tuple(map(KnownRevision, *row[10:13])),
        has_current=current is not None,
        replaced=frozenset(row[13]),
    )


async def live_documents(connection: Connection, source_id: UUID) -> dict[str, LiveDocument]:
    cursor = await connection.execute(statement("ingest", "live_documents"), {"source_id": source_id})
    return {
        external_id: LiveDocument(external_id, raw_hash, bytes_hash, Access(tuple(labels), *access))
        for external_id, raw_hash, bytes_hash, labels, *access in await cursor.fetchall()
    }


async def delete_documents(
    connection: Connection, source_id: UUID, documents: Sequence[LiveDocument]
) -> list[str]:
    """Ids of those that were hidden: one that has another current revision by now was written by another ingest, and stays."""
    parameters = {
        "source_id": source_id,
        "external_ids": [document.external_id for document in documents],
        "raw_hashes": [document.raw_hash for document in documents],
    }
    rows = await (await connection.execute(statement("ingest", "delete_documents"), parameters)).fetchall()
    return sorted(row[0] for row in rows)


async def known_vectors(
    connection: Connection, space_id: int, hashes: Sequence[bytes]
) -> dict[bytes, Vectors]:
    rows = await (
        await connection.execute(
            space_statement("ingest", "known_vectors", space_id), {"hashes": list(hashes)}, binary=True
        )
    ).fetchall()
    return {bytes(row[0]): np.asarray(row[1], dtype=np.float32) for row in rows}


@dataclass(frozen=True, slots=True)
class ContextDraft:
    """A context whose chunk is not written yet."""

    document_id: UUID
    key: bytes
    context: str


async def known_contexts(connection: Connection, keys: Sequence[bytes]) -> dict[bytes, str]:
    cursor = await connection.execute(statement("ingest", "known_contexts"), {"context_keys": list(keys)})
    return {bytes(key): context for key, context in await cursor.fetchall()}


async def keep_drafts(connection: Connection, drafts: Sequence[ContextDraft]) -> None:
    """Drafts of an erased document are not kept. The locks make an erasure either see them or be seen."""
    documents = {"document_ids": sorted({draft.document_id for draft in drafts})}
    await connection.execute(statement("ingest", "share_documents"), documents)
    rows = {
        "draft_documents": [draft.document_id for draft in drafts],
        "context_keys": [draft.key for draft in drafts],
        "contexts": [draft.context for draft in drafts],
    }
    await connection.execute(statement("ingest", "keep_drafts"), rows)


async def settle_drafts(connection: Connection, days: int) -> int:
    """Removes drafts whose chunks are written, and those that nobody came back for in so many days. Returns how many."""
    return (await connection.execute(statement("ingest", "settle_drafts"), {"days": days})).rowcount


async def lock_documents(connection: Connection, document_ids: Sequence[UUID], *, declares: bool) -> None:
    """`declares`: the document says that it replaces another one, or belongs to the editions of an item."""
    parameters = {"document_ids": list(document_ids), "declares": declares}
    await connection.execute(statement("ingest", "lock_documents"), parameters)


async def document_state(
    connection: Connection, document_id: UUID, raw_hash: bytes, stated: Mapping[str, str]
) -> DocumentState:
    parameters = {"document_id": document_id, "raw_hash": raw_hash, "stated": _json(stated)}
    row = await (await connection.execute(statement("ingest", "document_state"), parameters)).fetchone()
    return DocumentState(*row) if row else DocumentState(None, 0)


@dataclass(frozen=True, slots=True)
class RevisionToWrite:
    """Everything that one transaction writes. `vectors`: one row per chunk, in order."""

    source_id: UUID
    document_id: UUID
    number: int
    document: ParsedDocument
    lang: str
    langs: tuple[str, ...]  # of each chunk, in order, as of `analysers`
    analysers: tuple[str, ...]
    raw_hash: bytes
    bytes_hash: bytes
    stated: Mapping[str, str]
    supersedes_now: str | None  # what the caller of this run says that it replaces: an operator's word
    chunker: str
    chunks: tuple[Chunk, ...]
    hashes: tuple[bytes, ...]
    vectors: Vectors
    becomes_current: bool
    access: Access | None  # None leaves what is stored
    dropped: tuple[Dropped, ...] = ()

    @property
    def revision_id(self) -> UUID:
        return revision_key(self.document_id, self.number)


async def write_revision(
    connection: Connection, space_id: int, revision: RevisionToWrite
) -> tuple[Written, Links]:
    """Inserts a whole revision and moves the pointer: sent as one pipeline, visible at the commit or not at all.

    Returns the check counts and what became of supersession links."""
    document, revision_id = revision.document, revision.revision_id
    keys = {"document_id": revision.document_id, "revision_id": revision_id}
    owner = {
        **keys,
        "source_id": revision.source_id,
        "external_id": document.external_id,
        "document_type": document.document_type,
        "becomes_current": revision.becomes_current,
        **access_columns(revision.access),
    }
    chunk_ids = [chunk_key(revision_id, c.ord) for c in revision.chunks]
    async with connection.pipeline():
        await connection.execute(statement("ingest", "insert_document"), owner)
        await connection.execute(
            statement("ingest", "insert_revision"), {**keys, **_revision_columns(revision)}
        )
        await connection.execute(
            statement("ingest", "insert_sections"), {**keys, "sections": _sections_json(document)}
        )
        await connection.execute(
            statement("ingest", "insert_chunks"),
            {**keys, "chunks": _chunks_json(revision)},
        )
        await connection.execute(
            space_statement("ingest", "insert_vectors", space_id),
            {
                **keys,
                "chunk_ids": chunk_ids,
                "vectors": [_vector_text(v) for v in revision.vectors],
            },
        )
        await connection.execute(
            statement("ingest", "index_revision"), {**keys, "analysers": list(revision.analysers)}
        )
        await connection.execute(statement("ingest", "publish_revision"), owner)
        await connection.execute(statement("ingest", "refresh_currency"), keys)
        stated = {"stated_supersedes": revision.supersedes_now}
        linked = await connection.execute(statement("ingest", "link_supersession"), {**keys, **stated})
        counted = await connection.execute(
            space_statement("ingest", "count_written", space_id), {**keys, "chunk_ids": chunk_ids}
        )
        row, links = await counted.fetchone(), await linked.fetchone()
    assert row is not None
    assert links is not None
    return Written(*row), Links(*links)


async def restate_supersession(connection: Connection, document_id: UUID, supersedes: str) -> Links:
    """A caller says again of a stored document what it replaces. The locks are taken."""
    parameters = {"document_id": document_id, "stated_supersedes": supersedes}
    row = await (await connection.execute(statement("ingest", "link_supersession"), parameters)).fetchone()
    assert row is not None
    return Links(*row)


def _revision_columns(revision: RevisionToWrite) -> dict[str, Any]:
    document = revision.document
    same = ("text", "title", "url", "publisher", "license", "jurisdiction", "published_at", "revised_at")
    kept = [part for part in revision.dropped if part.why != "blank"]
    more = ("valid_from", "valid_to", "supersedes", "item", "edition", "media", "parser")
    return {
        **{name: getattr(document, name) for name in (*same, *more)},
        "number": revision.number,
        "lang": revision.lang,
        "raw_hash": revision.raw_hash,
        "bytes_hash": revision.bytes_hash,
        "stated": _json(revision.stated),
        "chunker": revision.chunker,
        "meta": _json(document.meta),
        "page_starts": list(document.page_starts),
        "dropped": [edge for part in kept for edge in (part.start, part.end)],
        "dropped_why": [part.why for part in kept],
    }


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _sections_json(document: ParsedDocument) -> str:
    return msgspec.json.encode(document.sections).decode()


def _chunks_json(revision: RevisionToWrite) -> str:
    rows = [
        {
            "chunk_id": chunk_key(revision.revision_id, c.ord),
            "ord": c.ord,
            "lang": lang,
            "section": c.section,
            "heading_path": c.heading_path,
            "kind": c.kind,
            "body": c.body,
            "display": c.display,
            "header": c.header,
            "token_count": c.token_count,
            "spans": [edge for span in c.spans for edge in (span.start, span.end)],
            "start": c.spans[0].start,
            "end": c.spans[-1].end,
            "page": c.page,
            "content_hash": content_hash.hex(),
            "embedded": c.embedded,
            "window_start": c.window.start if c.window else None,
            "window_end": c.window.end if c.window else None,
            "context": c.context,
            "context_key": c.context_key.hex() if c.context_key else None,
        }
        for c, lang, content_hash in zip(revision.chunks, revision.langs, revision.hashes, strict=True)
    ]
    return msgspec.json.encode(rows).decode()


def _vector_text(vector: Vectors) -> str:
    return msgspec.json.encode(vector.astype(np.float16).tolist()).decode()


def access_columns(access: Access | None) -> dict[str, Any]:
    """None leaves what is stored."""
    columns = asdict(access) if access else dict.fromkeys(Access.__dataclass_fields__)
    labels = columns.pop("labels")
    return {"acl": list(labels) if labels else None, "acl_rule": columns.pop("rule"), **columns}


async def update_access(connection: Connection, document_id: UUID, access: Access) -> bool:
    """False where there is no such document."""
    parameters = {"document_id": document_id, **access_columns(access)}
    cursor = await connection.execute(statement("ingest", "update_access"), parameters)
    return await cursor.fetchone() is not None


async def delete_document(connection: Connection, source: str, external_id: str) -> UUID | None:
    parameters = {"source": source, "external_id": external_id}
    row = await (await connection.execute(statement("ingest", "delete_document"), parameters)).fetchone()
    return row[0] if row else None


async def pending_postings(connection: Connection) -> tuple[PendingPostings, ...]:
    rows = await (await connection.execute(statement("ingest", "pending_postings"))).fetchall()
    return tuple(PendingPostings(row[0], int(row[1]), int(row[2])) for row in rows)


async def merge_postings(connection: Connection, analyser: str) -> int:
    row = await (
        await connection.execute(statement("ingest", "merge_postings"), {"analyser": analyser})
    ).fetchone()
    assert row is not None
    return int(row[0])
