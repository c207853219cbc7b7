"""Installing: repeatable, safe at the same moment, the same result as the golden files, refused where it cannot serve."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import psycopg
import pytest
from tests.support import databases, golden
from tests.support.hashing import HashingEmbedder

from veraz.db.capabilities import Capabilities, Extension, require
from veraz.engine import AsyncVeraz
from veraz.errors import DatabaseError
from veraz.nouns.status import Initialised
from veraz.schema.apply import latest_version, scripts


async def init(url: str) -> Initialised:
    async with await databases.open_engine(url) as engine:
        return await engine.init()


def count(url: str, table: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(f"select count(*) from veraz.{table}").fetchone()  # noqa: S608
        assert row is not None
        return int(row[0])


async def test_a_second_init_changes_nothing(empty_database: str) -> None:
    first = await init(empty_database)
    before = golden.schema(empty_database), golden.privileges(empty_database)
    second = await init(empty_database)
    assert first.migrations == tuple(s.name for s in scripts("migrations"))
    assert first.schema_version == second.schema_version == latest_version()
    assert (second.migrations, second.replayed) == ((), False)
    assert (golden.schema(empty_database), golden.privileges(empty_database)) == before


@pytest.mark.parametrize("at_once", [2, 8])
async def test_inits_at_the_same_moment_install_once(empty_database: str, at_once: int) -> None:
    done = await asyncio.gather(*(init(empty_database) for _ in range(at_once)))
    assert [len(d.migrations) > 0 for d in done].count(True) == 1
    assert {d.schema_version for d in done} == {latest_version()}
    assert [count(empty_database, t) for t in ("tenant", "embedding_space", "migration")] == [
        1,
        1,
        len(scripts("migrations")) + 1,
    ]
    assert golden.schema(empty_database).count("table embedding_1 ") == 1


async def test_replaying_an_outdated_set_restores_functions_policies_and_grants(database: str) -> None:
    before = golden.schema(database), golden.privileges(database)
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("update veraz.migration set digest = 'of an older release' where number = -1")
        admin.execute("drop policy tenant_isolation on veraz.chunk")
        admin.execute("alter table veraz.chunk disable row level security")
        admin.execute("grant delete on veraz.revision to veraz_app")
        admin.execute(
            "create or replace function veraz.is_writing() returns boolean language sql stable parallel safe return true"
        )
    assert golden.schema(database) != before[0]
    assert (await init(database)).replayed
    assert (golden.schema(database), golden.privileges(database)) == before


async def test_replaying_the_same_set_by_force_changes_nothing(database: str) -> None:
    before = golden.schema(database), golden.privileges(database)
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("update veraz.migration set digest = 'other' where number = -1")
    assert (await init(database)).replayed
    assert (golden.schema(database), golden.privileges(database)) == before


@pytest.mark.parametrize("name", golden.DUMPS)
def test_the_database_is_as_the_golden_files_say(unchanged_database: str, name: str) -> None:
    with psycopg.connect(unchanged_database) as connection:
        if connection.info.server_version // 10000 != golden.MAJOR:
            pytest.skip(f"the golden files hold the wording of PostgreSQL {golden.MAJOR}")
    found = golden.differences(name, unchanged_database)
    assert not found, f"{found}\nif this is meant: python -m tests.support.golden"


async def test_a_schema_of_a_newer_release_is_refused(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(
            "insert into veraz.migration (number, name, digest) values (9999, '9999_later.sql', 'x')"
        )
    with pytest.raises(DatabaseError, match=r"version 9999, made by a newer Veraz[\s\S]*fix: upgrade"):
        await init(database)


async def test_a_database_without_schema_says_to_run_init(empty_database: str) -> None:
    async with await databases.open_engine(empty_database) as engine:
        with pytest.raises(DatabaseError, match=r"no Veraz schema[\s\S]*fix: veraz init"):
            await engine.search("anything", lang="en")


async def test_an_unprivileged_login_is_told_to_use_an_administrator(empty_database: str) -> None:
    role = "veraz_test_unprivileged"
    with psycopg.connect(empty_database, autocommit=True) as admin:
        admin.execute(f"drop role if exists {role}")
        admin.execute(f"create role {role} login password 'x'")
    url = psycopg.conninfo.make_conninfo(empty_database, user=role, password="x")
    try:
        with pytest.raises(
            DatabaseError,
            match=r"may not make or use the roles[\s\S]*fix: run `veraz init` with the URL of an administrator",
        ):
            await init(url)
    finally:
        with psycopg.connect(empty_database, autocommit=True) as admin:
            admin.execute(f"drop role {role}")


GOOD = Capabilities(
    server_version="18.1",
    server_number=180001,
    encoding="UTF8",
    extensions=tuple(
        Extension(n, v, v, "public")
        for n, v in (("vector", "0.8.0"), ("pg_trgm", "1.6"), ("unaccent", "1.1"))
    ),
    is_superuser=True,
    can_create_roles=True,
)


def with_extension(name: str, installed: str | None, available: str | None) -> Capabilities:
    others = tuple(e for e in GOOD.extensions if e.name != name)
    return replace(GOOD, extensions=(*others, Extension(name, installed, available, "public")))


def test_a_server_that_has_everything_is_accepted() -> None:
    require(GOOD)
    require(replace(GOOD, server_number=150000))
    require(with_extension("vector", None, "0.8.1"))  # not yet created, but it can be
    require(with_extension("vector", "0.10.0", "0.10.0"))


@pytest.mark.parametrize(
    ("capabilities", "what", "fix"),
    [
        (
            replace(GOOD, server_version="14.11", server_number=140011),
            "PostgreSQL 14.11 is too old",
            "upgrade the server",
        ),
        (replace(GOOD, encoding="SQL_ASCII"), "encoding is SQL_ASCII", "ENCODING 'UTF8'"),
        (
            with_extension("vector", "0.7.4", "0.8.1"),
            "pgvector 0.7.4 is too old",
            "ALTER EXTENSION vector UPDATE",
        ),
        (
            with_extension("vector", None, "0.5.0"),
            "pgvector 0.5.0 is too old",
            "ALTER EXTENSION vector UPDATE",
        ),
        (with_extension("vector", None, None), "extension vector is not available", "install pgvector"),
        (with_extension("unaccent", None, None), "extension unaccent is not available", "postgresql-contrib"),
        (
            with_extension("pg_trgm", None, None),
            "extension pg_trgm is not available",
            "CREATE EXTENSION pg_trgm",
        ),
    ],
)
def test_a_server_that_cannot_serve_is_refused_with_the_fix(
    capabilities: Capabilities, what: str, fix: str
) -> None:
    with pytest.raises(DatabaseError) as refused:
        require(capabilities)
    assert what in refused.value.what
    assert fix in (refused.value.fix or "")


async def test_an_unreachable_server_says_where_without_the_password(server: str) -> None:
    url = psycopg.conninfo.make_conninfo(server, password="secret-not-shown")
    with pytest.raises(DatabaseError, match=r"cannot reach PostgreSQL at postgres@127\.0\.0\.1") as refused:
        await AsyncVeraz.open(config=databases.config(url), embedder=HashingEmbedder())
    assert "secret-not-shown" not in str(refused.value)
