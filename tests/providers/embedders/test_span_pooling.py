"""Vectors of parts of a text: against hand-made means of a context-free model, and against the ordinary embedding."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_hub import HUB_WORDS, hub_table

from veraz.errors import UsageError
from veraz.ingest.chunkers.late import token_embedder
from veraz.nouns.corpus import Span, Vectors
from veraz.providers.embedders.hub import HubModel, HubOptions
from veraz.providers.embedders.span_pooling import Pool, segments, windows
from veraz.providers.ports import Embedder

TEXT = (
    "Zentrapril lowers the blood pressure. It must not be taken in pregnancy.\n\n"
    "The dose is 5 mg once daily. Children under 6 years take no more than 2.5 mg."
)


def pooled(embedder: Embedder, text: str, groups: Sequence[Sequence[Span]]) -> Vectors:
    return asyncio.run(token_embedder(embedder).embed_spans(text, groups))


def embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    return asyncio.run(embedder.embed(texts, "passage")).vectors


# Windows and sums


@given(st.integers(0, 3000), st.integers(1, 512))
def test_windows_keep_every_token_once_and_away_from_edges(tokens: int, size: int) -> None:
    made = list(windows(tokens, size))
    assert [at for window in made for at in range(window.first, window.last)] == list(range(tokens))
    for window in made:
        assert 0 <= window.start <= window.first <= window.last <= window.end <= tokens
        assert window.end - window.start <= size
        assert window.start == 0 or window.first - window.start >= size // 8
        assert window.end == tokens or window.end - window.last >= size // 8
    assert len(made) <= 2 + 2 * tokens // size


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(1, 4))
def test_sums_of_segments_do_not_depend_on_how_tokens_arrive(lengths: list[int], step: int) -> None:
    edges = list(range(len(lengths) + 1))
    groups = [[Span(at, at + 1)] for at in edges[:-1]]
    vectors = np.arange(1, sum(lengths) + 1, dtype=np.float32)[:, None]
    pool = Pool(lengths, 1)
    for first in range(0, len(vectors), step):
        pool.add(first, vectors[first : first + step])
    if not len(vectors):
        pool.add_opening(np.ones((1, 1), np.float32))
    ends = np.cumsum(lengths)
    everything = vectors.mean() if len(vectors) else 1.0
    expected = [
        vectors[end - length : end].mean() if length else everything
        for end, length in zip(ends, lengths, strict=True)
    ]
    assert pool.means(edges, groups)[:, 0] == pytest.approx(expected)


def test_segments_begin_and_end_where_spans_do() -> None:
    assert segments("0123456789", [[Span(2, 5), Span(7, 8)], [Span(4, 8)]]) == [0, 2, 4, 5, 7, 8, 10]


# A model without context: a token's vector is its word's


def words(embedder_text: str) -> Vectors:
    table = hub_table()
    return np.array([table[HUB_WORDS.index(word)] for word in embedder_text.split()])


def unit(vector: Vectors) -> Vectors:
    return vector / np.linalg.norm(vector)


@pytest.fixture
def tiny(hub_folder: Path, tmp_path: Path) -> HubModel:
    return HubModel(HubOptions(path=str(hub_folder)), cache=tmp_path)


def test_a_span_has_the_mean_of_its_tokens_over_windows(tiny: HubModel) -> None:
    text = "alpha beta gamma delta x beta alpha gamma x"  # more than the six tokens that the model reads
    assert tiny.count_tokens([text]) == [11]
    spans = [[Span(0, 10)], [Span(11, 22)], [Span(17, 29), Span(36, 41)], [Span(42, 43)]]
    expected = ["passage : alpha beta", "gamma delta", "delta x beta gamma", "x"]
    assert [" ".join(text[s.start : s.end] for s in group) for group in spans] == [
        "alpha beta", "gamma delta", "delta x beta gamma", "x"
    ]  # fmt: skip
    found = pooled(tiny, text, spans)
    for vector, shown in zip(found, expected, strict=True):
        assert vector == pytest.approx(unit(words(shown).mean(axis=0)), abs=1e-6)


def test_a_model_pooled_by_its_first_token_is_refused(hub_folder: Path, tmp_path: Path) -> None:
    first = HubModel(HubOptions(path=str(hub_folder), pooling="cls"), cache=tmp_path)
    with pytest.raises(UsageError, match=r"(?s)needs token vectors.*'local'.*'hub'"):
        token_embedder(first)
    with pytest.raises(UsageError, match="no token vectors"):
        asyncio.run(first.embed_spans("alpha", [[Span(0, 5)]]))


# The local model


@pytest.mark.parametrize("text", ["Take 5 mg once daily.", TEXT, "设备需要维护。" * 9])
def test_a_span_of_the_whole_text_is_its_ordinary_embedding(local: Embedder, text: str) -> None:
    [vector] = pooled(local, text, [[Span(0, len(text))]])
    [ordinary] = embedded(local, [text])
    assert float(vector @ ordinary) > 0.99999
    assert vector == pytest.approx(ordinary, abs=2e-4)


def test_spans_that_cover_a_text_together_are_its_ordinary_embedding(local: Embedder) -> None:
    cut = TEXT.index("\n\n")
    [vector] = pooled(local, TEXT, [[Span(0, cut), Span(cut + 2, len(TEXT))]])
    assert float(vector @ embedded(local, [TEXT])[0]) > 0.99999


def test_a_part_knows_what_its_document_is_about(local: Embedder) -> None:
    start = TEXT.index("It must")
    span = Span(start, TEXT.index("\n\n"))
    body = TEXT[span.start : span.end]
    [in_context] = pooled(local, TEXT, [[span]])
    [alone] = embedded(local, [body])
    [drug] = embedded(local, ["Zentrapril"])
    assert np.linalg.norm(in_context) == pytest.approx(1, abs=1e-5)
    assert float(in_context @ drug) > float(alone @ drug)
    assert 0.8 < float(in_context @ alone) < 0.999


def test_a_text_of_many_windows_gives_each_part_its_own_vector(local: Embedder) -> None:
    parts = [
        f"Part {n} tells of {word}. " * 50 for n, word in enumerate(["kidneys", "engines", "taxes", "birds"])
    ]
    text = "".join(parts)
    [count] = local.count_tokens([text])
    assert count > 3 * local.space.max_tokens
    ends = np.cumsum([len(part) for part in parts])
    spans = [[Span(int(end) - len(part), int(end))] for end, part in zip(ends, parts, strict=True)]
    near = pooled(local, text, spans) @ embedded(local, parts).T
    assert near.argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert near.diagonal().min() > 0.9


def test_a_span_without_a_token_has_the_vector_of_the_text(local: Embedder) -> None:
    text = "One line.\n\nAnother."
    blank, whole = pooled(local, text, [[Span(9, 11)], [Span(0, len(text))]])
    assert blank == pytest.approx(whole, abs=1e-6)


def test_a_blank_text_is_refused(local: Embedder) -> None:
    with pytest.raises(ValueError, match="blank"):
        pooled(local, " \n", [[Span(0, 2)]])
