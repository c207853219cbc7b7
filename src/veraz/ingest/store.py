"""What ingest asks of the database: one function per statement, each inside a transaction that db/session.py opened."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
from psycopg import AsyncCursor

from veraz.db.arrays import Reals
from veraz.db.rows import rows_of
from veraz.db.session import Connection
from veraz.db.statements import space_statement, statement
from veraz.ingest.listing import LiveDocument
from veraz.nouns.corpus import Access, AccessRule, Chunk, Dropped, ParsedDocument, SourceSettings, Vectors


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
class KnownRow:
    """A row of known_documents; what is an array there has one entry a revision."""

    external_id: str
    document_id: UUID
    current_revision_id: UUID | None
    deleted_at: datetime | None
    erased_at: datetime | None
    acl: list[str]
    acl_rule: AccessRule
    owner: str | None
    readable_from: datetime | None
    readable_until: datetime | None
    raw_hashes: list[bytes]
    bytes_hashes: list[bytes | None]
    stated: list[Mapping[str, str]]
    replaced: list[bytes]

    def document(self) -> KnownDocument:
        return KnownDocument(
            self.external_id,
            self.document_id,
            self.current_revision_id,
            self.deleted_at,
            self.erased_at,
            Access(tuple(self.acl), self.acl_rule, self.owner, self.readable_from, self.readable_until),
            tuple(map(KnownRevision, self.raw_hashes, self.bytes_hashes, self.stated)),
            has_current=self.current_revision_id is not None,
            replaced=frozenset(self.replaced),
        )


@dataclass(frozen=True, slots=True)
class LiveRow:
    """A row of live_documents."""

    external_id: str
    raw_hash: bytes | None
    bytes_hash: bytes | None
    acl: list[str]
    acl_rule: AccessRule
    owner: str | None
    readable_from: datetime | None
    readable_until: datetime | None

    def access(self) -> Access:
        return Access(tuple(self.acl), self.acl_rule, self.owner, self.readable_from, self.readable_until)


@dataclass(frozen=True, slots=True)
class DocumentState:
    """A document under its lock."""

    document_id: UUID
    current_revision_id: UUID | None
    last_number: int
    stated_from: date | None
    deleted_at: datetime | None
    erased_at: datetime | None
    is_stored: bool  # exactly this revision is there already


@dataclass(frozen=True, slots=True)
class Written:
    """What the transaction sees of a revision before it commits; rows of an arm count where they are current as their chunk is.
    A document that is already superseded has no current chunks."""

    revision_id: UUID
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
    """Postings of one analyser's inverted file: those of recent transactions, and those that are merged."""

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
    (row,) = await rows_of(connection, StoredSource, statement("ingest", "ensure_source"), parameters)
    return row


async def stored_source(connection: Connection, source_id: UUID) -> StoredSource | None:
    parameters = {"source_id": source_id}
    found = await rows_of(connection, StoredSource, statement("ingest", "stored_source"), parameters)
    return found[0] if found else None


async def known_documents(
    connection: Connection, source_id: UUID, external_ids: Sequence[str]
) -> dict[str, KnownDocument]:
    parameters = {"source_id": source_id, "external_ids": list(external_ids)}
    rows = await rows_of(connection, KnownRow, statement("ingest", "known_documents"), parameters)
    return {row.external_id: row.document() for row in rows}


async def live_documents(connection: Connection, source_id: UUID) -> dict[str, LiveDocument]:
    parameters = {"source_id": source_id}
    rows = await rows_of(connection, LiveRow, statement("ingest", "live_documents"), parameters)
    return {
        row.external_id: LiveDocument(row.external_id, row.raw_hash, row.bytes_hash, row.access())
        for row in rows
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


async def document_states(
    connection: Connection, wanted: Sequence[tuple[UUID, bytes, Mapping[str, str]]]
) -> dict[UUID, DocumentState]:
    """Of those that exist, by document. `wanted`: the document, and of the revision that is to be written the raw hash and what
    callers stated."""
    parameters = {
        "document_ids": [document_id for document_id, _, _ in wanted],
        "raw_hashes": [raw_hash for _, raw_hash, _ in wanted],
        "stated": [_json(stated) for _, _, stated in wanted],
    }
    states = await rows_of(connection, DocumentState, statement("ingest", "document_states"), parameters)
    return {state.document_id: state for state in states}


@dataclass(frozen=True, slots=True)
class RevisionToWrite:
    """A whole revision. `vectors`: one row per chunk, in order."""

    document_id: UUID
    number: int
    is_new: bool  # there is no document of that id yet
    document: ParsedDocument
    lang: str
    langs: tuple[str, ...]  # of each chunk, in order, as of `analysers`
    analysers: tuple[str, ...]
    raw_hash: bytes
    bytes_hash: bytes
    stated: Mapping[str, str]
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


async def write_revisions(
    connection: Connection,
    space_id: int,
    source_id: UUID,
    revisions: Sequence[RevisionToWrite],
    *,
    stated: str | None,
    title_weight: int = 1,
) -> tuple[dict[UUID, Written], Links]:
    """Inserts whole revisions of different documents and moves their pointers: sent as one pipeline, visible at the commit or not
    at all. `stated`: what the caller of this run says that they replace. `title_weight`: how often the words of title and
    headings count in the lexical arm.

    Pointers and links come first, so that chunks are written as what they will be: current or not. Returns the check counts by
    revision, and what became of supersession links."""
    known = [r for r in revisions if not r.is_new]
    chunk_ids = [chunk_key(r.revision_id, c.ord) for r in revisions for c in r.chunks]
    vectors = np.concatenate([r.vectors for r in revisions])
    async with connection.pipeline():

        async def send(name: str, of_space: int | None = None, **parameters: Any) -> AsyncCursor[Any]:
            if of_space is None:
                return await connection.execute(statement("ingest", name), parameters)
            return await connection.execute(space_statement("ingest", name, of_space), parameters)

        new = _json([_owner(r) for r in revisions if r.is_new])
        await send("insert_documents", source_id=source_id, documents=new)
        await send("insert_revisions", revisions=_json([_revision_row(r) for r in revisions]))
        await send("insert_sections", sections=_json([row for r in revisions for row in _section_rows(r)]))
        for revision in known:
            await send("publish_revision", **_owner(revision))
        linked = await send(
            "link_written", document_ids=[r.document_id for r in revisions], stated_supersedes=stated
        )
        for revision in known:
            await send("refresh_currency", document_id=revision.document_id)
        await send("insert_chunks", chunks=_json([row for r in revisions for row in _chunk_rows(r)]))
        analysers = [analyser for r in revisions for analyser in r.analysers]
        await send("index_chunks", chunk_ids=chunk_ids, analysers=analysers, title_weight=title_weight)
        numbers = Reals(vectors.ravel())
        await send("insert_vectors", space_id, chunk_ids=chunk_ids, vectors=numbers, width=vectors.shape[1])
        counted = await send("count_written", space_id, chunk_ids=chunk_ids)
        written = {row[0]: Written(*row) for row in await counted.fetchall()}
        row = await linked.fetchone()
    assert row is not None
    return written, Links(*row)


async def restate_supersession(connection: Connection, document_id: UUID, supersedes: str) -> Links:
    """A caller says again of a stored document what it replaces. The locks are taken."""
    parameters = {"document_id": document_id, "stated_supersedes": supersedes}
    row = await (await connection.execute(statement("ingest", "link_supersession"), parameters)).fetchone()
    assert row is not None
    return Links(*row)


def _owner(revision: RevisionToWrite) -> dict[str, Any]:
    document = revision.document
    return {
        "document_id": revision.document_id,
        "revision_id": revision.revision_id,
        "external_id": document.external_id,
        "document_type": document.document_type,
        "becomes_current": revision.becomes_current,
        **access_columns(revision.access),
    }


def _revision_row(revision: RevisionToWrite) -> dict[str, Any]:
    document = revision.document
    same = ("text", "title", "url", "publisher", "license", "jurisdiction", "published_at", "revised_at")
    kept = [part for part in revision.dropped if part.why != "blank"]
    more = (
        "valid_from",
        "valid_to",
        "supersedes",
        "item",
        "edition",
        "media",
        "parser",
        "meta",
        "page_starts",
    )
    return {
        **{name: getattr(document, name) for name in (*same, *more)},
        "document_id": revision.document_id,
        "revision_id": revision.revision_id,
        "number": revision.number,
        "lang": revision.lang,
        "raw_hash": _bytea(revision.raw_hash),
        "bytes_hash": _bytea(revision.bytes_hash),
        "stated": revision.stated,
        "chunker": revision.chunker,
        "dropped": [edge for part in kept for edge in (part.start, part.end)],
        "dropped_why": [part.why for part in kept],
    }


def _bytea(value: bytes) -> str:
    return "\\x" + value.hex()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _section_rows(revision: RevisionToWrite) -> Iterator[dict[str, Any]]:
    names = ("ord", "parent", "level", "heading", "heading_path", "start", "end")
    for section in revision.document.sections:
        yield {"revision_id": revision.revision_id, **{name: getattr(section, name) for name in names}}


def _chunk_rows(revision: RevisionToWrite) -> Iterator[dict[str, Any]]:
    same = (
        "ord",
        "section",
        "heading_path",
        "kind",
        "body",
        "display",
        "header",
        "token_count",
        "page",
        "embedded",
        "context",
    )
    for chunk, lang, content_hash in zip(revision.chunks, revision.langs, revision.hashes, strict=True):
        yield {
            **{name: getattr(chunk, name) for name in same},
            "chunk_id": chunk_key(revision.revision_id, chunk.ord),
            "document_id": revision.document_id,
            "revision_id": revision.revision_id,
            "lang": lang,
            "spans": [edge for span in chunk.spans for edge in (span.start, span.end)],
            "start": chunk.spans[0].start,
            "end": chunk.spans[-1].end,
            "content_hash": _bytea(content_hash),
            "context_key": _bytea(chunk.context_key) if chunk.context_key else None,
            "window_start": chunk.window.start if chunk.window else None,
            "window_end": chunk.window.end if chunk.window else None,
        }


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


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a document could not be taken, as it is kept until it can."""

    document_id: UUID
    external_id: str
    path: str
    stage: str
    reason: str


async def failed_documents(connection: Connection, source: str) -> frozenset[UUID]:
    """What earlier ingests of a source could not take."""
    cursor = await connection.execute(statement("ingest", "failed_documents"), {"source": source})
    return frozenset(row[0] for row in await cursor.fetchall())


async def keep_failures(connection: Connection, source: str, failures: Sequence[Failure]) -> None:
    parameters = {"source": source, "failures": _json([asdict(f) for f in failures])}
    await connection.execute(statement("ingest", "keep_failures"), parameters)


async def settle_failures(connection: Connection, document_ids: Sequence[UUID]) -> None:
    await connection.execute(statement("ingest", "settle_failures"), {"document_ids": list(document_ids)})


async def pending_postings(connection: Connection) -> tuple[PendingPostings, ...]:
    return tuple(await rows_of(connection, PendingPostings, statement("ingest", "pending_postings"), {}))


async def merge_postings(connection: Connection, analyser: str) -> int:
    row = await (
        await connection.execute(statement("ingest", "merge_postings"), {"analyser": analyser})
    ).fetchone()
    assert row is not None
    return int(row[0])
