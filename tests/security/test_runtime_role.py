"""What the runtime role may not do, and what a pooled connection may not remember (public cases H34 and H35)."""

from __future__ import annotations

import asyncio
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql
from tests.support.corpus import table, tenant_tables
from tests.support.tenants import ALPHA, BETA, Tenants, as_runtime_login, opened

from veraz.nouns.corpus import Identity


async def test_the_role_has_no_way_around_the_policies(tenants: Tenants) -> None:
    async with tenants.engine._database.maintenance() as connection:
        cursor = await connection.execute(
            "select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication from pg_roles where rolname = 'veraz_app'"
        )
        assert await cursor.fetchone() == (False,) * 5
        cursor = await connection.execute(
            "select rolname from pg_roles where rolname <> 'veraz_app' and pg_has_role('veraz_app', oid, 'MEMBER')"
        )
        assert await cursor.fetchall() == []
        cursor = await connection.execute(
            "select relname from pg_class where relnamespace = 'veraz'::regnamespace and pg_get_userbyid(relowner) = 'veraz_app'"
        )
        assert await cursor.fetchall() == []


async def test_every_transaction_runs_as_that_role(tenants: Tenants) -> None:
    async with tenants.engine._database.transaction(tenants.alpha) as connection:
        assert await (await connection.execute("select current_user::text")).fetchone() == ("veraz_app",)


FORBIDDEN: tuple[LiteralString, ...] = (
    "select * from veraz.api_key",
    "update veraz.revision set text = 'forged'",
    "update veraz.revision set raw_hash = sha256('x')",
    "update veraz.chunk set body = 'forged'",
    "update veraz.chunk set document_id = gen_random_uuid()",
    "update veraz.section set heading = 'forged'",
    "update veraz.document set external_id = 'forged'",
    "update veraz.trace set outcome = 'forged'",
    "update veraz.embedding_1 set vec = vec",
    "delete from veraz.document",
    "delete from veraz.revision",
    "delete from veraz.chunk",
    "delete from veraz.trace",
    "delete from veraz.embedding_1",
    "insert into veraz.tenant (slug) values ('mine')",
    "update veraz.embedding_space set is_active = false",
    "insert into veraz.migration values (9999, 'x', 'x')",
    "alter table veraz.chunk no force row level security",
    "alter table veraz.chunk disable row level security",
    "drop policy tenant_isolation on veraz.chunk",
    "create policy open on veraz.chunk using (true)",
    "drop table veraz.trace",
    "create table veraz.mine (n integer)",
    "create or replace function veraz.current_tenant() returns uuid language sql return gen_random_uuid()",
    "create or replace function veraz.is_writing() returns boolean language sql return true",
    "alter role veraz_app superuser",
    "alter role veraz_app bypassrls",
    "set role veraz_owner",
    "set role veraz_ops",
    "set role postgres",
    "grant select on veraz.api_key to veraz_app",
    "copy veraz.chunk to program 'cat'",
)


@pytest.mark.parametrize("command", FORBIDDEN)
def test_forbidden(tenants_database: str, command: LiteralString) -> None:
    with as_runtime_login(tenants_database) as connection:
        connection.execute("select set_config('veraz.mode', 'write', false)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(command)


async def test_truncate_which_ignores_policies_is_forbidden_on_every_table(
    tenants: Tenants, tenants_database: str
) -> None:
    async with tenants.engine._database.maintenance() as connection:
        names = await tenant_tables(connection)
    with as_runtime_login(tenants_database) as connection:
        for name in [*names, "embedding_space", "migration"]:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(sql.SQL("truncate {}").format(table(name)))


async def test_switching_row_security_off_gives_an_error_and_no_rows(
    tenants: Tenants, tenants_database: str
) -> None:
    async with tenants.engine._database.maintenance() as connection:
        names = [n for n in await tenant_tables(connection) if n != "api_key"]
    with as_runtime_login(tenants_database) as connection:
        connection.execute("set row_security = off")
        for name in names:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute(sql.SQL("select * from {}").format(table(name)))


# H34


async def remembered(tenants: Tenants) -> list[object]:
    """Who the pool's only connection acts as between transactions."""
    async with tenants.engine._database.administration() as connection:
        cursor = await connection.execute(
            "select current_user = session_user, current_setting('veraz.tenant_id', true), current_setting('veraz.roles', true),"
            " current_setting('veraz.mode', true), current_setting('plan_cache_mode')"
        )
        row = await cursor.fetchone()
    assert row is not None
    return [value or None for value in row]


async def test_a_connection_remembers_nothing_of_who_acted(tenants_database: str) -> None:
    clean = [True, None, None, None, "auto"]
    async with opened(tenants_database) as tenants:
        await tenants.engine._database._pool.resize(1, 1)
        await tenants.acting_as(tenants.alpha_hr).search(ALPHA, lang="en")
        assert await remembered(tenants) == clean
        with pytest.raises(psycopg.errors.DivisionByZero):
            async with tenants.engine._database.transaction(tenants.alpha_hr, "write") as connection:
                await connection.execute("select 1 / 0")
        assert await remembered(tenants) == clean
        with pytest.raises(RuntimeError, match="by the caller"):
            async with tenants.engine._database.transaction(tenants.alpha_hr, "write"):
                raise RuntimeError("by the caller")
        assert await remembered(tenants) == clean


async def test_interleaved_tenants_on_one_connection_never_meet(tenants_database: str) -> None:
    async with opened(tenants_database) as tenants:
        await tenants.engine._database._pool.resize(1, 1)
        asked = [tenants.alpha, tenants.beta, None]
        answers = await asyncio.gather(*(_ask(tenants, asked[n % 3], n) for n in range(200)))
    assert [a for a in answers if a] == []


async def _ask(tenants: Tenants, acting: Identity | None, number: int) -> str | None:
    """None, or what was wrong."""
    if acting is None:
        async with tenants.engine._database.administration() as connection:
            await connection.execute("set session authorization veraz_app")
            row = await (await connection.execute("select count(*) from veraz.chunk")).fetchone()
            await connection.execute("reset session authorization")
        return None if row == (0,) else f"{number}: without a tenant {row}"
    own, foreign = (ALPHA, BETA) if acting == tenants.alpha else (BETA, ALPHA)
    if number % 10 == 0:  # some fail in the middle
        try:
            async with tenants.engine._database.transaction(acting, "write") as connection:
                await connection.execute("select 1 / 0")
        except psycopg.errors.DivisionByZero:
            return None
    hits = (await tenants.acting_as(acting).search(f"{ALPHA} {BETA}", lang="en", trace=False)).hits
    bodies = " ".join(h.body for h in hits)
    return None if own in bodies and foreign not in bodies else f"{number}: {bodies}"
