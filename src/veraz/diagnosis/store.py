"""What a diagnosis asks of the database: one function per statement, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from veraz.db.rows import rows_of
from veraz.db.session import Connection
from veraz.db.statements import space_statement, statement
from veraz.diagnosis.facts import (
    Excluding,
    KnownChunk,
    KnownDocument,
    KnownFailure,
    KnownRevision,
    QuestionWord,
)
from veraz.filters.compose import parts_of
from veraz.nouns.question import Filters


async def expected_documents(
    connection: Connection, external_ids: Sequence[str], source: str | None, *, knows_all: bool
) -> list[KnownDocument]:
    parameters = {"external_ids": list(external_ids), "source": source, "knows_all": knows_all}
    return await rows_of(connection, KnownDocument, statement("diagnosis", "expected_documents"), parameters)


async def expected_revisions(
    connection: Connection, document_id: UUID, *, with_text: bool
) -> list[KnownRevision]:
    parameters = {"document_id": document_id, "with_text": with_text}
    return await rows_of(connection, KnownRevision, statement("diagnosis", "expected_revisions"), parameters)


async def expected_chunks(connection: Connection, space_id: int, revision_id: UUID) -> list[KnownChunk]:
    query = space_statement("diagnosis", "expected_chunks", space_id)
    async with connection.cursor() as cursor:
        await cursor.execute(query, {"revision_id": revision_id})
        return [KnownChunk(*row) for row in await cursor.fetchall()]


async def question_words(
    connection: Connection, words: Sequence[str], analyser: str, chunk_id: UUID, heading: str
) -> list[QuestionWord]:
    """None of a chunk that the caller may not read."""
    parameters = {"words": list(words), "analyser": analyser, "chunk_ids": [chunk_id], "heading": heading}
    return await rows_of(connection, QuestionWord, statement("diagnosis", "question_words"), parameters)


async def known_failures(
    connection: Connection, external_ids: Sequence[str], source: str | None
) -> list[KnownFailure]:
    parameters = {"external_ids": list(external_ids), "source": source}
    return await rows_of(connection, KnownFailure, statement("diagnosis", "known_failures"), parameters)


async def filter_parts(
    connection: Connection, filters: Filters, chunk_ids: Sequence[UUID]
) -> tuple[Excluding, ...]:
    """The conditions of the filters' expression, each with the chunks that meet it and what a chunk has that does not."""
    conditions, parts, parameters = parts_of(filters)
    if not conditions or not chunk_ids:
        return ()
    query = statement("diagnosis", "filter_parts").format(parts=parts)
    cursor = await connection.execute(query, {**parameters, "chunk_ids": list(chunk_ids)})
    rows = await cursor.fetchall()
    return tuple(
        Excluding(condition, {row[0]: row[2] for row in rows if not row[1][n]})
        for n, condition in enumerate(conditions)
    )


@dataclass(frozen=True, slots=True)
class NearId:
    source: str
    external_id: str


async def near_ids(connection: Connection, external_id: str) -> list[NearId]:
    parameters = {"external_id": external_id}
    return await rows_of(connection, NearId, statement("diagnosis", "near_ids"), parameters)
