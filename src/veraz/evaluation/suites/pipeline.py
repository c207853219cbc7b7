"""Reading what a suite's judgements are about, for whoever asks. Orchestration only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date

from veraz.db.session import Database
from veraz.evaluation.suites import store
from veraz.evaluation.suites.binding import bind, joined
from veraz.evaluation.suites.twins import RevisionKey
from veraz.nouns.corpus import Identity
from veraz.nouns.suite import Binding, DocumentKey, JudgedSpan, Passage

Progress = Callable[[int, int], None]
"""Called with (documents done, documents in all)."""


async def texts_of(
    database: Database, identity: Identity, keys: Collection[RevisionKey]
) -> dict[RevisionKey, str]:
    async with database.transaction(identity) as connection:
        return await store.revision_texts(connection, sorted(keys))


async def current_revisions(
    database: Database, identity: Identity, keys: Collection[DocumentKey]
) -> dict[DocumentKey, int]:
    async with database.transaction(identity) as connection:
        return await store.current_numbers(connection, sorted(keys))


async def binding_of(
    database: Database,
    asked_by: Mapping[tuple[Identity, date | None], Mapping[str, Sequence[JudgedSpan]]],
    progress: Progress | None = None,
) -> Binding:
    """How judged spans stand to what is ingested, each for who asks its query and for the day that it is asked about (None: for
    today). A few documents are read at a time."""
    parts = []
    total = sum(len(_documents(spans)) for spans in asked_by.values())
    done = 0
    for (identity, as_of), spans in asked_by.items():
        keys = _documents(spans)
        for begin in range(0, len(keys), store.BATCH):
            batch = keys[begin : begin + store.BATCH]
            async with database.transaction(identity) as connection:
                documents = await store.stored_documents(connection, batch, as_of)
            of_batch = set(batch)
            parts.append(
                bind(
                    {q: [s for s in found if s.document in of_batch] for q, found in spans.items()}, documents
                )
            )
            done += len(batch)
            if progress:
                progress(done, total)
    return joined(parts)


async def passages_of(
    database: Database, identity: Identity, places: Collection[tuple[str, str, int, int, int]]
) -> tuple[Passage, ...]:
    async with database.transaction(identity) as connection:
        return await store.passages(connection, sorted(places))


def _documents(spans: Mapping[str, Sequence[JudgedSpan]]) -> list[DocumentKey]:
    return sorted({span.document for found in spans.values() for span in found})
