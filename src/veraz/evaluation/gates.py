"""Gates: a condition that a run must meet, in one line.

    ndcg@10>=0.7                      a figure of this run against a number
    ndcg@10>=baseline-0.01            against the baseline's: the mean may lose this much
    latency_ms.p95<=baseline*1.5      the same for what is better when it is smaller
    ndcg@10 not worse                 no loss that is proven, and none of more than TOLERANCE
    ndcg@10 better                    a gain that is proven

Proven means that the paired bootstrap interval of the difference lies on one side of 0, and that the paired randomisation test
gives p <= 0.05 (docs/decisions/0028-gates.md).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from veraz.errors import CheckFailed, UsageError
from veraz.nouns.evaluation import Comparison, GateResult

ROUNDING = 1e-9
"""Sums in another order: a figure is not below its limit for that."""
TOLERANCE = 0.01
"""What `not worse` lets the mean lose where the loss is not proven: at most this, whatever the interval says."""
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": lambda value, threshold: math.isclose(value, threshold, rel_tol=0, abs_tol=ROUNDING),
    ">": operator.gt,
    "<": operator.lt,
}
_SLACK = {">=": -ROUNDING, "<=": ROUNDING, "==": 0.0, ">": ROUNDING, "<": -ROUNDING}
NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
EXPRESSION = re.compile(
    rf"\s*(?P<metric>[A-Za-z_][\w@.]*)\s*"
    rf"(?:(?P<op>>=|<=|==|>|<)\s*(?:(?P<number>[-+]?{NUMBER})|baseline\s*(?:(?P<sign>[-+*])\s*(?P<by>{NUMBER}))?)"
    rf"|\s(?P<words>not\s+worse|better))\s*"
)
FORMS = "write 'ndcg@10>=0.7', 'ndcg@10>=baseline-0.01', 'latency_ms.p95<=baseline*1.5', 'ndcg@10 not worse' or 'ndcg@10 better'"

Against = Literal["", "+", "*"]
"""Nothing; the baseline's figure plus a number; that figure times a number."""


@dataclass(frozen=True, slots=True)
class Gate:
    """`op` is a key of OPERATORS, `not worse` or `better`. `threshold` is the number itself, or what `against` does to the
    baseline's figure.
    """

    metric: str
    op: str
    threshold: float
    against: Against = ""

    @property
    def is_relative(self) -> bool:
        """Whether it needs a baseline."""
        return self.against != "" or self.is_paired

    @property
    def is_paired(self) -> bool:
        """Whether it needs the figures of every query of both runs."""
        return self.op not in OPERATORS

    @property
    def expression(self) -> str:
        if self.is_paired:
            return f"{self.metric} {self.op}"
        if self.against == "*":
            return f"{self.metric}{self.op}baseline*{self.threshold:g}"
        if self.against == "+":
            return f"{self.metric}{self.op}baseline" + (f"{self.threshold:+g}" if self.threshold else "")
        return f"{self.metric}{self.op}{self.threshold:g}"

    def limit(self, baseline: float | None) -> float | None:
        """The figure that decides; None where it rests on a baseline that has none."""
        if not self.is_relative:
            return self.threshold
        if baseline is None:
            return None
        return baseline * self.threshold if self.against == "*" else baseline + self.threshold


def parse_gate(text: str, known: Collection[str], paired: Collection[str] | None = None) -> Gate:
    """One of the forms above. `paired` are the metrics that have a figure for every query (None: all of `known`).

    Raises UsageError for anything else; for an unknown metric it lists the known ones.
    """
    match = EXPRESSION.fullmatch(text)
    if not match:
        raise UsageError(f"gate {text!r} is no condition", fix=FORMS)
    metric = match["metric"]
    if metric not in known:
        raise UsageError(f"gate {text!r}: unknown metric {metric!r}", fix=f"one of {', '.join(known)}")
    if match["words"]:
        if paired is not None and metric not in paired:
            raise UsageError(
                f"gate {text!r}: {metric} is no measure of single queries",
                fix=f"hold it against the baseline's figure: '{metric}<=baseline*1.5'",
            )
        words = " ".join(match["words"].split())
        return Gate(metric, words, -TOLERANCE if words == "not worse" else 0.0)
    if match["number"] is not None:
        return Gate(metric, match["op"], float(match["number"]))
    if match["sign"] == "*":
        return Gate(metric, match["op"], float(match["by"]), "*")
    return Gate(metric, match["op"], float(f"{match['sign'] or '+'}{match['by'] or 0}"), "+")


def require_baseline(gates: Iterable[Gate]) -> None:
    """Raises UsageError for the first gate that needs a baseline: there is none."""
    for gate in gates:
        if gate.is_relative:
            raise UsageError(
                f"gate {gate.expression!r} compares with a baseline, and none is given",
                fix="--baseline RUN: the id of a stored run, or a folder that --out wrote",
            )


def check(
    gates: Iterable[Gate],
    values: Mapping[str, float | None],
    baseline: Mapping[str, float | None] | None = None,
    comparisons: Iterable[Comparison] = (),
) -> tuple[GateResult, ...]:
    """Holds figures against gates. A figure that is absent or not a number fails every gate on it, in the run as in the
    baseline. `comparisons` are those of the run with that baseline, a measure each.
    """
    compared = {c.measure: c for c in comparisons}
    figures = baseline or {}
    return tuple(
        _result(gate, values.get(gate.metric), figures.get(gate.metric), compared.get(gate.metric))
        for gate in gates
    )


def table(results: Sequence[GateResult]) -> str:
    """One line a gate: verdict, condition, figure, and against a baseline its figure, the difference and why."""
    width = max((len(result.gate) for result in results), default=0)
    return "\n".join(
        "  ".join(part for part in (_verdict(r), f"{r.gate:<{width}}", figure(r), *details(r)) if part)
        for r in results
    )


def require(results: Sequence[GateResult]) -> None:
    """Raises CheckFailed with the whole table if a gate did not hold."""
    failed = sum(not result.passed for result in results)
    if failed:
        raise CheckFailed(
            f"{failed} of {len(results)} gates failed\n{table(results)}",
            fix="find the queries that fell in the per-query file, or set a gate that you can defend",
        )


def figure(result: GateResult) -> str:
    return "no such figure in this run" if result.value is None else f"{result.value:.4f}"


def details(result: GateResult) -> tuple[str, ...]:
    """What a gate against a baseline rested on: its figure, the difference with its interval, and why."""
    parts = []
    if result.baseline is not None and result.value is not None:
        interval = "" if result.low is None else f" [{result.low:+.4f}, {result.high:+.4f}]"
        parts.append(
            f"baseline {result.baseline:.4f}, difference {result.value - result.baseline:+.4f}{interval}"
        )
    return (*parts, result.why) if result.why else tuple(parts)


def _result(
    gate: Gate, value: float | None, baseline: float | None, compared: Comparison | None
) -> GateResult:
    limit = gate.limit(baseline)
    missing = limit is None or (gate.is_paired and compared is None)
    if value is None or math.isnan(value) or missing or limit is None:
        why = "the baseline has no such figure" if missing else ""
        return GateResult(
            gate.expression, gate.metric, gate.op, limit or 0.0, value, False, baseline, why=why
        )
    passed, why = _paired(gate, compared) if gate.is_paired and compared else _point(gate, value, limit)
    low, high = (compared.low, compared.high) if compared and gate.is_relative else (None, None)
    shown = baseline if gate.is_relative else None
    return GateResult(gate.expression, gate.metric, gate.op, limit, value, passed, shown, low, high, why)


def _point(gate: Gate, value: float, limit: float) -> tuple[bool, str]:
    if not gate.is_relative:
        return OPERATORS[gate.op](value, limit), ""
    passed = OPERATORS[gate.op](value, limit + _SLACK[gate.op])
    return passed, "" if passed else f"allowed: {gate.op} {limit:.4f}"


def _paired(gate: Gate, compared: Comparison) -> tuple[bool, str]:
    if gate.op == "better":
        passed = compared.proven() == "gain"
        return passed, "" if passed else f"no gain beyond chance (p {compared.p:.3f})"
    if compared.proven() == "loss":
        return False, f"a loss beyond chance (p {compared.p:.3f})"
    if compared.mean_difference < gate.threshold - ROUNDING:
        return False, f"the mean lost more than {-gate.threshold:g}"
    return True, ""


def _verdict(result: GateResult) -> str:
    return "pass" if result.passed else "FAIL"
