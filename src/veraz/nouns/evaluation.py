"""What `eval run` travels with: one ranked answer per query, its measures, and the report over all of them.

Measures go by name: `ndcg@10`, `recall@20`, `mrr@10`, `p@5`, `success@5`, `map`. All lie in 0..1, higher is
better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from veraz.nouns.suite import Binding, ChunkPlace


@dataclass(frozen=True, slots=True)
class RankedItem:
    """One place of a ranking, best first. `docid` is the document's external id, or the judged span where a
    suite judges spans; `score` is finite, higher is better. `place` is where the chunk stands.
    """

    docid: str
    score: float
    chunk_id: str | None = None
    place: ChunkPlace | None = None


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """What a search gave for one query, as the engine hands it to the evaluation.

    `ranked` is in rank order, which is authoritative: scores may tie or even rise. It may hold several chunks
    of one document. `empty_arms` names the arms that returned nothing. `outcome` is `found` or `nothing`; where
    the query expects one, also `insufficient` or `routed`.
    """

    ranked: tuple[RankedItem, ...]
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    empty_arms: tuple[str, ...] = ()
    outcome: str = "found"
    trace_id: str | None = None


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document, or a judged span, of one ranking; `grade` is None where no judge looked at it for this query."""

    rank: int
    docid: str
    score: float
    grade: int | None
    chunk_id: str | None = None
    place: ChunkPlace | None = None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """One judged query: what came back and what it is worth. `outcome` is the search's own, or `failed` with
    `error` set: a failed query has no documents, no latency, and scores 0. `latency_ms` is the wall time of
    the search.
    """

    query_id: str
    text: str
    outcome: str
    measures: Mapping[str, float]
    ranked: tuple[JudgedDocument, ...]
    timings_ms: Mapping[str, float]
    latency_ms: float | None
    empty_arms: tuple[str, ...] = ()
    error: str | None = None
    trace_id: str | None = None


@dataclass(frozen=True, slots=True)
class OutcomeResult:
    """A query that says what should come of it, and what did. `observed` is `found`, `nothing`, `insufficient`, `routed` or
    `failed`: a search cannot tell `answered` from `conflicting`, and `found` agrees with both.
    """

    query_id: str
    text: str
    expected: str
    observed: str
    agrees: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over some of the queries, of which `queries` have anything to find; an unanswered one counts as 0. `outcomes`
    of them say what should come of them, and `outcome_agreement` is the share where it did; None without any.
    """

    queries: int
    metrics: Mapping[str, float]
    outcomes: int = 0
    outcome_agreement: float | None = None


@dataclass(frozen=True, slots=True)
class GateResult:
    """A threshold and how the run stands to it. `value` is None where the run has no such figure; that
    fails.
    """

    gate: str
    metric: str
    op: str
    threshold: float
    value: float | None
    passed: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs on the same judged queries. `mean_difference` is run minus baseline; `low`..`high` its
    bootstrap interval at `confidence`; `p` two-sided, from the paired randomisation test.
    """

    measure: str
    queries: int
    mean: float
    baseline_mean: float
    mean_difference: float
    low: float
    high: float
    p: float
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class EvalReport:
    """One evaluation run. `results` holds a row per judged query and goes to the per-query file, not into the
    JSON.

    `queries` counts the judged ones: each counts in every mean, as 0 when it returned nothing or failed.
    `empty` counts those that returned nothing without failing; `empty_arms` counts, by arm, the queries it
    had nothing for. `without_relevant` lists judged queries with no grade above 0 (they count, as 0:
    trec_eval's rule); `unjudged` lists queries without any judgement (neither searched nor counted).
    `authorised_fraction` is the share of the relevant judgements whose document the acting identity may read:
    the ceiling of recall; None if unknown.

    A suite has more: `facets` are the same means over the queries of each facet; `outcomes` the queries that
    expect one; `bound` says how many judgements can be earned at all. `private` are the means over the private
    split, which is in nothing else here: no metric, gate, comparison, facet or result has seen it.
    """

    run_id: str
    dataset: str
    fingerprint: str
    started_at: datetime
    queries: int
    config: Mapping[str, Any]
    metrics: Mapping[str, float]
    latency_ms: Mapping[str, float]
    empty: int
    failed: int
    empty_arms: Mapping[str, int]
    authorised_fraction: float | None
    gates: tuple[GateResult, ...]
    without_relevant: tuple[str, ...]
    unjudged: tuple[str, ...]
    warnings: tuple[str, ...]
    results: tuple[QueryResult, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    per_query: str | None = None
    trec_run: str | None = None
    facets: Mapping[str, Figures] = field(default_factory=dict)
    outcomes: tuple[OutcomeResult, ...] = ()
    outcome_agreement: float | None = None
    bound: Binding | None = None
    private: Figures | None = None
