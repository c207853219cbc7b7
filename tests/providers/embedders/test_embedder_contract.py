"""What every adapter promises, run on each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fake_server import FakeEmbeddingServer

from veraz.providers.embedders.registry import open_embedder
from veraz.providers.ports import Embedder

TEXTS = ["alpha beta", "gamma", "delta alpha x beta", "beta"]


@pytest.fixture(params=["local", "local_int8", "openai", "hub"])
def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Embedder]:
    if request.param == "openai":
        server: FakeEmbeddingServer = request.getfixturevalue("server")
        options = {
            "base_url": server.url,
            "model": "fake-a",
            "dimensions": 8,
            "batch_size": 3,
            "query_prefix": "query: ",
            "passage_prefix": "passage: ",
            "max_tokens": 40,
        }
        yield open_embedder("openai", cache=tmp_path, options=options)
    elif request.param == "hub":
        folder: Path = request.getfixturevalue("hub_folder")
        yield open_embedder("hub", cache=tmp_path, options={"path": str(folder)})
    else:
        yield request.getfixturevalue(request.param)


def embed(embedder: Embedder, texts: list[str], kind: str = "passage") -> np.ndarray:
    return asyncio.run(embedder.embed(texts, kind)).vectors  # type: ignore[arg-type]


def test_vectors_have_the_shape_type_and_length_that_the_space_declares(embedder: Embedder) -> None:
    vectors = embed(embedder, TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.space.dimension)
    assert vectors.dtype == np.float32
    assert embedder.space.normalised
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_each_text_keeps_its_place_and_does_not_depend_on_its_neighbours(embedder: Embedder) -> None:
    together = embed(embedder, TEXTS)
    alone = np.concatenate([embed(embedder, [text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert np.abs(together[0] - together[1]).max() > 1e-3


def test_equal_texts_get_equal_vectors(embedder: Embedder) -> None:
    vectors = embed(embedder, ["gamma", "beta", "gamma"])
    assert (vectors[0] == vectors[2]).all()
    assert (vectors[0] != vectors[1]).any()


def test_questions_and_passages_are_told_apart_by_their_prefixes(embedder: Embedder) -> None:
    assert embedder.space.query_prefix != embedder.space.passage_prefix
    question, passage = embed(embedder, ["gamma"], "query"), embed(embedder, ["gamma"], "passage")
    assert np.abs(question - passage).max() > 1e-3


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    batch = asyncio.run(embedder.embed([], "passage"))
    assert batch.vectors.shape == (0, embedder.space.dimension)
    assert batch.truncated == ()


@pytest.mark.parametrize("blank", ["", "   ", "\n\t ", "\u00a0"])
def test_a_blank_text_is_refused_by_position(embedder: Embedder, blank: str) -> None:
    with pytest.raises(ValueError, match="text 2 is blank"):
        embed(embedder, ["alpha", "beta", blank, "gamma"])


def test_a_text_is_reported_as_cut_exactly_when_it_counts_more_than_the_limit(embedder: Embedder) -> None:
    limit = embedder.space.max_tokens
    texts = ["x " * n for n in (1, limit // 2 - 4, limit - 3, limit, limit + 5) if n > 0]
    counts = embedder.count_tokens(texts)
    assert counts == sorted(counts)
    batch = asyncio.run(embedder.embed(texts, "passage"))
    assert batch.truncated == tuple(i for i, count in enumerate(counts) if count > limit)
    assert 0 < len(batch.truncated) < len(texts)


def test_what_follows_the_cut_has_no_influence(embedder: Embedder) -> None:
    long = "x " * (embedder.space.max_tokens + 10)
    vectors = embed(embedder, [long, long + "gamma"])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)


def test_one_embedder_serves_several_event_loops(embedder: Embedder) -> None:
    np.testing.assert_allclose(embed(embedder, ["beta"]), embed(embedder, ["beta"]), atol=1e-6)


def test_the_space_names_its_model_and_weights(embedder: Embedder) -> None:
    space = embedder.space
    assert space.name
    assert space.model
    assert space.fingerprint
    assert space.distance == "cosine"
