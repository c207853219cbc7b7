"""Search with a reranker, on a database: who is asked about what, when, and what comes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.support import databases
from tests.support.corpus import put, record
from tests.support.hashing import TokenHashing
from tests.support.reranking import SaidReranker, failing, scoring
from tests.support.swept import SHARED, judged_set

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.errors import ProviderError, UsageError
from veraz.nouns.evidence import Hit
from veraz.nouns.rerank import RerankScores
from veraz.providers.rerankers.registry import OpenedReranker

QUESTION = "kidney pain in a child"


def use(engine: AsyncVeraz, reranker: SaidReranker, weight: float = 1.0) -> SaidReranker:
    """As the reranker that the engine opened under the name cohere."""
    engine._rerankers["cohere"] = OpenedReranker(reranker, weight)
    return reranker


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.document.external_id for hit in hits]


@pytest.fixture
async def notes(database: str, tmp_path: Path) -> Any:
    folder = judged_set(tmp_path / "set", documents=30, copies=4)
    async with await databases.open_engine(
        database, TokenHashing(), search=SearchConfig(rerank_pool=8)
    ) as engine:
        await engine.ingest([folder / "corpus.jsonl"], source="s")
        yield engine


async def test_the_pool_is_put_in_the_rerankers_order_and_the_rest_follows(notes: AsyncVeraz) -> None:
    plain = await notes.search(QUESTION, k=12)
    reranker = use(notes, scoring(lambda passage: float(plain_place(plain.hits, passage))))
    found = await notes.search(QUESTION, k=12, rerank="cohere")
    # the pool upside down, then the others as they were
    assert ids(found.hits) == [*reversed(ids(plain.hits[:8])), *ids(plain.hits[8:])]
    assert [hit.rank for hit in found.hits] == list(range(1, 13))
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert [hit.rerank and (hit.rerank.rank, hit.rerank.score) for hit in found.hits] == [
        *((rank, float(8 - rank)) for rank in range(1, 9)), *[None] * 4,
    ]  # fmt: skip
    by_id = {hit.chunk_id: hit for hit in plain.hits}
    for hit in found.hits:
        was = by_id[hit.chunk_id]
        assert (hit.lexical, hit.semantic) == (was.lexical, was.semantic)
    [(question, passages)] = reranker.asked
    assert question == QUESTION
    assert passages == [f"{hit.document.title}\n{hit.body}" for hit in plain.hits[:8]]
    assert "rerank" in found.timings_ms
    assert plain.config["rerank"] is None


def plain_place(hits: Sequence[Hit], passage: str) -> int:
    [place] = [n for n, hit in enumerate(hits[:8]) if passage == f"{hit.document.title}\n{hit.body}"]
    return place


async def test_the_order_does_not_depend_on_k_and_fewer_hits_come_of_the_whole_pool(
    notes: AsyncVeraz,
) -> None:
    use(notes, scoring(lambda passage: float(len(passage) % 7)), weight=0.7)
    whole = await notes.search(QUESTION, k=20, rerank="cohere")
    for k in (1, 3, 8, 9):
        found = await notes.search(QUESTION, k=k, rerank="cohere")
        assert [(h.chunk_id, h.score) for h in found.hits] == [(h.chunk_id, h.score) for h in whole.hits[:k]]


async def test_nobody_is_asked_while_a_transaction_is_open(database: str, notes: AsyncVeraz) -> None:
    open_ones: list[int] = []

    async def said(_question: str, passages: Sequence[str]) -> RerankScores:
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
            cursor = await connection.execute(
                "select count(*) from pg_stat_activity where datname = current_database()"
                " and pid <> pg_backend_pid() and xact_start is not null and backend_type = 'client backend'"
            )
            row = await cursor.fetchone()
            assert row is not None
            open_ones.append(row[0])
        return RerankScores(tuple(1.0 for _ in passages))

    use(notes, SaidReranker(said))
    await notes.search(QUESTION, rerank="cohere")
    await notes.ask(QUESTION, rerank="cohere")
    assert open_ones == [0, 0]


async def test_only_what_the_caller_may_read_is_sent(engine: AsyncVeraz) -> None:
    await put(engine, record("open", "The kidney filters blood, and pain in a child is a sign."))
    await put(
        engine, {**record("closed", "The kidney of the secret child is in pain, eleven."), "acl": ["staff"]}
    )
    reranker = use(engine, scoring(len))
    found = await engine.search(QUESTION, rerank="cohere")
    assert ids(found.hits) == ["open"]
    assert all("secret" not in passage for _, passages in reranker.asked for passage in passages)
    assert len(reranker.asked) == 1


async def test_copies_stay_folded_and_are_sent_once(notes: AsyncVeraz) -> None:
    reranker = use(notes, scoring(lambda passage: float(SHARED in passage)))
    found = await notes.search("ask a doctor before any other drug", k=5, rerank="cohere")
    assert found.hits[0].body == SHARED
    assert len(found.hits[0].also) == 3
    assert sum(SHARED in passage for passage in reranker.asked[0][1]) == 1
    assert sum(hit.body == SHARED for hit in found.hits) == 1


async def test_what_fails_leaves_the_plain_result_a_note_and_a_trace(notes: AsyncVeraz) -> None:
    plain = await notes.search(QUESTION)
    use(notes, failing(ProviderError("nobody is there")))
    found = await notes.search(QUESTION, rerank="cohere")
    assert found.hits == plain.hits
    assert "nobody is there" in found.notes[-1]
    assert "rerank" in found.timings_ms
    trace = await notes.explain_trace(str(found.trace_id))
    assert trace["config"]["rerank"]["fallback"] == "nobody is there"
    answer = await notes.ask(QUESTION, rerank="cohere")
    kept = await notes.explain_trace(str(answer.trace_id))
    assert kept["config"]["rerank"]["fallback"] == "nobody is there"


async def test_the_trace_says_who_reranked_and_what(notes: AsyncVeraz) -> None:
    use(notes, scoring(lambda passage: float(len(passage))), weight=0.4)
    found = await notes.search(QUESTION, k=3, rerank="cohere")
    trace = await notes.explain_trace(str(found.trace_id))
    assert trace["config"]["rerank"] == {
        "name": "cohere", "version": "said-1", "weight": 0.4, "pool": 8,
        "asked": 8, "scored": 8, "truncated": 0, "fallback": None,
    }  # fmt: skip
    assert [hit["rerank"]["rank"] for hit in trace["hits"]] == [h.rerank.rank for h in found.hits if h.rerank]


async def test_the_explanation_adds_up(notes: AsyncVeraz) -> None:
    use(notes, scoring(lambda passage: float(len(passage) % 11)), weight=0.4)
    found = await notes.search(QUESTION, k=10, rerank="cohere", explain=True)
    for hit in found.hits:
        assert hit.explain is not None
        said = hit.explain["rerank"]
        assert said["fused_score"] == pytest.approx(hit.explain["fusion"]["score"])
        assert said["scored"] == (hit.rerank is not None)
        if hit.rerank is not None:
            assert hit.score == pytest.approx(0.6 * said["fused"] + 0.4 * said["reranked"])


async def test_maxsim_is_asked_by_name_or_by_configuration(database: str, notes: AsyncVeraz) -> None:
    found = await notes.search(QUESTION, rerank="maxsim")
    assert all(hit.rerank is not None for hit in found.hits[:8])
    search = SearchConfig(rerank="maxsim", rerank_pool=8)
    async with await databases.open_engine(database, TokenHashing(), search=search) as engine:
        configured = await engine.search(QUESTION)
        assert configured.hits == found.hits
        assert (await engine.search(QUESTION, rerank="none")).hits == (await notes.search(QUESTION)).hits
        assert all(h.rerank for h in (await engine.search(QUESTION, mode="lexical", k=3)).hits)
        assert (await engine.search("?")).config["rerank"]["asked"] == 0


async def test_an_unknown_name_is_refused_before_anything_is_searched(notes: AsyncVeraz) -> None:
    for wrong in ("cohear", "", "NONE"):
        with pytest.raises(UsageError, match="rerank"):
            await notes.search(QUESTION, rerank=wrong)


async def test_closing_the_engine_closes_its_rerankers(database: str) -> None:
    async with await databases.open_engine(database) as engine:
        reranker = use(engine, scoring(len))
    assert reranker.closed


async def test_an_evaluation_says_who_reranked_and_counts_what_failed(
    notes: AsyncVeraz, tmp_path: Path
) -> None:
    folder = judged_set(tmp_path / "set", documents=30, copies=4)
    use(notes, scoring(lambda passage: float(len(passage))))
    [run] = await notes.evaluate(folder, source="s", rerank="cohere")
    assert run.config["reranker"] == {"name": "cohere", "version": "said-1", "weight": 1.0, "pool": 8}
    assert not any("fused order" in warning for warning in run.warnings)
    use(notes, failing(ProviderError("nobody is there")))
    [failed] = await notes.evaluate(folder, source="s", rerank="cohere")
    [plain] = await notes.evaluate(folder, source="s")
    assert failed.metrics == plain.metrics
    assert any("20 of 20 queries kept the fused order; mostly: nobody is there" in w for w in failed.warnings)
    assert plain.config["reranker"] is None


async def test_questions_that_come_at_once_open_one_reranker_and_one_without_token_vectors_no_embedder(
    notes: AsyncVeraz, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[SaidReranker] = []
    embedders: list[object] = []

    def opening(_name: str, _options: Any, *, embedder: object, chat: object) -> OpenedReranker:  # noqa: ARG001
        time.sleep(0.05)
        opened.append(scoring(lambda _passage: 1.0))
        embedders.append(embedder)
        return OpenedReranker(opened[-1], 1.0)

    monkeypatch.setattr("veraz.engine.questions.open_reranker", opening)
    await asyncio.gather(*(notes.search(QUESTION, mode="lexical", rerank="cohere") for _ in range(4)))
    assert len(opened) == 1
    assert len(opened[0].asked) == 4
    assert embedders == [None]
