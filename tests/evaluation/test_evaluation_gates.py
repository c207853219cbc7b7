"""Gates: what can be written, when it holds, and how a failure reads."""

from __future__ import annotations

import pytest

from veraz.errors import CheckFailed, UsageError
from veraz.evaluation.gates import Gate, check, parse_gate, require, table

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
