"""Evaluation runs made of rankings, without a search: for tests of what is done with runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from veraz.evaluation.measures import measures_for, score
from veraz.evaluation.runs.figures import latencies, stage_latencies
from veraz.nouns.evaluation import EvalReport, JudgedDocument, QueryResult, StoredRun

Grades = Mapping[str, Mapping[str, int]]


def made_run(
    rankings: Mapping[str, Sequence[str]],
    qrels: Grades,
    *,
    texts: Mapping[str, str] | None = None,
    facets: Mapping[str, Sequence[str]] | None = None,
    config: Mapping[str, Any] | None = None,
    run_id: str = "11111111-0000-4000-8000-000000000000",
    fingerprint: str = "f" * 64,
    ks: Sequence[int] = (1, 3, 5, 10),
    stages: Mapping[str, float] | None = None,
    origin: str = "database",
) -> StoredRun:
    """The run that an evaluation of these rankings would have kept."""
    scores = score(rankings, qrels, measures_for(ks))
    timings = stages or {"embed": 4.0, "arms": 2.0, "total": 6.5}
    results = tuple(
        QueryResult(
            query_id=query_id,
            text=(texts or {}).get(query_id, f"What about {query_id}?"),
            outcome="found" if rankings.get(query_id) else "nothing",
            measures=scores.per_query[query_id],
            ranked=tuple(
                JudgedDocument(rank, docid, 1.0 / rank, grades.get(docid))
                for rank, docid in enumerate(rankings.get(query_id, ()), start=1)
            ),
            timings_ms=timings,
            latency_ms=6.5 + place,
            facets=tuple((facets or {}).get(query_id, ())),
            missed={d: g for d, g in grades.items() if g > 0 and d not in rankings.get(query_id, ())},
        )
        for place, (query_id, grades) in enumerate(qrels.items())
    )
    header = EvalReport(
        run_id=run_id,
        dataset="made",
        fingerprint=fingerprint,
        started_at=datetime(2024, 5, 6, 7, 8, tzinfo=UTC),
        queries=len(results),
        config={"mode": "hybrid", "depth": max(ks), "ks": list(ks), **(config or {})},
        metrics=scores.means,
        latency_ms=latencies([r.latency_ms for r in results if r.latency_ms is not None]),
        empty=sum(not r.ranked for r in results),
        failed=0,
        empty_arms={},
        authorised_fraction=1.0,
        gates=(),
        without_relevant=(),
        unjudged=(),
        warnings=(),
        stages_ms=stage_latencies(r.timings_ms for r in results),
    )
    return StoredRun(header, results, origin)


def with_results(run: StoredRun) -> EvalReport:
    """The report as an evaluation returns it."""
    return replace(run.header, results=run.results)
