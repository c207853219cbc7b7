"""What is made of the answers and the times: rankings of documents, percentiles, ratios with their intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.float64]
"""Milliseconds, (questions, rounds)."""

SEED = 20_240_229
SAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as long as the base, above 1 being slower, with a 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def said(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"

    @property
    def verdict(self) -> str:
        """`slower` or `faster` than the base where the interval leaves no doubt, else `open`."""
        return "slower" if self.low > 1 else "faster" if self.high < 1 else "open"


def documents(chunk_ids: Iterable[str]) -> list[str]:
    """Each document once, at the place of its best chunk; a chunk is called DOCUMENT#n."""
    return list(dict.fromkeys(chunk_id.rpartition("#")[0] for chunk_id in chunk_ids))


def percentile(times: Times, q: float) -> float:
    """Over all questions and rounds."""
    return float(np.percentile(times, q))


def ratio(times: Times, base: Times, q: float, *, samples: int = SAMPLES, seed: int = SEED) -> Ratio:
    """The q-th percentile of `times` as a multiple of that of `base`. Questions are drawn, the same for both and each with all
    its rounds, since rounds of one question are no independent looks (Efron's percentile method)."""
    if times.shape != base.shape:
        raise ValueError(f"times of {times.shape} against {base.shape}: not the same questions and rounds")
    drawn = np.random.default_rng(seed).integers(len(times), size=(samples, len(times)))
    ratios = [percentile(times[rows], q) / percentile(base[rows], q) for rows in drawn]
    low, high = np.quantile(ratios, [0.025, 0.975])
    return Ratio(percentile(times, q) / percentile(base, q), float(low), float(high))


def turns(names: list[str], number: int) -> list[str]:
    """The order in which peers are asked question `number`: each begins as often as any other."""
    start = number % len(names)
    return names[start:] + names[:start]
