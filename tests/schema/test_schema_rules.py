"""Rules that every table and function obeys, read from the catalogue."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql
from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz

GLOBAL_TABLES = {"embedding_space", "migration"}
"""Tables that hold nothing of any tenant."""


@pytest.fixture
def catalogue(unchanged_database: str) -> Any:
    with psycopg.connect(unchanged_database) as connection:
        yield lambda query, *parameters: connection.execute(query, *parameters).fetchall()


def test_every_table_of_a_tenant_enforces_row_level_security(catalogue: Any) -> None:
    found = catalogue(
        "select c.relname, c.relrowsecurity and c.relforcerowsecurity,"
        " array(select polname::text from pg_policy p where p.polrelid = c.oid order by 1)"
        " from pg_class c where relnamespace = 'veraz'::regnamespace and relkind in ('r', 'p')"
    )
    assert len(found) >= 20
    unprotected = [
        name
        for name, forced, policies in found
        if not (forced and {"tenant_isolation", "maintenance"} <= set(policies))
    ]
    assert set(unprotected) == GLOBAL_TABLES


@pytest.mark.parametrize(
    "table", ["document", "revision", "section", "chunk", "context_draft", "ingest_failure", "trace"]
)
def test_tables_that_hold_content_check_access_labels_too(catalogue: Any, table: str) -> None:
    kinds = {
        (name, permissive)
        for name, permissive in catalogue(
            "select polname, polpermissive from pg_policy where polrelid = %s::regclass", [f"veraz.{table}"]
        )
    }
    assert ("readable", False) in kinds


def test_every_table_of_a_tenant_has_the_tenant_first_in_its_key(catalogue: Any) -> None:
    keys = catalogue(
        "select conrelid::regclass::text, a.attname from pg_constraint k"
        " join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]"
        " join pg_class c on c.oid = k.conrelid where contype = 'p' and c.relnamespace = 'veraz'::regnamespace"
    )
    wrong = {t for t, column in keys if column != "tenant_id"}
    assert wrong == {f"veraz.{t}" for t in GLOBAL_TABLES}


def test_every_foreign_key_carries_the_tenant(catalogue: Any) -> None:
    found = catalogue(
        "select conrelid::regclass::text, a.attname, f.attname from pg_constraint k"
        " join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]"
        " join pg_attribute f on f.attrelid = k.confrelid and f.attnum = k.confkey[1]"
        " join pg_class c on c.oid = k.conrelid where contype = 'f' and c.relnamespace = 'veraz'::regnamespace"
    )
    assert len(found) >= 12
    assert {(own, other) for _, own, other in found} == {("tenant_id", "tenant_id")}


def test_no_view_and_no_security_definer_function_bypasses_the_policies(catalogue: Any) -> None:
    assert (
        catalogue(
            "select relname from pg_class where relnamespace = 'veraz'::regnamespace and relkind in ('v', 'm')"
        )
        == []
    )
    assert catalogue(
        "select proname from pg_proc where pronamespace = 'veraz'::regnamespace and prosecdef"
    ) == [("authenticate",)]


def test_everything_belongs_to_the_owner_role(catalogue: Any) -> None:
    """But the one function that runs with rights of its own: they are those of a role that may do little."""
    owners = catalogue(
        "select distinct pg_get_userbyid(relowner) from pg_class where relnamespace = 'veraz'::regnamespace"
        " union select pg_get_userbyid(proowner) from pg_proc where pronamespace = 'veraz'::regnamespace and not prosecdef"
    )
    assert owners == [("veraz_owner",)]
    assert catalogue(
        "select pg_get_userbyid(proowner) from pg_proc where prosecdef and pronamespace = 'veraz'::regnamespace"
    ) == [("veraz_auth",)]


def test_nothing_is_granted_to_public(catalogue: Any) -> None:
    relations = catalogue(
        "select relname from pg_class c, aclexplode(relacl) a where relnamespace = 'veraz'::regnamespace and a.grantee = 0"
    )
    functions = catalogue(
        "select proname from pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner))) a"
        " where pronamespace = 'veraz'::regnamespace and a.grantee = 0"
    )
    assert (relations, functions) == ([], [])


SHADOWED = (
    "normalize",
    "regexp_replace",
    "to_tsvector",
    "hashtextextended",
    "unnest",
    "array_agg",
    "current_setting",
    "nextval",
)

CALLS: tuple[LiteralString, ...] = (
    "select veraz.analyse('es', 'La medicación E-4021 y 2,5 mg')::text",
    "select array_agg((analyser, term, lexeme, weight)::text order by term) from veraz.query_terms('medicaciones E 4021', 'es')",
    "select veraz.document_vector(veraz.analyse('en', 'cool the burn'), 2, 100)::text",
    "select veraz.token_length(veraz.analyse('en', 'cool the burn'))::text",
    "select veraz.lexical_lock('epoch', 'en')::text",
    "select veraz.grid_length(83)::text",
)


async def test_functions_mean_the_same_whatever_the_search_path(engine: AsyncVeraz) -> None:
    """Every name inside them is qualified or of pg_catalog, so that no schema or temporary object can take its place."""
    await put(engine, record("a", "La medicación con metformina.", lang="es"))
    usual = [await rows(engine, call) for call in CALLS]
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        for name in SHADOWED:
            await connection.execute(
                sql.SQL(
                    "create function pg_temp.{}(text) returns text language sql as $$ select 'shadow' $$"
                ).format(sql.Identifier(name))
            )
        await connection.execute("create temp table posting (n integer)")
        await connection.execute("create temp table chunk_lexical (n integer)")
        await connection.execute("create temp table lexical_epoch (n integer)")
        await connection.execute("set local search_path = pg_temp")
        shadowed = [await (await connection.execute(call)).fetchall() for call in CALLS]
    assert shadowed == usual


async def test_writing_and_merging_work_with_an_empty_search_path(engine: AsyncVeraz) -> None:
    await put(
        engine, record("a", "Cool the burn under running water."), record("b", "Another text entirely.")
    )
    chunks = await rows(engine, "select array_agg(chunk_id) from veraz.chunk")
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        await connection.execute("set local search_path = ''")
        await connection.execute("update veraz.document set superseded_by = null")
        await connection.execute("select veraz.refresh_currency(document_id) from veraz.document")
        await connection.execute("select veraz.link_supersession(document_id) from veraz.document")
        await connection.execute("select veraz.write_posting_delta(%s, 1)", chunks[0])
        await connection.execute("select veraz.merge_postings('en')")
        await connection.execute("select veraz.start_epoch('en', 80)")
        cursor = await connection.execute("select sum(n), min(block) from veraz.posting")
        assert (await cursor.fetchone()) is not None
