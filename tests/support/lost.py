"""An index that lost rows: they are stored and current, and no scan of it reaches them."""

from __future__ import annotations

from typing import LiteralString

import psycopg

READY: LiteralString = (
    "update pg_index set indisready = %s where indexrelid = 'veraz.embedding_1_hnsw'::regclass"
)
REWRITTEN: LiteralString = """
update veraz.embedding_1 set is_current = %s
 where chunk_id in (select chunk_id from veraz.chunk where is_current and get_byte(content_hash, 0) < 256 * %s)
"""


def lose(url: str, share: float) -> int:
    """Has about `share` of the current vectors written anew while the index takes nothing in. `url`: a superuser's. Returns how
    many vectors the index does not know any more."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(READY, [False])
        connection.execute(REWRITTEN, [False, share])  # the predicate of the index: no update in place
        lost = connection.execute(REWRITTEN, [True, share]).rowcount
        connection.execute(READY, [True])
    return lost
