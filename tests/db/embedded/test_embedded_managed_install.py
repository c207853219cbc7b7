"""Installing as a managed server's administrator, who is no superuser: what works, and what is said where something cannot."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from embedded_helpers import MakeServer
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.support import databases
from tests.support.corpus import put, record
from tests.support.hashing import HashingEmbedder

from veraz.config import Config, DatabaseConfig
from veraz.engine import AsyncVeraz
from veraz.engine import corpus as engine_module
from veraz.errors import DatabaseError
from veraz.nouns.status import Initialised
from veraz.schema.apply import ROLES, latest_version

LOGINS = {"cloudadmin": "createrole createdb", "plain": "", "newcomer": "createrole"}


class Managed:
    """A server with logins that are no superusers, and databases of theirs."""

    def __init__(self, url: str) -> None:
        self.superuser = url
        for name, attributes in LOGINS.items():
            self.run(f"create role {name} login {attributes} password 'x'")

    def run(self, command: str, database: str | None = None) -> list[tuple[object, ...]]:
        url = databases.at(self.superuser, database) if database else self.superuser
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(sql.SQL(command))  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []

    def database(self, name: str, owner: str, *extensions: str) -> str:
        """The owner's URL."""
        self.run(f"create database {name} owner {owner} encoding 'UTF8' template template0")
        for extension in extensions:
            self.run(f"create extension {extension}", name)
        return make_conninfo(self.superuser, user=owner, password="x", dbname=name)


async def init(url: str, **options: bool) -> Initialised:
    async with await databases.open_engine(url) as engine:
        return await engine.init(**options)


@pytest.fixture
def managed(make_server: MakeServer) -> Managed:
    return Managed(make_server().ensure_running())


async def test_a_managed_servers_administrator_installs_upgrades_and_administers(
    managed: Managed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = managed.database("health", "cloudadmin")
    with pytest.raises(DatabaseError, match="may not install the extension vector") as refused:
        await init(url)
    assert (refused.value.fix or "").endswith("run in this database: CREATE EXTENSION vector")
    managed.run("create extension vector", "health")
    made = await init(url)  # pg_trgm and unaccent are trusted: the owner of a database may install them
    assert (made.schema_version, made.notes) == (latest_version(), ())
    assert made.runtime_url is not None
    again = await init(url)
    assert (again.migrations, again.replayed, again.runtime_url, again.notes) == ((), False, None, ())
    assert managed.run("select rolsuper or rolbypassrls from pg_roles where rolname = 'cloudadmin'") == [
        (False,)
    ]

    monkeypatch.setattr(engine_module, "BULK_CHUNKS", 1)  # planner statistics: the owner's role may make them
    async with await databases.open_engine(url) as engine:
        await put(engine, record("a", "The openword."), record("pay", "The salaryword.", acl=["hr"]))
        assert {
            h.document.external_id for h in (await engine.search("openword salaryword", lang="en")).hits
        } == {"a"}
        assert (await engine.status()).counts.documents == 2
        key = (await engine.add_key("portal", roles=["public", "hr"])).key
        await engine.add_tenant("beta")
        assert await engine.remove_tenant("beta") == 0
    assert managed.run("select reltuples from pg_class where oid = 'veraz.chunk'::regclass", "health") == [
        (2.0,)
    ]

    settings = Config(home=str(tmp_path), database=DatabaseConfig(runtime_url=made.runtime_url))
    async with await AsyncVeraz.open(config=settings, embedder=HashingEmbedder(), serving=True) as serving:
        caller = serving.acting_as(await serving.authenticate(key=key))
        found = await caller.search("openword salaryword", lang="en")
        assert {h.document.external_id for h in found.hits} == {"a", "pay"}

    renewed = await init(url, renew_runtime_login=True)
    assert renewed.runtime_url not in (None, made.runtime_url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("update veraz.migration set digest = 'of an older release' where number = -1")
    assert (await init(url)).replayed


async def test_without_createrole_the_roles_of_an_administrator_serve(managed: Managed) -> None:
    url = managed.database("records", "plain", "vector", "unaccent", "pg_trgm version '1.3'")
    with pytest.raises(DatabaseError, match=r"may not make or use the roles[\s\S]*CREATEROLE") as refused:
        await init(url)
    fix = refused.value.fix or ""
    assert all(f"CREATE ROLE {role} " in fix for role in ROLES)
    for command in fix.split("have one run: ")[1].split("; "):  # what it says is what helps
        managed.run(command)
    made = await init(url)
    assert (made.schema_version, made.runtime_url) == (latest_version(), None)
    login, extension = made.notes
    assert login.startswith("the login veraz_app was there already")
    assert extension.startswith("pg_trgm 1.3 is installed")
    assert extension.endswith("its owner may run: ALTER EXTENSION pg_trgm UPDATE")
    assert len((await init(url)).notes) == 1  # the login is told of when the schema is made
    with pytest.raises(
        DatabaseError, match=r"may not change the password of veraz_app[\s\S]*\\password veraz_app"
    ):
        await init(url, renew_runtime_login=True)
    async with await databases.open_engine(url) as engine:
        await put(engine, record("a", "The openword."))
        assert len((await engine.search("openword", lang="en")).hits) == 1


async def test_roles_of_somebody_else_are_asked_for(managed: Managed) -> None:
    """CREATEROLE alone gives no right over roles that another login made."""
    await init(managed.database("first", "cloudadmin", "vector"))
    url = managed.database("second", "newcomer", "vector")
    with pytest.raises(DatabaseError, match="may not make or use the roles") as refused:
        await init(url)
    assert (refused.value.fix or "").endswith(f'have one run: GRANT {", ".join(ROLES)} TO "newcomer"')
    managed.run(f"grant {', '.join(ROLES)} to newcomer granted by cloudadmin")
    assert (await init(url)).schema_version == latest_version()
    assert conninfo_to_dict(url)["user"] == "newcomer"


async def test_a_schema_for_extensions_that_belongs_to_the_service_is_used(managed: Managed) -> None:
    url = managed.database("app", "cloudadmin")
    managed.run("create schema extensions", "app")
    for name in ("vector", "pg_trgm", "unaccent"):
        managed.run(f"create extension {name} schema extensions", "app")
    with pytest.raises(DatabaseError, match="may not let Veraz use the schema extensions") as refused:
        await init(url)
    managed.run((refused.value.fix or "").split("have its owner run: ")[1], "app")
    assert (await init(url)).notes == ()
    async with await databases.open_engine(url) as engine:
        await put(engine, record("a", "The openword."))
        assert len((await engine.search("openword", lang="en")).hits) == 1
