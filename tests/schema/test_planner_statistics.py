"""The planner keeps samples of what it has statistics on; an erased text must not live on in them."""

from __future__ import annotations

import psycopg

COLUMNS = """
select c.relname || '.' || a.attname
  from pg_attribute a join pg_class c on c.oid = a.attrelid
 where c.relnamespace = 'veraz'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
   and (c.relname in ('revision', 'section', 'chunk', 'chunk_lexical') or c.relname ~ '^embedding_[0-9]+$')
   and format_type(a.atttypid, null) in ('text', 'text[]', 'jsonb', 'tsvector', 'halfvec', 'veraz.halfvec', 'sparsevec')
   and coalesce(a.attstattarget, -1) <> 0
"""
NAMES = {"lang", "kind", "media", "parser", "chunker", "analyser", "license", "jurisdiction", "dropped_why"}
"""Columns of few values, which are no text of a document; the planner needs them for filters."""
IDENTITY = {"publisher", "supersedes", "item", "edition", "stated"}
"""Names and ids that a document states of itself and others; an erasure keeps the document's own id as well."""


def test_no_column_that_holds_text_of_documents_is_sampled(database: str) -> None:
    with psycopg.connect(database) as connection:
        sampled = {name for (name,) in connection.execute(COLUMNS).fetchall()}
    assert {name for name in sampled if name.partition(".")[2] not in NAMES | IDENTITY} == set()
    assert "revision.lang" in sampled  # the query sees what it looks for


def test_the_rule_sees_a_column_that_is_added_without_it(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("alter table veraz.chunk add column told text")
        assert "chunk.told" in {name for (name,) in connection.execute(COLUMNS).fetchall()}
        connection.rollback()
