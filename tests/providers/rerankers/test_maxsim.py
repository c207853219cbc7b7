"""Centred MaxSim against loops that say the same slowly; passages that were seen are not read again."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from tests.support.hashing import DIMENSION, HashingEmbedder, TokenHashing

from veraz.errors import UsageError
from veraz.nouns.corpus import TextKind, TokenBatch, Vectors
from veraz.providers.rerankers.maxsim import MaxSim, MaxSimOptions, background, maxsim

PASSAGES = ["the kidney and the heart", "metformin below an eGFR of forty", "a cough that lasts for weeks"]


def by_loops(question: Vectors, passages: Sequence[Vectors], mean: Vectors) -> list[float]:
    best: list[list[float]] = []
    for q in question.astype(np.float64) - mean:
        of_token = []
        for passage in passages:
            cosines = [
                float(q @ t) / math.sqrt(float(q @ q) * float(t @ t))
                for t in passage.astype(np.float64) - mean
            ]
            of_token.append(max(cosines))
        best.append(of_token)
    telling = sorted(best, key=statistics.pstdev, reverse=True)[: max(1, len(question) // 2)]
    return [sum(token[n] for token in telling) / len(telling) for n in range(len(passages))]


@pytest.mark.parametrize("tokens", [1, 2, 5, 8])
def test_it_is_what_loops_say(tokens: int) -> None:
    chance = np.random.default_rng(3)
    shift = 5 * chance.standard_normal(12)  # as real token vectors: all nearly the same way
    question = (chance.standard_normal((tokens, 12)) + shift).astype(np.float32)
    passages = [(chance.standard_normal((n, 12)) + shift).astype(np.float32) for n in (3, 9, 1)]
    mean = shift.astype(np.float32)
    assert maxsim(question, passages, mean) == pytest.approx(by_loops(question, passages, mean), abs=1e-5)


NO_MEAN = np.zeros(4, np.float32)


def test_a_passage_without_tokens_is_not_scored() -> None:
    some = np.ones((2, 4), np.float32)
    none = np.empty((0, 4), np.float32)
    scores = maxsim(some, [none, np.eye(4, dtype=np.float32)], NO_MEAN)
    assert scores[0] is None
    assert scores[1] == pytest.approx(0.5)
    assert maxsim(none, [some], NO_MEAN) == [None]
    assert maxsim(some, [none], NO_MEAN) == [None]
    assert maxsim(some, [], NO_MEAN) == []


def test_a_token_that_is_the_mean_has_a_finite_score() -> None:
    same = np.ones((3, 4), np.float32)
    assert maxsim(same, [same], np.ones(4, np.float32)) == [0.0]


def test_a_word_that_all_passages_say_tells_nothing() -> None:
    """Two tokens: one that every passage has, one that the second has."""
    common, rare, other = np.eye(3, dtype=np.float32)
    passages = [np.stack([common, other]), np.stack([common, rare])]
    assert maxsim(np.stack([common, rare]), passages, np.zeros(3, np.float32)) == [0.0, 1.0]


def test_the_background_is_of_many_languages_and_fits_the_model() -> None:
    found = background()
    assert len(found) == 5
    assert all(len(text) < 1_000 for text in found)


async def test_the_passage_that_says_the_words_is_best() -> None:
    found = await MaxSim(TokenHashing()).rerank("metformin below eGFR", PASSAGES)
    assert max(range(3), key=lambda at: found.scores[at] or 0.0) == 1


async def test_a_passage_is_read_once_and_scored_alike() -> None:
    embedder = TokenHashing()
    reranker = MaxSim(embedder)
    first = await reranker.rerank("kidney", PASSAGES)
    again = await reranker.rerank("kidney", PASSAGES)
    assert first == again
    assert embedder.encoded == [["kidney"], PASSAGES, background(), ["kidney"]]
    await reranker.rerank("kidney", [PASSAGES[1], "new", "new"])
    assert embedder.encoded[-1] == ["new"]


class Slow(TokenHashing):
    """Reads passages when it is let, and counts how many readings are under way."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()
        self.under_way = self.most = 0

    async def encode_tokens(self, texts: Sequence[str], kind: TextKind) -> TokenBatch:
        if kind == "passage":
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await self.let.wait()
            self.under_way -= 1
        return await super().encode_tokens(texts, kind)


async def test_what_a_question_no_longer_waits_for_is_kept_for_the_next() -> None:
    embedder = Slow()
    reranker = MaxSim(embedder)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await reranker.rerank("kidney", PASSAGES)
    embedder.let.set()
    found = await reranker.rerank("kidney", PASSAGES)
    assert None not in found.scores
    assert [texts for texts in embedder.encoded if texts == PASSAGES] == [PASSAGES], "read once"
    await reranker.close()


async def test_questions_that_come_at_once_have_their_passages_read_in_turn_and_once() -> None:
    embedder = Slow()
    reranker = MaxSim(embedder)
    asked = [asyncio.create_task(reranker.rerank("kidney", PASSAGES[:n])) for n in (2, 3, 3)]
    waits = asyncio.create_task(reranker.rerank("kidney", ["never read"]))
    await asyncio.sleep(0.05)
    waits.cancel()  # it waited for its turn, so nothing is read for it
    embedder.let.set()
    found = await asyncio.gather(*asked)
    assert [len(one.scores) for one in found] == [2, 3, 3]
    read = [text for texts in embedder.encoded for text in texts if text in (*PASSAGES, "never read")]
    assert read == PASSAGES
    assert embedder.most == 1


async def test_what_is_remembered_has_an_end() -> None:
    embedder = TokenHashing()
    words = (1 << 20) // (DIMENSION * 2) // 2 - 10  # two of these fit into a MiB, three do not
    long = [" ".join(f"{name}{n}" for n in range(words)) for name in "abc"]
    embedder.space = HashingEmbedder(max_tokens=10_000).space
    reranker = MaxSim(embedder, MaxSimOptions(cache_mb=1))
    for passage in long:
        await reranker.rerank("q", [passage])
    await reranker.rerank("q", [long[2]])
    await reranker.rerank("q", [long[1]])
    await reranker.rerank("q", [long[0]])
    read = [call[0][0] for call in embedder.encoded if call[0] != "q" and call != background()]
    assert read == ["a", "b", "c", "a"]


async def test_a_cut_passage_is_named_also_when_it_is_remembered() -> None:
    reranker = MaxSim(TokenHashing(max_tokens=4))
    for _ in range(2):
        found = await reranker.rerank("q", ["one two", "one two three four five"])
        assert found.truncated == (1,)


def test_an_embedder_without_token_vectors_is_refused() -> None:
    with pytest.raises(UsageError, match="needs token vectors"):
        MaxSim(HashingEmbedder())


def test_the_version_names_the_model() -> None:
    one, other = MaxSim(TokenHashing("a")), MaxSim(TokenHashing("b"))
    assert one.version != other.version
    assert one.version == MaxSim(TokenHashing("a")).version
