"""Large corpora made inside PostgreSQL: random words and random unit vectors, in the shape that ingest writes, in minutes.

For benchmarks and proofs alone: nothing of it goes through a parser or a model.
"""

from __future__ import annotations

from typing import LiteralString
from uuid import UUID

from psycopg import sql

from veraz.db.session import Connection
from veraz.engine import AsyncVeraz

DIMENSION = 384

SOURCE: LiteralString = """
insert into veraz.source (tenant_id, source_id, slug, name) values (%(tenant)s, %(tenant)s, 'bulk', 'bulk') on conflict do nothing
"""
DOCUMENTS: LiteralString = """
insert into veraz.document (tenant_id, document_id, source_id, external_id, acl)
select %(tenant)s, md5(%(tenant)s::text || 'd' || n)::uuid, %(tenant)s, %(prefix)s || n, %(acl)s
  from generate_series(1, %(documents)s) n
"""
REVISIONS: LiteralString = """
insert into veraz.revision (tenant_id, revision_id, document_id, number, text, title, lang, valid_from, retired_at, raw_hash,
                            media, parser, chunker)
select %(tenant)s, md5(%(tenant)s::text || 'd' || n || 'r' || r)::uuid, md5(%(tenant)s::text || 'd' || n)::uuid, r, 'text',
       'Title ' || n, 'en', date '2020-01-01' + 365 * (r - 1), case when r < %(revisions)s then now() end,
       sha256((n || ' ' || r)::bytea), 'text', 'bulk/1', 'bulk/1'
  from generate_series(1, %(documents)s) n, generate_series(1, %(revisions)s) r
"""
POINTERS: LiteralString = """
update veraz.document d set current_revision_id = r.revision_id from veraz.revision r
 where d.tenant_id = %(tenant)s and r.tenant_id = d.tenant_id and r.document_id = d.document_id and r.number = %(revisions)s
   and d.current_revision_id is null
"""
SECTIONS: LiteralString = """
insert into veraz.section (tenant_id, revision_id, ord, level, heading, heading_path, start_at, end_at)
select tenant_id, revision_id, 0, 0, '', '{}', 0, 4 from veraz.revision where tenant_id = %(tenant)s
"""
CHUNKS: LiteralString = """
insert into veraz.chunk (tenant_id, chunk_id, document_id, revision_id, ord, section, heading_path, kind, body, display, header,
                         token_count, spans, start_at, end_at, content_hash, lang, is_current)
select tenant_id, chunk_id, document_id, revision_id, ord, 0, '{}', 'paragraph', words, words, '', 100, '{0,4}', 0, 4,
       sha256(words::bytea), 'en', current
  from (select r.tenant_id, md5(r.revision_id::text || c)::uuid as chunk_id, r.document_id, r.revision_id, c - 1 as ord,
               r.retired_at is null as current,
               (select string_agg('w' || floor(power(random(), 3) * %(vocabulary)s)::integer, ' ')
                  from generate_series(1, %(words)s + 0 * c)) as words
          from veraz.revision r, generate_series(1, %(chunks)s) c where r.tenant_id = %(tenant)s) made
"""
VECTORS: LiteralString = """
insert into {embedding} (tenant_id, chunk_id, document_id, revision_id, is_current, vec)
select tenant_id, chunk_id, document_id, revision_id, is_current, l2_normalize(vec)::halfvec
  from (select c.*, (select array_agg((case when d = 1 then %(axis)s else 0 end
                                         + %(spread)s * (random() + random() + random() - 1.5))::real)
                       from generate_series(1, {dimension} + 0 * c.ord) d)::vector as vec
          from veraz.chunk c where c.tenant_id = %(tenant)s) v
"""
EPOCH: LiteralString = (
    "insert into veraz.lexical_epoch (tenant_id, analyser) values (%(tenant)s, 'en') on conflict do nothing"
)
LEXICAL: LiteralString = """
insert into veraz.chunk_lexical (tenant_id, chunk_id, document_id, revision_id, analyser, length, is_current, bm25, tsv)
select tenant_id, chunk_id, document_id, revision_id, 'en', veraz.token_length(tsv), is_current,
       veraz.document_vector(tsv, veraz.token_length(tsv), 100), tsv
  from (select *, veraz.analyse('en', display) as tsv from veraz.chunk where tenant_id = %(tenant)s offset 0) c
"""
POSTINGS: LiteralString = "select veraz.rebuild_postings('en')"
STATISTICS: LiteralString = """
insert into veraz.lexical_stat (tenant_id, analyser, block, chunks, length, postings)
select tenant_id, 'en', 0, count(*), sum(length), sum(length(tsv)) from veraz.chunk_lexical
 where tenant_id = %(tenant)s and is_current group by tenant_id
"""


async def fill_tenant(
    connection: Connection,
    tenant_id: UUID,
    *,
    space_id: int,
    documents: int,
    chunks: int = 10,
    revisions: int = 1,
    words: int = 100,
    vocabulary: int = 20_000,
    axis: float = 0.0,
    spread: float = 1.0,
    dimension: int = DIMENSION,
    acl: tuple[str, ...] = ("public",),
) -> None:
    """Documents of one section, `chunks` chunks each, in `revisions` yearly revisions from 2020 on, the last of them current.
    `connection`: maintenance(tenant_id). Vectors lie around the first axis as closely as `axis` is larger than `spread`."""
    parameters = {
        "tenant": tenant_id,
        "prefix": "d",
        "documents": documents,
        "chunks": chunks,
        "revisions": revisions,
        "words": words,
        "vocabulary": vocabulary,
        "axis": axis,
        "spread": spread,
        "acl": list(acl),
    }
    table = sql.Identifier("veraz", f"embedding_{space_id}")
    vectors = sql.SQL(VECTORS).format(embedding=table, dimension=sql.Literal(dimension))
    for text in (
        SOURCE,
        DOCUMENTS,
        REVISIONS,
        POINTERS,
        SECTIONS,
        CHUNKS,
        vectors,
        EPOCH,
        LEXICAL,
        POSTINGS,
        STATISTICS,
    ):
        await connection.execute(text, parameters)


async def without_index(engine: AsyncVeraz, space_id: int) -> None:
    """Drops the approximate index, so that rows can be loaded fast; `with_index` makes it again."""
    async with engine._database.administration() as connection:
        await connection.execute(
            sql.SQL("drop index if exists {}").format(sql.Identifier("veraz", f"embedding_{space_id}_hnsw"))
        )


async def with_index(
    engine: AsyncVeraz, space_id: int, operators: LiteralString = "halfvec_cosine_ops"
) -> None:
    async with engine._database.administration() as connection:
        await connection.execute("set maintenance_work_mem = '2GB'")
        await connection.execute(
            sql.SQL("create index {} on {} using hnsw (vec {}) where is_current").format(
                sql.Identifier(f"embedding_{space_id}_hnsw"),
                sql.Identifier("veraz", f"embedding_{space_id}"),
                sql.SQL(operators),
            )
        )
        await connection.execute("reset maintenance_work_mem")
        await connection.execute("analyze")
