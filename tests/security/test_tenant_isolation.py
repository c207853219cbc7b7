"""No row of another tenant, and none at all without a tenant: tried on every table and every way of asking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from tests.support.corpus import put, record, table, tenant_tables
from tests.support.tenants import ALPHA, BETA, Tenants, as_runtime_login

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError

HIDDEN_FROM_RUNTIME = {"api_key"}
HIDDEN_FROM_READERS = {"context_draft", "ingest_failure"}


async def readable_tables(tenants: Tenants) -> list[str]:
    async with tenants.engine._database.maintenance() as connection:
        return [name for name in await tenant_tables(connection) if name not in HIDDEN_FROM_RUNTIME]


async def test_every_table_of_the_fixture_holds_rows_of_both_tenants(tenants: Tenants) -> None:
    """Otherwise the tests below could not fail."""
    both = {tenants.alpha.tenant_id, tenants.beta.tenant_id}
    async with tenants.engine._database.maintenance() as connection:
        for name in await tenant_tables(connection):
            cursor = await connection.execute(
                sql.SQL("select distinct tenant_id from {}").format(table(name))
            )
            assert {row[0] for row in await cursor.fetchall()} == both, name


async def test_without_a_tenant_every_table_is_empty(tenants: Tenants, tenants_database: str) -> None:
    with as_runtime_login(tenants_database) as connection:
        for name in await readable_tables(tenants):
            found = connection.execute(sql.SQL("select count(*) from {}").format(table(name))).fetchone()
            assert found == (0,), name


@pytest.mark.parametrize("mode", ["read", "write"])
async def test_a_tenant_sees_its_own_rows_only(tenants: Tenants, mode: Any) -> None:
    for identity in (tenants.alpha, tenants.beta):
        async with tenants.engine._database.transaction(identity, mode) as connection:
            for name in await tenant_tables(connection):
                if name in HIDDEN_FROM_RUNTIME:
                    continue
                cursor = await connection.execute(
                    sql.SQL("select distinct tenant_id from {}").format(table(name))
                )
                seen = [] if mode == "read" and name in HIDDEN_FROM_READERS else [identity.tenant_id]
                assert [row[0] for row in await cursor.fetchall()] == seen, name


@pytest.mark.parametrize("setting", ["not-a-uuid", "00000000-0000-0000-0000-00000000000g", "' or true --"])
async def test_a_malformed_tenant_is_an_error_before_any_row(
    tenants: Tenants, tenants_database: str, setting: str
) -> None:
    names = await readable_tables(tenants)
    with as_runtime_login(tenants_database) as connection:
        connection.execute("select set_config('veraz.tenant_id', %s, false)", [setting])
        for name in names:
            with pytest.raises(psycopg.errors.InvalidTextRepresentation):
                connection.execute(sql.SQL("select * from {}").format(table(name)))


async def test_malformed_roles_are_an_error_before_any_row(tenants: Tenants, tenants_database: str) -> None:
    with as_runtime_login(tenants_database) as connection:
        connection.execute("select set_config('veraz.tenant_id', %s, false)", [str(tenants.alpha.tenant_id)])
        connection.execute("select set_config('veraz.roles', '{public', false)")
        for name in ("document", "revision", "section", "chunk", "trace"):
            with pytest.raises(psycopg.errors.InvalidTextRepresentation):
                connection.execute(sql.SQL("select * from {}").format(table(name)))


async def test_without_roles_a_tenant_reads_no_content(tenants: Tenants, tenants_database: str) -> None:
    with as_runtime_login(tenants_database) as connection:
        connection.execute("select set_config('veraz.tenant_id', %s, false)", [str(tenants.alpha.tenant_id)])
        for name in ("document", "revision", "section", "chunk", "trace"):
            assert connection.execute(sql.SQL("select count(*) from {}").format(table(name))).fetchone() == (
                0,
            ), name


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
@pytest.mark.parametrize("exact", [False, True])
async def test_no_way_of_searching_finds_another_tenants_text(
    tenants: Tenants, mode: Any, exact: bool
) -> None:
    for identity, own, foreign in ((tenants.alpha, ALPHA, BETA), (tenants.beta, BETA, ALPHA)):
        found = await tenants.acting_as(identity).search(
            f"{own} {foreign}", lang="en", mode=mode, k=50, exact=exact
        )
        assert found.hits
        assert not [h for h in found.hits if foreign in h.body]
        assert any(own in h.body for h in found.hits)


async def test_another_tenants_words_weigh_nothing(tenants: Tenants) -> None:
    """Statistics are per tenant: the explanation of a foreign word says that it occurs nowhere."""
    found = await tenants.acting_as(tenants.alpha).search(
        f"{ALPHA} {BETA}", lang="en", mode="lexical", explain=True
    )
    chunks = {t["lexeme"]: t["chunks"] for h in found.hits for t in (h.explain or {})["terms"]}
    assert chunks[BETA] == 0
    assert chunks[ALPHA] > 0


async def test_another_tenants_trace_and_document_do_not_exist(tenants: Tenants) -> None:
    alpha, beta = tenants.acting_as(tenants.alpha), tenants.acting_as(tenants.beta)
    result = await alpha.search(ALPHA, lang="en")
    answer = await alpha.ask(f"What is the {ALPHA}?", lang="en")
    for trace_id in (result.trace_id, answer.trace_id):
        assert (await alpha.trace(str(trace_id))).trace_id == trace_id
        with pytest.raises(UsageError, match="no trace"):
            await beta.trace(str(trace_id))
        with pytest.raises(UsageError, match="no trace"):
            await beta.explain_trace(str(trace_id))
    with pytest.raises(UsageError, match="no document"):
        await beta.show("pay")


async def test_another_tenants_rows_are_neither_changed_nor_added_to(tenants: Tenants) -> None:
    async with tenants.engine._database.transaction(tenants.beta, "write") as connection:
        parameters = {"other": tenants.alpha.tenant_id}
        for statement in (
            "update veraz.document set deleted_at = now() where tenant_id = %(other)s",
            "update veraz.chunk set is_current = false where tenant_id = %(other)s",
            "delete from veraz.posting where tenant_id = %(other)s",
            "delete from veraz.chunk_lexical where tenant_id = %(other)s",
        ):
            assert (await connection.execute(statement, parameters)).rowcount == 0


@pytest.mark.parametrize(
    "statement",
    [
        "insert into veraz.job (tenant_id, kind) values (%(other)s, 'k')",
        "insert into veraz.source (tenant_id, slug, name) values (%(other)s, 'x', 'x')",
        "update veraz.job set tenant_id = %(other)s",
    ],
)
async def test_no_row_is_written_in_another_tenants_name(tenants: Tenants, statement: LiteralString) -> None:
    async with (
        tenants.engine._database.transaction(tenants.beta, "write") as connection,
        connection.transaction(force_rollback=True),
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            await connection.execute(statement, {"other": tenants.alpha.tenant_id})


# H36


async def test_the_same_id_in_two_tenants_is_two_documents(engine: AsyncVeraz) -> None:
    alpha, beta = await engine.identity(), await engine.ensure_tenant("beta")
    acting = Tenants(engine, alpha, beta).acting_as(beta)
    await put(engine, record("handbook", f"The rule is {ALPHA}."))
    for _ in range(2):  # the second time it comes back after its deletion
        report = await put(engine, record("handbook", f"The rule is {BETA}."), identity=beta)
        assert (report.new + report.changed, report.unchanged, report.documents) == (1, 0, 1)
        assert [h.body for h in (await acting.search("what is the rule", lang="en")).hits] == [
            f"The rule is {BETA}."
        ]
        assert [h.body for h in (await engine.search("what is the rule", lang="en")).hits] == [
            f"The rule is {ALPHA}."
        ]
        assert await acting.delete("handbook", source="s")
        assert (await acting.search("what is the rule", lang="en")).hits == ()
    assert [h.body for h in (await engine.search("what is the rule", lang="en")).hits] == [
        f"The rule is {ALPHA}."
    ]


# H37

REFERENCES: dict[str, LiteralString] = {
    "chunk": (
        "insert into veraz.chunk (tenant_id, chunk_id, document_id, revision_id, ord, section, heading_path, kind, body, display,"
        " header, token_count, spans, start_at, end_at, content_hash, lang)"
        " values (%(own)s, %(new)s, %(document)s, %(revision)s, 0, 0,"
        " '{}', 'paragraph', 'b', 'b', '', 1, '{0,1}', 0, 1, sha256('x'), 'en')"
    ),
    "supersession": (
        "update veraz.document set superseded_by = %(document)s, superseded_at = now() where external_id = 'open'"
    ),
    "pointer": "update veraz.document set current_revision_id = %(revision)s where external_id = 'open'",
    "section": (
        "insert into veraz.section (tenant_id, revision_id, ord, level, heading, heading_path, start_at, end_at)"
        " values (%(own)s, %(revision)s, 99, 1, 'h', '{}', 0, 1)"
    ),
}


@pytest.mark.parametrize("reference", REFERENCES)
async def test_a_reference_to_another_tenants_row_is_refused_like_one_to_nothing(
    tenants: Tenants, reference: str
) -> None:
    async with tenants.engine._database.maintenance() as connection:
        cursor = await connection.execute(
            "select document_id, current_revision_id from veraz.document where tenant_id = %s and external_id = 'pay'",
            [tenants.alpha.tenant_id],
        )
        existing = await cursor.fetchone()
    assert existing is not None
    answers = []
    for document, revision in (existing, (uuid4(), uuid4())):
        parameters = {
            "own": tenants.beta.tenant_id,
            "new": uuid4(),
            "document": document,
            "revision": revision,
        }
        with pytest.raises(psycopg.errors.ForeignKeyViolation) as refused:
            await commit(tenants, REFERENCES[reference], parameters)
        told = refused.value.diag
        answers.append((refused.value.sqlstate, told.constraint_name, told.message_primary))
    assert answers[0] == answers[1]


async def commit(tenants: Tenants, statement: LiteralString, parameters: Mapping[str, UUID]) -> None:
    """As beta. A deferred reference is checked at the commit only."""
    async with tenants.engine._database.transaction(tenants.beta, "write") as connection:
        await connection.execute(statement, parameters)


async def test_taking_another_tenants_id_meets_no_conflict(tenants: Tenants) -> None:
    async with tenants.engine._database.maintenance() as connection:
        cursor = await connection.execute(
            "select document_id from veraz.document where tenant_id = %s", [tenants.alpha.tenant_id]
        )
        taken = [row[0] for row in await cursor.fetchall()]
    async with (
        tenants.engine._database.transaction(tenants.beta, "write") as connection,
        connection.transaction(force_rollback=True),
    ):
        for document_id in [*taken, uuid4()]:
            cursor = await connection.execute(
                "insert into veraz.document (tenant_id, document_id, source_id, external_id)"
                " select tenant_id, %s, source_id, %s from veraz.source on conflict do nothing",
                [document_id, f"x{document_id}"],
            )
            assert cursor.rowcount == 1


async def test_removing_a_document_removes_no_row_of_another_tenant(engine: AsyncVeraz) -> None:
    alpha, beta = await engine.identity(), await engine.ensure_tenant("beta")
    for identity in (alpha, beta):
        await put(engine, record("handbook", "The same text in both."), identity=identity)
    counted = (
        "select (select count(*) from veraz.revision), (select count(*) from veraz.chunk),"
        " (select count(*) from veraz.chunk_lexical), (select count(*) from veraz.embedding_1)"
    )
    async with engine._database.maintenance() as connection:
        await connection.execute(
            "update veraz.document set current_revision_id = null where tenant_id = %s", [alpha.tenant_id]
        )
        for name in ("chunk", "revision", "document"):
            command = sql.SQL("delete from {} where tenant_id = %s").format(table(name))
            await connection.execute(command, [alpha.tenant_id])
        assert await (await connection.execute(counted)).fetchone() == (1, 1, 1, 1)
    async with engine._database.transaction(beta) as connection:
        assert await (await connection.execute(counted)).fetchone() == (1, 1, 1, 1)
