"""What `eval run` travels with: one ranked answer per query, its measures, and the report over all of them.

Measures go by name: `ndcg@10`, `recall@20`, `mrr@10`, `p@5`, `success@5`, `map`. All lie in 0..1, higher is
better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

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
    the query expects one, also `insufficient` or `routed`. `unranked`: why a reranker that was asked left the fused order.
    """

    ranked: tuple[RankedItem, ...]
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    empty_arms: tuple[str, ...] = ()
    outcome: str = "found"
    trace_id: str | None = None
    shortfall: Mapping[str, Any] | None = None
    unranked: str | None = None


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
    the search. `missed` holds the relevant documents (grade above 0) that were not ranked: with `ranked` all that any
    measure needs. `facets` are the suite's words for what the query tries. `shortfall` is set where an approximate
    scan came up short and was repeated exactly.
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
    facets: tuple[str, ...] = ()
    missed: Mapping[str, int] = field(default_factory=dict)
    shortfall: Mapping[str, Any] | None = None

    @property
    def first_relevant(self) -> int | None:
        """The rank of the best relevant document, from 1; None where none was ranked."""
        return next((d.rank for d in self.ranked if d.grade is not None and d.grade > 0), None)


@dataclass(frozen=True, slots=True)
class OutcomeResult:
    """A query that says what should come of it, and what did. `observed` is `found`, `nothing`, `insufficient`, `routed` or
    `failed`: a search cannot tell `answered` from `conflicting`, and `found` agrees with both. `text` is empty in a run that was
    read from the database.
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
    """A condition and how the run stands to it. `value` is None where the run has no such figure; that fails.

    Against a baseline `threshold` is what its figure allows, `baseline` that figure, `low`..`high` the paired
    bootstrap interval of the difference (None for figures that are not per query), and `why` says in words what
    decided.
    """

    gate: str
    metric: str
    op: str
    threshold: float
    value: float | None
    passed: bool
    baseline: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs on the same judged queries. `mean_difference` is run minus baseline; `low`..`high` its
    bootstrap interval at `confidence`; `p` two-sided, from the paired randomisation test; `p_holm` the same after
    Holm's correction over all comparisons that were made together, None where it was made alone. `wins` and
    `losses` count the queries that gained and lost.
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
    wins: int = 0
    losses: int = 0
    p_holm: float | None = None

    def proven(self, *, corrected: bool = False) -> Literal["gain", "loss", ""]:
        """Beyond chance: the interval lies on one side of 0, and p (`corrected`: p_holm) is at most 1 - confidence. Both are
        asked, since the interval of a few changed queries among many that did not change is too narrow.
        """
        p = self.p_holm if corrected and self.p_holm is not None else self.p
        if p > 1 - self.confidence + 1e-9:
            return ""
        return "gain" if self.low > 0 else "loss" if self.high < 0 else ""


@dataclass(frozen=True, slots=True)
class EvalReport:
    """One evaluation run. `results` holds a row per judged query and goes to the per-query file, not into the
    JSON.

    `queries` counts the judged ones: each counts in every mean, as 0 when it returned nothing or failed.
    `empty` counts those that returned nothing without failing; `empty_arms` counts, by arm, the queries it
    had nothing for. `without_relevant` lists judged queries with no grade above 0 (they count, as 0:
    trec_eval's rule); `unjudged` lists queries without any judgement (neither searched nor counted).
    `authorised_fraction` is the share of the relevant judgements whose document the acting identity may read:
    the ceiling of recall; None if unknown. `shortfall` counts the queries for which an approximate scan came up
    short and was repeated exactly. `stages_ms`: stage of the search → p50 and p95 over the queries that ran it.

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
    shortfall: int = 0
    stages_ms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as it was kept: `header` is its report without results, `results` one row a judged query, in the suite's
    order. `origin` says where it was read: a path, or `database`.
    """

    header: EvalReport
    results: tuple[QueryResult, ...]
    origin: str
    tenant: str | None = None

    @property
    def values(self) -> dict[str, Mapping[str, float]]:
        """Query id → measure → value."""
        return {result.query_id: result.measures for result in self.results}

    @property
    def facets(self) -> dict[str, tuple[str, ...]]:
        """Query id → facets, of the queries that have any."""
        return {result.query_id: result.facets for result in self.results if result.facets}


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A line of a list of stored runs."""

    run_id: str
    dataset: str
    started_at: datetime
    mode: str
    queries: int
    metrics: Mapping[str, float]
    tenant: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that two runs do not share, by its dotted path; None where a run did not record it."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A query whose figure changed, with the rank of its first relevant document in either run (None: not ranked)."""

    query_id: str
    text: str
    before: float
    after: float
    rank_before: int | None
    rank_after: int | None

    @property
    def difference(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class RunComparison:
    """A run against a baseline on the same judged queries. `comparisons` holds one row a measure; `changed` the queries
    that changed most on `measure`, and `differences` the difference of every query on it, both run minus baseline.
    `warnings` says what makes the comparison less than it seems.
    """

    baseline: str
    run: str
    measure: str
    comparisons: tuple[Comparison, ...]
    changed: tuple[QueryChange, ...]
    settings: tuple[SettingChange, ...]
    warnings: tuple[str, ...]
    differences: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexFigure:
    """One way of scanning vectors on one snapshot. `recall` against the exact scan at `k`, 0..1; sizes in bytes, times in
    milliseconds and seconds; None where it does not apply (an exact scan has no index to build).
    """

    method: str
    k: int
    recall: float
    p50_ms: float
    size_bytes: int | None = None
    build_seconds: float | None = None
