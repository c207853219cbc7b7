"""Judgements from stored traces: this question, these chunks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from veraz.errors import UsageError
from veraz.evaluation.suites.importing import GradedTrace, SpanRow, SuiteDraft
from veraz.nouns.suite import QueryRequest
from veraz.nouns.trace import Trace

CITED = 2
"""The grade of a chunk that an answer cites: it answered."""


def of_traces(found: Iterable[tuple[GradedTrace, Trace]]) -> SuiteDraft:
    """One query a trace, its id that of the trace, and one graded span a hit. Raises UsageError for a rank that the trace
    does not have, and for a search whose hits nobody graded."""
    queries: dict[str, QueryRequest] = {}
    spans: list[SpanRow] = []
    for graded, trace in found:
        day = trace.record.get("as_of")
        query_id = f"trace-{trace.trace_id}"
        as_of = date.fromisoformat(day) if isinstance(day, str) else None
        queries[query_id] = QueryRequest(query_id, trace.question, as_of=as_of)
        spans += _spans(graded, trace, query_id)
    return SuiteDraft(queries, spans=tuple(spans))


def _spans(graded: GradedTrace, trace: Trace, query_id: str) -> list[SpanRow]:
    hits: Mapping[int, Mapping[str, Any]] = {hit["rank"]: hit for hit in trace.record.get("hits", ())}
    grades = graded.grades or {rank: CITED for rank, hit in hits.items() if _is_cited(hit, trace)}
    if not grades:
        raise UsageError(
            f"{graded.where}: trace {trace.trace_id} cites nothing, so nothing says which of its hits answer",
            fix="say it: --hits 1,3, or grades in the file",
        )
    if absent := [rank for rank in grades if rank not in hits]:
        raise UsageError(
            f"{graded.where}: trace {trace.trace_id} has no hit {absent[0]}",
            fix=f"it has {len(hits)}: see veraz why",
        )
    return [
        SpanRow(
            query_id, hits[rank]["source"], hits[rank]["external_id"], hits[rank]["revision"], hits[rank]["start"],
            hits[rank]["end"], grade, graded.where,
        )
        for rank, grade in sorted(grades.items())
    ]  # fmt: skip


def _is_cited(hit: Mapping[str, Any], trace: Trace) -> bool:
    same = ("source", "external_id", "revision")
    return any(
        all(hit[name] == cited[name] for name in same) and hit["start"] <= cited["start"] < hit["end"]
        for cited in trace.record.get("citations", ())
    )
