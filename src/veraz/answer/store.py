"""What answering asks of the database: one function per statement, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from veraz.answer.sentences import RevisionKey
from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.nouns.answer import Superseded


async def word_weights(connection: Connection, words: Sequence[str], analyser: str) -> dict[str, float]:
    """Words with their idf in the corpus; a word of no weight (a stop word of the analyser) is left out."""
    cursor = await connection.execute(
        statement("answer", "word_weights"), {"words": list(words), "analyser": analyser}
    )
    return {word: float(idf) for word, idf in await cursor.fetchall() if idf > 0}


@dataclass(frozen=True, slots=True)
class RevisionText:
    """`page_starts`: where each page begins in `text`; empty for a text without pages. `recognised`: the pages, from 1, whose
    text comes from OCR."""

    text: str
    page_starts: tuple[int, ...]
    recognised: frozenset[int]


async def revision_texts(
    connection: Connection, revision_ids: Sequence[UUID]
) -> dict[RevisionKey, RevisionText]:
    cursor = await connection.execute(
        statement("answer", "revision_texts"), {"revision_ids": list(revision_ids)}
    )
    return {
        (source, external_id, number): RevisionText(text, tuple(pages), frozenset(seen))
        for source, external_id, number, text, pages, seen in await cursor.fetchall()
    }


async def replaced_documents(connection: Connection, document_ids: Sequence[UUID]) -> tuple[Superseded, ...]:
    cursor = await connection.execute(
        statement("answer", "replaced_documents"), {"document_ids": list(document_ids)}
    )
    return tuple(Superseded(*row) for row in await cursor.fetchall())
