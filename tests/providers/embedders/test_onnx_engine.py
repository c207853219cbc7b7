from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import MalformedResponse
from veraz.nouns.corpus import SpaceSpec, Vectors
from veraz.providers.embedders.checks import refuse_degenerate
from veraz.providers.embedders.onnx_engine import OnnxEmbedder, OnnxEncoder, available_cores, plan_batches
from veraz.providers.ports import Embedder, TokenEncoder


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


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [1e-9, -1e-9], [7e4, 1.0]])
def test_a_vector_without_direction_is_refused_by_position(bad: list[float]) -> None:
    """The last two become zero and infinite in the half precision in which vectors are stored."""
    with pytest.raises(MalformedResponse, match="text 1 got a vector that is zero or not finite"):
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


class Places(OnnxEncoder):
    """Gives every token its id and its place; gives token vectors."""

    _threads = 1
    _token_output = "tokens"

    def __init__(self) -> None:
        pass

    def run_tokens(self, rows: Sequence[Sequence[int]]) -> Vectors:
        width = max(map(len, rows))
        given = np.full((len(rows), width, 2), -1, np.float32)
        for n, row in enumerate(rows):
            given[n, : len(row)] = [[token, place] for place, token in enumerate(row)]
        return given


async def test_token_vectors_are_those_of_the_text_alone_in_order() -> None:
    space = SpaceSpec("s", "local", "m", 2, False, "qq", "p", "cosine", 7, "f")
    embedder = OnnxEmbedder(space, Letters(), Places())
    assert embedder.gives_tokens
    assert isinstance(embedder, TokenEncoder)
    texts = ["ab", "abcdefgh", "a", "abc", "abcd"]
    batch = await embedder.encode_tokens(texts, "passage")
    # opening and prefix before, two closing specials behind: of 7 tokens 3 are left
    assert [bytes(int(token) for token, _ in v).decode() for v in batch.vectors] == [
        "ab",
        "abc",
        "a",
        "abc",
        "abc",
    ]
    assert all([place for _, place in v] == [2 + n for n in range(len(v))] for v in batch.vectors)
    assert batch.truncated == (1, 4)
    asked = await embedder.encode_tokens(["ab"], "query")
    assert asked.vectors[0].tolist() == [[ord("a"), 3], [ord("b"), 4]]
    with pytest.raises(ValueError, match="blank"):
        await embedder.encode_tokens([" "], "query")


async def test_the_local_models_token_vectors_do_not_depend_on_their_company(local: Embedder) -> None:
    assert isinstance(local, TokenEncoder)
    texts = ["Metformin below an eGFR of forty.", "A cough."]
    together = await local.encode_tokens([*texts, "long " * 600], "passage")
    assert together.truncated == (2,)
    for text, vectors in zip(texts, together.vectors, strict=False):
        [own] = (await local.encode_tokens([text], "passage")).vectors
        assert np.abs(own - vectors).max() < 1e-3 * np.abs(own).max()
    # beside its own tokens a passage has two specials and the prefix
    bare = local.count_tokens(["x"])[0] - len((await local.encode_tokens(["x"], "passage")).vectors[0])
    assert [len(v) for v in together.vectors[:2]] == [n - bare for n in local.count_tokens(texts)]
