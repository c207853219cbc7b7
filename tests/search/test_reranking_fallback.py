"""Whatever a reranker does, there is an order: the fused one, and the reason."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import pytest
from tests.support.reranking import SaidReranker, failing, giving

from veraz.errors import MalformedResponse, ProviderError, RateLimited, RequestRefused
from veraz.nouns.rerank import RerankScores
from veraz.search.reranking import Reranking, rerank_scores

FUSED = [0.9, 0.6, 0.5, 0.1]
PASSAGES = ["a", "b", "c"]


async def sleeping(_question: str, _passages: Sequence[str]) -> RerankScores:
    await asyncio.sleep(60)
    raise AssertionError


def by(reranker: SaidReranker, timeout: float = 5.0) -> Reranking:
    return Reranking("said", reranker, 1.0, 3, timeout)


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (failing(ProviderError("no answer within 3 s")), "no answer within 3 s"),
        (failing(RateLimited("answered 429")), "answered 429"),
        (failing(RequestRefused("answered 413")), "answered 413"),
        (failing(MalformedResponse("index 7 for 3 passages")), "index 7 for 3 passages"),
        (failing(ConnectionRefusedError("refused")), "refused"),
        (failing(OSError()), "OSError"),
        (SaidReranker(sleeping), "no scores within 0.05 s"),
        (giving(), "0 scores for 3 passages"),
        (giving(1.0, 2.0), "2 scores for 3 passages"),
        (giving(1.0, 2.0, 3.0, 4.0), "4 scores for 3 passages"),
        (giving(None, None, None), "it scored nothing"),
        (giving(1.0, math.nan, 2.0), "a score that is not finite"),
        (giving(1.0, math.inf, None), "a score that is not finite"),
    ],
)
async def test_what_fails_leaves_the_fused_order_and_says_why(reranker: SaidReranker, reason: str) -> None:
    timeout = 0.05 if "0.05" in reason else 5.0
    run = await rerank_scores(by(reranker, timeout), "q", FUSED, PASSAGES)
    assert [(e.position, e.score, e.rerank) for e in run.order] == [(n, s, None) for n, s in enumerate(FUSED)]
    assert run.fallback == run.record["fallback"] == reason
    assert run.record["scored"] == 0
    [note] = run.notes
    assert reason in note
    assert "the fused order stays" in note


async def test_a_mistake_of_the_program_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        await rerank_scores(by(failing(ZeroDivisionError())), "q", FUSED, PASSAGES)


async def test_being_cancelled_is_no_failure_of_the_reranker() -> None:
    task = asyncio.create_task(rerank_scores(by(SaidReranker(sleeping)), "q", FUSED, PASSAGES))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_part_that_is_scored_comes_first_and_the_note_counts() -> None:
    run = await rerank_scores(by(giving(None, 1.0, 2.0)), "q", FUSED, PASSAGES)
    assert [e.position for e in run.order] == [2, 1, 0, 3]
    assert run.fallback is None
    assert run.record["scored"] == 2
    assert "scored 2 of 3 passages" in run.notes[0]


async def test_the_record_says_what_was_asked() -> None:
    run = await rerank_scores(by(giving(1.0, 3.0, 2.0)), "q", FUSED, PASSAGES)
    assert run.record == {
        "name": "said", "version": "said-1", "weight": 1.0, "pool": 3,
        "asked": 3, "scored": 3, "truncated": 0, "fallback": None,
    }  # fmt: skip
    assert run.notes == ()


async def test_without_passages_nobody_is_asked() -> None:
    reranker = giving(1.0)
    run = await rerank_scores(by(reranker), "q", [], [])
    assert (run.order, run.fallback, reranker.asked) == ((), None, [])
