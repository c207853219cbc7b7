"""Small results to print."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from veraz.nouns.answer import Answer, Citation, Claim, Conflict, ConflictSide, Dropped, Route, Superseded
from veraz.nouns.corpus import Access, IngestReport, ItemFailure, Section, Span
from veraz.nouns.evaluation import EvalReport, GateResult
from veraz.nouns.evidence import ArmScore, DocumentRef, Hit, SearchResult
from veraz.nouns.shown import Shown, ShownChunk, ShownRevision

TRACE = UUID("11111111-2222-3333-4444-555555555555")
CHUNK = UUID("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee")

DOCUMENT = DocumentRef(
    external_id="burns.md",
    source="guides",
    authority=4,
    license="CC0-1.0",
    title="Burns",
    url="https://example.org/burns",
    lang="en",
    revision=2,
    published_at=None,
    revised_at=date(2024, 5, 6),
    superseded_by=None,
    is_current=True,
)

HIT = Hit(
    rank=1,
    score=0.875,
    chunk_id=CHUNK,
    document=DOCUMENT,
    ord=3,
    kind="paragraph",
    heading_path=("Burns", "Cooling"),
    page=None,
    start=10,
    end=60,
    body="Cool the burn under running water for 20 minutes.",
    spans=(Span(10, 60),),
    token_count=14,
    lexical=ArmScore(1, 12.5),
    semantic=ArmScore(2, 0.9),
)

SEARCH = SearchResult(
    trace_id=TRACE,
    question="How long is a burn cooled?",
    lang="en",
    mode="hybrid",
    outcome="found",
    sufficiency=None,
    threshold=None,
    shortfall=None,
    timings_ms={"embed": 12.0, "arms": 4.25, "total": 17.0},
    hits=(HIT,),
    config={"fusion": "rrf", "semantic_weight": 0.6, "rrf_k": 60},
)

EXPLAINED = replace(
    HIT,
    explain={
        "fusion": {"method": "rrf", "semantic_weight": 0.6, "score": 0.875},
        "arms": {"lexical": {"rank": 1, "score": 12.5}, "semantic": {"rank": 2, "score": 0.9}},
        "ties": {"authority": 4, "revised_at": date(2024, 5, 6), "chunk_id": CHUNK},
        "terms": [
            {"lexeme": "burn", "analyser": "en", "chunks": 8, "idf": 2.5},
            {"lexeme": "burn", "analyser": "fr", "chunks": 0, "idf": 3.4},
            {"lexeme": "cool", "analyser": "en", "chunks": 0, "idf": 3.4},
        ],
    },
)

CITATION = Citation(
    n=1,
    external_id="burns.md",
    source="guides",
    title="Burns",
    url="https://example.org/burns",
    revision=2,
    revised_at=date(2024, 5, 6),
    chunk_id=CHUNK,
    ord=3,
    heading_path=("Burns", "Cooling"),
    page=None,
    start=10,
    end=60,
    quote="Cool the burn under running water for 20 minutes.",
    superseded_by=None,
    authority=4,
)

ANSWER = Answer(
    trace_id=TRACE,
    outcome="answered",
    question="How long is a burn cooled?",
    answer="Cool the burn under running water for 20 minutes. [1]",
    claims=(Claim("Cool the burn under running water for 20 minutes.", (1,), 0.9),),
    citations=(CITATION,),
    conflicts=(),
    superseded=(),
    route=None,
    reason=None,
    dropped=(),
    uncertain=False,
    access={"tenant": "default", "roles": ["public"]},
    sufficiency=0.91,
    threshold=0.5,
    standalone_question="How long is a burn cooled?",
    sub_questions=(),
    usage={},
    timings_ms={"total": 20.0},
    lang="en",
)

CONFLICTING = replace(
    ANSWER,
    outcome="conflicting",
    citations=(
        CITATION,
        replace(CITATION, n=2, external_id="other.md", title="Other burns", revised_at=None, authority=2),
    ),
    conflicts=(
        Conflict("cooling (min)", (ConflictSide("20 minutes.", (1,)), ConflictSide("10 minutes.", (2,)))),
    ),
    superseded=(
        Superseded(
            "old.md",
            "guides",
            "Old burns",
            date(2019, 1, 1),
            "burns.md",
            "Burns",
            "https://example.org/burns",
        ),
    ),
)

REFUSED = replace(
    ANSWER,
    outcome="insufficient",
    answer="",
    claims=(),
    citations=(),
    reason="The sources say nothing about bicycles.",
    dropped=(Dropped("Ride on.", "no source says so"),),
    uncertain=False,
)

ROUTED = replace(
    ANSWER,
    outcome="routed",
    answer="Call the emergency number.",
    claims=(),
    citations=(),
    route=Route("chest-pain", "emergency", "Call the emergency number."),
)


def ingested(**changed: Any) -> IngestReport:
    counts = {
        "new": 2,
        "changed": 0,
        "unchanged": 3,
        "superseded": 1,
        "deleted": 0,
        "failed": 0,
        "documents": 2,
        "chunks": 9,
        "embedded": 8,
        "reused": 1,
        "seconds": 1.5,
        "errors": (),
    }
    return IngestReport(**{**counts, **changed})


def failures(number: int) -> IngestReport:
    errors = tuple(
        ItemFailure(f"file{n}.bin", None, "read", "files of this type are not read") for n in range(number)
    )
    return ingested(failed=number, errors=errors)


SHOWN = Shown(
    document_id=CHUNK,
    external_id="burns.md",
    source="guides",
    source_name="The guides",
    authority=4,
    document_type=None,
    acl=("public",),
    access=Access(),
    current_revision=2,
    superseded_by=None,
    superseded_at=None,
    superseded_from=None,
    supersedes=("old.md",),
    revisions=(
        ShownRevision(
            revision_id=CHUNK,
            number=2,
            title="Burns",
            url=None,
            lang="en",
            publisher=None,
            license=None,
            jurisdiction=None,
            published_at=None,
            revised_at=date(2024, 5, 6),
            valid_from=None,
            valid_to=None,
            item=None,
            edition=None,
            effective_from=date(2024, 5, 6),
            ingested_at=datetime(2024, 5, 7, 8, 9, tzinfo=UTC),
            retired_at=None,
            parser="markdown/1",
            chunker="structure/1",
            meta={},
            length=60,
        ),
    ),
    shown=2,
    sections=(
        Section(0, None, 0, "", (), 0, 0),
        Section(1, 0, 1, "Burns", ("Burns",), 0, 60),
    ),
    chunks=(
        ShownChunk(
            chunk_id=CHUNK,
            ord=0,
            section=1,
            heading_path=("Burns",),
            kind="paragraph",
            display="Cool the burn\nunder running water.",
            header="The guides",
            token_count=9,
            spans=(Span(10, 43),),
            page=None,
            is_current=True,
        ),
    ),
)


def evaluated(mode: str = "hybrid", *, passed: bool = True) -> EvalReport:
    return EvalReport(
        run_id=f"run-{mode}",
        dataset="judged",
        fingerprint="f" * 8,
        started_at=datetime(2024, 1, 1, tzinfo=UTC),
        queries=3,
        config={"mode": mode},
        metrics={"ndcg@10": 0.7251, "recall@20": 0.9},
        latency_ms={"p50": 10.0, "p95": 20.0, "p99": 30.0},
        empty=0,
        failed=0,
        empty_arms={},
        authorised_fraction=1.0,
        gates=(GateResult("ndcg@10>=0.8", "ndcg@10", ">=", 0.8, 0.7251, passed),),
        without_relevant=(),
        unjudged=("q9",),
        warnings=(),
        per_query="runs/per_query.jsonl",
    )


EXPLAINED_TRACE: dict[str, Any] = {
    "trace_id": str(TRACE),
    "kind": "ask",
    "created_at": "2024-05-06T07:08:09+00:00",
    "roles": ["public"],
    "tenant": "default",
    "question": "How long is a burn cooled?",
    "outcome": "answered",
    "lang": "en",
    "mode": "hybrid",
    "config": {
        "fusion": "minmax",
        "lexical": {"budget": 200000, "exact": True},
        "methods": ["minmax", "rrf"],
    },
    "timings_ms": {"total": 17.0, "embed": 12.0},
    "answer_timings_ms": {"total": 20.0, "route": 0.5},
    "hits": [
        {
            "rank": 1,
            "score": 0.875,
            "source": "guides",
            "external_id": "burns.md",
            "revision": 2,
            "ord": 3,
            "lexical": {"rank": 1, "score": 12.5},
            "semantic": None,
        }
    ],
    "signals": {"coverage": 0.75},
    "claims": [{"citations": [1], "support": 0.9}],
    "citations": [
        {
            "n": 1,
            "source": "guides",
            "external_id": "burns.md",
            "ord": 3,
            "revision": 2,
            "revised_at": "2024-05-06",
            "heading_path": ["Burns", "Cooling"],
            "start": 10,
            "end": 60,
            "quote": "Cool the burn.",
            "available": True,
        },
        {
            "n": 2,
            "source": "guides",
            "external_id": "gone.md",
            "ord": 0,
            "revision": 1,
            "start": 0,
            "end": 5,
            "quote": None,
            "available": False,
        },
    ],
    "dropped": [{"why": "the number 30 is not in the source"}],
    "sufficiency": 0.91,
    "threshold": 0.5,
}
