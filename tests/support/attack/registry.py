"""What every table, view, sequence, function and statement file may show. What is not listed here fails the suite: decide what a
new one may show, and write it down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, LiteralString


class Shows(Enum):
    """Whose rows of a table a reader may see."""

    DOCUMENT = "those of documents that the reader may read"
    TRACE = "those made with roles that the reader holds: of traces and evaluation runs"
    WRITERS = "those of the tenant to who writes in it, and none to readers"
    TENANT = "those of the tenant: no text of documents, or read by the arms that join document"
    NOTHING = "none: the runtime login has no right to it"
    EVERYTHING = "all: it holds nothing of any tenant"


TABLES: dict[str, Shows] = {
    "api_key": Shows.NOTHING,
    "chunk": Shows.DOCUMENT,
    "chunk_lexical": Shows.TENANT,
    "context_draft": Shows.WRITERS,
    "document": Shows.DOCUMENT,
    "embedding_1": Shows.TENANT,
    "embedding_space": Shows.EVERYTHING,
    "eval_query": Shows.TRACE,
    "eval_run": Shows.TRACE,
    "ingest_failure": Shows.WRITERS,
    "job": Shows.TENANT,
    "judgement": Shows.TENANT,
    "lexeme_stat": Shows.TENANT,
    "lexical_epoch": Shows.TENANT,
    "lexical_stat": Shows.TENANT,
    "migration": Shows.EVERYTHING,
    "posting": Shows.TENANT,
    "recall_sample": Shows.TENANT,
    "revision": Shows.DOCUMENT,
    "route_rule": Shows.TENANT,
    "section": Shows.DOCUMENT,
    "source": Shows.TENANT,
    "synonym": Shows.TENANT,
    "tenant": Shows.TENANT,
    "trace": Shows.TRACE,
}
"""An embedding space made later has a table of its own, of the kind of embedding_1."""

VIEWS: frozenset[str] = frozenset()
"""Of every view a reader may see what it may see of the tables below it."""

SEQUENCES: dict[str, str] = {
    "chunk_lexical_chunk_no_seq": "drawn by the identity column alone",
    "embedding_space_space_id_seq": "drawn by the identity column alone",
    "posting_delta": "drawn by writers: one counter for all tenants, whose value tells how much is written",
}

KEYS_WITHOUT_TENANT: frozenset[str] = frozenset({"api_key_key_hash_key", "api_key_prefix", "tenant_slug_key"})
"""Unique over all tenants, in tables to which the runtime login may not add: random values, and the names that operators give."""


class Kind(Enum):
    """What a statement or a function gives to whom."""

    CONTENT = "rows of documents, traces and runs that the caller may read"
    STATISTICS = "figures of the tenant, and nothing of another"
    WRITE = "changes rows of the tenant alone"
    PURE = "the same for everybody: it reads no table"
    IDENTITY = "what the transaction was told about who acts"
    GLOBAL = "what belongs to no tenant"
    ADMINISTRATION = "run by an administrator or by maintenance: refused to the runtime login, or nothing"
    CREDENTIALS = "authenticate(): has a check of its own"
    SETTING = "sets this transaction's settings"
    SCRATCH = "over a copy of vectors that one transaction makes for itself and rolls back: tests/ops has its own checks"
    ABSENT = "asks an extension that no server of the tests has: tests/search/test_lexical_extensions.py runs it over stand-ins"


@dataclass(frozen=True, slots=True)
class Entry:
    """`changes` gives other values to parameters whose name means something else here; `call` is how a function is called."""

    kind: Kind
    call: LiteralString = ""
    changes: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda given: {}  # noqa: ARG005
    follows: str | None = None  # a statement whose settings this one runs under


def _citations(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Every revision of every document, in the columns of a trace's citations."""
    documents = [d for d in given["every_document"] for _ in d["revisions"]]
    numbers = [n + 1 for d in given["every_document"] for n in range(len(d["revisions"]))]
    return {
        "sources": [d["slug"] for d in documents],
        "external_ids": [d["external_id"] for d in documents],
        "revisions": numbers,
        "starts": [0] * len(documents),
        "ends": [40] * len(documents),
        "traced_at": given["now"],
    }


def _stored_run(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The run of the attacked tenant that needs the most roles."""
    return {"run_id": given["stored_run"]}


CONTENT, STATISTICS, WRITE = Entry(Kind.CONTENT), Entry(Kind.STATISTICS), Entry(Kind.WRITE)
ADMINISTRATION, GLOBAL, SETTING = Entry(Kind.ADMINISTRATION), Entry(Kind.GLOBAL), Entry(Kind.SETTING)
SCRATCH = Entry(Kind.SCRATCH)
ABSENT = Entry(Kind.ABSENT)

STATEMENTS: dict[str, Entry] = {
    "answer/replaced_documents": CONTENT,
    "answer/revision_texts": CONTENT,
    "answer/word_weights": STATISTICS,
    "assembly/around": CONTENT,
    "assembly/texts": CONTENT,
    "db/act_as": SETTING,
    "db/backend": GLOBAL,
    "db/capabilities": GLOBAL,
    "db/rights": GLOBAL,
    "diagnosis/expected_chunks": WRITE,
    "diagnosis/expected_documents": WRITE,
    "diagnosis/expected_revisions": WRITE,
    "diagnosis/filter_parts": WRITE,
    "diagnosis/known_failures": WRITE,
    "diagnosis/near_ids": CONTENT,
    "diagnosis/question_words": CONTENT,
    "evaluation/held_revisions": Entry(Kind.CONTENT, changes=_citations),
    "evaluation/passages": Entry(Kind.CONTENT, changes=_citations),
    "evaluation/runs/corpus_state": CONTENT,
    "evaluation/runs/evaluated_tenants": ADMINISTRATION,
    "evaluation/runs/find_run": CONTENT,
    "evaluation/runs/index_definitions": GLOBAL,
    "evaluation/runs/insert_queries": Entry(Kind.WRITE, changes=_stored_run),
    "evaluation/runs/insert_run": WRITE,
    "evaluation/runs/recent_runs": Entry(Kind.CONTENT, changes=lambda _: {"dataset": None}),
    "evaluation/runs/run_queries": Entry(Kind.CONTENT, changes=_stored_run),
    "evaluation/runs/server_settings": GLOBAL,
    "evaluation/stored_chunks": Entry(Kind.CONTENT, changes=_citations),
    "evaluation/stored_revisions": Entry(Kind.CONTENT, changes=_citations),
    "identity/add_key": ADMINISTRATION,
    "identity/add_tenant": ADMINISTRATION,
    "identity/authenticate": Entry(Kind.CREDENTIALS),
    "identity/delete_tenant": ADMINISTRATION,
    "identity/erase_rows": ADMINISTRATION,
    "identity/keys": ADMINISTRATION,
    "identity/revoke_key": ADMINISTRATION,
    "identity/set_disabled": ADMINISTRATION,
    "identity/tenants": ADMINISTRATION,
    "ingest/count_written": WRITE,
    "ingest/delete_document": WRITE,
    "ingest/delete_documents": WRITE,
    "ingest/document_states": WRITE,
    "ingest/ensure_source": WRITE,
    "ingest/failed_documents": WRITE,
    "ingest/index_chunks": WRITE,
    "ingest/insert_chunks": WRITE,
    "ingest/insert_documents": WRITE,
    "ingest/insert_revisions": WRITE,
    "ingest/keep_drafts": WRITE,
    "ingest/keep_failures": WRITE,
    "ingest/known_contexts": WRITE,
    "ingest/settle_drafts": WRITE,
    "ingest/settle_failures": WRITE,
    "ingest/share_documents": WRITE,
    "ingest/insert_sections": WRITE,
    "ingest/insert_vectors": WRITE,
    "ingest/known_documents": WRITE,
    "ingest/known_vectors": WRITE,
    "ingest/live_documents": WRITE,
    "ingest/stored_source": WRITE,
    "ingest/link_supersession": WRITE,
    "ingest/link_written": WRITE,
    "ingest/lock_documents": WRITE,
    "ingest/merge_postings": WRITE,
    "ingest/pending_postings": STATISTICS,
    "ingest/publish_revision": WRITE,
    "ingest/refresh_currency": WRITE,
    "ingest/update_access": WRITE,
    "ops/count_expired": WRITE,
    "ops/counts": ADMINISTRATION,
    "ops/dead_rows": GLOBAL,
    "ops/document_revisions": CONTENT,
    "ops/document_standing": WRITE,
    "ops/erase_document": WRITE,
    "ops/erase_drafts": WRITE,
    "ops/erase_failure": WRITE,
    "ops/erase_runs": WRITE,
    "ops/erase_traces": WRITE,
    "ops/expired_documents": WRITE,
    "ops/find_document": CONTENT,
    "ops/hidden_successor": WRITE,
    "ops/invalid_indexes": GLOBAL,
    "ops/lexical_state": ADMINISTRATION,
    "ops/lift_tombstone": WRITE,
    "ops/lock_document": WRITE,
    "ops/lock_supersession": WRITE,
    "ops/measure/build_settings": SETTING,
    "ops/measure/insert_sample": WRITE,
    "ops/measure/live_index": GLOBAL,
    "ops/measure/recall_series": Entry(Kind.STATISTICS, changes=lambda given: {"since": given["long_ago"]}),
    "ops/measure/sample_chunks": CONTENT,
    "ops/measure/sample_questions": CONTENT,
    "ops/measure/scan_settings": SETTING,
    "ops/measure/scope": STATISTICS,
    "ops/measure/scratch_binary": SCRATCH,
    "ops/measure/scratch_centre": SCRATCH,
    "ops/measure/scratch_drop": SCRATCH,
    "ops/measure/scratch_fill": SCRATCH,
    "ops/measure/scratch_hamming": SCRATCH,
    "ops/measure/scratch_hnsw": SCRATCH,
    "ops/measure/scratch_ivfflat": SCRATCH,
    "ops/measure/scratch_nearest": SCRATCH,
    "ops/measure/scratch_schema": SCRATCH,
    "ops/measure/scratch_size": SCRATCH,
    "ops/measure/scratch_statistics": SCRATCH,
    "ops/measure/scratch_table": SCRATCH,
    "ops/measure/watch_client": SETTING,
    "ops/older_readers": GLOBAL,
    "ops/pin_supersession": WRITE,
    "ops/purge_document": WRITE,
    "ops/purge_history": WRITE,
    "ops/purge_samples": WRITE,
    "ops/purge_runs": WRITE,
    "ops/purge_traces": WRITE,
    "ops/readable_documents": CONTENT,
    "ops/repeated_texts": CONTENT,
    "ops/retention_policy": STATISTICS,
    "ops/revision_chunks": CONTENT,
    "ops/revision_sections": CONTENT,
    "ops/set_retention": WRITE,
    "ops/source_slugs": STATISTICS,
    "ops/space_indexes": GLOBAL,
    "ops/space_vectors": ADMINISTRATION,
    "ops/spaces": GLOBAL,
    "ops/undelete_document": WRITE,
    "ops/unpin_supersession": WRITE,
    "schema/build_binary": SETTING,
    "schema/build_hnsw": SETTING,
    "schema/build_ivfflat": SETTING,
    "schema/build_pg_search": SETTING,
    "schema/build_pg_textsearch": SETTING,
    "schema/create_embedding_table": SETTING,
    "schema/drop_index": SETTING,
    "schema/extension_schemas": GLOBAL,
    "schema/find_space": GLOBAL,
    "schema/index_exists": GLOBAL,
    "schema/index_settings": SETTING,
    "schema/index_state": GLOBAL,
    "schema/installed_version": GLOBAL,
    "schema/keep_space_index": ADMINISTRATION,
    "schema/lock_space_index": SETTING,
    "schema/record_replay": ADMINISTRATION,
    "schema/register_space": ADMINISTRATION,
    "schema/rename_index": SETTING,
    "schema/role_states": GLOBAL,
    "schema/swap_patience": SETTING,
    "schema/tables_of_documents": GLOBAL,
    "schema/without_usage": GLOBAL,
    "search/abroad": Entry(Kind.CONTENT, changes=lambda given: {"analyser": "es"}),  # noqa: ARG005
    "search/active_space": GLOBAL,
    "search/as_of": CONTENT,
    "search/as_of_plan": SETTING,
    "search/corpus_size": STATISTICS,
    "search/cover_density": CONTENT,
    "search/demands": STATISTICS,
    "search/engine_permitted": CONTENT,
    "search/engines/extension": GLOBAL,
    "search/engines/indexes": STATISTICS,
    "search/engines/pg_search": ABSENT,
    "search/engines/pg_textsearch": ABSENT,
    "search/explain_terms": STATISTICS,
    "search/filter_share": STATISTICS,
    "search/hydrate": CONTENT,
    "search/known_sources": STATISTICS,
    "search/in_force": CONTENT,
    "search/lexical": CONTENT,
    "search/lexical_permitted": CONTENT,
    "search/narrow": CONTENT,
    "search/narrow_plan": SETTING,
    "search/nearest_share": STATISTICS,
    "search/nearest_share_binary": STATISTICS,
    "search/posting_count": STATISTICS,
    "search/quoted": CONTENT,
    "search/readable_words": CONTENT,
    "search/plan_once": SETTING,
    "search/scan_order": SETTING,
    "search/scan_settings": SETTING,
    "search/semantic": CONTENT,
    "search/semantic_binary": CONTENT,
    "search/semantic_exact": CONTENT,
    "search/similar_words": STATISTICS,
    "search/unseen_words": CONTENT,
    "traces/find": CONTENT,
    "traces/insert": WRITE,
    "traces/live_quotes": Entry(Kind.CONTENT, changes=_citations),
}

FUNCTIONS: dict[str, Entry] = {
    "empty_document": Entry(Kind.WRITE, "select * from veraz.empty_document(%(document_id)s)"),
    "erase_document": Entry(Kind.WRITE, "select * from veraz.erase_document(%(document_id)s)"),
    "erase_rows": Entry(Kind.ADMINISTRATION, "select veraz.erase_rows(%(tenant_id)s, 10)"),
    "erased_entries": Entry(Kind.PURE, 'select veraz.erased_entries(\'[{"title": "t"}]\')::text'),
    "erased_record": Entry(Kind.PURE, "select veraz.erased_record('{\"hits\": []}')::text"),
    "expired_documents": Entry(Kind.WRITE, "select * from veraz.expired_documents(0)"),
    "expired_revisions": Entry(Kind.WRITE, "select * from veraz.expired_revisions(0, 0, %(from_document)s)"),
    "hold_merges": Entry(Kind.WRITE, "select veraz.hold_merges()"),
    "purge_document": Entry(Kind.WRITE, "select * from veraz.purge_document(%(document_id)s, 0)"),
    "purge_history": Entry(
        Kind.WRITE, "select * from veraz.purge_history(0, 0, %(from_document)s, %(passed)s, 10)"
    ),
    "purge_revisions": Entry(
        Kind.WRITE, "select * from veraz.purge_revisions(%(document_id)s, %(revision_ids)s)"
    ),
    "raise_cycle": Entry(Kind.IDENTITY),
    "refuse_disabled": Entry(Kind.IDENTITY, "select veraz.refuse_disabled(%(tenant_id)s)"),
    "analyse": Entry(Kind.PURE, "select veraz.analyse('en', %(question)s)::text"),
    "authenticate": Entry(Kind.CREDENTIALS),
    "compounds": Entry(Kind.PURE, "select veraz.compounds('en', %(question)s)"),
    "condition": Entry(Kind.PURE, "select veraz.condition('en', 'en', %(condition)s::jsonb)::text"),
    "current_roles": Entry(Kind.IDENTITY, "select veraz.current_roles()"),
    "current_tenant": Entry(Kind.IDENTITY, "select veraz.current_tenant()"),
    "declarations": Entry(Kind.WRITE, "select * from veraz.declarations(%(document_id)s)"),
    "declarations_without": Entry(
        Kind.WRITE, "select veraz.declarations_without(%(document_id)s, %(revision_ids)s)::text"
    ),
    "declared_successor": Entry(Kind.WRITE, "select (veraz.declared_successor(%(document_id)s)).successor"),
    "dimension": Entry(Kind.PURE, "select veraz.dimension(7)"),
    "document_vector": Entry(
        Kind.PURE, "select veraz.document_vector(veraz.analyse('en', %(question)s), 2, 100)::text"
    ),
    "eligible": Entry(
        Kind.CONTENT,
        "select %(document_id)s::uuid, e.* from veraz.eligible(%(document_id)s,"
        " null, null, null, null, null, null, null, null, null) e",
    ),
    "eligible_documents": Entry(
        Kind.CONTENT,
        "select * from veraz.eligible_documents(null, null, null, null, null, null, null, null, null)",
    ),
    "filterable": Entry(
        Kind.CONTENT, "select %(revision_id)s::uuid, f.* from veraz.filterable(%(revision_id)s) f"
    ),
    "folded": Entry(Kind.PURE, "select veraz.folded('Über')"),
    "fractions": Entry(Kind.PURE, "select veraz.fractions('2½')"),
    "grid_length": Entry(Kind.PURE, "select veraz.grid_length(83)"),
    "identifiers": Entry(Kind.PURE, "select veraz.identifiers('E-4021')"),
    "impact": Entry(Kind.PURE, "select veraz.impact(2, 10, 100)"),
    "index_chunks": Entry(
        Kind.WRITE,
        "select veraz.index_chunks(%(chunk_ids)s, array(select 'en' from unnest(%(chunk_ids)s::uuid[])), 1)",
    ),
    "is_later": Entry(Kind.PURE, "select veraz.is_later('2024-01-01', null, '2023-01-01', null)"),
    "is_writing": Entry(Kind.IDENTITY, "select veraz.is_writing()"),
    "last_successor": Entry(Kind.CONTENT, "select * from veraz.last_successor(%(document_id)s)"),
    "lexical_lock": Entry(Kind.IDENTITY, "select veraz.lexical_lock('epoch', 'en')"),
    "link_supersession": Entry(Kind.WRITE, "select veraz.link_supersession(%(document_id)s)"),
    "link_written": Entry(Kind.WRITE, "select veraz.link_written(%(document_ids)s::uuid[], null)"),
    "lock_supersession": Entry(Kind.WRITE, "select veraz.lock_supersession(true)"),
    "may_read": Entry(Kind.IDENTITY, "select veraz.may_read('{hr}', 'any', null, null, null)"),
    "merge_blocks": Entry(
        Kind.WRITE, "select veraz.merge_blocks('en', array(select -n from generate_series(1, 1000) n))"
    ),
    "merge_postings": Entry(Kind.WRITE, "select veraz.merge_postings('en')"),
    "meta_boolean": Entry(Kind.PURE, "select veraz.meta_boolean('true')"),
    "meta_date": Entry(Kind.PURE, "select veraz.meta_date('\"2024-01-31\"')"),
    "meta_list": Entry(Kind.PURE, "select veraz.meta_list('[\"a\", 1]')"),
    "meta_number": Entry(Kind.PURE, "select veraz.meta_number('\"2.5\"')"),
    "meta_text": Entry(Kind.PURE, "select veraz.meta_text('\"a\"')"),
    "needed_terms": Entry(
        Kind.STATISTICS, "select term from veraz.needed_terms('en', 'en', %(condition)s::jsonb) n(term)"
    ),
    "every_word": Entry(Kind.PURE, "select veraz.every_word('en', 'en', %(question)s)::text"),
    "phrase": Entry(Kind.PURE, "select veraz.phrase('en', 'en', %(question)s)::text"),
    "pin_stated": Entry(Kind.WRITE, "select veraz.pin_stated(%(document_id)s, null)"),
    "pin_supersession": Entry(Kind.WRITE, "select veraz.pin_supersession(%(document_id)s, null, null)"),
    "query_terms": Entry(
        Kind.STATISTICS, "select analyser, lexeme, weight from veraz.query_terms(%(question)s, 'en')"
    ),
    "quotation": Entry(Kind.PURE, "select lexeme from veraz.quotation('en', %(question)s)"),
    "quote_lexeme": Entry(Kind.PURE, "select veraz.quote_lexeme('it''s')"),
    "rebuild_postings": Entry(Kind.WRITE, "select veraz.rebuild_postings('en')"),
    "refresh_currency": Entry(Kind.WRITE, "select veraz.refresh_currency(%(document_id)s)"),
    "refuse_cycle": Entry(Kind.WRITE, "select veraz.refuse_cycle(%(document_id)s)"),
    "saturation": Entry(Kind.PURE, "select veraz.saturation(2, 10, 100)"),
    "searchable": Entry(Kind.PURE, "select veraz.searchable(%(question)s)"),
    "shown_revision": Entry(Kind.PURE, "select veraz.shown_revision(null::veraz.document)"),
    "spellings": Entry(Kind.PURE, "select veraz.spellings('fault E-4021')"),
    "start_epoch": Entry(Kind.WRITE, "select veraz.start_epoch('en', 80)"),
    "term": Entry(Kind.PURE, "select veraz.term(%(question)s)"),
    "token_length": Entry(Kind.PURE, "select veraz.token_length(veraz.analyse('en', %(question)s))"),
    "unpin_supersession": Entry(Kind.WRITE, "select veraz.unpin_supersession(%(document_id)s)"),
    "valid_revisions": Entry(
        Kind.CONTENT,
        "select * from veraz.valid_revisions(%(as_of)s, null, null, null, null, null, null, null, null, null)",
    ),
    "write_posting_delta": Entry(Kind.WRITE, "select veraz.write_posting_delta(%(chunk_ids)s, 1)"),
}
"""By name: a second function of the same name would be called by the same words."""
