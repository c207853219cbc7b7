"""What a trace keeps of a search or an answer, and how it reads later. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from veraz.nouns.answer import Answer
from veraz.nouns.evidence import SearchResult, spelling_note
from veraz.nouns.trace import LiveQuote, Place, Trace


def search_record(result: SearchResult) -> dict[str, Any]:
    """Ids, offsets, scores and settings; no text."""
    hits = [
        {
            "rank": h.rank,
            "score": h.score,
            "chunk_id": h.chunk_id,
            "source": h.document.source,
            "external_id": h.document.external_id,
            "revision": h.document.revision,
            "ord": h.ord,
            "start": h.start,
            "end": h.end,
            "lexical": h.lexical,
            "semantic": h.semantic,
            "rerank": h.rerank,
            "also": [
                {"source": d.source, "external_id": d.external_id, "revision": d.revision} for d in h.also
            ],
        }
        for h in result.hits
    ]
    kept = ("lang", "mode", "config", "timings_ms", "shortfall", "as_of")
    notes = [note for note in result.notes if note != spelling_note(result.spellings)]
    return {**{name: getattr(result, name) for name in kept}, "notes": notes, "hits": hits}


_TEXT_OF_DOCUMENTS = {"quote", "text", "answer", "title", "heading_path", "successor", "in_force"}


def answer_record(answer: Answer) -> dict[str, Any]:
    """The answer without the text of documents: claims and sides keep their citations, citations their offsets."""
    citations = [
        {k: v for k, v in msgspec.to_builtins(c).items() if k not in _TEXT_OF_DOCUMENTS}
        for c in answer.citations
    ]
    return {
        "outcome": answer.outcome,
        "route": answer.route,
        "reason": answer.reason,
        "claims": [{"citations": c.citations, "support": c.support} for c in answer.claims],
        "citations": citations,
        "conflicts": [{"sides": [s.citations for s in c.sides]} for c in answer.conflicts],
        "superseded": [
            {"external_id": s.external_id, "source": s.source, "superseded_by": s.superseded_by}
            for s in answer.superseded
        ],
        "dropped": [{"why": d.why} for d in answer.dropped],
        "uncertain": answer.uncertain,
        "sufficiency": answer.sufficiency,
        "threshold": answer.threshold,
        "access": answer.access,
        "usage": answer.usage,
        "answer_timings_ms": answer.timings_ms,
        "as_of": answer.as_of,
    }


def explained(trace: Trace, live: Mapping[Place, LiveQuote], tenant: str) -> dict[str, Any]:
    """The trace with the text that its citations point at now; `available` is false where the reader has no text."""
    record = dict(trace.record)
    if "citations" in record:
        record["citations"] = [_with_quote(citation, live) for citation in record["citations"]]
    return {
        "trace_id": str(trace.trace_id),
        "kind": trace.kind,
        "created_at": trace.created_at.isoformat(),
        "roles": list(trace.roles),
        "tenant": tenant,
        "question": trace.question,
        "outcome": trace.outcome,
        **record,
    }


def _with_quote(citation: Mapping[str, Any], live: Mapping[Place, LiveQuote]) -> dict[str, Any]:
    place = tuple(citation[name] for name in ("source", "external_id", "revision", "start", "end"))
    quote = live.get(place)
    text = quote.text if quote else None
    return {
        **citation,
        "quote": text,
        "available": text is not None,
        "purged": quote is not None and text is None,
        "heading_path": list(quote.heading_path) if quote else [],
    }
