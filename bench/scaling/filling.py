"""A fresh database filled as ingest and merge would leave it: chunks stream in by COPY, the rest is made of them there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import LiteralString
from uuid import UUID

import numpy as np
import psycopg
from psycopg import sql
from tests.support import bulk

from scaling.real import Matrix, Real
from scaling.recombined import Batch, recombined
from veraz.engine import AsyncVeraz

MEMORY = "2GB"

STAGE: LiteralString = """
create schema scale;
create unlogged table scale.made (n integer not null, document integer not null, ord integer not null, lang text not null,
    analyser text not null, header text not null, body text not null, tokens integer not null, vec {halfvec} not null);
grant usage on schema scale to veraz_ops;
grant select on scale.made to veraz_ops;
"""
TYPE_OF_VECTORS: LiteralString = """
select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'veraz.embedding_1'::regclass and attname = 'vec'
"""
COPY: LiteralString = (
    "copy scale.made (n, document, ord, lang, analyser, header, body, tokens, vec) from stdin (format binary)"
)
TYPES = ("int4", "int4", "int4", "text", "text", "text", "text", "int4", "bytea")

DOCUMENTS: LiteralString = """
insert into veraz.document (tenant_id, document_id, source_id, external_id, acl, current_revision_id)
select %(tenant)s, md5('d' || document)::uuid, %(tenant)s, 'd' || document, '{public}', md5('r' || document)::uuid
  from (select distinct document from scale.made) made
"""
REVISIONS: LiteralString = """
insert into veraz.revision (tenant_id, revision_id, document_id, number, text, title, lang, raw_hash, media, parser, chunker)
select %(tenant)s, md5('r' || document)::uuid, md5('d' || document)::uuid, 1, 'text', 'Title ' || document, min(lang),
       sha256(document::text::bytea), 'text', 'scale/1', 'scale/1'
  from scale.made group by document
"""
CHUNKS: LiteralString = """
insert into veraz.chunk (tenant_id, chunk_id, document_id, revision_id, ord, section, heading_path, kind, body, display, header,
                         token_count, spans, start_at, end_at, content_hash, lang, is_current)
select %(tenant)s, md5('c' || n)::uuid, md5('d' || document)::uuid, md5('r' || document)::uuid, ord, 0, '{}', 'paragraph', body,
       body, header, tokens, '{0,4}', 0, 4, sha256(convert_to(header || body, 'UTF8')), lang, true
  from scale.made
"""
VECTORS: LiteralString = """
insert into {embedding} (tenant_id, chunk_id, document_id, revision_id, is_current, vec)
select %(tenant)s, md5('c' || n)::uuid, md5('d' || document)::uuid, md5('r' || document)::uuid, true, vec from scale.made
"""
EPOCH: LiteralString = """
insert into veraz.lexical_epoch (tenant_id, analyser, reference_length)
values (%(tenant)s, %(analyser)s, veraz.grid_length(%(length)s)) on conflict do nothing
"""
LEXICAL: LiteralString = """
insert into veraz.chunk_lexical (tenant_id, chunk_id, document_id, revision_id, analyser, length, is_current, bm25, tsv)
select %(tenant)s, md5('c' || n)::uuid, md5('d' || document)::uuid, md5('r' || document)::uuid, analyser, length, true,
       veraz.document_vector(tsv, length, (select reference_length from veraz.lexical_epoch e
                                            where e.tenant_id = %(tenant)s and e.analyser = measured.analyser)), tsv
  from (select *, veraz.token_length(tsv) as length
          from (select n, document, analyser, veraz.analyse(analyser, header || E'\n\n' || body) as tsv
                  from scale.made offset 0) analysed
        offset 0) measured
"""
MEMORY_TO_SORT: LiteralString = "select set_config('work_mem', '1GB', true)"
POSTINGS: LiteralString = "select veraz.rebuild_postings(%(analyser)s)"
STATISTICS: LiteralString = """
insert into veraz.lexical_stat (tenant_id, analyser, block, chunks, length, postings)
select tenant_id, analyser, 0, count(*), sum(length), sum(length(tsv)) from veraz.chunk_lexical
 where tenant_id = %(tenant)s and is_current group by tenant_id, analyser
"""
VOCABULARY: LiteralString = """
insert into veraz.lexeme_stat (tenant_id, analyser, term, lexeme)
select distinct %(tenant)s::uuid, l.analyser, veraz.term(w.lexeme), w.lexeme
  from scale.made m
 cross join lateral (
        select analyser, tsv from veraz.chunk_lexical
         where tenant_id = %(tenant)s and chunk_id = md5('c' || m.n)::uuid offset 0) l
 cross join lateral unnest(l.tsv) w
 where m.n < %(real)s
on conflict do nothing
"""
RECIPE = (
    """create table scale.recipe (id integer not null, content text not null,
           fts tsvector generated always as (to_tsvector('english', content)) stored)""",
    "insert into scale.recipe (id, content) select n, header || E'\\n\\n' || body from scale.made",
    "create index recipe_fts on scale.recipe using gin (fts)",
    "vacuum analyze scale.recipe",
)
"""The table that SQL recipes have, without its vectors, which would only be in the way of its words."""


def halfvec(vectors: Matrix) -> list[bytes]:
    """As pgvector receives them."""
    head = np.array([vectors.shape[1], 0], ">u2").tobytes()
    return [head + row.tobytes() for row in vectors.astype(">f2")]


def batches(real: Real, size: int) -> Iterable[Batch]:
    """The real chunks first, then recombined ones up to `size`."""
    yield Batch(real.chunks, real.vectors)
    if size > len(real.chunks):
        yield from recombined(real, size - len(real.chunks))


async def fill(engine: AsyncVeraz, url: str, real: Real, size: int) -> dict[str, float]:
    """Seconds of each step. The engine's tenant gets all; an index of its vectors is still to be built."""
    tenant, space = (await engine.identity()).tenant_id, (await engine.space()).space_id
    seconds = {"stream": _timed(lambda: stage(url, real, size))}
    given = {"tenant": tenant, "real": len(real.chunks)}
    embedding = sql.SQL(VECTORS).format(embedding=sql.Identifier("veraz", f"embedding_{space}"))
    seconds["rows"] = await _run(
        engine, tenant, given, bulk.SOURCE, DOCUMENTS, REVISIONS, bulk.SECTIONS, CHUNKS, embedding
    )
    lengths = real.mean_lengths()
    for analyser, length in lengths.items():
        await _run(engine, tenant, {**given, "analyser": analyser, "length": length}, EPOCH)
    seconds["analysis"] = await _run(engine, tenant, given, LEXICAL)
    seconds["postings"] = 0.0
    for analyser in lengths:
        by = {**given, "analyser": analyser}
        seconds["postings"] += await _run(engine, tenant, by, MEMORY_TO_SORT, POSTINGS)
    await _run(engine, tenant, given, STATISTICS, VOCABULARY)
    return seconds


def stage(url: str, real: Real, size: int) -> None:
    n = 0
    with psycopg.connect(url) as connection:
        row = connection.execute(TYPE_OF_VECTORS).fetchone()
        assert row is not None
        connection.execute(sql.SQL(STAGE).format(halfvec=sql.SQL(row[0])))
        with connection.cursor() as cursor, cursor.copy(COPY) as copy:
            copy.set_types(TYPES)
            for batch in batches(real, size):
                for chunk, vector in zip(batch.chunks, halfvec(batch.vectors), strict=True):
                    copy.write_row(
                        (n, chunk.document, chunk.ord, chunk.lang, chunk.analyser, chunk.header, chunk.text, chunk.tokens, vector)
                    )  # fmt: skip
                    n += 1


def recipe(url: str) -> float:
    """Builds the recipe's table and index as the owner, and returns the seconds."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("set maintenance_work_mem = {}").format(sql.Literal(MEMORY)))
        return _timed(lambda: [connection.execute(statement) for statement in RECIPE])


def tidy(url: str) -> None:
    """Without what was only staged; the planner knows the tables, and readers set no hint bits."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop table scale.made")
        connection.execute("vacuum analyze")


def with_memory(url: str) -> None:
    """As an operator would set it before indexes of this size are built."""
    with psycopg.connect(url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(
            sql.SQL("alter database {} set maintenance_work_mem = {}").format(
                sql.Identifier(name), sql.Literal(MEMORY)
            )
        )


async def _run(
    engine: AsyncVeraz, tenant: UUID, given: dict[str, object], *statements: LiteralString | sql.Composed
) -> float:
    started = time.perf_counter()
    async with engine._database.maintenance(tenant) as connection:
        for statement in statements:
            await connection.execute(statement, given)
    return time.perf_counter() - started


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
