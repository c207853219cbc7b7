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
from veraz.evaluation.measures import DEFAULT_KS, Measure, Scores, check_available, measures_for, score
from veraz.evaluation.runs.figures import FIGURES, figures, latencies, means, stage_latencies
from veraz.evaluation.statistics import Values, compare, corrected
from veraz.nouns.evaluation import (
    EvalReport,
    JudgedDocument,
    QueryResult,
    RankedItem,
    RankedQuery,
)
from veraz.nouns.evidence import Mode

SearchFn = Callable[[str], Awaitable[RankedQuery]]
"""Question text → ranking. It should return at least max(ks) documents where there are as many."""

Progress = Callable[[int, int], None]
"""Called with (queries done, queries in all) after each query."""


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
    readable: Set[str] | None = None,
    baseline: Values | None = None,
    baseline_figures: Mapping[str, float | None] | None = None,
) -> EvalReport:
    """Evaluates `search` on the judged queries, to a depth of max(ks) documents each.

    A query that fails is recorded, counted and scores 0; when all of them fail the first error is raised,
    since then nothing was measured. `config` is stored as it is beside `ks`, `depth`, `mode` and
    `concurrency`; `readable` holds the relevant documents (of `dataset.relevant()`) that the acting identity
    may read; `baseline` an earlier run's per-query measures, `baseline_figures` its figures for gates (None: the means
    of the former). Gates are evaluated, not enforced: see `gates.require`. Before the first search it raises
    UsageError for a bad gate, for one without the baseline that it needs, or for a baseline over other queries, and
    ConfigError without ir_measures.
    """
    if concurrency < 1 or not ks or min(ks) < 1:
        raise UsageError(
            "an evaluation needs a cut-off and at least one worker", fix="--k 5,10,20,100, concurrency 1"
        )
    check_available()
    measures = measures_for(ks)
    conditions = parse_gates(gates, measures)
    if baseline is None:
        require_baseline(conditions)
    _check_baseline(dataset, measures, baseline)
    started = datetime.now(UTC)
    answers = await _search_all(dataset.judged, search, max(ks), concurrency, progress)
    scores = score({q: [d.docid for d in a.documents] for q, a in answers.items()}, dataset.qrels, measures)
    tally = _tally(answers.values(), authorised_fraction(dataset.qrels, readable))
    compared = corrected(compare(scores.per_query, baseline, m.name) for m in measures) if baseline else ()
    report = EvalReport(
        run_id=str(uuid4()),
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        started_at=started,
        queries=len(answers),
        config={
            **(config or {}),
            "ks": sorted(set(ks)),
            "depth": max(ks),
            "mode": mode,
            "concurrency": concurrency,
        },
        metrics=scores.means,
        latency_ms=tally.latency_ms,
        empty=tally.empty,
        failed=tally.failed,
        empty_arms=tally.empty_arms,
        authorised_fraction=tally.authorised_fraction,
        gates=(),
        without_relevant=dataset.without_relevant,
        unjudged=dataset.unjudged,
        warnings=dataset.warnings,
        results=tuple(_result(dataset, scores, query_id, answer) for query_id, answer in answers.items()),
        comparisons=compared,
        shortfall=tally.shortfall,
        stages_ms=tally.stages_ms,
    )
    earlier = baseline_figures if baseline_figures is not None else means(baseline or {})
    return replace(report, gates=check(conditions, figures(report), earlier, compared))


def parse_gates(gates: Iterable[str], measures: Iterable[Measure]) -> tuple[Gate, ...]:
    """Gates over the run's measures and FIGURES. Raises UsageError for one that cannot be."""
    names = tuple(measure.name for measure in measures)
    return tuple(parse_gate(gate, (*names, *FIGURES), names) for gate in gates)


def authorised_fraction(qrels: Mapping[str, Mapping[str, int]], readable: Set[str] | None) -> float | None:
    """Share of the relevant judgements whose document may be read; None if unknown or nothing is relevant."""
    if readable is None:
        return None
    relevant = [docid for grades in qrels.values() for docid, grade in grades.items() if grade > 0]
    return sum(docid in readable for docid in relevant) / len(relevant) if relevant else None


def _check_baseline(dataset: Dataset, measures: Iterable[Measure], baseline: Values | None) -> None:
    """Compares the baseline with an empty run: it fails now as it would after an hour of searching."""
    if baseline is None:
        return
    nothing = {query_id: {m.name: 0.0 for m in measures} for query_id in dataset.judged}
    for measure in measures:
        compare(nothing, baseline, measure.name, samples=1)


async def _search_all(
    queries: Mapping[str, str], search: SearchFn, depth: int, concurrency: int, progress: Progress | None
) -> dict[str, _Answer]:
    answers: dict[str, _Answer] = {}
    pending = iter(queries.items())

    async def work() -> None:
        for query_id, text in pending:
            answers[query_id] = await _search_one(search, text, depth)
            if progress:
                progress(len(answers), len(queries))

    async with asyncio.TaskGroup() as workers:
        for _ in range(min(concurrency, len(queries))):
            workers.create_task(work())
    errors = [answer.error for query_id in queries if (answer := answers[query_id]).error]
    if len(errors) == len(queries) and errors[0]:
        raise errors[0]
    return {query_id: answers[query_id] for query_id in queries}


async def _search_one(search: SearchFn, text: str, depth: int) -> _Answer:
    begin = time.perf_counter()
    try:
        query = await search(text)
        elapsed = (time.perf_counter() - begin) * 1000
        documents = rank_documents(query.ranked, depth)
        _check_finite(documents)
    except Exception as error:  # one bad query must not lose the others
        return _Answer(None, error=error)
    return _Answer(query, documents, elapsed)


def _check_finite(documents: Iterable[RankedItem]) -> None:
    for item in documents:
        if not math.isfinite(item.score):
            raise ValueError(f"document {item.docid!r} has score {item.score}")


def _tally(answers: Collection[_Answer], fraction: float | None) -> _Tally:
    arms = Counter(arm for answer in answers if answer.query for arm in answer.query.empty_arms)
    return _Tally(
        latency_ms=latencies([a.latency_ms for a in answers if a.latency_ms is not None]),
        stages_ms=stage_latencies(answer.query.timings_ms for answer in answers if answer.query),
        shortfall=sum(bool(answer.query and answer.query.shortfall) for answer in answers),
        empty=sum(not (answer.documents or answer.error) for answer in answers),
        failed=sum(answer.error is not None for answer in answers),
        empty_arms=dict(sorted(arms.items())),
        authorised_fraction=fraction,
    )


def _result(dataset: Dataset, scores: Scores, query_id: str, answer: _Answer) -> QueryResult:
    grades = dataset.qrels[query_id]
    query, error = answer.query, answer.error
    return QueryResult(
        query_id=query_id,
        text=dataset.queries[query_id],
        outcome=query.outcome if query else "failed",
        measures=scores.per_query[query_id],
        ranked=tuple(
            JudgedDocument(rank, d.docid, d.score, grades.get(d.docid), d.chunk_id)
            for rank, d in enumerate(answer.documents, start=1)
        ),
        timings_ms=query.timings_ms if query else {},
        latency_ms=answer.latency_ms,
        empty_arms=query.empty_arms if query else (),
        error=f"{type(error).__name__}: {error}" if error else None,
        trace_id=query.trace_id if query else None,
        missed=_missed(grades, answer.documents),
        shortfall=query.shortfall if query else None,
    )


def _missed(grades: Mapping[str, int], documents: Iterable[RankedItem]) -> dict[str, int]:
    """The relevant documents that the ranking lacks."""
    found = {item.docid for item in documents}
    return {docid: grade for docid, grade in grades.items() if grade > 0 and docid not in found}
