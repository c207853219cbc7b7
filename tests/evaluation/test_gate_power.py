"""What the gates catch and let pass, on the figures of real judged queries: a planted loss of 0.02 is caught in any shape, the
same again raises no alarm. The study behind docs/decisions/0028-gates.md is bench/gate_power.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.judged import made_run
from tests.support.losses import SHAPES, planted, real_figures

from veraz.evaluation.gates import check, parse_gate
from veraz.evaluation.statistics import compare
from veraz.nouns.evaluation import GateResult

MEASURE = "ndcg@10"
GATES = ("ndcg@10 not worse", "ndcg@10>=baseline-0.01")
LOSS = 0.02


def verdicts(before: np.ndarray, after: np.ndarray, samples: int = 2000) -> list[GateResult]:
    runs = [
        {f"q{n}": {MEASURE: float(value)} for n, value in enumerate(values)} for values in (after, before)
    ]
    compared = compare(*runs, MEASURE, samples=samples)
    gates = [parse_gate(text, [MEASURE]) for text in GATES]
    return list(check(gates, {MEASURE: compared.mean}, {MEASURE: compared.baseline_mean}, [compared]))


@pytest.fixture(scope="module", params=["med", "liveqa_medquad"])
def figures(request: pytest.FixtureRequest, shared: Path) -> np.ndarray:
    """nDCG@10 of every judged query, of a BM25 ranking of the real collection."""
    found = real_figures(shared / "data", request.param)
    expected = {"med": 30, "liveqa_medquad": 86}[request.param]
    assert len(found) == expected
    assert 0.2 < found.mean() < 0.9
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_a_planted_loss_is_caught_in_every_shape(figures: np.ndarray, shape: str) -> None:
    for seed in range(10):
        after = planted(figures, LOSS, shape, np.random.default_rng(seed))
        assert (figures - after).mean() == pytest.approx(LOSS, abs=1e-9)
        assert 0 <= after.min() <= after.max() <= 1 + 1e-12
        assert [v.passed for v in verdicts(figures, after)] == [False, False], (shape, seed)


def test_ten_identical_runs_raise_no_alarm(figures: np.ndarray) -> None:
    for _ in range(10):
        assert all(v.passed for v in verdicts(figures, figures.copy()))


def test_a_small_loss_of_every_query_is_caught_though_the_mean_barely_moves(figures: np.ndarray) -> None:
    """What the limit on the mean alone would let through."""
    after = planted(figures, 0.004, "broad", np.random.default_rng(1))
    proven, limited = verdicts(figures, after)
    assert (proven.passed, limited.passed) == (False, True)
    assert proven.why.startswith("a loss beyond chance (p 0.00")


def test_statistics_alone_would_miss_a_loss_of_few_queries(figures: np.ndarray) -> None:
    """Why the rule has two nets."""
    after = planted(figures, LOSS, "one", np.random.default_rng(1))
    before, later = ({f"q{n}": {MEASURE: float(v)} for n, v in enumerate(x)} for x in (figures, after))
    assert compare(later, before, MEASURE).proven() == ""
    assert not verdicts(figures, after)[0].passed


def test_a_gain_is_no_alarm(figures: np.ndarray) -> None:
    after = np.clip(figures + 0.05, 0, 1)
    assert all(v.passed for v in verdicts(figures, after))


def test_rankings_made_worse_are_caught_through_the_measures() -> None:
    """Not figures but rankings: relevant documents slip down until nDCG@10 has lost 0.02."""
    random = np.random.default_rng(5)
    qrels = {f"q{n}": {f"d{n}-{r}": 1 for r in range(1 + n % 4)} for n in range(30)}
    before = {
        q: sorted([*grades, *(f"x{n}" for n in range(9))], key=lambda _: random.random())
        for q, grades in qrels.items()
    }
    good, worse = made_run(before, qrels), dict(before)
    for q in qrels:
        worse[q] = sorted(before[q], key=lambda d, q=q: (d in qrels[q], before[q].index(d)))
        made = made_run(worse, qrels)
        if good.header.metrics[MEASURE] - made.header.metrics[MEASURE] >= LOSS:
            break
    lost = compare(made.values, good.values, MEASURE)
    assert LOSS <= -lost.mean_difference < LOSS + 0.03
    results = check(
        [parse_gate(text, [MEASURE]) for text in GATES], made.header.metrics, good.header.metrics, [lost]
    )
    assert [r.passed for r in results] == [False, False]
