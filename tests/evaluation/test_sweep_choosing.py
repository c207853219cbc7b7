"""The choice: kept where differences are luck, changed where they are not, never on queries that were held out."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from veraz.config import Config
from veraz.errors import UsageError
from veraz.evaluation.statistics import Array, bootstrap_interval, compare, randomisation_p
from veraz.evaluation.sweeps import strata as st
from veraz.evaluation.sweeps.choosing import Table, choose, validate
from veraz.evaluation.sweeps.folds import split
from veraz.nouns.sweep import Setting
from veraz.sweeping import configured

CURRENT = configured(Config()).setting


def fused(count: int) -> list[Setting]:
    """The current configuration, its arms alone, and `count` others that differ in the weight."""
    others = [replace(CURRENT, semantic_weight=n / 1000) for n in range(count)]
    return [CURRENT, CURRENT.alone("lexical"), CURRENT.alone("semantic"), *others]


def table(values: Array, strata: list[str], *, recall: Array | None = None) -> Table:
    settings = fused(len(values) - 3)
    return Table(
        settings=settings,
        changes=[(0, int(s != CURRENT)) for s in settings],
        values={"ndcg@10": values, "recall@20": values if recall is None else recall},
        strata=strata,
        measure="ndcg@10",
    )


def noisy(random: np.random.Generator, configurations: int, queries: int, spread: float) -> Array:
    """Arms well below, all others of equal quality but for noise that they share in part."""
    quality = random.uniform(0.2, 0.9, queries)
    values = quality + random.normal(0, spread, (configurations + 3, queries))
    values[1:3] -= 0.15
    return values


STRATA = ["a"] * 30 + ["b"] * 86


# Folds


def test_each_fold_has_its_share_of_each_set() -> None:
    folds = split(STRATA, 5, seed=1)
    for name, size in (("a", 30), ("b", 86)):
        counts = np.bincount(folds[np.array(STRATA) == name], minlength=5)
        assert counts.sum() == size
        assert counts.max() - counts.min() <= 1
    assert np.ptp(np.bincount(folds)) <= 1
    assert (split(STRATA, 5, seed=1) == folds).all()
    assert (split(STRATA, 5, seed=2) != folds).any()


def test_a_set_too_small_for_the_folds_is_named() -> None:
    with pytest.raises(UsageError, match="b has 4 queries"):
        split(["a"] * 9 + ["b"] * 4, 5, seed=0)


# Figures where sets weigh the same


def test_each_set_weighs_the_same() -> None:
    weights = st.weights(["a", "b", "b", "b"])
    np.testing.assert_allclose(weights, [1 / 2, 1 / 6, 1 / 6, 1 / 6])


def test_over_one_set_the_figures_are_those_of_the_comparison() -> None:
    random = np.random.default_rng(3)
    a, b = random.uniform(0, 1, 40), random.uniform(0, 1, 40)
    left = {str(n): {"m": float(v)} for n, v in enumerate(a)}
    right = {str(n): {"m": float(v)} for n, v in enumerate(b)}
    theirs = compare(left, right, "m")
    ours = st.interval(a - b, ["s"] * 40)
    assert ours.difference == pytest.approx(theirs.mean_difference, abs=1e-12)
    assert ours.p == pytest.approx(theirs.p, abs=0.02)
    low, high = bootstrap_interval(a - b)
    assert (ours.low, ours.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


def test_resampling_stays_within_each_set() -> None:
    """A difference that only tells the sets apart is no uncertainty."""
    found = st.interval(np.array([1.0] * 5 + [0.0] * 50), ["a"] * 5 + ["b"] * 50)
    assert (found.difference, found.low, found.high) == (0.5, 0.5, 0.5)
    assert st.standard_error(np.array([1.0] * 5 + [0.0] * 50), ["a"] * 5 + ["b"] * 50) == 0


def test_the_standard_error_is_that_of_the_mean_of_means() -> None:
    random = np.random.default_rng(5)
    strata = ["a"] * 10 + ["b"] * 40
    draws = np.stack(
        [np.concatenate([random.normal(0, 0.1, 10), random.normal(0, 0.3, 40)]) for _ in range(4000)]
    )
    spread = (draws @ st.weights(strata)).std()
    errors = [st.standard_error(d, strata) for d in draws[:500]]
    assert np.mean(errors) == pytest.approx(spread, rel=0.05)


def test_corrected_chances_are_exact_for_one_and_grow_with_what_was_looked_at() -> None:
    random = np.random.default_rng(8)
    difference = random.normal(0.05, 0.2, (1, 60))
    alone = st.better_than(difference, ["s"] * 60, samples=20_000)[0]
    assert alone == pytest.approx(randomisation_p(difference[0], samples=20_000) / 2, rel=0.15)
    copies = st.better_than(np.repeat(difference, 50, axis=0), ["s"] * 60, samples=20_000)
    assert copies == pytest.approx([alone] * 50, rel=0.15)  # fifty names for one configuration cost nothing
    others = np.concatenate([difference, random.normal(0, 0.2, (50, 60))])
    assert st.better_than(others, ["s"] * 60, samples=20_000)[0] > 3 * alone


def test_no_difference_is_no_evidence() -> None:
    assert list(st.better_than(np.zeros((2, 10)), ["s"] * 10)) == [1.0, 1.0]
    assert (st.better_than(np.full((1, 12), 0.1), ["s"] * 12) < 0.01).all()


# The choice


def test_luck_changes_nothing() -> None:
    """Sixty configurations of equal quality: the best of them by mean is not taken in more than one of twenty sweeps."""
    random = np.random.default_rng(11)
    moved = [
        choose(table(noisy(random, 60, len(STRATA), 0.1), STRATA), samples=500).number != 0
        for _ in range(100)
    ]
    assert sum(moved) <= 10  # 5 are expected; more than 10 of 100 have a chance of 1 %


def test_what_is_better_is_taken() -> None:
    random = np.random.default_rng(12)
    found = []
    for _ in range(20):
        values = noisy(random, 60, len(STRATA), 0.1)
        values[3 + 17] += 0.1
        found.append(choose(table(values, STRATA), samples=500))
    assert sum(choice.number == 3 + 17 for choice in found) >= 18
    assert {choice.why for choice in found if choice.number} == {"better"}


def test_of_what_is_equal_to_the_best_the_fewest_changes_are_taken() -> None:
    random = np.random.default_rng(13)
    values = noisy(random, 3, len(STRATA), 0.01)
    values[3:] += 0.1
    values[5] += 0.0001
    made = table(values, STRATA)
    far = replace(made, changes=[(0, 0), (0, 1), (0, 1), (1, 0), (0, 2), (0, 3)])
    assert choose(far).number == 4  # index changes count before all others, however many
    clear = values.copy()
    clear[5] += 0.05
    assert choose(table(clear, STRATA)).number == 5


def test_fusion_that_does_not_beat_its_better_arm_is_not_taken() -> None:
    random = np.random.default_rng(14)
    values = noisy(random, 4, len(STRATA), 0.02)
    values[2] += 0.2  # the semantic arm alone is best
    choice = choose(table(values, STRATA))
    assert choice.why == "arm"
    assert fused(4)[choice.number].mode == "semantic"
    assert choice.gate is not None
    assert not choice.gate.passed
    assert choice.gate.arm == "semantic"


def test_the_gate_asks_for_both_measures() -> None:
    random = np.random.default_rng(15)
    values = noisy(random, 4, len(STRATA), 0.02)
    recall = values.copy()
    recall[2] = recall[0]  # as many found by the semantic arm alone, ranked worse
    assert choose(table(values, STRATA)).why == "kept"
    semantic = values.copy()
    semantic[1] -= 0.1
    choice = choose(table(semantic, STRATA, recall=recall))
    assert choice.why == "arm"
    assert choice.gate is not None
    assert choice.gate.by_measure["ndcg@10"].low > 0 >= choice.gate.by_measure["recall@20"].low


# Held out


def test_what_is_held_out_takes_no_part_in_its_choice() -> None:
    random = np.random.default_rng(16)
    values = noisy(random, 20, len(STRATA), 0.1)
    values[3 + 4] += 0.08
    made, folds = table(values, STRATA), split(STRATA, 5, seed=3)
    before = validate(made, folds, choose(made))
    changed = values.copy()
    held = folds == 2
    changed[:, held] = random.uniform(0, 1, changed[:, held].shape)
    after = validate(table(changed, STRATA), folds, choose(made))
    assert after.folds[2].choice == before.folds[2].choice
    assert after.folds[2].training == before.folds[2].training
    assert after.folds[2].held_out != before.folds[2].held_out


def test_a_real_gain_holds_and_a_lucky_one_shows_as_optimism() -> None:
    random = np.random.default_rng(17)
    values = noisy(random, 60, len(STRATA), 0.1)
    values[3 + 9] += 0.08
    made, folds = table(values, STRATA), split(STRATA, 5, seed=3)
    found = validate(made, folds, choose(made))
    assert found.holds
    assert found.agree >= 4
    assert found.against_current.low > 0
    assert found.mean == pytest.approx(found.current + found.against_current.difference, abs=1e-9)
    assert found.gate is not None
    assert found.gate.passed

    lucky = [
        validate(made, split(STRATA, 5, seed=n), choose(made))
        for n, made in enumerate(table(noisy(random, 60, len(STRATA), 0.15), STRATA) for _ in range(10))
    ]
    best = [
        t.mean - f.naive for f in lucky for t in [f]
    ]  # taking the best mean of each fold's training is no better than staying
    assert abs(np.mean(best)) < 0.02
    assert all(f.holds for f in lucky if all(fold.choice.number == 0 for fold in f.folds))


def test_the_means_of_folds_are_of_the_queries_they_hold() -> None:
    random = np.random.default_rng(18)
    values = noisy(random, 2, 20, 0.1)
    strata = ["a"] * 10 + ["b"] * 10
    made, folds = table(values, strata), split(strata, 5, seed=0)
    found = validate(made, folds, choose(made))
    for fold, number in zip(found.folds, itertools.count()):
        held = folds == number
        assert fold.queries == held.sum() == 4
        row = values[fold.choice.number, held]
        by_set = [row[np.array(strata)[held] == name].mean() for name in ("a", "b")]
        assert fold.held_out == pytest.approx(np.mean(by_set))
