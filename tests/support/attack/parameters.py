"""Values for the parameters of every statement and function, aimed at one document of the attacked tenant."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID, uuid4

import numpy as np

from tests.support.attack.siege import Siege
from tests.support.attack.world import WORD
from tests.support.hashing import hashed
from veraz.db.arrays import Reals

NEEDS_ONE_DOCUMENT = ("document_id", "revision_id", "external_id")
"""Parameters that name a single document: a statement with one of them is tried on each."""

REVISION = {
    **dict.fromkeys(("text", "title", "media", "parser", "chunker"), "taken"),
    **dict.fromkeys(("raw_hash", "bytes_hash"), "\\x" + "00" * 32),
    "number": 77,
    "lang": "en",
    "stated": {},
    "meta": {},
    "page_starts": [],
    "dropped": [],
    "dropped_why": [],
}
SECTION = {"ord": 77, "level": 1, "heading": "h", "heading_path": [], "start": 0, "end": 1}
CHUNK = {
    **dict.fromkeys(("body", "display"), "b"),
    "ord": 77,
    "section": 0,
    "heading_path": [],
    "kind": "paragraph",
    "header": "",
    "token_count": 1,
    "spans": [0, 1],
    "start": 0,
    "end": 1,
    "content_hash": "\\x" + "00" * 32,
    "lang": "en",
}


def aimed(siege: Siege) -> Iterator[Mapping[str, Any]]:
    """One set of values per document and revision of the attacked tenant."""
    mine = [d for d in siege.documents if d["tenant_id"] == siege.world.alpha]
    for document in mine:
        for revision in document["revisions"]:
            yield {**_shared(siege), **_of(document, revision)}


def _of(document: Mapping[str, Any], revision: UUID) -> Mapping[str, Any]:
    return {
        "document_id": document["document_id"],
        "revision_id": revision,
        "external_id": document["external_id"],
        "source_id": document["source_id"],
        "source": document["slug"],
        "slug": document["slug"],
        "acl": ["public"],
        "acl_rule": "any",
        "owner": None,
        "readable_from": None,
        "readable_until": None,
        "document_type": "taken",
        "becomes_current": True,
        **_rows(document, revision),
    }


def _rows(document: Mapping[str, Any], revision: UUID) -> Mapping[str, str]:
    """What a revision is written from, each with the keys of the document that is attacked."""
    keys = {"document_id": str(document["document_id"]), "revision_id": str(revision)}
    new = {**keys, "document_id": str(uuid4()), "external_id": "taken-by-json"}
    rows = {
        "documents": new,
        "revisions": {**keys, "revision_id": str(uuid4()), **REVISION},
        "sections": {**keys, **SECTION},
        "chunks": {**keys, "chunk_id": str(uuid4()), **CHUNK},
    }
    return {name: json.dumps([row]) for name, row in rows.items()}


def _shared(siege: Siege) -> Mapping[str, Any]:
    documents = siege.documents
    chunks = [chunk for document in documents for chunk in document["chunks"]]
    return {
        "every_document": documents,
        "now": datetime.now(UTC),
        "long_ago": datetime(2020, 1, 1, tzinfo=UTC),
        "document_ids": [d["document_id"] for d in documents],
        "external_ids": [d["external_id"] for d in documents],
        "least": 1,
        "top": 1000,
        "raw_hashes": [row[0] for row in siege.truth("select raw_hash from veraz.revision")],
        "revision_ids": [r for d in documents for r in d["revisions"]],
        "chunk_ids": chunks,
        "scores": [1.0] * len(chunks),
        "analysers": ["en"] * len(chunks),
        "vectors": Reals(np.ones(384 * len(chunks))),
        "width": 384,
        "title_weight": 1,
        "hashes": [row[0] for row in siege.truth("select content_hash from veraz.chunk")],
        "stated": ["{}"] * len(documents),
        **_of_contexts(siege),
        "stored_run": siege.truth(
            "select run_id from veraz.eval_run where tenant_id = %s order by cardinality(roles) desc limit 1",
            [siege.world.alpha],
        )[0][0],
        "lowest": UUID(int=0),
        "highest": UUID(int=2**128 - 1),
        "knows_all": True,
        "with_text": True,
        "failures": json.dumps([_failure(d) for d in documents]),
        **_of_an_administrator(siege),
        **_of_a_search(),
        **_of_a_revision(),
        **_of_records(),
        **_of_a_measurement(),
    }


def _failure(document: Mapping[str, Any]) -> Mapping[str, str]:
    return {
        "document_id": str(document["document_id"]),
        "external_id": document["external_id"],
        **dict.fromkeys(("path", "stage", "reason"), "taken"),
    }


def _of_contexts(siege: Siege) -> Mapping[str, Any]:
    drafts = siege.truth("select document_id, context_key from veraz.context_draft")
    return {
        "draft_documents": [row[0] for row in drafts],
        "context_keys": [row[1] for row in drafts],
        "contexts": ["taken"] * len(drafts),
        "days": 0,
    }


def _of_an_administrator(siege: Siege) -> Mapping[str, Any]:
    """Of keys, tenants and retention: each limit is the sharpest."""
    limits = ("history_days", "history_revisions", "deleted_days", "trace_days", "run_days", "recall_days")
    return {
        "tenant_id": siege.world.alpha,
        "name": "taken",
        "prefix": "vz_taken",
        "key_hash": b"\1" * 32,
        "roles": ["public"],
        "may_write": True,
        "expires_at": None,
        "disabled": True,
        "at_most": 10,
        **dict.fromkeys(limits, 0),
        "batch": 10,
        "passed": [],
        "from_document": UUID(int=0),
        "by_document": None,
        "since": None,
        "xid": "1",
        "everywhere": True,
        "power": "USAGE",
        "index": "veraz.embedding_1_hnsw",
        "options": "{}",
        "schema": "public",
    }


def _of_a_search() -> Mapping[str, Any]:
    filters = ("sources", "langs", "authority", "licenses", "jurisdictions", "revised_from", "revised_to")
    return {
        "question": WORD,
        "words": [WORD],
        "unseen": [WORD],
        "lexemes": [WORD],
        "heading": WORD,
        "analyser": "en",
        "condition": json.dumps([{"phrases": [WORD], "without": [], "words": ""}]),
        "vector": json.dumps(hashed("hash", WORD).tolist()),
        "as_of": date(2024, 6, 1),
        "today": datetime.now(UTC).date(),
        "pool": 1000,
        "candidates": 1000,
        "budget": 1_000_000,
        "rescored": 1000,
        "walked": 1_000_000,
        "reach": 50,
        "longest": 1_000_000,
        "sample": 1000,
        "space_id": 1,
        **dict.fromkeys((*filters, "published_from", "published_to")),
    }


def _of_a_revision() -> Mapping[str, Any]:
    return {
        **dict.fromkeys(
            ("supersedes", "stated_supersedes", "base_url", "license", "jurisdiction", "chunker")
        ),
        "number": 77,
        "lang": "en",
        "meta": "{}",
        "name": "taken",
        "declares": True,
    }


def _of_a_measurement() -> Mapping[str, Any]:
    return {
        "seed": 1,
        "count": 1000,
        "arm": "semantic",
        "k": 10,
        "expected": 10,
        "found": 9,
        "approximated": True,
        "filtered": False,
        "exact_ms": 1.0,
        "dropped": 0,
    }


def _of_records() -> Mapping[str, Any]:
    return {
        "trace_id": uuid4(),
        "run_id": uuid4(),
        "started_at": datetime.now(UTC),
        "queries": 1,
        "report": "{}",
        "rows": '[{"query_id": "taken", "ord": 0, "question": "", "outcome": "", "measures": {}, "documents": [],'
        ' "scores": [], "grades": [], "missed": {}, "facets": [], "timings_ms": {}, "empty_arms": []}]',
        "kind": "search",
        "outcome": "found",
        "record": "{}",
        "dataset": "d",
        "config": "{}",
        "metrics": "{}",
        "per_query": "{}",
        "provider": "p",
        "model": "m",
        "dimension": 3,
        "normalised": True,
        "query_prefix": "",
        "passage_prefix": "",
        "distance": "cosine",
        "max_tokens": 10,
        "fingerprint": "f",
    }
