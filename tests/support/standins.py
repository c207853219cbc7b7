"""Objects of the names and types that pg_textsearch and pg_search document, with a behaviour of our own: they let the statements
of the two adapters run, and prove nothing about the extensions."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql

# In a schema that no search path has. Like the documented ones: the score is negative, and it needs the index that is named.
TEXTSEARCH: tuple[LiteralString, ...] = (
    "create schema standin",
    "grant usage on schema standin to public",
    "create type standin.bm25query as (question text, index text)",
    """create function standin.to_bm25query(text, text) returns standin.bm25query language plpgsql immutable as $$
    begin
        if to_regclass('veraz.' || $2) is null then
            raise exception 'index "%" does not exist', $2;
        end if;
        return ($1, $2)::standin.bm25query;
    end $$""",
    # The shortest is the best, unlike in Veraz's own BM25; what has none of the words scores 0.
    """create function standin.score(body text, asked standin.bm25query) returns double precision language sql immutable as $$
    select case when to_tsvector('english', body) @@ replace(plainto_tsquery('english', asked.question)::text, '&', '|')::tsquery
                then -1000.0 / length(body) else 0 end
    $$""",
    "create operator standin.<@> (leftarg = text, rightarg = standin.bm25query, function = standin.score)",
)
# `|||` matches any word; the score is what the table says, for the stand-in cannot know which question is asked.
SEARCH: tuple[LiteralString, ...] = (
    "create schema pdb",
    "grant usage on schema pdb to public",
    "create table pdb.given (chunk_id uuid primary key, score real)",
    "grant select on pdb.given to public",
    "create function pdb.score(uuid) returns real language sql stable as $$ select score from pdb.given where chunk_id = $1 $$",
    """create function pdb.any_of(text, text) returns boolean language sql immutable as $$
    select to_tsvector('english', $1) @@ replace(plainto_tsquery('english', $2)::text, '&', '|')::tsquery
    $$""",
    "create operator public.||| (leftarg = text, rightarg = text, function = pdb.any_of)",
)


def run(database: str, *statements: LiteralString) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def installed(database: str, name: str, version: str, schema: str) -> None:
    """Has the catalogue say that an extension is installed."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("set allow_system_table_mods = on")
        connection.execute("delete from pg_extension where extname = %s", [name])
        connection.execute(
            "insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)"
            " select 4000000000, %s, r.oid, n.oid, false, %s from pg_roles r, pg_namespace n"
            " where r.rolname = current_user and n.nspname = %s",
            [name, version, schema],
        )


def index(database: str, name: str) -> None:
    """An index of that name, which is all that the stand-ins look for."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(sql.SQL("create index {} on veraz.chunk (chunk_id)").format(sql.Identifier(name)))


def scores(database: str, given: dict[UUID, float]) -> None:
    with psycopg.connect(database, autocommit=True) as connection, connection.cursor() as cursor:
        rows: list[Any] = list(given.items())
        cursor.executemany("insert into pdb.given values (%s, %s)", rows)
