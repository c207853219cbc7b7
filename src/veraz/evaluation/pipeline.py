"""Runs every judged query through a search and turns the rankings into a report. Orchestration only."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from veraz.errors import UsageError
from veraz.evaluation.dataset import Dataset
from veraz.evaluation.documents import rank_documents
from veraz.evaluation.gates import Gate, check, parse_gate, require_baseline
from veraz.evaluation.measures import (
    DEFAULT_KS,
    UNANSWERED,
    Measure,
    check_available,
    means_of,
    measures_for,
    score,
)
from veraz.evaluation.runs.figures import FIGURES, figures, latencies, means, stage_latencies
from veraz.evaluation.statistics import Values, compare, corrected
from veraz.evaluation.suites.units import TextsFn, Units
from veraz.nouns.evaluation import (
    Comparison,
    EvalReport,
    Figures,
    JudgedDocument,
    OutcomeResult,
    QueryResult,
    RankedItem,
    RankedQuery,
)
from veraz.nouns.evidence import Mode
from veraz.nouns.suite import Binding, QueryRequest

SearchFn = Callable[[QueryRequest], Awaitable[RankedQuery]]
"""A question and how it is asked → ranking. It should return at least max(ks) documents where there are as many."""

RankFn = Callable[[QueryRequest, Sequence[RankedItem], int], Awaitable[tuple[RankedItem, ...]]]
"""Chunks as they were found → documents or judged spans, at most so many."""

Progress = Callable[[int, int], None]
"""Called with (queries done, queries in all) after each query."""

AGREES: Mapping[str, tuple[str, ...]] = {
    "answered": ("found",),
    "conflicting": ("found",),
    "insufficient": ("insufficient", "nothing"),
    "nothing": ("nothing",),
    "routed": ("routed",),
}
"""Expected outcome → what a search may say. Whether evidence conflicts is told by an answer alone; where nothing was found,
an answer would call it insufficient."""

Readable = Set[str] | Mapping[str, Set[str]]
"""External ids of the relevant documents that may be read, or by query where queries are asked by different identities."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one search gave: a ranking of documents and its wall time, or the error that stopped it."""

    query: RankedQuery | None
    documents: tuple[RankedItem, ...] = ()
    latency_ms: float | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class _Tally:
    """What a run is counted by besides its measures; the fields are those of EvalReport."""

    latency_ms: Mapping[str, float]
    stages_ms: Mapping[str, Mapping[str, float]]
    empty: int
    failed: int
    shortfall: int
    empty_arms: Mapping[str, int]
    authorised_fraction: float | None
    outcome_agreement: float | None


async def evaluate(
    dataset: Dataset,
    search: SearchFn,
    *,
    ks: Sequence[int] = DEFAULT_KS,
    mode: Mode = "hybrid",
    gates: Sequence[str] = (),
    progress: Progress | None = None,
    concurrency: int = 1,
    config: Mapping[str, Any] | None = None,
    readable: Readable | None = None,
    baseline: Values | None = None,
    baseline_figures: Mapping[str, float | None] | None = None,
    texts: TextsFn | None = None,
    bound: Binding | None = None,
) -> EvalReport:
    """Evaluates `search` on the queries of a dataset, to a depth of max(ks) documents each, or judged spans.

    A query that fails is recorded, counted and scores UNANSWERED; when all of them fail the first error is raised,
    since then nothing was measured. `config` is stored as it is beside `ks`, `depth`, `mode`, `concurrency` and
    `unanswered`; `readable` holds the relevant documents (of `dataset.relevant()`) that the acting identity
    may read; `baseline` an earlier run's per-query measures, `baseline_figures` its figures for gates (None: the means
    of the former); `texts` reads revisions, which judged spans need, and `bound` says how these stand to what is
    ingested. The private split is searched like the rest, and is in `EvalReport.private` alone. Gates are evaluated, not
    enforced: see `gates.require`. Before the first search it raises UsageError for a bad gate, for one without the
    baseline that it needs, or for a baseline over other queries, and ConfigError without ir_measures.
    """
    if concurrency < 1 or not ks or min(ks) < 1:
        raise UsageError(
            "an evaluation needs a cut-off and at least one worker", fix="--k 5,10,20,100, concurrency 1"
        )
    check_available()
    chosen = dataset.choosing
    if not chosen.asked:
        raise UsageError(
            f"every judged query of {dataset.name} is in the private split",
            fix="judge some that may be chosen by",
        )
    measures = measures_for(ks)
    conditions = parse_gates(gates, measures)
    if baseline is None:
        require_baseline(conditions)
    _check_baseline(chosen, measures, baseline)
    started = datetime.now(UTC)
    rank = _ranker(dataset, texts)
    answers = await _search_all(dataset.asked, search, rank, max(ks), concurrency, progress)
    per_query = _per_query(dataset, answers, measures)
    whole = _figures(chosen, answers, per_query)
    grades, outcomes = chosen.grades, _outcomes(chosen, answers)
    tally = _tally(chosen, answers, outcomes, authorised_fraction(chosen.qrels, readable))
    compared = _comparisons(chosen, per_query, baseline, measures) if baseline else ()
    report = EvalReport(
        run_id=str(uuid4()),
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        started_at=started,
        queries=len(chosen.judged),
        config={
            **(config or {}),
            "ks": sorted(set(ks)),
            "depth": max(ks),
            "mode": mode,
            "concurrency": concurrency,
            "unanswered": UNANSWERED,
        },
        metrics=whole.metrics,
        latency_ms=tally.latency_ms,
        empty=tally.empty,
        failed=tally.failed,
        empty_arms=tally.empty_arms,
        authorised_fraction=tally.authorised_fraction,
        gates=(),
        without_relevant=chosen.without_relevant,
        unjudged=chosen.unjudged,
        warnings=(*dataset.warnings, *_warnings(bound), *_not_reranked(answers.values())),
        results=tuple(_result(chosen.request(q), grades[q], per_query[q], answers[q]) for q in chosen.judged),
        comparisons=compared,
        facets={name: _figures(chosen.facet(name), answers, per_query) for name in chosen.facets},
        outcomes=outcomes,
        outcome_agreement=tally.outcome_agreement,
        bound=bound,
        private=_figures(dataset.private, answers, per_query) if dataset.private else None,
        shortfall=tally.shortfall,
        stages_ms=tally.stages_ms,
    )
    earlier = baseline_figures if baseline_figures is not None else means(baseline or {})
    return replace(report, gates=check(conditions, figures(report), earlier, compared))


def parse_gates(gates: Iterable[str], measures: Iterable[Measure]) -> tuple[Gate, ...]:
    """Gates over the run's measures and FIGURES. Raises UsageError for one that cannot be."""
    names = tuple(measure.name for measure in measures)
    return tuple(parse_gate(gate, (*names, *FIGURES), names) for gate in gates)


def authorised_fraction(qrels: Mapping[str, Mapping[str, int]], readable: Readable | None) -> float | None:
    """Share of the relevant judgements whose document may be read; None if unknown or nothing is relevant."""
    if readable is None:
        return None
    may_read = readable if isinstance(readable, Mapping) else dict.fromkeys(qrels, readable)
    relevant = [(q, docid) for q, grades in qrels.items() for docid, grade in grades.items() if grade > 0]
    return sum(docid in may_read.get(q, ()) for q, docid in relevant) / len(relevant) if relevant else None


def _check_baseline(dataset: Dataset, measures: Iterable[Measure], baseline: Values | None) -> None:
    """Compares the baseline with an empty run: it fails now as it would after an hour of searching. Where outcomes alone are
    expected, there is nothing to compare query by query."""
    if baseline is None or not (baseline or dataset.judged):
        return
    nothing = {query_id: {m.name: UNANSWERED for m in measures} for query_id in dataset.judged}
    for measure in measures:
        compare(nothing, baseline, measure.name, samples=1)


def _ranker(dataset: Dataset, texts: TextsFn | None) -> RankFn:
    """Judged spans where the dataset judges these, else documents."""
    if not dataset.spans:
        return _documents
    if texts is None:
        raise ValueError("judged spans cannot be found without the texts of revisions")
    return Units(dataset.spans, texts).ranked


async def _documents(
    request: QueryRequest,  # noqa: ARG001
    items: Sequence[RankedItem],
    depth: int,
) -> tuple[RankedItem, ...]:
    return rank_documents(items, depth)


async def _search_all(
    requests: Mapping[str, QueryRequest],
    search: SearchFn,
    rank: RankFn,
    depth: int,
    concurrency: int,
    progress: Progress | None,
) -> dict[str, _Answer]:
    answers: dict[str, _Answer] = {}
    pending = iter(requests.items())

    async def work() -> None:
        for query_id, request in pending:
            answers[query_id] = await _search_one(search, rank, request, depth)
            if progress:
                progress(len(answers), len(requests))

    async with asyncio.TaskGroup() as workers:
        for _ in range(min(concurrency, len(requests))):
            workers.create_task(work())
    errors = [answer.error for query_id in requests if (answer := answers[query_id]).error]
    if len(errors) == len(requests) and errors[0]:
        raise errors[0]
    return {query_id: answers[query_id] for query_id in requests}


async def _search_one(search: SearchFn, rank: RankFn, request: QueryRequest, depth: int) -> _Answer:
    begin = time.perf_counter()
    try:
        query = await search(request)
        elapsed = (time.perf_counter() - begin) * 1000
        documents = await rank(request, query.ranked, depth)
        _check_finite(documents)
    except Exception as error:  # one bad query must not lose the others
        return _Answer(None, error=error)
    return _Answer(query, documents, elapsed)


def _check_finite(documents: Iterable[RankedItem]) -> None:
    for item in documents:
        if not math.isfinite(item.score):
            raise ValueError(f"document {item.docid!r} has score {item.score}")


def _per_query(
    dataset: Dataset, answers: Mapping[str, _Answer], measures: Sequence[Measure]
) -> Mapping[str, Mapping[str, float]]:
    """The measures of every judged query, the private ones too; nothing where the dataset only expects outcomes."""
    if not dataset.qrels:
        return {}
    rankings = {q: [d.docid for d in answers[q].documents] for q in dataset.judged}
    grades = dataset.grades
    return score(rankings, {q: grades[q] for q in dataset.judged}, measures).per_query


def _figures(
    dataset: Dataset, answers: Mapping[str, _Answer], per_query: Mapping[str, Mapping[str, float]]
) -> Figures:
    outcomes = _outcomes(dataset, answers)
    metrics = means_of([per_query[query_id] for query_id in dataset.judged])
    return Figures(len(dataset.judged), metrics, len(outcomes), _agreement(outcomes))


def _comparisons(
    dataset: Dataset,
    per_query: Mapping[str, Mapping[str, float]],
    baseline: Values,
    measures: Iterable[Measure],
) -> tuple[Comparison, ...]:
    now = {query_id: per_query[query_id] for query_id in dataset.judged}
    return corrected(compare(now, baseline, measure.name) for measure in measures)


def _outcomes(dataset: Dataset, answers: Mapping[str, _Answer]) -> tuple[OutcomeResult, ...]:
    """What came of the queries that expect something. One that failed agrees with nothing."""
    results = []
    for query_id, request in dataset.asked.items():
        if request.outcome is not None:
            query = answers[query_id].query
            observed = query.outcome if query else "failed"
            agrees = observed in AGREES[request.outcome]
            results.append(OutcomeResult(query_id, request.text, request.outcome, observed, agrees))
    return tuple(results)


def _agreement(outcomes: Collection[OutcomeResult]) -> float | None:
    return sum(result.agrees for result in outcomes) / len(outcomes) if outcomes else None


def _warnings(bound: Binding | None) -> Iterable[str]:
    if bound and bound.unbound:
        lost = Counter(UNBOUND[u.why] for u in bound.unbound)
        said = ", ".join(f"{n} {why}" for why, n in lost.most_common())
        yield (
            f"{len(bound.unbound)} of {bound.judgements} judgements cannot be earned and count all the same: {said}; "
            "veraz eval check names them"
        )


def _not_reranked(answers: Collection[_Answer]) -> Iterable[str]:
    """A run of a reranker that did not answer would be taken for what it is worth."""
    reasons = Counter(a.query.unranked for a in answers if a.query and a.query.unranked is not None)
    if reasons:
        said, _ = reasons.most_common(1)[0]
        yield f"{reasons.total()} of {len(answers)} queries kept the fused order; mostly: {said}"


UNBOUND = {
    "document": "of documents that are not there, not readable or not current",
    "text": "of text that is not in its document any more",
    "chunk": "that no chunk covers",
}


def _tally(
    dataset: Dataset,
    answers: Mapping[str, _Answer],
    outcomes: Collection[OutcomeResult],
    fraction: float | None,
) -> _Tally:
    """Over every query but the private ones. To find nothing is no fault of a query that expects a refusal."""
    asked = {q: answers[q] for q in dataset.asked}
    arms = Counter(arm for answer in asked.values() if answer.query for arm in answer.query.empty_arms)
    return _Tally(
        latency_ms=latencies([a.latency_ms for a in asked.values() if a.latency_ms is not None]),
        stages_ms=stage_latencies(answer.query.timings_ms for answer in asked.values() if answer.query),
        shortfall=sum(bool(answer.query and answer.query.shortfall) for answer in asked.values()),
        empty=sum(q in dataset.qrels and not (a.documents or a.error) for q, a in asked.items()),
        failed=sum(answer.error is not None for answer in asked.values()),
        empty_arms=dict(sorted(arms.items())),
        authorised_fraction=fraction,
        outcome_agreement=_agreement(outcomes),
    )


def _result(
    request: QueryRequest, grades: Mapping[str, int], measures: Mapping[str, float], answer: _Answer
) -> QueryResult:
    query, error = answer.query, answer.error
    return QueryResult(
        query_id=request.query_id,
        text=request.text,
        outcome=query.outcome if query else "failed",
        measures=measures,
        ranked=tuple(
            JudgedDocument(rank, d.docid, d.score, grades.get(d.docid), d.chunk_id, d.place)
            for rank, d in enumerate(answer.documents, start=1)
        ),
        timings_ms=query.timings_ms if query else {},
        latency_ms=answer.latency_ms,
        empty_arms=query.empty_arms if query else (),
        error=f"{type(error).__name__}: {error}" if error else None,
        trace_id=query.trace_id if query else None,
        facets=request.facets,
        missed=_missed(grades, answer.documents),
        shortfall=query.shortfall if query else None,
    )


def _missed(grades: Mapping[str, int], documents: Iterable[RankedItem]) -> dict[str, int]:
    """The relevant documents, or judged spans, that the ranking lacks."""
    found = {item.docid for item in documents}
    return {docid: grade for docid, grade in grades.items() if grade > 0 and docid not in found}
