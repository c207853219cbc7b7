"""Is one run better than another, or is it luck? Paired over queries, seeded, so that the answer repeats.

Randomisation test: Fisher 1935; for retrieval: Smucker, Allan and Carterette 2007. Bootstrap interval of the
mean difference: Efron's percentile method; for retrieval: Sakai 2006.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from veraz.errors import UsageError
from veraz.nouns.evaluation import Comparison

SEED = 20_240_229
SAMPLES = 10_000
BATCH = 2_000_000  # numbers held at once, about 16 MB
ROUNDING = 1e-12  # means that differ by less are the same mean, summed in another order

Values = Mapping[str, Mapping[str, float]]
"""Query id → measure name → value."""

Array = npt.NDArray[np.float64]


def compare(
    a: Values, b: Values, measure: str, *, samples: int = SAMPLES, seed: int = SEED, confidence: float = 0.95
) -> Comparison:
    """Compares run `a` with baseline `b` on one measure, query by query; a positive difference favours `a`.

    Raises UsageError when the runs do not judge the same queries (an average over the shared ones would hide
    what either of them lost) or do not both have the measure.
    """
    left, right = _paired(a, b, measure)
    difference = left - right
    low, high = bootstrap_interval(difference, samples=samples, seed=seed, confidence=confidence)
    return Comparison(
        measure=measure,
        queries=len(difference),
        mean=float(left.mean()),
        baseline_mean=float(right.mean()),
        mean_difference=float(difference.mean()),
        low=low,
        high=high,
        p=randomisation_p(difference, samples=samples, seed=seed),
        confidence=confidence,
        wins=int((difference > ROUNDING).sum()),
        losses=int((difference < -ROUNDING).sum()),
    )


def corrected(comparisons: Iterable[Comparison]) -> tuple[Comparison, ...]:
    """The same comparisons with `p_holm`: corrected for having made all of them."""
    made = tuple(comparisons)
    adjusted = holm([c.p for c in made])
    return tuple(replace(c, p_holm=p) for c, p in zip(made, adjusted, strict=True))


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Each p adjusted for all of them (Holm 1979): rejecting where the result is at most α keeps the chance of any
    false rejection at most α, whatever depends on what. In the given order, capped at 1.
    """
    adjusted, highest = [0.0] * len(ps), 0.0
    for place, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, (len(ps) - place) * ps[index]))
        adjusted[index] = highest
    return tuple(adjusted)


def randomisation_p(
    difference: Sequence[float] | Array, *, samples: int = SAMPLES, seed: int = SEED
) -> float:
    """Two-sided p of the mean difference under random signs, in (0, 1].

    All 2^n sign patterns when there are at most `samples` of them, which is exact; else `samples` random
    ones, with the observed pattern counted in (Davison and Hinkley 1997, p. 140), so that p is never 0.
    """
    values = np.asarray(difference, dtype=np.float64)
    changed = values[values != 0]  # a sign on zero changes nothing
    observed = abs(changed.sum()) - ROUNDING * max(len(values), 1)
    exact = len(changed) < 63 and 2 ** len(changed) <= samples
    signs = _all_signs(len(changed)) if exact else _random_signs(len(changed), samples, seed)
    extreme = sum(int((np.abs(block @ changed) >= observed).sum()) for block in signs)
    return extreme / 2 ** len(changed) if exact else (extreme + 1) / (samples + 1)


def bootstrap_interval(
    difference: Sequence[float] | Array, *, samples: int = SAMPLES, seed: int = SEED, confidence: float = 0.95
) -> tuple[float, float]:
    """Percentile interval of the mean of `difference`, resampled over queries."""
    values = np.asarray(difference, dtype=np.float64)
    random = np.random.default_rng(seed)
    means = np.concatenate(
        [
            values[random.integers(len(values), size=(rows, len(values)))].mean(axis=1)
            for rows in _rows(len(values), samples)
        ]
    )
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def _paired(a: Values, b: Values, measure: str) -> tuple[Array, Array]:
    if not a:
        raise UsageError("there are no queries to compare", fix="evaluate at least one judged query")
    if odd := sorted(set(a) ^ set(b)):
        raise UsageError(
            f"the runs judge different queries: {len(odd)} are in one only ({', '.join(odd[:5])})",
            fix="compare runs over the same queries and judgements",
        )
    if any(measure not in row for values in (a, b) for row in values.values()):
        raise UsageError(f"{measure} is not in both runs", fix="run both with the same --k")
    return tuple(np.array([values[query_id][measure] for query_id in a]) for values in (a, b))  # type: ignore[return-value]


def _rows(width: int, samples: int) -> Iterator[int]:
    """Splits `samples` rows of `width` numbers into batches that fit."""
    most = max(BATCH // max(width, 1), 1)
    while samples > 0:
        yield min(most, samples)
        samples -= most


def _all_signs(n: int) -> Iterator[Array]:
    patterns = np.arange(2**n)[:, None] >> np.arange(n) & 1
    yield (2 * patterns - 1).astype(np.float64)


def _random_signs(n: int, samples: int, seed: int) -> Iterator[Array]:
    random = np.random.default_rng(seed)
    for rows in _rows(n, samples):
        yield (2 * random.integers(0, 2, size=(rows, n)) - 1).astype(np.float64)
