"""What answering asks of the database: one function per statement, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from veraz.answer.sentences import RevisionKey
from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.nouns.answer import Superseded


@dataclass(frozen=True, slots=True)
class RevisionText:
    """`page_starts`: where each page begins in `text`; empty for a text without pages. `recognised`: the pages, from 1, whose
    text comes from OCR."""

    text: str
    page_starts: tuple[int, ...]
    recognised: frozenset[int]


async def read_evidence(
    connection: Connection, words: Sequence[str], analyser: str, revision_ids: Sequence[UUID]
) -> tuple[dict[str, float], dict[RevisionKey, RevisionText]]:
    """Words with their idf in the corpus, without those of no weight (stop words of the analyser), and the texts of the revisions
    that may be read."""
    weighed = {"words": list(words), "analyser": analyser}
    wanted = {"revision_ids": list(revision_ids)}
    async with connection.pipeline():
        idfs = await connection.execute(statement("answer", "word_weights"), weighed)
        revisions = await connection.execute(statement("answer", "revision_texts"), wanted)
        weights = {word: float(idf) for word, idf in await idfs.fetchall() if idf > 0}
        texts = {
            (source, external_id, number): RevisionText(text, tuple(pages), frozenset(seen))
            for source, external_id, number, text, pages, seen in await revisions.fetchall()
        }
    return weights, texts


async def replaced_documents(connection: Connection, document_ids: Sequence[UUID]) -> tuple[Superseded, ...]:
    cursor = await connection.execute(
        statement("answer", "replaced_documents"), {"document_ids": list(document_ids)}
    )
    return tuple(Superseded(*row) for row in await cursor.fetchall())
