"""The figures of a run, by the names that gates and reports use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from veraz.nouns.evaluation import EvalReport, QueryResult

PERCENTILES = {"p50": 50, "p95": 95, "p99": 99}
STAGE_PERCENTILES = {"p50": 50, "p95": 95}
FIGURES = (
    "empty",
    "failed",
    "shortfall",
    "authorised_fraction",
    "outcome_agreement",
    "bound",
    *(f"latency_ms.{name}" for name in PERCENTILES),
)
"""What a gate can hold against a run besides its measures."""

Values = Mapping[str, Mapping[str, float]]
"""Query id → measure name → value."""


def figures(report: EvalReport) -> dict[str, float | None]:
    """Measures and FIGURES by name; a measure over no query is left out."""
    latency = {f"latency_ms.{name}": value for name, value in report.latency_ms.items()}
    return {
        **report.metrics,
        "empty": report.empty,
        "failed": report.failed,
        "shortfall": report.shortfall,
        "authorised_fraction": report.authorised_fraction,
        "outcome_agreement": report.outcome_agreement,
        "bound": report.bound.share if report.bound else None,
        **latency,
    }


def latencies(values: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99 in milliseconds, interpolated linearly between observations; nothing of none."""
    return _percentiles(values, PERCENTILES) if values else {}


def stage_latencies(timings: Iterable[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Stage → p50 and p95 in milliseconds over the queries that ran it, in the order in which stages first appear."""
    by_stage: dict[str, list[float]] = {}
    for stages in timings:
        for stage, value in stages.items():
            by_stage.setdefault(stage, []).append(value)
    return {stage: _percentiles(values, STAGE_PERCENTILES) for stage, values in by_stage.items()}


def means(values: Values) -> dict[str, float | None]:
    """Measure → mean over all queries, of the measures that every query has."""
    rows = list(values.values())
    names = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
    return {name: math.fsum(row[name] for row in rows) / len(rows) for name in names}


def recall_at(results: Sequence[QueryResult], ks: Iterable[int]) -> dict[int, float]:
    """k → mean recall over all queries; those without anything relevant count as 0, as in the measures."""
    found = [[d.rank for d in r.ranked if (d.grade or 0) > 0] for r in results]
    totals = [len(ranks) + len(r.missed) for ranks, r in zip(found, results, strict=True)]
    return {
        k: math.fsum(
            sum(rank <= k for rank in ranks) / total
            for ranks, total in zip(found, totals, strict=True)
            if total
        )
        / max(len(results), 1)
        for k in ks
    }


def _percentiles(values: Sequence[float], wanted: Mapping[str, int]) -> dict[str, float]:
    return {name: float(np.percentile(values, percent)) for name, percent in wanted.items()}
