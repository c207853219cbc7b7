"""Words of title and headings count as often as is configured."""

from __future__ import annotations

import pytest
from tests.support import databases
from tests.support.corpus import put, record, rows
from tests.support.oracle import check_postings, check_scores

from veraz.config import IngestConfig

BODY = "Something about the weather of the coast in spring and autumn"
DOCUMENTS = (
    record("titled", f"{BODY}.", title="Gout"),
    record("said", f"{BODY}. Gout. Gout.", title="Coast"),
)


@pytest.mark.parametrize(("weight", "first"), [(1, "said"), (3, "titled")])
async def test_a_title_counts_as_often_as_configured(database: str, weight: int, first: str) -> None:
    settings = IngestConfig(isolated=False, title_weight=weight)
    async with await databases.open_engine(database, ingest=settings) as engine:
        await put(engine, *DOCUMENTS)
        found = await engine.search("gout", lang="en", mode="lexical", trace=False)
        assert found.hits[0].document.external_id == first
        assert await check_scores(engine, [("gout coast", "en"), ("weather gout", "en")]) == 4
        await engine.merge_index()
        await check_postings(engine, merged=True)
        counted = dict(
            await rows(
                engine,
                "select d.external_id, cardinality(t.positions) from veraz.chunk_lexical l"
                " join veraz.document d using (tenant_id, document_id), unnest(l.tsv) t where t.lexeme = 'gout'",
            )
        )
    assert counted == {"titled": weight, "said": 2}


async def test_another_weight_takes_unchanged_documents_in_again(database: str) -> None:
    for weight, created in ((1, 2), (1, 0), (2, 2), (2, 0), (1, 2)):
        settings = IngestConfig(isolated=False, title_weight=weight)
        async with await databases.open_engine(database, ingest=settings) as engine:
            report = await put(engine, *DOCUMENTS)
            assert report.new + report.changed == created, weight


async def test_quotations_do_not_run_from_one_title_into_the_next(database: str) -> None:
    settings = IngestConfig(isolated=False, title_weight=2)
    async with await databases.open_engine(database, ingest=settings) as engine:
        await put(engine, record("a", "Body.", title="Alpha beta"), source="s")
        assert (await engine.search('"alpha beta"', lang="en", mode="lexical", trace=False)).hits
