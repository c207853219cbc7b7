"""What a result says of itself: remarks, scores of each hit, and with what it was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any
from uuid import UUID

from veraz.config import SearchConfig
from veraz.nouns.evidence import ArmScore, Hit
from veraz.nouns.question import Filters
from veraz.search import store
from veraz.search.asking import Consultation
from veraz.search.fusion import METHODS, Fused, FusionSettings
from veraz.search.request import SearchRequest, looks
from veraz.search.syntax import Reading


def remarks(
    request: SearchRequest, reading: Reading, arms: store.ArmResults, unknown: Sequence[str], tenant: str
) -> Iterator[str]:
    """What a reader should know of how the question was read, and of why an arm is empty. None says more of a document than the
    reader may see."""
    if reading.alternatives:
        yield _read_as(reading)
    if unknown:
        yield f"no source is called {', '.join(map(repr, unknown))}"
    if not any(c.isalnum() for c in reading.text):
        yield "the question has no searchable words"
    elif not request.own and request.as_of is None:
        yield f"tenant {tenant} holds no documents yet"
    elif reading.alternatives and not (arms.lexical or arms.semantic):
        yield "nothing that may be read meets this: without the marks, the words are searched like all others"
    elif arms.lexical == [] and arms.has_no_terms:
        alone = "; only the semantic arm found anything" if arms.semantic else ""
        yield f"the question has function words alone, which are not searched for{alone}"
    elif arms.lexical == []:
        alone = "; only the semantic arm found anything" if arms.semantic else ""
        filters = ", ".join(name for name in _FILTERS if getattr(request.filters, name) is not None)
        where = (
            f"what may be read and meets the filters ({filters})"
            if filters
            else "the corpus that may be read"
        )
        yield f"no word of the question occurs in {where}{alone}"


def _read_as(reading: Reading) -> str:
    """What the marks were taken to mean, so that who meant nothing by them can leave them out."""
    parts = []
    if reading.phrases:
        parts.append(f"only passages with {_listed(reading.phrases, 'and')}, word for word")
    if reading.without:
        parts.append(f"no passages with {_listed(reading.without, 'or')}")
    others = " or what OR offers instead" if len(reading.alternatives) > 1 else ""
    return f"read as: {'; '.join(parts)}{others}"


def _listed(names: Sequence[str], last: str) -> str:
    quoted = [f"“{name}”" for name in names]
    return f" {last} ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


_FILTERS = tuple(field.name for field in fields(Filters))


def ranked_hits(
    found: Sequence[tuple[Fused, Hit]],
    terms: Sequence[store.TermExplanation] | None,
    settings: FusionSettings,
    weights: Mapping[str, float],
    by: tuple[str, frozenset[UUID]] | None = None,
) -> Iterator[Hit]:
    """`by`: another lexical engine, and the chunks that it found."""
    for rank, (entry, hit) in enumerate(found, 1):
        scores = {arm: ArmScore(entry.ranks[arm], entry.scores[arm]) for arm in entry.ranks}
        yield replace(
            hit,
            rank=rank,
            score=entry.score,
            lexical=scores.get("lexical"),
            semantic=scores.get("semantic"),
            explain=None if terms is None else _explain(hit, entry, terms, settings, weights, by),
        )


def _explain_arm(arm: str, entry: Fused, weight: float) -> dict[str, Any]:
    part = entry.parts.get(arm, 0.0)
    return {
        "rank": entry.ranks[arm],
        "score": entry.scores[arm],
        "weight": weight,
        "normalised": part / weight if weight else 0.0,
        "part": part,
        **({"share": entry.shares[arm]} if arm in entry.shares else {}),
    }


def _explain(
    hit: Hit,
    entry: Fused,
    terms: Sequence[store.TermExplanation],
    settings: FusionSettings,
    weights: Mapping[str, float],
    by: tuple[str, frozenset[UUID]] | None,
) -> dict[str, Any]:
    arms = {arm: _explain_arm(arm, entry, weights[arm]) for arm in entry.ranks}
    if by is not None and "lexical" in arms:
        arms["lexical"]["engine"] = by[0] if hit.chunk_id in by[1] else "postings"
    return {
        "fusion": {
            "method": settings.method,
            "semantic_weight": settings.semantic_weight,
            "score": entry.score,
        },
        "arms": arms,
        "ties": {"authority": entry.authority, "revised_at": entry.revised_at, "chunk_id": hit.chunk_id},
        "terms": [
            {"lexeme": t.lexeme, "analyser": t.analyser, "chunks": t.chunks, "idf": round(t.idf, 4)}
            for t in terms
        ],
    }


def configuration(
    request: SearchRequest,
    config: SearchConfig,
    settings: FusionSettings,
    arms: store.ArmResults,
    pool: int,
    consulted: Consultation | None,
) -> dict[str, Any]:
    return {
        "fusion": settings.method,
        "semantic_weight": settings.semantic_weight,
        "rrf_k": settings.k,
        "pool": pool,
        "lexical": {
            "analyser": request.analyser,
            "budget": config.budget,
            "rescored": config.rescored,
            "scorer": config.scorer,
            "exact": arms.lexical_exact,
            "proven": len(arms.lexical or ()) if arms.lexical_exact else arms.proven,
            "engine": _of_engine(consulted, arms),
        },
        "semantic": {
            "distance": request.index.distance,
            "index": request.index.kind,
            **looks(request, config),
            "exact": arms.semantic_exact,
        },
        **_of_filters(request, arms),
        "methods": sorted(METHODS),
    }


def _of_engine(consulted: Consultation | None, arms: store.ArmResults) -> dict[str, Any] | None:
    """`found`: the candidates of the pool that are the engine's, `beside`: those that the postings added."""
    if consulted is None:
        return None
    found = len(arms.by_engine)
    beside = len(arms.lexical or ()) - found if consulted.given is not None else 0
    return {**consulted.record, "found": found, "beside": beside}


def _of_filters(request: SearchRequest, arms: store.ArmResults) -> dict[str, Any]:
    """How a filtered search went about it."""
    if request.filters == Filters():
        return {}
    share = None if arms.share is None else round(arms.share, 4)
    return {"filters": {"share": share, "documents_first": arms.documents_first}}
