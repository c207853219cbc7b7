"""Parts of the queries that take turns in being held out. Pure and seeded, so that a sweep can be repeated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from veraz.errors import UsageError

Folds = npt.NDArray[np.int64]
"""The fold of each query, counted from 0."""


def split(strata: Sequence[str], folds: int, seed: int) -> Folds:
    """Deals the queries of each stratum (their set) over the folds at random, so that each fold has its share of each set, equal
    to within one. Raises UsageError for a stratum that is too small to be in every fold."""
    if folds < 2:
        raise UsageError(f"{folds} folds hold nothing out", fix="use at least --folds 2")
    random = np.random.default_rng(seed)
    place = np.empty(len(strata), dtype=np.int64)
    names = np.array(strata)
    first = 0
    for name in dict.fromkeys(strata):
        (members,) = np.nonzero(names == name)
        if len(members) < folds:
            raise UsageError(
                f"{name} has {len(members)} queries that may choose, which is too few for {folds} folds",
                fix="judge more queries, or use fewer --folds",
            )
        place[random.permutation(members)] = (np.arange(len(members)) + first) % folds
        first += len(members)  # where the next set begins, so that the folds are of equal size together too
    return place
