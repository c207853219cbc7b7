"""What evaluation reads of documents: texts of revisions, spans of chunks, passages for a judge. All under the caller's
rights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from veraz.db.rows import rows_of
from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.evaluation.suites.judgements import text_hash
from veraz.evaluation.suites.twins import RevisionKey
from veraz.nouns.corpus import Span
from veraz.nouns.suite import DocumentKey, Passage, StoredDocument

BATCH = 50
"""Documents of one statement: their texts are held at once."""


@dataclass(frozen=True, slots=True)
class StoredRevision:
    """The columns of stored_revisions.sql."""

    slug: str
    external_id: str
    wanted: int
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class HeldRevision:
    """The columns of held_revisions.sql."""

    slug: str
    external_id: str
    number: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """The columns of stored_chunks.sql."""

    slug: str
    external_id: str
    spans: list[int]


@dataclass(frozen=True, slots=True)
class PassageRow:
    """The columns of passages.sql."""

    source: str
    external_id: str
    revision: int
    start: int
    end: int
    text: str
    title: str
    heading_path: list[str]
    lang: str
    revised_at: date | None


async def revision_texts(connection: Connection, keys: Collection[RevisionKey]) -> dict[RevisionKey, str]:
    """The texts of those that are there and that the caller may read."""
    rows = await _revisions(connection, keys)
    return {(r.slug, r.external_id, r.wanted): r.text for r in rows}


async def current_numbers(connection: Connection, keys: Collection[DocumentKey]) -> dict[DocumentKey, int]:
    """The number of the current revision of each that is there."""
    return {
        (r.slug, r.external_id): r.number for r in await _revisions(connection, [(*key, 0) for key in keys])
    }


async def stored_documents(
    connection: Connection, keys: Collection[DocumentKey], as_of: date | None = None
) -> dict[DocumentKey, StoredDocument]:
    """Current revisions, or those that held on a day, and the chunks of them that a search can return."""
    wanted = [(*key, 0) for key in keys] if as_of is None else await _held(connection, keys, as_of)
    revisions = await _revisions(connection, wanted)
    parameters = _columns(wanted)
    chunks: defaultdict[DocumentKey, list[tuple[Span, ...]]] = defaultdict(list)
    for row in await rows_of(connection, StoredChunk, statement("evaluation", "stored_chunks"), parameters):
        edges = zip(row.spans[::2], row.spans[1::2], strict=True)
        chunks[row.slug, row.external_id].append(tuple(Span(a, b) for a, b in edges))
    return {
        (r.slug, r.external_id): StoredDocument(r.number, r.text, tuple(chunks[r.slug, r.external_id]))
        for r in revisions
    }


async def passages(
    connection: Connection, places: Iterable[tuple[str, str, int, int, int]]
) -> tuple[Passage, ...]:
    """Of (source, external id, revision, start, end): those whose text is there, in no order."""
    columns = list(zip(*places, strict=True)) or [()] * 5
    names = ("sources", "external_ids", "revisions", "starts", "ends")
    parameters = {name: list(column) for name, column in zip(names, columns, strict=True)}
    rows = await rows_of(connection, PassageRow, statement("evaluation", "passages"), parameters)
    return tuple(
        Passage(
            r.source, r.external_id, r.revision, r.start, r.end, r.text, r.title, tuple(r.heading_path), r.lang,
            r.revised_at, text_hash(r.text),
        )
        for r in rows
        if len(r.text) == r.end - r.start
    )  # fmt: skip


async def _held(
    connection: Connection, keys: Collection[DocumentKey], as_of: date
) -> list[tuple[str, str, int]]:
    parameters = {"as_of": as_of, "sources": [k[0] for k in keys], "external_ids": [k[1] for k in keys]}
    rows = await rows_of(connection, HeldRevision, statement("evaluation", "held_revisions"), parameters)
    return [(r.slug, r.external_id, r.number) for r in rows]


async def _revisions(connection: Connection, keys: Collection[RevisionKey]) -> list[StoredRevision]:
    found = statement("evaluation", "stored_revisions")
    return await rows_of(connection, StoredRevision, found, _columns(keys))


def _columns(keys: Collection[RevisionKey]) -> dict[str, list[Any]]:
    return {
        "sources": [key[0] for key in keys],
        "external_ids": [key[1] for key in keys],
        "revisions": [key[2] for key in keys],
    }
