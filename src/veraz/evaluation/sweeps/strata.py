"""Means and their uncertainty where several sets of queries weigh the same, whatever their sizes. Pure and seeded.

The tests are those of `statistics.py`, with each query's difference multiplied by its weight. The correction for having looked
at many configurations is Westfall and Young's (1993) single-step maxT under random signs: the same signs for all
configurations, so that it knows how alike they are, and pays little for a grid of near copies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veraz.evaluation.statistics import SAMPLES, SEED, Array, randomisation_p
from veraz.nouns.sweep import Interval

CONFIDENCE = 0.95
BATCH = 4_000_000  # numbers held at once, about 32 MB
ROUNDING = 1e-12  # sums that differ by less are the same sum, added in another order


def weights(strata: Sequence[str]) -> Array:
    """Of each query, summing to 1: the weighted sum over queries is the mean over strata of their means."""
    names, index, counts = np.unique(np.array(strata), return_inverse=True, return_counts=True)
    return 1.0 / (len(names) * counts[index].astype(np.float64))


def standard_error(difference: Array, strata: Sequence[str]) -> float:
    """Of the mean of means, over queries drawn within each stratum. 0 where a stratum has one query: it tells nothing."""
    names = np.array(strata)
    parts = [difference[names == name] for name in dict.fromkeys(strata)]
    variance = sum(float(part.var(ddof=1)) / len(part) for part in parts if len(part) > 1)
    return float(np.sqrt(variance)) / len(parts)


def interval(
    difference: Array, strata: Sequence[str], *, samples: int = SAMPLES, seed: int = SEED
) -> Interval:
    """Of the mean of means: percentile bootstrap, resampled within each stratum."""
    names = np.array(strata)
    parts = [difference[names == name] for name in dict.fromkeys(strata)]
    random = np.random.default_rng(seed)
    means = sum(_resampled(part, samples, random) for part in parts) / len(parts)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    weighted = difference * weights(strata)
    return Interval(
        difference=float(weighted.sum()),
        low=float(low),
        high=float(high),
        p=randomisation_p(weighted, samples=samples, seed=seed),
    )


def _resampled(values: Array, samples: int, random: np.random.Generator) -> Array:
    """Means of `samples` draws of as many values, with replacement."""
    means = np.empty(samples)
    step = max(BATCH // len(values), 1)
    for start in range(0, samples, step):
        rows = min(step, samples - start)
        means[start : start + rows] = values[random.integers(len(values), size=(rows, len(values)))].mean(
            axis=1
        )
    return means


def better_than(
    differences: Array, strata: Sequence[str], *, samples: int = SAMPLES, seed: int = SEED
) -> Array:
    """For each row of `differences` (configurations, queries), less the current configuration: the one-sided p that it is better,
    in (0, 1], corrected for all rows together. A row without any difference has 1."""
    weighted = differences * weights(strata)
    scale = np.sqrt((weighted**2).sum(axis=1))  # the same under any signs
    moved = scale > 0
    scaled = weighted[moved] / scale[moved, None]
    observed = scaled.sum(axis=1)
    p = np.ones(len(differences))
    if moved.any():
        reached = np.zeros(len(observed), dtype=np.int64)
        random = np.random.default_rng(seed)
        step = max(BATCH // max(differences.shape), 1)
        for start in range(0, samples, step):
            rows = min(step, samples - start)
            signs = 2.0 * random.integers(0, 2, size=(rows, differences.shape[1])) - 1.0
            largest = (signs @ scaled.T).max(axis=1)
            reached += (largest[:, None] >= observed[None, :] - ROUNDING).sum(axis=0)
        p[moved] = (reached + 1) / (samples + 1)
    return p
