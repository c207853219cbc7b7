"""From hits to passages: reads what stands around them as who asked, then assembles without the database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from veraz.assembly import store
from veraz.assembly.assemble import Assembled, Wanted, assemble, longest_section, reach
from veraz.db.session import Database
from veraz.nouns.corpus import Identity
from veraz.nouns.evidence import Hit
from veraz.nouns.question import Filters
from veraz.providers.ports import CountTokens


async def passages_around(
    database: Database,
    identity: Identity,
    hits: Sequence[Hit],
    filters: Filters,
    wanted: Wanted,
    count_tokens: CountTokens | None,
) -> Assembled:
    """`filters` are those of the search that found the hits, resolved. Revisions are those of the hits, so a day that was
    searched (as of) is the day of what stands around them."""
    chunks = [hit.chunk_id for hit in hits]
    async with database.transaction(identity) as connection:
        pieces = await store.around(
            connection, chunks, filters, reach=reach(wanted), longest=longest_section(wanted)
        )
        texts = await store.texts(connection, sorted({piece.revision_id for piece in pieces}))
    return await asyncio.to_thread(assemble, hits, pieces, texts, wanted, count_tokens)
