"""Each text once, ever: across runs, tenants, databases."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.support.hashing import HashingEmbedder

from veraz.errors import MalformedResponse
from veraz.nouns.corpus import EmbeddingBatch, Span, TextKind, Vectors
from veraz.providers.embedders.remembered import Remembering, file_name
from veraz.providers.ports import Embedder, TokenEmbedder


class Pooling(HashingEmbedder):
    """With token vectors, as far as spans go: the vector of a span is that of its text."""

    gives_tokens = True

    def __init__(self) -> None:
        super().__init__()
        self.pooled: list[str] = []

    async def embed_spans(self, text: str, groups: Sequence[Sequence[Span]]) -> Vectors:
        self.pooled.append(text)
        return np.stack([self.vector(" ".join(text[s.start : s.end] for s in group)) for group in groups])


async def test_a_text_is_asked_for_once_in_all_runs(tmp_path: Path) -> None:
    inner = HashingEmbedder()
    first = Remembering(inner, tmp_path)
    given = await first.embed(["a b", "c", "a b"], "passage")
    assert inner.texts == ["a b", "c"]
    await first.embed(["c", "d"], "passage")
    first.close()
    second = Remembering(inner, tmp_path)
    again = await second.embed(["a b", "c", "a b"], "passage")
    assert inner.texts == ["a b", "c", "d"]
    np.testing.assert_array_equal(again.vectors, given.vectors)
    np.testing.assert_array_equal(
        given.vectors, (await HashingEmbedder().embed(["a b", "c", "a b"], "passage")).vectors
    )
    assert given.vectors.dtype == np.float32
    assert (second.asked, second.taken) == (0, 3)
    second.close()


async def test_questions_and_passages_are_kept_apart(tmp_path: Path) -> None:
    inner = HashingEmbedder()
    embedder = Remembering(inner, tmp_path)
    await embedder.embed(["a"], "passage")
    await embedder.embed(["a"], "query")
    assert inner.texts == ["a", "a"]
    embedder.close()


async def test_each_space_has_a_file_of_its_own(tmp_path: Path) -> None:
    one, other = HashingEmbedder("one"), HashingEmbedder("other")
    assert file_name(one.space) != file_name(other.space)
    for inner in (one, other):
        embedder = Remembering(inner, tmp_path)
        np.testing.assert_array_equal((await embedder.embed(["a"], "query")).vectors[0], inner.vector("a"))
        embedder.close()


async def test_what_was_too_long_stays_so(tmp_path: Path) -> None:
    inner = HashingEmbedder(max_tokens=6)
    for _ in range(2):
        embedder = Remembering(inner, tmp_path)
        batch = await embedder.embed(["short", "one two three four five six", "short too"], "passage")
        assert batch.truncated == (1,)
        embedder.close()
    assert len(inner.calls) == 1


@pytest.mark.parametrize("cut", [1, 500, 1571])
async def test_a_file_cut_off_keeps_its_whole_vectors(tmp_path: Path, cut: int) -> None:
    inner = HashingEmbedder()
    embedder = Remembering(inner, tmp_path)
    await embedder.embed(["a", "b", "c"], "passage")
    embedder.close()
    path = tmp_path / file_name(inner.space)
    path.write_bytes(path.read_bytes()[:-cut])
    again = Remembering(inner, tmp_path)
    found = await again.embed(["a", "b", "c"], "passage")
    np.testing.assert_array_equal(found.vectors, np.stack([inner.vector(t) for t in "abc"]))
    assert inner.texts == ["a", "b", "c", "c"]
    again.close()


async def test_passages_that_are_stored_elsewhere_are_taken_from_there(tmp_path: Path) -> None:
    inner = HashingEmbedder()
    asked: list[bytes] = []

    async def elsewhere(hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        asked.extend(hashes)
        known = hashlib.sha256(b"stored").digest()
        return {known: inner.vector("stored")} if known in hashes else {}

    embedder = Remembering(inner, tmp_path, elsewhere=elsewhere)
    batch = await embedder.embed(["stored", "new"], "passage")
    np.testing.assert_array_equal(batch.vectors[0], inner.vector("stored"))
    await embedder.embed(["stored"], "query")
    assert inner.texts == ["new", "stored"]
    assert len(asked) == 2
    embedder.close()


async def test_what_fails_keeps_nothing_wrong(tmp_path: Path) -> None:
    class Failing(HashingEmbedder):
        async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
            if "bad" in texts:
                raise MalformedResponse("no vector for it")
            return await super().embed(texts, kind)

    inner = Failing()
    embedder = Remembering(inner, tmp_path)
    with pytest.raises(MalformedResponse):
        await embedder.embed(["good", "bad"], "passage")
    assert (await embedder.embed(["good"], "passage")).vectors.shape == (1, 384)
    embedder.close()


async def test_pooled_vectors_are_kept_by_document_and_place(tmp_path: Path) -> None:
    inner = Pooling()
    groups = [[Span(0, 3)], [Span(4, 7), Span(8, 9)]]
    embedder = Remembering(inner, tmp_path)
    assert isinstance(embedder, TokenEmbedder)
    assert embedder.gives_tokens
    first = await embedder.embed_spans("abc def g", groups)
    np.testing.assert_array_equal(await embedder.embed_spans("abc def g", groups), first)
    assert inner.pooled == ["abc def g"]
    await embedder.embed_spans("abc def h", groups)
    await embedder.embed_spans("abc def g", [[Span(0, 4)]])
    assert inner.pooled == ["abc def g", "abc def h", "abc def g"]
    embedder.close()


def test_it_pools_only_where_the_model_does(tmp_path: Path) -> None:
    embedder = Remembering(HashingEmbedder(), tmp_path)
    port: Embedder = embedder
    assert not embedder.gives_tokens
    assert port.count_tokens(["a b"]) == [4]
    assert port.space == HashingEmbedder().space
    embedder.close()
