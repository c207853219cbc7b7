"""Corpora that benchmarks make inside PostgreSQL are what an ingest would have written."""

from __future__ import annotations

from datetime import date

import pytest
from tests.support import bulk, oracle
from tests.support.corpus import rows

from veraz.engine import AsyncVeraz
from veraz.search import store
from veraz.search.request import few_rows

QUESTION = "w1 w7 w30 w111"


@pytest.fixture
async def filled(engine: AsyncVeraz) -> AsyncVeraz:
    identity, space = await engine.identity(), await engine.space()
    await bulk.without_index(engine, space.space_id)
    async with engine._database.maintenance(identity.tenant_id) as connection:
        await bulk.fill_tenant(
            connection,
            identity.tenant_id,
            space_id=space.space_id,
            documents=30,
            chunks=5,
            revisions=2,
            words=40,
            vocabulary=300,
        )
    await bulk.with_index(engine, space.space_id)
    return engine


async def test_the_inverted_file_obeys_every_rule_and_scores_agree(filled: AsyncVeraz) -> None:
    await oracle.check_postings(filled, merged=True)
    assert await oracle.check_scores(filled, [(QUESTION, "en"), ("w2 w3", "en")]) > 50
    before = await rows(filled, "select analyser, reference_length from veraz.lexical_epoch")
    await filled.merge_index()
    assert await rows(filled, "select analyser, reference_length from veraz.lexical_epoch") == before


async def test_only_last_revisions_are_current_and_a_day_finds_the_first(filled: AsyncVeraz) -> None:
    assert await rows(
        filled,
        "select number, count(*) from veraz.chunk join veraz.revision using (tenant_id, revision_id)"
        " where is_current group by 1",
    ) == [(2, 150)]
    now = (await filled.search(QUESTION, mode="lexical", lang="en")).hits
    then = (await filled.search(QUESTION, mode="lexical", lang="en", as_of=date(2020, 6, 1))).hits
    assert {h.document.revision for h in now} == {2}
    assert {h.document.revision for h in then} == {1}


async def test_the_arms_agree_with_and_without_the_index(filled: AsyncVeraz) -> None:
    exact = await filled.search(QUESTION, mode="semantic", lang="en", exact=True, k=50)
    assert len(exact.hits) == 50
    indexes = await rows(
        filled, "select indisvalid from pg_index where indexrelid = 'veraz.embedding_1_hnsw'::regclass"
    )
    assert indexes == [(True,)]


async def test_the_size_of_the_index_is_known_before_anybody_analysed(engine: AsyncVeraz) -> None:
    """The planner's own figure is still 0 then, and a small tenant would be sent through an index full of others."""
    identity, space = await engine.identity(), await engine.space()
    async with engine._database.maintenance(identity.tenant_id) as connection:
        await bulk.fill_tenant(
            connection, identity.tenant_id, space_id=space.space_id, documents=100, words=10, vocabulary=300
        )
    assert await rows(
        engine, "select reltuples::integer from pg_class where oid = 'veraz.embedding_1_hnsw'::regclass"
    ) == [(0,)]
    async with engine._database.transaction(identity) as connection:
        size = await store.corpus_size(connection, space.space_id)
    assert (size.analysers, size.own) == (("en",), 1000)
    assert 900 <= size.indexed <= 1200


async def test_a_space_without_an_index_has_no_size(filled: AsyncVeraz) -> None:
    await bulk.without_index(filled, 1)
    async with filled._database.transaction(await filled.identity()) as connection:
        assert (await store.corpus_size(connection, 1)).indexed == 0
        assert (await store.corpus_size(connection, None)).indexed == 0


def test_few_rows_are_compared_and_many_are_not() -> None:
    assert few_rows(50, 20_000, 100)
    assert few_rows(5000, 200_000, 100)
    assert few_rows(200, 0, 100), "safe where the index's size is unknown"
    assert not few_rows(50_000, 0, 100)
    assert not few_rows(200_000, 200_000, 100)
    assert not few_rows(6000, 6020, 100)
