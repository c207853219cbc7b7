"""How often gates raise an alarm: on losses planted into real figures, and on changes that mean nothing.

    python bench/gate_power.py DATA

DATA holds med, medquad and liveqa_medquad. The figures are nDCG@10 of a BM25 ranking; the shapes are those of
tests/support/losses.py. What it prints stands in docs/decisions/0028-gates.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from tests.support.losses import SHAPES, planted, real_figures

from veraz.evaluation.gates import check, parse_gate
from veraz.evaluation.statistics import compare

GATES = ("ndcg@10 not worse", "ndcg@10>=baseline-0.01")
ROUNDS, SAMPLES = 200, 1000


def alarms(before: np.ndarray, after: np.ndarray) -> list[bool]:
    """Of the interval alone, of interval and p together, then of each of GATES."""
    runs = [{f"q{n}": {"ndcg@10": float(v)} for n, v in enumerate(values)} for values in (after, before)]
    compared = compare(*runs, "ndcg@10", samples=SAMPLES)
    gates = [parse_gate(text, ["ndcg@10"]) for text in GATES]
    held = check(gates, {"ndcg@10": compared.mean}, {"ndcg@10": compared.baseline_mean}, [compared])
    return [compared.high < 0, compared.proven() == "loss", *(not one.passed for one in held)]


def resampled(figures: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """A change that means nothing: `share` of the queries get the figure of another query."""
    after = figures.copy()
    chosen = random.random(len(figures)) < share
    after[chosen] = random.choice(figures, chosen.sum())
    return after


def main() -> None:
    data = Path(sys.argv[1])
    print(
        "| suite | change | interval alone | interval and p | " + " | ".join(f"`{g}`" for g in GATES) + " |"
    )
    print("|---|---|---|---|---|---|")
    for name in ("med", "liveqa_medquad"):
        figures = real_figures(data, name)
        suite = f"{name}, {len(figures)} queries"
        for shape in SHAPES:
            for loss in (0.005, 0.02):
                changed = [planted(figures, loss, shape, rng(n)) for n in range(ROUNDS)]
                show(suite, f"loss of {loss}, {shape}", changed, figures)
        for share in (0.0, 0.02, 0.1):
            changed = [resampled(figures, share, rng(n)) for n in range(ROUNDS)]
            show(suite, f"nothing, {share:.0%} of the queries drawn anew", changed, figures)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def show(suite: str, change: str, changed: list[np.ndarray], figures: np.ndarray) -> None:
    shares = np.mean([alarms(figures, after) for after in changed], axis=0)
    print(f"| {suite} | {change} | " + " | ".join(f"{share:.0%}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
