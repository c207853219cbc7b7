"""Tenants: disabled at once for everybody, and removed without a trace."""

from __future__ import annotations

import asyncio

import pytest
from psycopg import sql
from tests.identity.token_issuer import Issuer
from tests.support import databases
from tests.support.corpus import Words, maintenance_rows, put, record, table, tenant_tables
from tests.support.tenants import fill

from veraz.engine import AsyncVeraz
from veraz.errors import AccessDenied, UsageError
from veraz.identity.pipeline import remove_tenant


async def test_adding_listing_and_refusing_slugs(engine: AsyncVeraz) -> None:
    made = await engine.add_tenant("clinic-north", name="Clinic North")
    assert (made.slug, made.name, made.disabled_at, made.documents, made.keys) == (
        "clinic-north",
        "Clinic North",
        None,
        0,
        0,
    )
    await put(engine, record("a", "One."), record("b", "Two."))
    await engine.delete("b", source="s")
    await engine.add_key("portal", roles=["public"])
    revoked = await engine.add_key("old", roles=["public"])
    await engine.revoke_key(revoked.info.prefix)
    assert [(t.slug, t.documents, t.keys) for t in await engine.tenants()] == [
        ("clinic-north", 0, 0),
        ("default", 1, 1),
    ]
    with pytest.raises(UsageError, match="exists already"):
        await engine.add_tenant("clinic-north")
    for slug in (
        "",
        "Clinic",
        "a b",
        "-a",
        "a" * 64,
        "a'; drop table veraz.tenant --",
        "00000000-0000-0000-0000-000000000000",
    ):
        with pytest.raises(UsageError, match="is not a slug"):
            await engine.add_tenant(slug)
    assert [t.slug for t in await engine.tenants()] == ["clinic-north", "default"]


async def test_a_disabled_tenant_lets_nobody_act_from_the_next_transaction_on(
    database: str, issuer: Issuer
) -> None:
    async with await databases.open_engine(database, auth=issuer.settings()) as engine:
        await put(engine, record("a", "The openword."))
        key = (await engine.add_key("portal", roles=["public"], may_write=True)).key
        earlier = engine.acting_as(await engine.authenticate(key=key))
        other = engine.acting_as(await engine.ensure_tenant("beta"))
        assert (await earlier.search("openword", lang="en")).hits
        disabled = await engine.disable_tenant("default")
        assert disabled.disabled_at is not None
        assert (await engine.disable_tenant("default")).disabled_at == disabled.disabled_at
        for credential in ({"key": key}, {"token": issuer.token()}):
            with pytest.raises(AccessDenied, match="disabled"):
                await engine.authenticate(**credential)
        for acting in (engine, earlier):  # they identified themselves before
            with pytest.raises(AccessDenied, match="the tenant is disabled"):
                await acting.search("openword", lang="en")
            with pytest.raises(AccessDenied, match="the tenant is disabled"):
                await acting.ask("What is the openword?", lang="en")
            with pytest.raises(AccessDenied, match="the tenant is disabled"):
                await acting.show("a")
            with pytest.raises(AccessDenied, match="the tenant is disabled"):
                await acting.delete("a", source="s")
            with pytest.raises(AccessDenied, match="the tenant is disabled"):
                await put(acting, record("b", "Another."), clean=False)
        async with await databases.open_engine(database) as fresh:
            with pytest.raises(UsageError, match="no tenant 'default', or it is disabled"):
                await fresh.search("openword", lang="en")
        assert (await other.search("openword", lang="en")).hits == ()  # and nobody else is touched
        assert (await engine.enable_tenant("default")).disabled_at is None
        assert (await earlier.search("openword", lang="en")).hits
        assert (await engine.authenticate(key=key)).tenant == "default"


async def test_removing_a_tenant_leaves_no_row_of_it_in_any_table(engine: AsyncVeraz) -> None:
    tenants = await fill(engine)
    alpha, beta = tenants.alpha, tenants.beta
    acting = tenants.acting_as(beta)
    await put(engine, *Words(1).records(40), record("newer", "It replaces.", supersedes="d1"), identity=beta)
    await put(engine, record("d2", "Another state of it."), identity=beta)
    await acting.add_key("portal", roles=["public"])
    before = await rows_of(engine, alpha.tenant_id)
    assert all((await rows_of(engine, beta.tenant_id)).values())  # otherwise the test could not fail
    told: list[int] = []
    removed = await remove_tenant(engine._database, "beta", told.append, batch=7)
    assert removed == told[-1] > 100
    assert told == sorted(told)
    assert max(b - a for a, b in zip([0, *told], told, strict=False)) <= 7
    assert set((await rows_of(engine, beta.tenant_id)).values()) == {0}
    assert await rows_of(engine, alpha.tenant_id) == before
    assert [t.slug for t in await engine.tenants()] == ["default"]
    with pytest.raises(AccessDenied, match="disabled, or was removed"):
        await acting.search("anything", lang="en")
    with pytest.raises(UsageError, match="no tenant 'beta'"):
        await engine.remove_tenant("beta")
    assert (await engine.ensure_tenant("beta")).tenant_id != beta.tenant_id


async def rows_of(engine: AsyncVeraz, tenant_id: object) -> dict[str, int]:
    counted = {}
    async with engine._database.maintenance() as connection:
        for name in await tenant_tables(connection):
            command = sql.SQL("select count(*) from {} where tenant_id = %s").format(table(name))
            row = await (await connection.execute(command, [tenant_id])).fetchone()
            assert row is not None
            counted[name] = row[0]
    return counted


async def test_rows_of_an_enabled_tenant_are_not_erased(engine: AsyncVeraz) -> None:
    await put(engine, record("a", "One."))
    tenant_id = (await engine.identity()).tenant_id
    with pytest.raises(Exception, match="the tenant is enabled"):
        await maintenance_rows(engine, "select veraz.erase_rows(%s, 10)", tenant_id)
    assert await maintenance_rows(engine, "select count(*) from veraz.document") == [(1,)]


async def test_a_transaction_that_began_before_the_removal_leaves_nothing_behind(engine: AsyncVeraz) -> None:
    """It commits after its tables were emptied; the removal notices, and empties them again."""
    beta = await engine.ensure_tenant("beta")
    await put(engine, record("a", "One."), identity=beta)
    async with engine._database.transaction(beta, "write") as connection:
        await connection.execute(
            "insert into veraz.source (tenant_id, slug, name) values (%s, 'late', 'late')", [beta.tenant_id]
        )
        removal = asyncio.create_task(engine.remove_tenant("beta"))
        await asyncio.sleep(0.5)
        assert not removal.done()
    await asyncio.wait_for(removal, 30)
    assert set((await rows_of(engine, beta.tenant_id)).values()) == {0}


async def test_a_disabled_tenant_is_not_made_again_by_its_slug(engine: AsyncVeraz) -> None:
    await engine.add_tenant("beta")
    await engine.disable_tenant("beta")
    with pytest.raises(AccessDenied, match="tenant beta is disabled"):
        await engine.ensure_tenant("beta")
