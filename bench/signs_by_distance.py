"""How much of the nearest vectors their signs find, by the distance of the space and by how unequal the vectors' lengths are.

    python bench/signs_by_distance.py [--vectors 20000] [--dimension 384] [--oversampling 8]

Of random vectors, without a database: all signs are compared, so that an index can find no more. Clustered directions are more
like those of a model than even ones. A line is `clustered|even, spread, distance, recall@10, recall@50`; `spread` is the standard
deviation of the logarithm of the lengths.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
POOL, QUERIES, CLUSTERS = 100, 200, 500
SPREADS = (0.0, 0.1, 0.25, 0.5, 1.0)
SCORES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "cosine": lambda products, lengths: products / lengths,
    "inner_product": lambda products, lengths: products,  # noqa: ARG005
    "l2": lambda products, lengths: products - lengths * lengths / 2,
}
"""Of the inner products with a query, and the lengths of the vectors."""


def directions(chance: np.random.Generator, count: int, dimension: int, *, clustered: bool) -> Floats:
    vectors = chance.standard_normal((count, dimension), np.float32)
    if clustered:
        centres = np.random.default_rng(1).standard_normal((CLUSTERS, dimension), np.float32)
        vectors = centres[chance.integers(CLUSTERS, size=count)] + 0.7 * vectors
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def agreeing(vectors: Floats, queries: Floats) -> Floats:
    """How many signs each vector shares with each query: (queries, vectors)."""
    return np.asarray(
        np.where(queries > 0, 1, -1).astype(np.float32) @ np.where(vectors > 0, 1, -1).astype(np.float32).T
    )


def recall(scores: Floats, shared: Floats, candidates: int, k: int) -> float:
    """Of the `k` best by score, the share that is among the candidates that share the most signs."""
    found = 0
    for row, signs in zip(scores, shared, strict=True):
        kept = np.argpartition(-signs, candidates)[:candidates]
        found += len(np.intersect1d(np.argpartition(-row, k)[:k], kept))
    return found / (k * len(scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=20_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--oversampling", type=int, default=8)
    args = parser.parse_args()
    for clustered in (True, False):
        chance = np.random.default_rng(7)
        unit = directions(chance, args.vectors, args.dimension, clustered=clustered)
        asked = directions(chance, QUERIES, args.dimension, clustered=clustered)
        shared, cosines = agreeing(unit, asked), asked @ unit.T
        for spread in SPREADS:
            lengths = np.exp(chance.normal(0, spread, args.vectors)).astype(np.float32)
            for name, score in SCORES.items():
                scores = score(cosines * lengths, lengths)
                ten, fifty = (recall(scores, shared, POOL * args.oversampling, k) for k in (10, 50))
                kind = "clustered" if clustered else "even"
                print(f"{kind:9} {spread:4} {name:13} {ten:.3f} {fifty:.3f}", flush=True)


if __name__ == "__main__":
    main()
