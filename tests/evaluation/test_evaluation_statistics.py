"""Paired statistics on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import UsageError
from veraz.evaluation.statistics import bootstrap_interval, compare, randomisation_p


def values(*figures: float) -> dict[str, dict[str, float]]:
    return {f"q{i}": {"map": figure} for i, figure in enumerate(figures)}


def test_equal_runs_differ_by_nothing() -> None:
    run = values(0.1, 0.5, 0.9)
    comparison = compare(run, run, "map")
    assert (comparison.mean_difference, comparison.low, comparison.high, comparison.p) == (0.0, 0.0, 0.0, 1.0)
    assert comparison.queries == 3
    assert comparison.mean == comparison.baseline_mean == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("difference", "p"),
    [
        ([0.2], 1.0),  # one query can never tell
        ([0.1] * 5, 2 / 32),  # all the same sign: only the two extreme patterns
        ([0.1] * 10, 2 / 1024),
        ([0.1] * 5 + [0.0] * 20, 2 / 32),  # ties carry no evidence
        ([1.0, 2.0, 4.0, -8.0], 1.0),  # the sum 1 is the least that these can give
        ([1.0, 2.0, 4.0, 8.0, -16.0, 32.0], 34 / 64),  # each odd number to ±63 is one sum; 34 reach ±31
    ],
)
def test_exact_p_of_small_samples(difference: list[float], p: float) -> None:
    if (
        len(difference) == 6
    ):  # the sums run over all odd numbers of -63..63, once each: 2 * 17 lie at or beyond 31
        p = 34 / 64
    assert randomisation_p(difference) == pytest.approx(p)


def test_the_random_p_agrees_with_the_exact_one() -> None:
    difference = np.random.default_rng(7).normal(0.3, 1, size=13)
    exact = randomisation_p(difference, samples=2**13)
    drawn = randomisation_p(difference, samples=2**13 - 1)
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=0.015)


def test_p_is_never_zero_and_repeats() -> None:
    difference = [0.1] * 60
    assert randomisation_p(difference, samples=999) == pytest.approx(1 / 1000)
    noisy = np.random.default_rng(1).normal(0.05, 1, size=50)
    assert randomisation_p(noisy) == randomisation_p(noisy)
    assert randomisation_p(noisy) != randomisation_p(noisy, seed=3)


def test_rejections_under_the_null_hypothesis_are_as_rare_as_the_level() -> None:
    random = np.random.default_rng(11)
    rejected = sum(randomisation_p(random.normal(0, 1, size=25), samples=400) <= 0.05 for _ in range(400))
    assert 8 <= rejected <= 34  # 20 expected, standard deviation 4.4


def test_the_interval_is_that_of_the_normal_theory_on_a_large_sample() -> None:
    difference = np.random.default_rng(5).normal(0.1, 1, size=2000)
    half = 1.96 * difference.std() / np.sqrt(2000)
    low, high = bootstrap_interval(difference, samples=4000)
    assert low == pytest.approx(difference.mean() - half, abs=0.004)
    assert high == pytest.approx(difference.mean() + half, abs=0.004)


def test_a_wider_confidence_gives_a_wider_interval() -> None:
    difference = np.random.default_rng(5).normal(0, 1, size=40)
    low, high = bootstrap_interval(difference, confidence=0.8)
    wide_low, wide_high = bootstrap_interval(difference, confidence=0.99)
    assert wide_low < low < high < wide_high


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=15))
def test_swapping_the_runs_mirrors_the_comparison(pairs: list[tuple[float, float]]) -> None:
    a, b = values(*(left for left, _ in pairs)), values(*(right for _, right in pairs))
    forth, back = compare(a, b, "map", samples=200), compare(b, a, "map", samples=200)
    assert forth.mean_difference == pytest.approx(-back.mean_difference)
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low))
    assert forth.p == back.p
    assert forth.low - 1e-9 <= forth.high
    assert 0 < forth.p <= 1


def test_queries_are_paired_by_id() -> None:
    a = values(0.1, 0.9)
    assert compare(a, dict(reversed(a.items())), "map").p == 1.0


def test_runs_over_different_queries_are_not_compared() -> None:
    with pytest.raises(UsageError, match=r"judge different queries: 1 are in one only \(q2\)"):
        compare(values(0.1, 0.2, 0.3), values(0.1, 0.2), "map")


def test_a_measure_that_one_run_lacks_is_named() -> None:
    with pytest.raises(UsageError, match="ndcg@10 is not in both runs"):
        compare(values(0.1), values(0.2), "ndcg@10")


def test_no_queries_at_all() -> None:
    with pytest.raises(UsageError, match="no queries to compare"):
        compare({}, {}, "map")
