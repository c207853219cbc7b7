"""The arithmetic of bench/scale.py, its recombination, and what it requires."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def scaling() -> Iterator[Any]:
    """The modules of bench/scaling, by name."""
    sys.path.insert(0, str(BENCH))
    try:

        class Modules:
            def __getattr__(self, name: str) -> ModuleType:
                return importlib.import_module(f"scaling.{name}")

        yield Modules()
    finally:
        sys.path.remove(str(BENCH))


def test_recall_is_told_by_scores_so_that_equals_stand_for_each_other(scaling: Any) -> None:
    recall = scaling.verdicts.recall
    assert recall([9, 8, 7], [9, 8, 7], 3) == 1
    assert recall([9, 7, 6], [9, 8, 7], 2) == 0.5
    assert recall([9, 8], [9, 8, 8, 8], 2) == 1
    assert recall([], [3, 2], 2) == 0
    assert recall([5], [5, 4, 3, 2], 4) == 0.25


def test_what_shares_no_word_with_the_question_is_no_result(scaling: Any) -> None:
    assert scaling.verdicts.recall([4], [4, 0, 0], 3) == 1
    assert scaling.verdicts.recall([], [0, 0], 2) == 1


def test_more_found_than_the_exact_result_has_is_not_more_than_all(scaling: Any) -> None:
    assert scaling.verdicts.recall([9, 9, 9, 9], [9, 8], 2) == 1


def test_growth_is_by_tenfold_of_the_corpus(scaling: Any) -> None:
    growth = scaling.verdicts.growth
    assert growth(10, 20, 20_000, 200_000) == pytest.approx(2)
    assert growth(10, 40, 1_000, 100_000) == pytest.approx(2)
    assert growth(10, 20, 200_000, 1_000_000) == pytest.approx(2 ** (1 / np.log10(5)))


def test_an_index_of_signs_is_tried_on_both_sides_of_the_floor(scaling: Any) -> None:
    around = scaling.verdicts.around_the_floor
    assert around({2: 0.8, 4: 0.9, 8: 0.96, 16: 0.99}) == [4, 8]
    assert around({2: 0.95, 4: 0.99}) == [2]
    assert around({2: 0.5, 32: 0.6}) == [32]


def figures(scaling: Any, chunks: int, **times: float) -> Any:
    usual = {
        "lexical": 10.0, "lexical --exact": 100.0, "sparse scan": 100.0, "recipe": 200.0, "semantic": 5.0,
        "search lexical": 15.0, "search semantic": 12.0, "search hybrid": 20.0,
    }  # fmt: skip
    arms = ("semantic recall@50", "lexical recall@50", "lexical recall@10")
    return scaling.verdicts.Figures(
        chunks=chunks, real=min(chunks, 20_000),
        times={way: np.full((4, 2), taken) for way, taken in {**usual, **times}.items()},
        found={name: [1.0] * 4 for name in arms}, unproven=[], posting_bytes=(390.0, 410.0),
    )  # fmt: skip


def fallen(scaling: Any, *runs: Any) -> list[str]:
    return [bound.what for bound in scaling.verdicts.bounds(runs) if not bound.holds]


def test_what_is_required_depends_on_the_size(scaling: Any) -> None:
    assert fallen(scaling, figures(scaling, 20_000), figures(scaling, 1_000_000)) == []
    assert fallen(scaling, figures(scaling, 20_000, recipe=99.0)) == ["lexical / recipe, p50"]
    assert fallen(scaling, figures(scaling, 20_000, **{"sparse scan": 49.0})) == [
        "lexical / sparse scan, p50"
    ]
    assert fallen(scaling, figures(scaling, 1_000_000, recipe=99.0)) == []
    run = figures(scaling, 1_000_000, **{"lexical --exact": 29.0})
    assert fallen(scaling, run) == ["lexical / lexical --exact, p50"]


def test_hybrid_is_held_against_the_slower_arm(scaling: Any) -> None:
    assert fallen(scaling, figures(scaling, 20_000, **{"search hybrid": 22.4})) == []
    run = figures(scaling, 20_000, **{"search hybrid": 22.6})
    assert fallen(scaling, run) == ["search hybrid / search lexical, p50"]


def test_a_decade_may_not_double_a_time(scaling: Any) -> None:
    runs = figures(scaling, 20_000), figures(scaling, 200_000, semantic=10.1, recipe=400.0)
    assert fallen(scaling, *runs) == ["semantic: p50 per decade, from 20,000"]


def test_recalls_proofs_and_bytes_fall_short_by_name(scaling: Any) -> None:
    run = figures(scaling, 1_000_000)
    run.found["lexical recall@10"] = [1.0, 1.0, 1.0, 0.9]
    run.unproven, run.posting_bytes = ["which one"], (401.0, 500.0)
    run.signs, run.refused = {4: 0.94, 8: 0.96}, {4: False, 8: False}
    assert fallen(scaling, run) == [
        "lexical recall@10",
        "bytes of posting blocks a chunk",
        "questions whose --exact result is not proved",
        "signs × 4: built at recall 0.940",
    ]


def test_vectors_are_written_as_pgvector_receives_them(scaling: Any) -> None:
    written = scaling.filling.halfvec(np.array([[1.0, -2.0, 0.0]], np.float32))
    assert written == [bytes.fromhex("0003 0000 3c00 c000 0000")]


def corpus(scaling: Any) -> Any:
    chance = np.random.default_rng(3)
    vectors = chance.standard_normal((40, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    langs = ["en"] * 30 + ["es"] * 10
    chunks = []
    for n, lang in enumerate(langs):
        text = f"Chunk {n} begins here. It goes on with w{n}. And ends."
        chunks.append(scaling.real.Chunk(n // 3, n % 3, lang, lang, f"header {n}", text, 20, 10))
    return scaling.real.Real(chunks, vectors)


def test_neighbours_are_the_nearest_of_the_same_analyser(scaling: Any) -> None:
    real = corpus(scaling)
    near = scaling.recombined.neighbours(real, 3)
    for n, found in enumerate(near):
        own = range(30) if n < 30 else range(30, 40)
        expected = sorted((i for i in own if i != n), key=lambda i: -float(real.vectors[i] @ real.vectors[n]))
        assert sorted(found) == sorted(expected[:3])


def test_recombined_chunks_are_sentences_of_neighbours_with_their_vectors(scaling: Any) -> None:
    real = corpus(scaling)
    batches = list(scaling.recombined.recombined(real, 4500, seed=2))
    chunks = [chunk for batch in batches for chunk in batch.chunks]
    vectors = np.concatenate([batch.vectors for batch in batches])
    known = {sentence for chunk in real.chunks for sentence in scaling.recombined.sentences(chunk)}
    assert len(chunks) == len(vectors) == 4500
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    for chunk in chunks[:200]:
        for sentence in scaling.recombined.sentences(chunk):
            assert sentence in known
    assert (chunks[0].document, chunks[0].ord, chunks[7].document, chunks[7].ord) == (14, 0, 15, 2)
    again = next(iter(scaling.recombined.recombined(real, 4500, seed=2)))
    assert again.chunks == batches[0].chunks
    np.testing.assert_array_equal(again.vectors, batches[0].vectors)


def test_a_mixture_lies_near_what_it_is_made_of_and_its_noise_has_both_signs(scaling: Any) -> None:
    axes = np.eye(64, dtype=np.float32)[None, :3].repeat(500, axis=0)
    shares = np.tile(np.array([[2, 1, 0]], np.float32), (500, 1))
    mixed = scaling.recombined.mixed(axes, shares, np.random.default_rng(1))
    mean = mixed.mean(axis=0)
    assert mean[0] > mean[1] > 0.3
    assert abs(mean[2]) < 0.01
    assert 0.4 < (mixed[:, 3:] > 0).mean() < 0.6
