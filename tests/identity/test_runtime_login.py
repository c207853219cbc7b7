"""An engine that knows nothing but the runtime login: it serves, it cannot administer, and no other login may serve."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests.support import databases
from tests.support.corpus import Words, put, record
from tests.support.hashing import HashingEmbedder
from tests.support.logins import login

from veraz.config import Config, DatabaseConfig
from veraz.engine import AsyncVeraz
from veraz.engine import corpus as engine_module
from veraz.errors import AccessDenied, DatabaseError


async def serve(url: str, admin: str = "", **changes: Any) -> AsyncVeraz:
    settings = DatabaseConfig(url=admin, runtime_url=url)
    config = Config(home=databases.config("").home, database=settings, **changes)
    return await AsyncVeraz.open(config=config, embedder=HashingEmbedder(), serving=True)


@pytest.fixture
def runtime_url(database: str) -> Iterator[str]:
    with login(database, member_of=("veraz_app",)) as url:
        yield url


@pytest.fixture
async def serving(runtime_url: str) -> AsyncIterator[AsyncVeraz]:
    async with await serve(runtime_url) as engine:
        yield engine


async def test_the_login_that_init_makes_serves(database: str) -> None:
    async with await databases.open_engine(database) as administrator:
        made = await administrator.init(renew_runtime_login=True)
        key = (await administrator.add_key("portal", roles=["public"], may_write=True)).key
    assert made.runtime_url is not None
    assert conninfo_to_dict(made.runtime_url)["user"] == "veraz_app"
    async with await serve(made.runtime_url) as engine:
        caller = engine.acting_as(await engine.authenticate(key=key))
        await put(caller, record("a", "The openword."))
        assert [h.document.external_id for h in (await caller.search("openword", lang="en")).hits] == ["a"]


async def test_everything_that_serves_works_as_the_runtime_login(
    database: str, serving: AsyncVeraz, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        engine_module, "BULK_CHUNKS", 1
    )  # it asks for planner statistics, which this login may not make
    async with await databases.open_engine(database) as administrator:
        reading, writing = [
            (await administrator.add_key(name, roles=["public"], may_write=name == "writer")).key
            for name in ("reader", "writer")
        ]
    writer = serving.acting_as(await serving.authenticate(key=writing))
    reader = serving.acting_as(await serving.authenticate(key=reading))
    report = await put(
        writer,
        *Words(1).records(12),
        record("fever", "Fever is treated with paracetamol."),
        record("old", "Before."),
    )
    assert (report.new, report.failed) == (14, 0)
    await put(writer, record("new", "After.", supersedes="old"))
    await put(writer, record("fever", "Fever is treated with rest.", date="2024-05-06"))
    assert await writer.merge_index()
    found = await reader.search("how is fever treated", lang="en", explain=True)
    assert found.hits[0].body == "Fever is treated with rest."
    assert (await reader.search("fever", lang="en", mode="semantic", exact=True)).hits
    answer = await reader.ask("How is fever treated?", lang="en")
    assert (await reader.trace(str(answer.trace_id))).kind == "ask"
    assert (await reader.explain_trace(str(found.trace_id)))["tenant"] == "default"
    shown = await reader.show("fever", revision=1)
    assert [r.number for r in shown.revisions] == [2, 1]
    assert await writer.delete("fever", source="s")
    with pytest.raises(AccessDenied, match="may not write"):
        await reader.merge_index()
    assert (await serving.identity()).tenant == "default"


Work = Callable[[AsyncVeraz], Awaitable[Any]]
ADMINISTRATION: dict[str, Work] = {
    "status": lambda e: e.status(),
    "add_key": lambda e: e.add_key("a", roles=["public"]),
    "keys": lambda e: e.keys(),
    "revoke_key": lambda e: e.revoke_key("vz_abcdefgh"),
    "tenants": lambda e: e.tenants(),
    "add_tenant": lambda e: e.add_tenant("beta"),
    "disable_tenant": lambda e: e.disable_tenant("default"),
    "enable_tenant": lambda e: e.enable_tenant("default"),
    "remove_tenant": lambda e: e.remove_tenant("default"),
    "ensure_tenant": lambda e: e.ensure_tenant("beta"),
}


@pytest.mark.parametrize("work", ADMINISTRATION)
async def test_administration_needs_the_administrator(serving: AsyncVeraz, work: str) -> None:
    with pytest.raises(DatabaseError, match="administrator's work") as refused:
        await ADMINISTRATION[work](serving)
    assert refused.value.fix == "use the administrator's URL: --database or VERAZ_DATABASE_URL"
    assert (await serving.identity()).tenant == "default"


async def test_init_needs_the_administrator(serving: AsyncVeraz) -> None:
    with pytest.raises(DatabaseError, match=r"may not make or use the roles[\s\S]*URL of an administrator"):
        await serving.init()


# Who may not serve


@pytest.mark.parametrize(
    ("attributes", "member_of", "said"),
    [
        ("superuser", (), "has .*SUPERUSER"),
        ("bypassrls", ("veraz_app",), "has BYPASSRLS"),
        ("createrole", ("veraz_app",), "has CREATEROLE"),
        ("replication", ("veraz_app",), "has REPLICATION"),
        ("", ("veraz_app", "veraz_owner"), "is a member of veraz_owner and owns"),
        ("", ("veraz_app", "veraz_ops"), "is a member of veraz_ops"),
        ("", ("veraz_app", "veraz_auth"), r"is a member of veraz_auth and owns authenticate\(\)"),
        ("noinherit", ("veraz_app", "veraz_ops"), "is a member of veraz_ops"),
        ("", ("veraz_app", "pg_read_server_files"), "is a member of pg_read_server_files"),
        ("", (), "may not act as veraz_app"),
    ],
)
async def test_a_login_that_could_do_more_does_not_serve(
    database: str, attributes: str, member_of: tuple[str, ...], said: str
) -> None:
    with login(database, attributes, member_of=member_of) as url:
        with pytest.raises(DatabaseError, match=said) as refused:
            await serve(url)
        assert "VERAZ_RUNTIME_URL" in (refused.value.fix or "")
        assert conninfo_to_dict(url)["user"] in refused.value.what


async def test_rights_that_another_role_lends_count_too(database: str) -> None:
    with login(database, "bypassrls") as lender:
        name = str(conninfo_to_dict(lender)["user"])
        with (
            login(database, member_of=("veraz_app", name)) as url,
            pytest.raises(DatabaseError, match="has BYPASSRLS"),
        ):
            await serve(url)


async def test_the_owner_of_an_object_does_not_serve(database: str, runtime_url: str) -> None:
    name = str(conninfo_to_dict(runtime_url)["user"])
    async with await serve(runtime_url):
        pass
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(sql.SQL("alter table veraz.job owner to {}").format(sql.Identifier(name)))
    with pytest.raises(DatabaseError, match="must not serve: it owns job"):
        await serve(runtime_url)


async def test_the_administrators_url_does_not_serve_in_the_place_of_the_runtime_login(database: str) -> None:
    with pytest.raises(DatabaseError, match=r"postgres must not serve: it has .*SUPERUSER"):
        await serve("", admin=database)


async def test_serving_a_database_without_schema_says_what_to_do(empty_database: str) -> None:
    with (
        login(empty_database, member_of=("veraz_app",)) as url,
        pytest.raises(DatabaseError, match=r"no Veraz schema[\s\S]*veraz init"),
    ):
        await serve(url)
