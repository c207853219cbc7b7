from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import ProviderError
from veraz.nouns.corpus import SpaceSpec, Vectors
from veraz.providers.embedders.checks import refuse_degenerate
from veraz.providers.embedders.onnx_engine import OnnxEmbedder, OnnxEncoder, available_cores, plan_batches


@given(st.lists(st.integers(1, 512), max_size=200), st.integers(1, 4096))
def test_batches_hold_every_text_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = plan_batches(lengths, budget)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget
    in_order = [lengths[i] for batch in batches for i in batch]
    assert in_order == sorted(lengths, reverse=True)


def test_batches_are_filled() -> None:
    assert plan_batches([10, 10, 10, 2, 2, 2], budget=20) == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_vector_without_direction_is_refused_by_position(bad: list[float]) -> None:
    with pytest.raises(ProviderError, match="text 1 got a vector that is zero or not finite"):
        refuse_degenerate(np.array([[1, 0], bad, [0, 1]], np.float32))


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system cannot limit a process to cores"
)
def test_only_the_cores_that_the_process_may_use_are_counted() -> None:
    allowed = os.sched_getaffinity(0)
    assert available_cores() == len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert available_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)


class Letters:
    """A tokenizer of letters between an opening 0 and a closing 1 and 2."""

    closing = 2

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[0, *map(ord, text), 1, 2] for text in texts]


class Recorder(OnnxEncoder):
    """Gives every row the same vector and keeps the rows."""

    _threads = 1

    def __init__(self) -> None:
        self.rows: list[list[int]] = []

    def run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        self.rows += [list(row) for row in rows]
        return np.ones((len(rows), 2), np.float32)


async def test_a_cut_keeps_the_opening_and_closing_specials_and_equal_texts_run_once() -> None:
    space = SpaceSpec("s", "local", "m", 2, False, "q", "p", "cosine", 6, "f")
    recorder = Recorder()
    embedder = OnnxEmbedder(space, Letters(), recorder)
    batch = await embedder.embed(["abcd", "ab", "abcd", "a"], "passage")
    p, a, b = map(ord, "pab")
    assert recorder.rows == [[0, p, a, b, 1, 2], [0, p, a, b, 1, 2], [0, p, a, 1, 2]]
    assert batch.truncated == (0, 2)
    assert batch.vectors.shape == (4, 2)
    assert embedder.count_tokens(["abcd", "ab"]) == [8, 6]
