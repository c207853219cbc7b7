"""A document for `hr` alone, looked for by `public` of the same tenant in every place where it leaves something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

import pytest
from tests.support.corpus import put, record
from tests.support.tenants import ALPHA, SECRET, Tenants

from veraz.answer import store as answer_store
from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.nouns.corpus import Identity
from veraz.ops import store as ops_store
from veraz.search import store as search_store

QUESTION = f"What does the {SECRET} say about band four?"


async def ids(tenants: Tenants, column: LiteralString, table: LiteralString) -> list[UUID]:
    """Of the hidden document, as ingest sees them."""
    async with tenants.engine._database.transaction(tenants.alpha, "write") as connection:
        cursor = await connection.execute(
            f"select {column} from veraz.{table} where document_id ="  # noqa: S608
            " (select document_id from veraz.document where external_id = 'pay')"
        )
        found = [row[0] for row in await cursor.fetchall()]
    assert found
    return found


async def count(
    connection: Connection, table: LiteralString, key: LiteralString, values: Sequence[UUID]
) -> int:
    cursor = await connection.execute(
        f"select count(*) from veraz.{table} where {key} = any (%s)",  # noqa: S608
        [list(values)],
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def test_the_tables_hide_the_document(tenants: Tenants) -> None:
    documents, revisions = (
        await ids(tenants, "document_id", "document"),
        await ids(tenants, "revision_id", "revision"),
    )
    chunks = await ids(tenants, "chunk_id", "chunk")
    places: tuple[tuple[LiteralString, LiteralString, list[UUID]], ...] = (
        ("document", "document_id", documents),
        ("revision", "revision_id", revisions),
        ("section", "revision_id", revisions),
        ("chunk", "chunk_id", chunks),
    )
    for identity, visible in ((tenants.alpha, False), (tenants.alpha_hr, True)):
        async with tenants.engine._database.transaction(identity) as connection:
            for table, key, values in places:
                assert (await count(connection, table, key, values) > 0) is visible, table


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
@pytest.mark.parametrize("exact", [False, True])
async def test_the_arms_hide_the_document(tenants: Tenants, mode: Any, exact: bool) -> None:
    for identity, visible in ((tenants.alpha, False), (tenants.alpha_hr, True)):
        found = await tenants.acting_as(identity).search(QUESTION, lang="en", mode=mode, k=50, exact=exact)
        assert (SECRET in " ".join(h.body for h in found.hits)) is visible
        assert ("pay" in {h.document.external_id for h in found.hits}) is visible


async def test_an_explanation_counts_what_the_reader_may_read(tenants: Tenants) -> None:
    """As if the hidden document were not there: its words occur nowhere, and a word that it shares weighs as in the rest."""
    counted = {}
    for identity in (tenants.alpha, tenants.alpha_hr):
        found = await tenants.acting_as(identity).search(
            f"{ALPHA} {SECRET} section begins", lang="en", mode="lexical", explain=True
        )
        counted[identity.roles] = {t["lexeme"]: t["chunks"] for t in (found.hits[0].explain or {})["terms"]}
    assert counted["public",] == {ALPHA: 2, SECRET: 0, "section": 1, "begin": 0}
    assert counted["public", "hr"] == {ALPHA: 2, SECRET: 1, "section": 1, "begin": 1}


async def test_scores_weigh_words_by_what_is_hidden_too_and_explanations_do_not(engine: AsyncVeraz) -> None:
    """What SECURITY.md says of statistics: a hidden document changes how rare a word is in scores, and nothing that is shown."""

    async def asked() -> tuple[float, object]:
        (hit,) = (await engine.search("rarity", lang="en", mode="lexical", explain=True)).hits
        assert hit.explain is not None
        assert hit.lexical is not None
        return hit.lexical.score, hit.explain["terms"]

    await put(engine, record("a", "The rarity is here."), record("b", "Another text entirely."))
    score, terms = await asked()
    assert terms == [{"lexeme": "rariti", "analyser": "en", "chunks": 1, "idf": 0.6931}]
    await put(engine, record("c", "The rarity is here.", acl=["hr"]))
    lower, same = await asked()
    assert same == terms
    assert lower < score


async def test_statements_that_take_ids_hide_the_document(tenants: Tenants) -> None:
    documents, revisions = (
        await ids(tenants, "document_id", "document"),
        await ids(tenants, "revision_id", "revision"),
    )
    chunks = await ids(tenants, "chunk_id", "chunk")
    for identity, visible in ((tenants.alpha, False), (tenants.alpha_hr, True)):
        async with tenants.engine._database.transaction(identity) as connection:
            assert bool(await search_store.hydrate(connection, chunks)) is visible
            _, texts = await answer_store.read_evidence(connection, [], "en", revisions)
            assert bool(texts) is visible
            assert (await ops_store.readable_documents(connection, ["pay"], None) == {"pay"}) is visible
            for name, key in (("revision_chunks", revisions), ("revision_sections", revisions)):
                cursor = await connection.execute(statement("ops", name), {"revision_id": key[0]})
                assert bool(await cursor.fetchall()) is visible, name
            cursor = await connection.execute(
                statement("ops", "document_revisions"), {"document_id": documents[0]}
            )
            assert bool(await cursor.fetchall()) is visible


async def test_show_hides_the_document(tenants: Tenants) -> None:
    with pytest.raises(UsageError, match="no document 'pay' that you may read"):
        await tenants.acting_as(tenants.alpha).show("pay")
    assert (await tenants.acting_as(tenants.alpha_hr).show("pay")).acl == ("hr",)


async def test_an_answer_never_cites_it_and_its_trace_belongs_to_its_roles(tenants: Tenants) -> None:
    public, hr = tenants.acting_as(tenants.alpha), tenants.acting_as(tenants.alpha_hr)
    refused = await public.ask(QUESTION, lang="en")
    assert SECRET not in refused.answer
    assert not [c for c in refused.citations if c.external_id == "pay"]
    found = await hr.search(QUESTION, lang="en")
    with pytest.raises(UsageError, match="no trace"):
        await public.explain_trace(str(found.trace_id))
    assert (await hr.explain_trace(str(refused.trace_id)))["question"] == QUESTION  # more roles, not fewer


async def test_a_quote_is_shown_under_the_rights_of_the_reader(eager_engine: AsyncVeraz) -> None:
    """Access that is taken away after the answer also takes the text out of its explanation."""
    text = f"The {SECRET} limit is 40 units. The {SECRET} limit holds for everybody."
    await put(eager_engine, record("pay", text))
    answer = await eager_engine.ask(f"What is the {SECRET} limit?", lang="en")
    assert [c.external_id for c in answer.citations][:1] == ["pay"], answer
    before = await eager_engine.explain_trace(str(answer.trace_id))
    assert [c["quote"] for c in before["citations"]] == [c.quote for c in answer.citations]
    await put(eager_engine, record("pay", text, acl=["hr"]))
    after = await eager_engine.explain_trace(str(answer.trace_id))
    assert [(c["quote"], c["available"]) for c in after["citations"]] == [(None, False)] * len(
        answer.citations
    )


async def test_a_changed_label_holds_for_the_next_query(engine: AsyncVeraz) -> None:
    text = f"The {SECRET} limit is 40 units."
    await put(engine, record("pay", text))
    chunks = (await engine.show("pay")).chunks
    for acl, visible in ((["hr"], False), (["hr", "public"], True), (["legal"], False)):
        report = await put(engine, record("pay", text, acl=acl))
        assert (report.documents, report.embedded) == (0, 0), "labels need no new revision"
        for mode in ("lexical", "semantic", "hybrid"):
            assert bool((await engine.search(SECRET, lang="en", mode=mode)).hits) is visible
    async with engine._database.transaction(await engine.identity()) as connection:
        assert await search_store.hydrate(connection, [c.chunk_id for c in chunks]) == {}


async def test_what_replaced_a_document_is_not_named_to_who_may_not_read_it(engine: AsyncVeraz) -> None:
    await put(
        engine,
        record("old", "The limit was 30 units."),
        record("new", "The limit is 40 units.", supersedes="old", acl=["hr"]),
    )
    identity = await engine.identity()
    hr = Tenants(engine, identity, identity).acting_as(
        Identity(identity.tenant_id, identity.tenant, ("public", "hr"))
    )
    assert (await engine.show("old")).superseded_by is None
    assert (await hr.show("old")).superseded_by == "new"
