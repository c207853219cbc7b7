"""Centred MaxSim against loops that say the same slowly; passages that were seen are not read again."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from tests.support.hashing import DIMENSION, HashingEmbedder, TokenHashing

from veraz.errors import UsageError
from veraz.nouns.corpus import Vectors
from veraz.providers.rerankers.maxsim import MaxSim, MaxSimOptions, maxsim

PASSAGES = ["the kidney and the heart", "metformin below an eGFR of forty", "a cough that lasts for weeks"]


def by_loops(question: Vectors, passages: Sequence[Vectors]) -> list[float]:
    tokens = [t.astype(np.float64) for p in passages for t in p]
    mean = sum(tokens) / len(tokens)
    scores = []
    for passage in passages:
        best = []
        for q in question:
            a = q.astype(np.float64) - mean
            cosines = [
                float(a @ (t - mean)) / math.sqrt(float(a @ a) * float((t - mean) @ (t - mean)))
                for t in passage.astype(np.float64)
            ]
            best.append(max(cosines))
        scores.append(sum(best) / len(best))
    return scores


def test_it_is_what_loops_say() -> None:
    chance = np.random.default_rng(3)
    shift = 5 * chance.standard_normal(12)  # as real token vectors: all nearly the same way
    question = (chance.standard_normal((4, 12)) + shift).astype(np.float32)
    passages = [(chance.standard_normal((n, 12)) + shift).astype(np.float32) for n in (3, 9, 1)]
    assert maxsim(question, passages) == pytest.approx(by_loops(question, passages), abs=1e-5)


def test_a_passage_without_tokens_is_not_scored() -> None:
    some = np.ones((2, 4), np.float32)
    none = np.empty((0, 4), np.float32)
    scores = maxsim(some, [none, np.eye(4, dtype=np.float32)])
    assert scores[0] is None
    assert scores[1] is not None
    assert maxsim(none, [some]) == [None]
    assert maxsim(some, [none]) == [None]
    assert maxsim(some, []) == []


def test_one_passage_that_is_its_own_mean_has_a_finite_score() -> None:
    same = np.ones((3, 4), np.float32)
    assert maxsim(same, [same]) == [0.0]


async def test_the_passage_that_says_the_words_is_best() -> None:
    found = await MaxSim(TokenHashing()).rerank("metformin and eGFR", PASSAGES)
    assert max(range(3), key=lambda at: found.scores[at] or 0.0) == 1


async def test_a_passage_is_read_once_and_scored_alike() -> None:
    embedder = TokenHashing()
    reranker = MaxSim(embedder)
    first = await reranker.rerank("kidney", PASSAGES)
    again = await reranker.rerank("kidney", PASSAGES)
    assert first == again
    assert embedder.encoded == [["kidney"], PASSAGES, ["kidney"]]
    await reranker.rerank("kidney", [PASSAGES[1], "new", "new"])
    assert embedder.encoded[-1] == ["new"]


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
    read = [call[0][0] for call in embedder.encoded if call[0] != "q"]
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
