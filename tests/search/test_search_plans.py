"""The plans that search runs with: as the runtime role, under its policies, on the tenth run of one connection."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime

import pytest
from tests.support import databases, large
from tests.support.corpus import Words
from tests.support.plans import Plans, explained, nodes, on, shown

from veraz.nouns.question import Filters
from veraz.search import store as search_store

LEXICAL = "Purpose: the lexical arm"
SEMANTIC = "Purpose: the semantic arm. Nearest"
EXACT = "Purpose: the semantic arm without an approximate index"
HYDRATE = "Purpose: everything that a hit shows"
TEXTS = "Purpose: the stored text of the revisions"
BIG = {"chunk", "chunk_lexical", "posting", "embedding_1", "revision", "section", "document"}

FILTERS = {
    "no filter": Filters(),
    "source": Filters(sources=("bulk",)),
    "authority and language": Filters(authority=2, langs=("en",)),
    "expression": Filters(where="authority >= 2 and (lang = 'en' or title ~ 'x') and not license = 'closed'"),
}


@pytest.fixture(scope="module", params=["just loaded", "analysed"])
def url(request: pytest.FixtureRequest) -> str:
    name = "large_database" if request.param == "just loaded" else "analysed_database"
    return str(request.getfixturevalue(name))


async def tenth_search(url: str, filters: Filters) -> Plans:
    """The plans of the tenth search of one connection. psycopg prepares a statement after its fifth run."""
    words = large.words()
    async with await databases.open_engine(url, large.embedder()) as engine:
        await engine._database._pool.resize(1, 1)
        for _ in range(9):
            await engine.search(words.question(7), lang="en", filters=filters, trace=False)
        async with explained(engine) as plans:
            await engine.search(words.question(7), lang="en", filters=filters, trace=False)
    return plans


@pytest.fixture(params=FILTERS)
async def tenth(url: str, request: pytest.FixtureRequest) -> Plans:
    return await tenth_search(url, FILTERS[request.param])


@pytest.fixture(params=FILTERS)
async def analysed_tenth(analysed_database: str, request: pytest.FixtureRequest) -> Plans:
    """Without statistics the planner believes small tables to be tiny, and reads them by any of their indexes."""
    return await tenth_search(analysed_database, FILTERS[request.param])


async def test_the_semantic_arm_walks_its_index_in_order(tenth: Plans) -> None:
    plan = tenth.of(SEMANTIC)
    scans = on(plan, "embedding_1_hnsw")
    assert len(scans) == 1, shown(plan)
    assert scans[0]["Node Type"] == "Index Scan", shown(plan)
    assert "<=>" in scans[0]["Order By"], shown(plan)
    assert not [
        n for n in nodes(plan) if n["Node Type"] == "Seq Scan" and n.get("Relation Name") == "embedding_1"
    ], shown(plan)
    assert scans[0]["Actual Rows"] < 1000, f"the whole space was read\n{shown(plan)}"


@pytest.mark.parametrize("statement", [SEMANTIC, LEXICAL, HYDRATE, TEXTS])
async def test_documents_and_revisions_are_looked_up_by_their_keys(
    analysed_tenth: Plans, statement: str
) -> None:
    """Policies included: one that reads all documents of the tenant first costs more with every document."""
    plan = analysed_tenth.of(statement)
    for table, key in (("document", "document_id"), ("revision", "revision_id")):
        reads = on(plan, table)
        assert reads, shown(plan)
        assert all(key in n.get("Index Cond", "") for n in reads), shown(plan)


async def test_the_lexical_arm_finds_its_blocks_by_tenant_analyser_and_term(tenth: Plans) -> None:
    plan = tenth.of(LEXICAL)
    reads = on(plan, "posting_pkey")
    assert len(reads) == 1, shown(plan)
    condition = reads[0]["Index Cond"]
    assert all(f"{column} =" in condition for column in ("tenant_id", "analyser", "term")), shown(plan)
    assert not [n for n in on(plan, "posting") if n["Node Type"] == "Seq Scan"], shown(plan)


async def test_the_lexical_arm_reaches_chunks_by_their_number(tenth: Plans) -> None:
    plan = tenth.of(LEXICAL)
    reads = on(plan, "chunk_lexical")
    assert reads, shown(plan)
    assert all(n["Index Name"] == "chunk_lexical_pkey" and "chunk_no" in n["Index Cond"] for n in reads), (
        shown(plan)
    )
    assert not [n for n in nodes(plan) if n["Node Type"] == "Seq Scan" and n.get("Relation Name") in BIG], (
        shown(plan)
    )


async def test_no_statement_of_a_search_reads_a_large_table_from_end_to_end(tenth: Plans) -> None:
    assert len(tenth.found) > 5
    for query, plan in tenth.found:
        scanned = [n for n in nodes(plan) if n["Node Type"] == "Seq Scan" and n.get("Relation Name") in BIG]
        assert not scanned, f"{query[:300]}\n{shown(plan)}"


async def test_hits_are_read_by_their_keys(tenth: Plans) -> None:
    plan = tenth.of(HYDRATE)
    assert {n["Index Name"] for n in on(plan, "chunk")} == {"chunk_pkey"}, shown(plan)


async def test_the_policies_of_the_runtime_role_are_in_the_plan(tenth: Plans) -> None:
    """What the tests above saw was no plan of an owner or a superuser, for whom there are no policies."""
    plan = tenth.of(HYDRATE)
    for n in on(plan, "document"):
        assert "veraz.mode" in n["Filter"], shown(plan)


async def test_an_exact_scan_looks_up_the_documents_of_its_result_alone(url: str) -> None:
    """Comparing six thousand vectors is cheap; looking up a document, a revision and a source for each of them is not."""
    words = large.words()
    async with await databases.open_engine(url, large.embedder()) as engine:
        await engine._database._pool.resize(1, 1)
        async with explained(engine) as plans:
            await engine.search(words.question(7), mode="semantic", lang="en", exact=True, trace=False)
    plan = plans.of(EXACT)
    for table in ("document", "revision", "source"):
        reads = on(plan, table)
        assert reads, shown(plan)
        assert all(n["Actual Loops"] <= 100 for n in reads), shown(plan)


AS_OF = "Purpose: both arms over the revisions that held on a day"


async def test_a_day_is_searched_by_sets_each_read_once_by_the_tenant(analysed_database: str) -> None:
    """Valid revisions are found once for both arms, every table by an index that begins with the tenant, on the tenth run."""
    words = large.words()
    async with await databases.open_engine(analysed_database, large.embedder()) as engine:
        await engine._database._pool.resize(1, 1)
        day = datetime.now(UTC).date()
        for _ in range(9):
            await engine.search(words.question(7), lang="en", as_of=day, trace=False)
        async with explained(engine) as plans:
            found = await engine.search(words.question(7), lang="en", as_of=day, trace=False)
    assert found.hits
    plan = plans.of(AS_OF)
    for table in ("revision", "chunk_lexical", "embedding_1"):
        scans = [n for n in on(plan, table) if n["Node Type"] != "Bitmap Index Scan"]
        assert len(scans) == 1, f"{table}\n{shown(plan)}"
        assert scans[0]["Actual Loops"] == 1, shown(plan)
    for query, each in plans.found:
        scanned = [n for n in nodes(each) if n["Node Type"] == "Seq Scan" and n.get("Relation Name") in BIG]
        assert not scanned, f"{query[:300]}\n{shown(each)}"
    bitmaps = [n for n in nodes(plan) if n["Node Type"] == "Bitmap Index Scan"]
    assert bitmaps
    assert all("veraz.tenant_id" in n["Index Cond"] for n in bitmaps), shown(plan)


async def test_after_a_day_was_searched_hits_are_read_by_their_keys_again(analysed_database: str) -> None:
    words = large.words()
    async with (
        await databases.open_engine(analysed_database, large.embedder()) as engine,
        explained(engine) as plans,
    ):
        await engine.search(words.question(7), lang="en", as_of=datetime.now(UTC).date(), trace=False)
    assert {n["Index Name"] for n in on(plans.of(HYDRATE), "chunk")} == {"chunk_pkey"}


PERMITTED = "Purpose: the lexical arm without the inverted file's chunk lists"


async def test_a_starved_lexical_arm_is_repaired_by_sets_each_read_once(analysed_database: str) -> None:
    """On the tenth run: the documents that may be read are found once, not once for every chunk that matches."""
    asked = search_store.LexicalQuestion(" ".join(large.words().vocabulary[:5]), "en", 100, 1300, 600)
    async with await databases.open_engine(analysed_database, large.embedder()) as engine:
        await engine._database._pool.resize(1, 1)
        for run in range(10):
            async with (
                explained(engine) if run == 9 else nullcontext() as plans,
                engine._database.transaction(await engine.identity()) as connection,
            ):
                found = await search_store.lexical_permitted(connection, Filters(), asked)
    assert found
    assert plans is not None
    plan = plans.of(PERMITTED)
    for table in ("document", "revision", "chunk_lexical"):
        reads = [n for n in on(plan, table) if n["Node Type"] != "Bitmap Index Scan"]
        assert reads, shown(plan)
        assert all(n["Actual Loops"] <= 2 for n in reads), shown(plan)
    assert not [n for n in nodes(plan) if n["Node Type"] == "Seq Scan" and n.get("Relation Name") in BIG], (
        shown(plan)
    )


NARROW = "Purpose: both arms over the documents that the caller may read and that meet the filters"
SHARE = "Purpose: how large a share of the tenant's documents"


@pytest.mark.parametrize(
    "filters",
    [
        Filters(sources=("rare",)),
        Filters(where="source = 'rare' and not license = 'closed'"),
        Filters(where="source = 'rare' and not heading ~ 'nowhere'"),
    ],
    ids=["filters", "expression", "expression about chunks"],
)
async def test_few_documents_are_found_first_and_only_theirs_is_scored(url: str, filters: Filters) -> None:
    """On the tenth run: documents once, by sets; of chunks and vectors those of the permitted documents alone."""
    plans = await tenth_search(url, filters)
    plan = plans.of(NARROW)
    of_chunks = "heading" in (filters.where or "")  # policies look the document of each chunk up
    for table in ("document", "revision"):
        reads = [n for n in on(plan, table) if n["Node Type"] != "Bitmap Index Scan"]
        assert reads, shown(plan)
        assert of_chunks or all(n["Actual Loops"] <= 2 for n in reads), shown(plan)
    for table in ("chunk_lexical", "embedding_1"):
        reads = [n for n in on(plan, table) if n["Node Type"] != "Bitmap Index Scan" and n["Actual Loops"]]
        assert reads, shown(plan)
        assert all(n["Node Type"] != "Seq Scan" for n in reads), shown(plan)
        assert sum(n["Actual Loops"] * n["Actual Rows"] for n in reads) <= 2 * large.RARE, shown(plan)
    assert not on(plan, "embedding_1_hnsw"), shown(plan)
    assert not [q for q, _ in plans.found if LEXICAL in q or SEMANTIC in q]


async def test_the_share_of_a_filter_is_estimated_by_keys(analysed_database: str) -> None:
    plan = (await tenth_search(analysed_database, FILTERS["expression"])).of(SHARE)
    for table, key in (("document", "document_id"), ("revision", "revision_id")):
        assert all(key in n.get("Index Cond", "") for n in on(plan, table)), shown(plan)
    steps = on(plan, "chunk_lexical")
    assert steps, shown(plan)
    assert all(n["Actual Rows"] <= 1 for n in steps), f"it read whole documents\n{shown(plan)}"


async def test_an_expression_is_bound_into_the_plan_of_each_arm(tenth_expression: Plans) -> None:
    """Inside the arm, as parameters: no literal of the expression stands in what was executed."""
    for words in (LEXICAL, SEMANTIC):
        query = next(q for q, _ in tenth_expression.found if words in q)
        assert "p.license = $" in query
        assert "closed" not in query
        conditions = [n.get("Filter", "") for n in nodes(tenth_expression.of(words))]
        assert any("license" in c and "authority" in c for c in conditions), shown(tenth_expression.of(words))


@pytest.fixture
async def tenth_expression(url: str) -> Plans:
    return await tenth_search(url, FILTERS["expression"])


QUOTED = "Purpose: both arms where a question's quotation marks"


def without_one(words: Words) -> str:
    """A question that excludes a word which it does not ask for: of one that it does, the mark would mean nothing."""
    asked = words.question(7)
    excluded = next(word for word in words.vocabulary[30:] if word not in asked.split())
    return f"{asked} -{excluded}"


async def test_an_exclusion_is_checked_inside_both_arms_and_changes_neither_plan(
    analysed_database: str,
) -> None:
    """On the tenth run: the vectors are still walked by their index, in order; the postings by tenant, analyser and term."""
    words = large.words()
    async with await databases.open_engine(analysed_database, large.embedder()) as engine:
        await engine._database._pool.resize(1, 1)
        for _ in range(9):
            await engine.search(without_one(words), lang="en", trace=False)
        async with explained(engine) as plans:
            await engine.search(without_one(words), lang="en", trace=False)
    semantic, lexical = plans.of(SEMANTIC), plans.of(LEXICAL)
    scans = on(semantic, "embedding_1_hnsw")
    assert len(scans) == 1, shown(semantic)
    assert "<=>" in scans[0]["Order By"], shown(semantic)
    assert scans[0]["Actual Rows"] < 1000, shown(semantic)
    checked = on(semantic, "chunk_lexical")
    assert checked, f"the mark was not checked\n{shown(semantic)}"
    assert all("chunk_id" in n["Index Cond"] for n in checked), shown(semantic)
    assert {n["Index Name"] for n in on(lexical, "chunk_lexical")} == {"chunk_lexical_pkey"}, shown(lexical)
    for query, plan in plans.found:
        scanned = [n for n in nodes(plan) if n["Node Type"] == "Seq Scan" and n.get("Relation Name") in BIG]
        assert not scanned, f"{query[:300]}\n{shown(plan)}"


async def test_a_quotation_is_found_by_its_rarest_word_and_looked_up_by_keys(analysed_database: str) -> None:
    words = large.words()
    rare, common = words.vocabulary[500], words.vocabulary[0]
    async with await databases.open_engine(analysed_database, large.embedder()) as engine:
        await engine._database._pool.resize(1, 1)
        for _ in range(9):
            await engine.search(f'"{common} {rare}" {words.question(5)}', lang="en", trace=False)
        async with explained(engine) as plans:
            await engine.search(f'"{common} {rare}" {words.question(5)}', lang="en", trace=False)
            async with engine._database.transaction(await engine.identity()) as connection:
                holding = await (
                    await connection.execute(
                        "select count(*) from veraz.chunk_lexical"
                        " where analyser = 'en' and is_current and tsv @@ plainto_tsquery('english', %s)",
                        [rare],
                    )
                ).fetchone()
    plan = plans.of(QUOTED)
    reads = on(plan, "chunk_lexical_pkey")
    assert reads, shown(plan)
    assert holding is not None
    assert sum(n["Actual Loops"] for n in reads) <= holding[0], "found by a word that is not the rarest"
    for n in on(plan, "embedding_1"):
        assert "chunk_id" in n["Index Cond"], shown(plan)
    scanned = [n for n in nodes(plan) if n["Node Type"] == "Seq Scan" and n.get("Relation Name") in BIG]
    assert not scanned, shown(plan)


async def test_a_question_without_marks_pays_nothing_for_them(tenth: Plans) -> None:
    """Where a statement is planned each time, what is null is folded away; where it is planned once, it is never reached."""
    plan = tenth.of(SEMANTIC)
    assert "@@" not in shown(plan)
    assert not on(plan, "chunk_lexical"), shown(plan)
    demanded = [n for n in nodes(tenth.of(LEXICAL)) if n.get("Subplan Name") == "CTE condition"]
    assert [n["Actual Loops"] for n in demanded] == [0], shown(tenth.of(LEXICAL))


async def test_what_looks_rows_up_by_key_is_planned_once_for_a_connection(analysed_database: str) -> None:
    words = large.words()
    async with await databases.open_engine(analysed_database, large.embedder()) as engine:
        await engine._database._pool.resize(1, 1)
        for _ in range(20):
            await engine.search(words.question(7), lang="en", trace=False)
        async with engine._database.administration() as connection:
            cursor = await connection.execute(
                "select statement, generic_plans, custom_plans from pg_prepared_statements"
            )
            planned = await cursor.fetchall()
    for words_of, once in ((LEXICAL, True), (HYDRATE, True), (TEXTS, True), (SEMANTIC, False)):
        ((_, generic, custom),) = [row for row in planned if words_of in row[0]]
        assert generic + custom > 5, words_of
        assert (custom == 0) if once else (generic == 0), (words_of, generic, custom)
