"""Every statement file is parsed and planned by the role that runs it, on a database as `veraz init` makes it."""

from __future__ import annotations

import dataclasses
import re
from datetime import date
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg._queries import PostgresQuery
from psycopg.adapt import Transformer
from tests.support import databases
from tests.support.statement_files import filled, statement_files, statement_of

from veraz.assembly.store import AroundRow
from veraz.diagnosis.facts import KnownChunk, KnownDocument, KnownFailure, KnownRevision, QuestionWord
from veraz.diagnosis.store import NearId
from veraz.engine import AsyncVeraz
from veraz.evaluation.runs.store import CorpusState, IndexDefinition, QueryRow, RecentRow, RunRow
from veraz.evaluation.suites.store import HeldRevision, PassageRow, StoredChunk, StoredRevision
from veraz.filters.compose import composed
from veraz.filters.fields import FIELDS, OPERATORS
from veraz.filters.typed import Resolved
from veraz.ingest.store import DocumentState, KnownRow, Links, LiveRow, PendingPostings, StoredSource, Written
from veraz.nouns.filter import Comparison, Condition, FieldType, Joint, Not, Value
from veraz.nouns.identity import Tenant
from veraz.nouns.lifecycle import Expired, Retention
from veraz.nouns.shown import HiddenSuccessor, ShownRevision
from veraz.nouns.status import Counts, DeadRows
from veraz.ops.measure.store import ChunkRow, LiveIndexRow, QuestionRow, ScopeRow, SeriesRow
from veraz.ops.show import FoundDocument
from veraz.ops.store import RepeatedRow, SpaceIndexRow
from veraz.search.store import HydratedRow

STAGES = (
    "answer",
    "assembly",
    "db",
    "diagnosis",
    "evaluation",
    "identity",
    "ingest",
    "ops",
    "schema",
    "search",
    "traces",
)
MAINTENANCE = {
    "evaluation/runs/evaluated_tenants",
    "identity/add_key",
    "identity/add_tenant",
    "identity/delete_tenant",
    "identity/erase_rows",
    "identity/keys",
    "identity/revoke_key",
    "identity/set_disabled",
    "identity/tenants",
    "ops/count_expired",
    "ops/counts",
    "ops/dead_rows",
    "ops/erase_document",
    "ops/erase_drafts",
    "ops/erase_runs",
    "ops/erase_traces",
    "ops/expired_documents",
    "ops/invalid_indexes",
    "ops/lexical_state",
    "ops/lift_tombstone",
    "ops/measure/build_settings",
    "ops/measure/scratch_centre",
    "ops/measure/scratch_size",
    "ops/measure/watch_client",
    "ops/purge_document",
    "ops/purge_history",
    "ops/purge_samples",
    "ops/purge_runs",
    "ops/purge_traces",
    "ops/set_retention",
    "ops/space_indexes",
    "ops/space_vectors",
    "ops/spaces",
}
ADMINISTRATOR = {"db/act_as", "db/backend", "db/capabilities", "db/rights"}
SCRIPTS = {
    "ops/measure/scratch_binary",
    "ops/measure/scratch_drop",
    "ops/measure/scratch_fill",
    "ops/measure/scratch_hamming",
    "ops/measure/scratch_hnsw",
    "ops/measure/scratch_ivfflat",
    "ops/measure/scratch_nearest",
    "ops/measure/scratch_schema",
    "ops/measure/scratch_statistics",
    "ops/measure/scratch_table",
    "schema/build_binary",
    "schema/build_hnsw",
    "schema/build_ivfflat",
    "schema/build_pg_search",
    "schema/build_pg_textsearch",
    "schema/create_embedding_table",
    "schema/drop_index",
    "schema/rename_index",
    "search/engines/pg_search",
    "search/engines/pg_textsearch",
}
"""Data definition, what is run over tables that a transaction makes for itself, and what needs an extension that is not here: not
preparable. Every database of these tests runs create_embedding_table; tests/ops and tests/search/test_lexical_extensions.py the
others."""


READ_STAGES = ("answer", "assembly", "search", "traces")
READING = {
    "diagnosis/near_ids",
    "diagnosis/question_words",
    "evaluation/held_revisions",
    "evaluation/passages",
    "evaluation/runs/corpus_state",
    "evaluation/runs/find_run",
    "evaluation/runs/index_definitions",
    "evaluation/runs/recent_runs",
    "evaluation/runs/run_queries",
    "evaluation/runs/server_settings",
    "evaluation/stored_chunks",
    "evaluation/stored_revisions",
    "ops/document_revisions",
    "ops/find_document",
    "ops/measure/live_index",
    "ops/measure/recall_series",
    "ops/measure/sample_chunks",
    "ops/measure/sample_questions",
    "ops/measure/scan_settings",
    "ops/measure/scope",
    "ops/readable_documents",
    "ops/repeated_texts",
    "ops/retention_policy",
    "ops/revision_chunks",
    "ops/revision_sections",
}
"""Of the other stages: what runs in mode "read"."""
ROWS: dict[str, type[Any]] = {
    "assembly/around": AroundRow,
    "diagnosis/expected_chunks": KnownChunk,
    "diagnosis/expected_documents": KnownDocument,
    "diagnosis/expected_revisions": KnownRevision,
    "diagnosis/known_failures": KnownFailure,
    "diagnosis/near_ids": NearId,
    "diagnosis/question_words": QuestionWord,
    "evaluation/held_revisions": HeldRevision,
    "evaluation/passages": PassageRow,
    "evaluation/runs/corpus_state": CorpusState,
    "evaluation/runs/find_run": RunRow,
    "evaluation/runs/index_definitions": IndexDefinition,
    "evaluation/runs/recent_runs": RecentRow,
    "evaluation/runs/run_queries": QueryRow,
    "evaluation/stored_chunks": StoredChunk,
    "evaluation/stored_revisions": StoredRevision,
    "identity/tenants": Tenant,
    "ingest/count_written": Written,
    "ingest/document_states": DocumentState,
    "ingest/ensure_source": StoredSource,
    "ingest/known_documents": KnownRow,
    "ingest/link_supersession": Links,
    "ingest/link_written": Links,
    "ingest/live_documents": LiveRow,
    "ingest/pending_postings": PendingPostings,
    "ingest/stored_source": StoredSource,
    "ops/count_expired": Expired,
    "ops/counts": Counts,
    "ops/dead_rows": DeadRows,
    "ops/document_revisions": ShownRevision,
    "ops/find_document": FoundDocument,
    "ops/hidden_successor": HiddenSuccessor,
    "ops/measure/live_index": LiveIndexRow,
    "ops/measure/recall_series": SeriesRow,
    "ops/measure/sample_chunks": ChunkRow,
    "ops/measure/sample_questions": QuestionRow,
    "ops/measure/scope": ScopeRow,
    "ops/repeated_texts": RepeatedRow,
    "ops/space_indexes": SpaceIndexRow,
    "ops/retention_policy": Retention,
    "search/hydrate": HydratedRow,
}
"""The class that each row becomes, by position or by name: its fields are the columns, in their order."""


FILES = statement_files()


SLOTTED = [
    name
    for name in FILES
    if name not in SCRIPTS
    and re.search(r"\{(conditions|documents|revisions|chunks)\}", statement_of(name).as_string(None))
]
"""The statements that take a filter expression."""


def test_every_folder_of_statements_is_in_the_catalogue() -> None:
    assert {name.split("/")[0] for name in FILES} == set(STAGES)
    assert set(FILES) >= MAINTENANCE | ADMINISTRATOR | SCRIPTS | READING | set(ROWS)


@pytest.mark.parametrize("name", FILES)
def test_a_statement_begins_with_its_purpose(name: str) -> None:
    text = statement_of(name).as_string(None)
    assert text.startswith("-- Purpose: "), text[:80]
    assert "\n" in text


@pytest.mark.parametrize("name", [n for n in FILES if n not in SCRIPTS])
async def test_a_statement_is_prepared_and_planned_by_its_role(unchanged_database: str, name: str) -> None:
    async with await databases.open_engine(unchanged_database) as engine:
        await _planned(engine, name, prepared_text(name))


@pytest.mark.parametrize("name", SLOTTED)
async def test_a_statement_is_planned_with_every_piece_of_a_filter_expression(
    unchanged_database: str, name: str
) -> None:
    """Every field with every operator of its type, alone and all together: each piece could be wrong."""
    alias = "l" if name == "search/lexical" else "e"
    tried = [
        *every_condition(),
        Joint("and", tuple(every_condition())),
        Joint("or", tuple(every_condition())),
    ]
    async with await databases.open_engine(unchanged_database) as engine:
        for condition in tried:
            found = composed(Resolved(where="stated", condition=condition), alias)
            await _planned(engine, name, prepared_text(name, **found.slots()))


VALUES: dict[FieldType, Value] = {
    "text": "a",
    "list": "a",
    "number": Decimal("2.5"),
    "date": date(2024, 1, 31),
    "boolean": True,
}


def every_condition() -> list[Condition]:
    fields: list[tuple[str, tuple[str, ...], FieldType]] = [(name, (), f.type) for name, f in FIELDS.items()]
    fields += [("meta", ("a key", "b"), kind) for kind in OPERATORS]
    tests = [
        Comparison(name, path, kind, operator, (VALUES[kind],) * COUNT.get(operator, 1), n, n)
        for n, (name, path, kind, operator) in enumerate(
            (name, path, kind, operator) for name, path, kind in fields for operator in OPERATORS[kind]
        )
    ]
    return [part for test in tests for part in (test, Not(test))]


COUNT = {"is null": 0, "between": 2}


async def _planned(engine: AsyncVeraz, name: str, text: str) -> None:
    database = engine._database
    if name in ADMINISTRATOR or name.startswith("schema/"):
        async with database.administration() as connection:
            await plan(connection, text)
    elif name in MAINTENANCE:
        async with database.maintenance() as connection:
            await plan(connection, text)
    else:
        reads = name in READING or name.split("/")[0] in READ_STAGES
        async with database.transaction(await engine.identity(), "read" if reads else "write") as connection:
            await plan(connection, text)


@pytest.mark.parametrize("name", ROWS)
def test_the_columns_of_a_statement_are_the_fields_of_its_row_class(
    unchanged_database: str, name: str
) -> None:
    with psycopg.connect(unchanged_database) as connection:
        path = "select set_config('search_path', 'veraz, public, pg_temp', true)"
        connection.execute(path)
        connection.pgconn.prepare(b"described", prepared_text(name).encode())
        described = connection.pgconn.describe_prepared(b"described")
    columns = [(described.fname(n) or b"").decode() for n in range(described.nfields)]
    assert columns == [field.name for field in dataclasses.fields(ROWS[name])]


def prepared_text(name: str, **slots: sql.Composable) -> str:
    """The statement with $1, $2 … in place of its named parameters, over the first embedding space."""
    query = PostgresQuery(Transformer())
    text = filled(statement_of(name), **slots).as_string(None)
    names = dict.fromkeys(part.split(")")[0] for part in text.split("%(")[1:])
    query.convert(text, dict.fromkeys(names) if names else [None] * text.count("%s") or None)
    return query.query.decode()


async def plan(connection: psycopg.AsyncConnection[Any], text: str) -> None:
    await connection.execute(sql.SQL("prepare catalogued as {}").format(sql.SQL(text)), prepare=False)
    await connection.execute("deallocate catalogued")
    if connection.info.server_version >= 160000:
        # Planning checks what preparing does not: the rights of the role on every table and column.
        explained = sql.SQL("explain (generic_plan) {}").format(sql.SQL(text))
        assert await (await connection.execute(explained, prepare=False)).fetchall()
