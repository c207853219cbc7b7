"""Upgrading a database that schema version 3 made and filled: rows keep what they were, gain what is new, and stay protected."""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from tests.support import databases, golden
from tests.support.corpus import put, record
from tests.support.hashing import HashingEmbedder
from tests.support.logins import login

from veraz.engine import AsyncVeraz
from veraz.ingest.store import document_key, source_key
from veraz.schema.apply import ROLES, latest_version, scripts

OLD = Path(__file__).parent / "version3"
"""The replayed files and the embedding table as the release with schema version 3 had them."""
TEXTS = {"fever": "Fever is treated with paracetamol.", "burn": "Cool a burn under running water."}


class Version3:
    """A connection that does what that release's `init` and ingest did."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def run(self, text: str, *parameters: Any) -> list[Any]:
        cursor = self.connection.execute(sql.SQL(cast("Any", text)), parameters or None)
        return cursor.fetchall() if cursor.description else []

    def install(self) -> None:
        for name in ("vector", "pg_trgm", "unaccent"):
            self.run(f"create extension if not exists {name}")
        self.run("create schema veraz authorization veraz_owner")
        self.run("set role veraz_owner")
        self.run("set search_path = veraz, public, pg_temp")
        for script in scripts("migrations")[:4]:
            self.run(script.text.replace("@extschema@", "public"))
            self.run(
                "insert into veraz.migration values (%s, %s, %s)", script.number, script.name, script.digest
            )
        space = HashingEmbedder().space
        names = (
            "name",
            "provider",
            "model",
            "dimension",
            "normalised",
            "query_prefix",
            "passage_prefix",
            "distance",
            "max_tokens",
        )
        values = [*(getattr(space, n) for n in names), space.fingerprint]
        registered = "insert into veraz.embedding_space ({}, fingerprint, is_active) values ({}, true)"
        self.run(registered.format(", ".join(names), ", ".join(["%s"] * 10)), *values)
        table = (OLD / "create_embedding_table.sql").read_text().split("\n", 2)[2]
        named = {
            "embedding": "veraz.embedding_1", "dimension": space.dimension, "operators": "halfvec_cosine_ops",
            "index": "embedding_1_hnsw", "document_index": "embedding_1_document",
        }  # fmt: skip
        self.run(table.format(**named))
        for file in sorted(OLD.glob("[0-9]*.sql")):
            self.run(file.read_text().replace("@extschema@", "public"))
        self.run("insert into veraz.migration values (-1, 'replay', 'of version 3')")
        self.run("reset role")

    def fill(self, tenant: UUID, slug: str) -> None:
        """As the superuser, whom no policy blinds."""
        source = source_key(tenant, "s")
        self.run("insert into veraz.tenant (tenant_id, slug) values (%s, %s)", tenant, slug)
        self.run("select set_config('veraz.tenant_id', %s, false)", str(tenant))
        self.run(
            "insert into veraz.source (tenant_id, source_id, slug, name) values (%s, %s, 's', 'S')",
            tenant,
            source,
        )
        for name, text in TEXTS.items():
            given = {
                "tenant": tenant,
                "source": source,
                "document": document_key(source, name),
                "revision": uuid4(),
                "chunk": uuid4(),
                "name": name,
                "text": text,
                "acl": ["hr"] if name == "burn" else ["public"],
                "revised_at": date(2024, 5, 6) if name == "fever" else None,
                "vector": str(HashingEmbedder().vector(text).tolist()),
            }
            for command in (OLD / "document.sql").read_text().split(";\n\n"):
                self.connection.execute(cast("Any", command.rstrip(";\n")), given)

        self.run(
            "insert into veraz.eval_run (tenant_id, run_id, dataset, config, metrics, per_query)"
            " values (%s, %s, 'med', %s, %s, %s)",
            tenant, UUID(int=7), '{"mode": "lexical"}', '{"map": 0.5}', '{"q2": {"map": 1.0}, "q1": {"map": 0.0}}',
        )  # fmt: skip


DEFAULT, BETA = UUID(int=1), UUID(int=2)


@pytest.fixture
def version3(empty_database: str, template: str) -> str:
    """The superuser's URL. `template` made the roles, which are the server's."""
    assert template
    with psycopg.connect(empty_database, autocommit=True) as connection:
        old = Version3(connection)
        old.install()
        old.fill(DEFAULT, "default")
        old.fill(BETA, "beta")
        old.run(
            "insert into veraz.api_key (tenant_id, prefix, key_hash, roles) values (%s, 'vz_abcdefgh', %s, '{public}')",
            DEFAULT, hashlib.sha256(b"x").digest(),
        )  # fmt: skip
    return empty_database


@pytest.mark.parametrize("administrator", ["a superuser", "no superuser"])
async def test_a_filled_database_of_version_3_is_upgraded(version3: str, administrator: str) -> None:
    if administrator == "a superuser":
        await upgrade(version3)
    else:
        with login(version3, "createrole createdb", member_of=ROLES) as url:
            await upgrade(url)
    with psycopg.connect(version3) as connection:
        for name in ("chunk_lexical", "embedding_1"):
            wrong = connection.execute(
                sql.SQL(
                    "select count(*), count(*) filter (where e.revision_id is distinct from c.revision_id)"
                    " from {} e join veraz.chunk c using (tenant_id, chunk_id)"
                ).format(sql.Identifier("veraz", name))
            ).fetchone()
            assert wrong == (4, 0), name
        dates = connection.execute(
            "select title, effective_from::text from veraz.revision where tenant_id = %s order by 1",
            [DEFAULT],
        ).fetchall()
        assert dates == [("burn", "2025-01-02"), ("fever", "2024-05-06")]
        unforced = connection.execute(
            "select relname from pg_class c where relnamespace = 'veraz'::regnamespace and relkind = 'r'"
            " and not (relrowsecurity and relforcerowsecurity) order by 1"
        ).fetchall()
        assert unforced == [("embedding_space",), ("migration",)]
        major = connection.info.server_version // 10000
    if major == golden.MAJOR:  # columns stand in another order; everything else is as a new database has it
        assert sorted(golden.schema(version3).splitlines()) == sorted(
            (golden.FOLDER / "schema.txt").read_text().splitlines()
        )
        assert golden.differences("privileges.txt", version3) == ""
    async with await databases.open_engine(version3) as engine:
        await works(engine)


async def upgrade(url: str) -> None:
    async with await databases.open_engine(url) as engine:
        done = await engine.init()
    assert done.schema_version == latest_version()
    assert done.migrations == tuple(s.name for s in scripts("migrations")[4:])
    assert done.replayed


async def works(engine: AsyncVeraz) -> None:
    question = "how is fever treated and a burn cooled"
    for mode in ("lexical", "semantic"):
        found = await engine.search(question, lang="en", mode=mode)
        assert [h.document.external_id for h in found.hits] == ["fever"], mode  # burn is for hr alone
    (key,) = await engine.keys()
    assert (key.prefix, key.name, key.may_write, key.state) == ("vz_abcdefgh", "", False, "active")
    await put(engine, record("fever", "Fever is treated with rest.", date="2025-06-07"))
    assert [h.body for h in (await engine.search("fever", lang="en")).hits] == ["Fever is treated with rest."]
    kept = await engine.eval_run(str(UUID(int=7)))
    assert (kept.header.dataset, kept.header.queries, kept.header.metrics) == ("med", 2, {"map": 0.5})
    assert kept.values == {"q1": {"map": 0.0}, "q2": {"map": 1.0}}
    beta = engine.acting_as(await engine.ensure_tenant("beta"))
    assert [h.body for h in (await beta.search("fever", lang="en")).hits] == [TEXTS["fever"]]
