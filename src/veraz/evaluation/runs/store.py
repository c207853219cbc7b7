"""Keeping and reading evaluation runs: ids, grades, figures and settings, the suite's questions, and no text of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from veraz.db.identifiers import ids_from
from veraz.db.json import storable
from veraz.db.rows import rows_of
from veraz.db.session import Connection
from veraz.db.statements import statement
from veraz.errors import UsageError
from veraz.evaluation.report import report_json
from veraz.nouns.evaluation import EvalReport, JudgedDocument, QueryResult, RunSummary, StoredRun

STAGE = "evaluation/runs"
BATCH = 200
"""Queries a statement: with a hundred documents each about 2 MB."""


async def insert(connection: Connection, report: EvalReport) -> None:
    """Keeps the report and each of its results. Questions and ids of documents go into the rows of queries alone, where an
    erasure finds them: the header names outcomes by query, and counts judgements that are not bound."""
    apart = {"config", "metrics", "per_query", "trec_run"}  # in columns of their own; places on this machine
    rest = {name: value for name, value in report_json(_without_names(report)).items() if name not in apart}
    header = {
        "run_id": report.run_id,
        "dataset": report.dataset,
        "started_at": report.started_at,
        "fingerprint": report.fingerprint,
        "queries": report.queries,
        "config": storable(report.config),
        "metrics": storable(report.metrics),
        "report": storable(rest),
    }
    await connection.execute(statement(STAGE, "insert_run"), header)
    for rows in _batches(report.results):
        await connection.execute(
            statement(STAGE, "insert_queries"), {"run_id": report.run_id, "rows": storable(rows)}
        )


async def find(connection: Connection, prefix: str, tenant: str) -> StoredRun | None:
    """The run whose id is, or begins with, `prefix`; None where there is none that the caller may read. Raises UsageError where
    there are several."""
    between = ids_from(prefix)
    if between is None:
        return None
    rows = await rows_of(connection, RunRow, statement(STAGE, "find_run"), between)
    if len(rows) > 1:
        raise UsageError(f"several runs begin with {prefix!r}", fix="give more characters of the id")
    if not rows:
        return None
    found = rows[0]
    queries = await rows_of(connection, QueryRow, statement(STAGE, "run_queries"), {"run_id": found.run_id})
    return StoredRun(_header(found), tuple(map(_result, queries)), "database", tenant)


async def recent(
    connection: Connection, tenant: str, dataset: str | None, top: int
) -> tuple[RunSummary, ...]:
    """The newest `top` runs that the caller may read."""
    rows = await rows_of(
        connection, RecentRow, statement(STAGE, "recent_runs"), {"dataset": dataset, "top": top}
    )
    return tuple(
        RunSummary(r.run_id, r.dataset, r.started_at, r.mode, r.queries, r.metrics, tenant, r.fingerprint)
        for r in rows
    )


async def evaluated_tenants(connection: Connection) -> dict[UUID, str]:
    """As the maintenance role: tenants that hold a collection loaded by an evaluation, and its runs. Id → slug."""
    rows = await (await connection.execute(statement(STAGE, "evaluated_tenants"))).fetchall()
    return {row[0]: row[1] for row in rows}


async def corpus_state(connection: Connection, source: str | None) -> CorpusState:
    """What a search by the caller would look through now."""
    (state,) = await rows_of(connection, CorpusState, statement(STAGE, "corpus_state"), {"source": source})
    return state


async def index_definitions(connection: Connection, space_id: int) -> tuple[IndexDefinition, ...]:
    """The indexes that both arms walk."""
    return tuple(
        await rows_of(
            connection, IndexDefinition, statement(STAGE, "index_definitions"), {"space_id": space_id}
        )
    )


async def server_settings(connection: Connection) -> dict[str, str]:
    """The server's settings that decide how fast a search is."""
    rows = await (await connection.execute(statement(STAGE, "server_settings"))).fetchall()
    return {row[0]: row[1] for row in rows}


@dataclass(frozen=True, slots=True)
class CorpusState:
    """The columns of corpus_state.sql. `fingerprint` changes with the bytes, the id or the source of any document."""

    documents: int
    chunks: int
    newest: datetime | None
    parsers: tuple[str, ...]
    chunkers: tuple[str, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """The columns of index_definitions.sql."""

    name: str
    definition: str
    is_valid: bool


@dataclass(frozen=True, slots=True)
class RunRow:
    """The columns of find_run.sql."""

    run_id: UUID
    dataset: str
    created_at: datetime
    fingerprint: str
    queries: int
    config: Mapping[str, Any]
    metrics: Mapping[str, float]
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecentRow:
    """The columns of recent_runs.sql."""

    run_id: str
    dataset: str
    started_at: datetime
    mode: str
    queries: int
    metrics: Mapping[str, float]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class QueryRow:
    """The columns of run_queries.sql."""

    query_id: str
    question: str
    outcome: str
    measures: Mapping[str, float]
    documents: Sequence[str]
    scores: Sequence[float]
    grades: Sequence[int | None]
    missed: Mapping[str, int]
    facets: Sequence[str]
    timings_ms: Mapping[str, float]
    latency_ms: float | None
    empty_arms: Sequence[str]
    shortfall: Mapping[str, Any] | None
    error: str | None


def _without_names(report: EvalReport) -> EvalReport:
    bound = replace(report.bound, unbound=()) if report.bound else None
    return replace(report, outcomes=tuple(replace(o, text="") for o in report.outcomes), bound=bound)


def _batches(results: Sequence[QueryResult]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(results), BATCH):
        yield [
            {
                "query_id": r.query_id,
                "ord": start + place,
                "question": r.text,
                "outcome": r.outcome,
                "measures": r.measures,
                "documents": [d.docid for d in r.ranked],
                "scores": [d.score for d in r.ranked],
                "grades": [d.grade for d in r.ranked],
                "missed": r.missed,
                "facets": r.facets,
                "timings_ms": r.timings_ms,
                "latency_ms": r.latency_ms,
                "empty_arms": r.empty_arms,
                "shortfall": r.shortfall,
                "error": r.error,
            }
            for place, r in enumerate(results[start : start + BATCH])
        ]


def _header(row: RunRow) -> EvalReport:
    """Runs of schema version 5 kept configuration and measures alone."""
    known = {
        "latency_ms": {},
        "empty": 0,
        "failed": 0,
        "empty_arms": {},
        "authorised_fraction": None,
        "gates": (),
        "without_relevant": (),
        "unjudged": (),
        "warnings": (),
        **row.report,
        "run_id": str(row.run_id),
        "dataset": row.dataset,
        "fingerprint": row.fingerprint,
        "started_at": row.created_at,
        "queries": row.queries,
        "config": row.config,
        "metrics": row.metrics,
    }
    return replace(msgspec.convert(known, EvalReport), results=())


def _result(row: QueryRow) -> QueryResult:
    places = zip(row.documents, row.scores, row.grades, strict=True)
    return QueryResult(
        query_id=row.query_id,
        text=row.question,
        outcome=row.outcome,
        measures=row.measures,
        ranked=tuple(JudgedDocument(rank, *place) for rank, place in enumerate(places, start=1)),
        timings_ms=row.timings_ms,
        latency_ms=row.latency_ms,
        empty_arms=tuple(row.empty_arms),
        error=row.error,
        facets=tuple(row.facets),
        missed=row.missed,
        shortfall=row.shortfall,
    )
