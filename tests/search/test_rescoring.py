"""The order after a reranker: nothing lost, ties as they came, what was not scored behind what was."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.search.rescoring import rescored

number = st.floats(-1e6, 1e6, allow_nan=False, width=32)
weights = st.floats(0, 1)


@st.composite
def hits(draw: st.DrawFn) -> tuple[list[float], list[float | None]]:
    """Fused scores, falling, and what a reranker said of the first of them."""
    fused = sorted(draw(st.lists(number, max_size=12)), reverse=True)
    said = draw(st.lists(st.none() | number, max_size=len(fused)))
    return fused, said


@given(hits(), weights)
def test_every_hit_once_in_falling_scores(
    case: tuple[list[float], list[float | None]], weight: float
) -> None:
    fused, said = case
    found = rescored(fused, said, weight)
    assert sorted(entry.position for entry in found) == list(range(len(fused)))
    scores = [entry.score for entry in found]
    assert all(map(math.isfinite, scores))
    assert scores == sorted(scores, reverse=True)


@given(hits(), weights)
def test_what_was_not_scored_follows_in_the_order_that_was_given(
    case: tuple[list[float], list[float | None]], weight: float
) -> None:
    fused, said = case
    found = rescored(fused, said, weight)
    scored = {at for at, score in enumerate(said) if score is not None}
    assert {entry.position for entry in found[: len(scored)]} == scored
    assert all(entry.rerank is not None for entry in found[: len(scored)])
    rest = [entry.position for entry in found[len(scored) :]]
    assert rest == sorted(rest)
    assert all(entry.rerank is None for entry in found[len(scored) :])


@given(hits())
def test_alone_the_reranker_decides_and_ties_keep_the_order_that_was_given(
    case: tuple[list[float], list[float | None]],
) -> None:
    fused, said = case
    scored = [at for at, score in enumerate(said) if score is not None]
    by_score = sorted(scored, key=lambda at: (-(said[at] or 0.0), at))
    found = rescored(fused, said, 1.0)
    # scores that differ by less than the arithmetic can tell may become equal, and then keep their order
    order = [said[entry.position] for entry in found[: len(scored)]]
    assert order == pytest.approx([said[at] for at in by_score], abs=1e-6, rel=1e-9)
    ranks = {entry.position: entry.rerank.rank for entry in found if entry.rerank}
    assert [ranks[at] for at in by_score] == list(range(1, len(scored) + 1))


@given(hits())
def test_without_weight_the_fused_order_stays(case: tuple[list[float], list[float | None]]) -> None:
    fused, said = case
    scored = [at for at, score in enumerate(said) if score is not None]
    found = rescored(fused, said, 0.0)
    assert [entry.position for entry in found[: len(scored)]] == scored


def test_figures_by_hand() -> None:
    found = rescored([0.9, 0.7, 0.5, 0.45, 0.2], [1.0, 5.0, None, 3.0], 0.75)
    # fused over the scored 0.9, 0.7, 0.45: 1, 5/9, 0; reranked over 1, 5, 3: 0, 1, 1/2
    by_position = {entry.position: entry for entry in found}
    assert by_position[0].score == pytest.approx(0.25)
    assert by_position[1].score == pytest.approx(0.25 * 5 / 9 + 0.75)
    assert by_position[3].score == pytest.approx(0.375)
    assert [entry.position for entry in found] == [1, 3, 0, 2, 4]
    assert [entry.rerank and (entry.rerank.rank, entry.rerank.score) for entry in found] == [
        (1, 5.0), (2, 3.0), (3, 1.0), None, None,
    ]  # fmt: skip
    # both lowered by the same, to stand behind 0.25
    assert found[3].score < 0.25
    assert found[3].score - found[4].score == pytest.approx(0.3)


def test_what_stands_behind_anyway_keeps_its_score() -> None:
    assert [e.score for e in rescored([0.9, 0.1], [3.0], 0.5)] == [1.0, 0.1]


def test_nothing_scored_is_the_order_that_was_given() -> None:
    assert [(e.position, e.score) for e in rescored([2.0, 1.0], [None], 0.5)] == [(0, 2.0), (1, 1.0)]
    assert rescored([], [], 0.5) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        rescored([2.0, 1.0], [1.0, bad], 0.5)


def test_more_scores_than_hits_are_refused() -> None:
    with pytest.raises(ValueError, match="2 scores for 1 hits"):
        rescored([2.0], [1.0, 1.0], 0.5)


def test_the_widest_scores_do_not_overflow() -> None:
    found = rescored([1.0, 0.5], [-1.7e308, 1.7e308], 1.0)
    assert [(e.position, e.score) for e in found] == [(1, 1.0), (0, 0.0)]
