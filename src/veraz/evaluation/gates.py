"""Gates: `ndcg@10>=0.7` as a condition that a run must meet."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from veraz.errors import CheckFailed, UsageError
from veraz.nouns.evaluation import GateResult

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": lambda value, threshold: math.isclose(value, threshold, rel_tol=0, abs_tol=1e-9),
    ">": operator.gt,
    "<": operator.lt,
}
EXPRESSION = re.compile(
    r"\s*([A-Za-z_][\w@.]*)\s*(>=|<=|==|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
)


@dataclass(frozen=True, slots=True)
class Gate:
    metric: str
    op: str
    threshold: float

    @property
    def expression(self) -> str:
        return f"{self.metric}{self.op}{self.threshold:g}"


def parse_gate(text: str, known: Collection[str]) -> Gate:
    """Parses `METRIC OP NUMBER` with >=, >, <=, < or ==. Raises UsageError; for an unknown metric it lists
    the known ones.
    """
    match = EXPRESSION.fullmatch(text)
    if not match:
        raise UsageError(
            f"gate {text!r} is no condition", fix="METRIC OP NUMBER with >=, >, <=, < or ==: 'ndcg@10>=0.7'"
        )
    metric, op, threshold = match.groups()
    if metric not in known:
        raise UsageError(f"gate {text!r}: unknown metric {metric!r}", fix=f"one of {', '.join(known)}")
    return Gate(metric, op, float(threshold))


def check(gates: Iterable[Gate], values: Mapping[str, float | None]) -> tuple[GateResult, ...]:
    """Holds figures against gates. A figure that is absent or not a number fails every gate on it."""
    return tuple(_result(gate, values.get(gate.metric)) for gate in gates)


def table(results: Sequence[GateResult]) -> str:
    """One line a gate: verdict, condition, figure."""
    width = max((len(result.gate) for result in results), default=0)
    return "\n".join(f"{_verdict(r)}  {r.gate:<{width}}  {_figure(r.value)}" for r in results)


def require(results: Sequence[GateResult]) -> None:
    """Raises CheckFailed with the whole table if a gate did not hold."""
    failed = sum(not result.passed for result in results)
    if failed:
        raise CheckFailed(
            f"{failed} of {len(results)} gates failed\n{table(results)}",
            fix="find the queries that fell in the per-query file, or set a gate that you can defend",
        )


def _result(gate: Gate, value: float | None) -> GateResult:
    passed = value is not None and OPERATORS[gate.op](value, gate.threshold)
    return GateResult(gate.expression, gate.metric, gate.op, gate.threshold, value, passed)


def _verdict(result: GateResult) -> str:
    return "pass" if result.passed else "FAIL"


def _figure(value: float | None) -> str:
    return "no such figure in this run" if value is None else f"{value:.4f}"
