"""Gates: what can be written, when it holds, and how a failure reads."""

from __future__ import annotations

import pytest

from veraz.errors import CheckFailed, UsageError
from veraz.evaluation.gates import TOLERANCE, Gate, check, parse_gate, require, require_baseline, table
from veraz.nouns.evaluation import Comparison

KNOWN = ("ndcg@10", "map", "latency_ms.p95")


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("ndcg@10>=0.7", Gate("ndcg@10", ">=", 0.7)),
        (" ndcg@10 > .5 ", Gate("ndcg@10", ">", 0.5)),
        ("latency_ms.p95<=50", Gate("latency_ms.p95", "<=", 50.0)),
        ("latency_ms.p95 < 1e3", Gate("latency_ms.p95", "<", 1000.0)),
        ("map==1", Gate("map", "==", 1.0)),
        ("map>-1.", Gate("map", ">", -1.0)),
    ],
)
def test_gates_that_can_be_written(text: str, gate: Gate) -> None:
    assert parse_gate(text, KNOWN) == gate


@pytest.mark.parametrize(
    "text",
    ["", "ndcg@10", "ndcg@10=0.7", "ndcg@10>=", ">=0.7", "map>=nan", "map>=0.7x", "map>0.1,map<1", "map=>1"],
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(UsageError, match="is no condition"):
        parse_gate(text, KNOWN)


def test_an_unknown_metric_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"(?s)unknown metric 'ndcg@7'.*ndcg@10, map, latency_ms\.p95"):
        parse_gate("ndcg@7>=0.7", KNOWN)


@pytest.mark.parametrize(
    ("text", "below", "at", "above"),
    [
        ("map>=0.5", False, True, True),
        ("map>0.5", False, False, True),
        ("map<=0.5", True, True, False),
        ("map<0.5", True, False, False),
        ("map==0.5", False, True, False),
    ],
)
def test_each_operator_below_at_and_above(text: str, below: bool, at: bool, above: bool) -> None:
    gate = parse_gate(text, KNOWN)
    verdicts = [check([gate], {"map": value})[0].passed for value in (0.4, 0.5, 0.6)]
    assert verdicts == [below, at, above]


@pytest.mark.parametrize("op", [">=", ">", "<=", "<", "=="])
@pytest.mark.parametrize("values", [{}, {"map": None}, {"map": float("nan")}])
def test_a_figure_that_is_absent_fails_every_gate(op: str, values: dict[str, float | None]) -> None:
    assert not check([Gate("map", op, 0.0)], values)[0].passed


def test_a_failure_shows_the_whole_table() -> None:
    results = check(
        [Gate("ndcg@10", ">=", 0.7), Gate("map", ">", 0.1), Gate("p@5", ">", 0)],
        {"ndcg@10": 0.69, "map": 0.5},
    )
    assert table(results).splitlines() == [
        "FAIL  ndcg@10>=0.7  0.6900",
        "pass  map>0.1       0.5000",
        "FAIL  p@5>0         no such figure in this run",
    ]
    with pytest.raises(CheckFailed, match=r"(?s)2 of 3 gates failed.*ndcg@10>=0.7  0.6900") as error:
        require(results)
    assert error.value.exit_code == 5


def test_gates_that_hold_raise_nothing() -> None:
    require(check([Gate("map", ">", 0.1)], {"map": 0.5}))
    require(())


# --- against a baseline


def compared(difference: float, low: float, high: float, p: float = 0.04) -> Comparison:
    return Comparison("ndcg@10", 30, 0.5 + difference, 0.5, difference, low, high, p)


@pytest.mark.parametrize(
    ("text", "gate", "expression"),
    [
        ("ndcg@10>=baseline", Gate("ndcg@10", ">=", 0.0, "+"), "ndcg@10>=baseline"),
        ("ndcg@10>=baseline-0.01", Gate("ndcg@10", ">=", -0.01, "+"), "ndcg@10>=baseline-0.01"),
        (" ndcg@10 >= baseline - 0.01 ", Gate("ndcg@10", ">=", -0.01, "+"), "ndcg@10>=baseline-0.01"),
        ("map>baseline+.02", Gate("map", ">", 0.02, "+"), "map>baseline+0.02"),
        ("latency_ms.p95<=baseline*1.5", Gate("latency_ms.p95", "<=", 1.5, "*"), "latency_ms.p95<=baseline*1.5"),
        ("ndcg@10 not worse", Gate("ndcg@10", "not worse", -TOLERANCE), "ndcg@10 not worse"),
        ("ndcg@10  not   worse", Gate("ndcg@10", "not worse", -TOLERANCE), "ndcg@10 not worse"),
        ("map better", Gate("map", "better", 0.0), "map better"),
    ],
)  # fmt: skip
def test_gates_against_a_baseline(text: str, gate: Gate, expression: str) -> None:
    parsed = parse_gate(text, KNOWN)
    assert parsed == gate
    assert parsed.expression == expression
    assert parse_gate(expression, KNOWN) == gate
    assert parsed.is_relative


@pytest.mark.parametrize(
    "text",
    ["map>=baseline-", "map>=baseline/2", "map>=baseline--1", "map not", "map worse", "map not worse by 0.1", "mapbetter"],
)  # fmt: skip
def test_what_is_no_condition_against_a_baseline(text: str) -> None:
    with pytest.raises(UsageError, match="is no condition"):
        parse_gate(text, (*KNOWN, "mapbetter"))


def test_only_measures_can_be_not_worse() -> None:
    with pytest.raises(
        UsageError, match=r"(?s)no measure of single queries.*'latency_ms\.p95<=baseline\*1\.5'"
    ):
        parse_gate("latency_ms.p95 not worse", KNOWN, ("ndcg@10", "map"))


def test_without_a_baseline_a_gate_on_one_is_refused() -> None:
    require_baseline([Gate("map", ">=", 0.5)])
    with pytest.raises(
        UsageError, match=r"(?s)'map>=baseline-0\.01' compares with a baseline.*--baseline RUN"
    ):
        require_baseline([Gate("map", ">=", 0.5), parse_gate("map>=baseline-0.01", KNOWN)])


@pytest.mark.parametrize(
    ("text", "value", "passed"),
    [
        ("ndcg@10>=baseline", 0.5, True),
        ("ndcg@10>=baseline", 0.5 - 1e-12, True),  # summed in another order
        ("ndcg@10>=baseline", 0.4999, False),
        ("ndcg@10>=baseline-0.01", 0.49, True),
        ("ndcg@10>=baseline-0.01", 0.4899, False),
        ("ndcg@10>baseline", 0.5 + 1e-12, False),
        ("ndcg@10>baseline", 0.5001, True),
        ("ndcg@10>=baseline+0.02", 0.51, False),
        ("ndcg@10>=baseline*0.9", 0.45, True),
        ("ndcg@10<=baseline*0.9", 0.46, False),
    ],
)
def test_the_point_rule(text: str, value: float, passed: bool) -> None:
    gate = parse_gate(text, KNOWN)
    (result,) = check([gate], {"ndcg@10": value}, {"ndcg@10": 0.5})
    assert (result.passed, result.value, result.baseline) == (passed, value, 0.5)


@pytest.mark.parametrize(
    ("difference", "low", "high", "passed", "why"),
    [
        (0.0, 0.0, 0.0, True, ""),
        (-0.005, -0.02, 0.01, True, ""),
        (-0.01, -0.03, 0.01, True, ""),  # just what is let through
        (-0.011, -0.03, 0.01, False, "the mean lost more than 0.01"),
        (-0.004, -0.006, -0.002, False, "a loss beyond chance (p 0.040)"),
        (0.02, 0.01, 0.03, True, ""),
    ],
)
def test_not_worse_catches_proven_losses_and_large_ones(
    difference: float, low: float, high: float, passed: bool, why: str
) -> None:
    gate = parse_gate("ndcg@10 not worse", KNOWN)
    (result,) = check(
        [gate], {"ndcg@10": 0.5 + difference}, {"ndcg@10": 0.5}, [compared(difference, low, high)]
    )
    assert (result.passed, result.why) == (passed, why)
    assert (result.low, result.high, result.threshold) == (low, high, pytest.approx(0.49))


def test_few_queries_that_lost_a_little_prove_nothing() -> None:
    """Four of many queries lost, none gained: the interval lies below 0, but four signs can be luck (p = 2 / 2**4)."""
    gate = parse_gate("ndcg@10 not worse", KNOWN)
    lost = compared(-0.002, -0.004, -0.001, p=0.125)
    (result,) = check([gate], {"ndcg@10": 0.498}, {"ndcg@10": 0.5}, [lost])
    assert result.passed


@pytest.mark.parametrize(
    ("low", "p", "passed"),
    [
        (0.001, 0.04, True),
        (0.001, 0.05, True),
        (0.001, 0.06, False),
        (0.0, 0.04, False),
        (-0.001, 0.04, False),
    ],
)
def test_better_needs_a_proven_gain(low: float, p: float, passed: bool) -> None:
    gate = parse_gate("ndcg@10 better", KNOWN)
    (result,) = check([gate], {"ndcg@10": 0.52}, {"ndcg@10": 0.5}, [compared(0.02, low, 0.04, p)])
    assert result.passed is passed


@pytest.mark.parametrize("text", ["map>=baseline-0.5", "map not worse", "map better", "map<=baseline*9"])
def test_a_figure_that_the_baseline_lacks_fails_the_gate(text: str) -> None:
    (result,) = check([parse_gate(text, KNOWN)], {"map": 0.5}, {"ndcg@10": 0.5}, [compared(0, 0, 0)])
    assert (result.passed, result.why) == (False, "the baseline has no such figure")


def test_a_failure_against_a_baseline_shows_what_it_rested_on() -> None:
    gates = [parse_gate("ndcg@10 not worse", KNOWN), parse_gate("latency_ms.p95<=baseline*1.5", KNOWN)]
    figures = {"ndcg@10": 0.478, "latency_ms.p95": 160.0}
    results = check(
        gates, figures, {"ndcg@10": 0.5, "latency_ms.p95": 100.0}, [compared(-0.022, -0.05, 0.01)]
    )
    assert table(results).splitlines() == [
        "FAIL  ndcg@10 not worse             0.4780  baseline 0.5000, difference -0.0220 [-0.0500, +0.0100]"
        "  the mean lost more than 0.01",
        "FAIL  latency_ms.p95<=baseline*1.5  160.0000  baseline 100.0000, difference +60.0000  allowed: <= 150.0000",
    ]
