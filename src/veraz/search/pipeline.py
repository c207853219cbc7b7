"""Search: analyse and embed outside, both arms in one round trip, fuse, read the hits. One transaction, one snapshot, but where
another engine is asked before it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID, uuid4

import numpy as np

from veraz.config import SearchConfig
from veraz.db.session import Connection, Database
from veraz.errors import MalformedResponse
from veraz.nouns.corpus import Identity, Vectors
from veraz.nouns.evidence import DocumentRef, Hit, SearchResult, spelling_note
from veraz.nouns.sweep import Owner
from veraz.providers.ports import Embedder
from veraz.search import store
from veraz.search.ahead import is_ahead
from veraz.search.asking import Consultation, ask, ask_weighed, by_arm, consult_engine, demanding
from veraz.search.copies import Distinct, batches, copies_fill
from veraz.search.engines.pipeline import Engine
from veraz.search.explaining import configuration, ranked_hits, remarks
from veraz.search.fusion import Candidate, Fused, FusionSettings, arm_weights, fuse
from veraz.search.replay import DEEPER, owner
from veraz.search.request import SearchRequest, SearchRun, Timer, lexical_question, semantic_question
from veraz.search.reranking import Reranking, RerankRun, rerank_hits
from veraz.search.rescoring import Rescored
from veraz.search.syntax import read


async def run_search(
    database: Database,
    identity: Identity,
    embedder: Embedder | None,
    space_id: int | None,
    config: SearchConfig,
    request: SearchRequest,
    reranking: Reranking | None = None,
    engine: Engine | None = None,
) -> SearchRun:
    """Runs the arms that the mode asks for. A question without searchable words leaves the lexical arm empty; without any
    text at all nothing is asked and the result says so. With `engine` another engine's candidates are the lexical arm's, asked
    for before the transaction. With `reranking` the best of the fused hits are put in another order, after the transaction, and
    the best k kept. Never raises for what `clean_question` lets through."""
    timer, notes = Timer(), list[str]()
    reading = read(request.question.strip())
    question = reading.text
    vector = None
    if request.mode != "lexical" and embedder is not None and any(c.isalnum() for c in question):
        with timer.stage("embed"):
            vector = await _embed_question(embedder, question, notes)
    most = read_for(request.k, reranking)
    consulted = await consult_engine(database, identity, engine, config, request, reading, timer)
    async with database.transaction(identity) as connection:
        reading = await demanding(connection, request, reading)
        lexical = (
            lexical_question(request, reading, config) if request.mode != "semantic" and question else None
        )
        semantic = semantic_question(request, reading, vector, space_id, config)
        settings = FusionSettings(request.fusion or config.fusion, config.semantic_weight, config.rrf_k)
        got = await _got(connection, request, lexical, semantic, settings, most, timer, config, consulted)
        with timer.stage("read"):
            found = await _with_in_force(connection, got.distinct)
            terms = await _terms(connection, request, got.lexical.text if got.lexical else question)
            unknown = await store.unknown_sources(connection, request.filters)
    spellings = got.lexical.spellings if got.lexical and got.lexical.spellings else {}
    notes += remarks(request, reading, got.arms, unknown, identity.tenant)
    notes += [spelling_note(spellings)] if spellings else []
    notes += consulted.notes if consulted is not None else ()
    by = None if consulted is None else (consulted.record["name"], got.arms.by_engine)
    weights = arm_weights(got.candidates, settings)
    fused = tuple(ranked_hits(found, terms, settings, weights, by))
    reranked = None
    if reranking is not None:
        with timer.stage("rerank"):
            reranked = await rerank_hits(reranking, question, fused)
        notes += reranked.notes
    ranked = _best(fused, reranked, request.k)
    result = SearchResult(
        trace_id=uuid4(),
        question=request.question,
        lang=request.lang,
        mode=request.mode,
        outcome="found" if ranked else "nothing",
        sufficiency=None,
        threshold=None,
        shortfall=got.shortfall,
        timings_ms=timer.finish(),
        hits=ranked,
        notes=tuple(notes),
        config={
            **configuration(request, config, settings, got.arms, got.pool, consulted),
            "rerank": reranked.record if reranked is not None else None,
        },
        as_of=request.as_of,
        spellings=spellings,
    )
    exact = {"lexical": got.arms.lexical_exact, "semantic": got.arms.semantic_exact}
    read_all = {arm: exact[arm] for arm in got.candidates}
    return SearchRun(result, vector, got.candidates, read_all, settings, request, fused, reranked)


@dataclass(frozen=True, slots=True)
class _Got:
    """What the arms gave and what of it is shown: `lexical` the question as it was read in the end, `pool` how many candidates
    each arm was asked for."""

    arms: store.ArmResults
    shortfall: Mapping[str, Any] | None
    lexical: store.LexicalQuestion | None
    candidates: dict[str, list[Candidate]]
    distinct: list[tuple[Fused, Hit]]
    pool: int


async def _got(
    connection: Connection,
    request: SearchRequest,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    settings: FusionSettings,
    most: int,
    timer: Timer,
    config: SearchConfig,
    consulted: Consultation | None,
) -> _Got:
    """Asked once, and once more with a deeper pool where copies of a text fill this one."""
    for pool in (config.pool, config.pool * DEEPER):
        arms, shortfall, lexical = await ask_weighed(
            connection, request, _deep(lexical, pool), _deep(semantic, pool), timer, config, consulted
        )
        candidates, distinct = await _read(connection, arms, settings, most, timer)
        got = _Got(arms, shortfall, lexical, candidates, distinct, pool)
        if not _copies_fill(distinct, most, arms, pool):
            break
    return got


def read_for(k: int, reranking: Reranking | None) -> int:
    """How many hits are read for k that are shown: a reranker may bring up any of its pool."""
    return k if reranking is None else max(k, reranking.pool)


def _best(fused: Sequence[Hit], reranked: RerankRun | None, k: int) -> tuple[Hit, ...]:
    if reranked is None:
        return tuple(fused[:k])
    return tuple(
        _reranked(fused[entry.position], entry, rank, reranked.fallback is None)
        for rank, entry in enumerate(reranked.order[:k], 1)
    )


def _reranked(hit: Hit, entry: Rescored, rank: int, decided: bool) -> Hit:
    if not decided:
        return hit
    explain = hit.explain
    if explain is not None:
        explain = {
            **explain,
            "rerank": {
                "fused_rank": hit.rank,
                "fused_score": hit.score,
                "fused": entry.fused,
                "reranked": entry.reranked,
                "scored": entry.rerank is not None,
            },
        }
    return replace(hit, rank=rank, score=entry.score, rerank=entry.rerank, explain=explain)


async def every_group(
    database: Database, identity: Identity, run: SearchRun
) -> list[tuple[Fused, list[Hit]]]:
    """All candidates of a run, best first, as they would be shown were all of them: those that say the same together, the one
    that ranks first in front."""
    fused = fuse(run.arms, run.fusion)
    async with database.transaction(identity) as connection:
        return await _groups(connection, fused, len(fused))


@dataclass(frozen=True, slots=True)
class ArmRun:
    """What one arm gave, alone; None: it could not be asked. `owners`: of its chunks that may be read, but those that the caller
    knew. `milliseconds` in the database, the question's vector not included. `exact`: nothing was approximated."""

    candidates: tuple[Candidate, ...] | None
    owners: Mapping[UUID, Owner]
    milliseconds: float
    exact: bool


async def run_arm(
    database: Database,
    identity: Identity,
    embedder: Embedder | None,
    space_id: int | None,
    config: SearchConfig,
    request: SearchRequest,
    known: Container[UUID],
    engine: Engine | None = None,
) -> ArmRun:
    """Asks one arm (mode lexical or semantic) as `run_search` asks it in any mode, repaired like there, so that what both arms
    gave can be fused later, by `replay`."""
    timer, reading = Timer(), read(request.question.strip())
    question = reading.text
    vector = None
    if request.mode == "semantic" and embedder is not None and any(c.isalnum() for c in question):
        vector = await _embed_question(embedder, question, [])
    consulted = await consult_engine(database, identity, engine, config, request, reading, timer)
    async with database.transaction(identity) as connection:
        reading = await demanding(connection, request, reading)
        lexical = (
            lexical_question(request, reading, config) if request.mode == "lexical" and question else None
        )
        semantic = semantic_question(request, reading, vector, space_id, config)
        arms, _, _ = await ask_weighed(connection, request, lexical, semantic, timer, config, consulted)
        candidates = by_arm(arms).get(request.mode)
        new = [c.chunk_id for c in candidates or () if c.chunk_id not in known]
        hits = await store.hydrate(connection, new) if new else {}
    return ArmRun(
        candidates=None if candidates is None else tuple(candidates),
        owners={key: owner(hit) for key, hit in hits.items()},
        milliseconds=round(sum(timer.stages.values()), 3),
        exact=arms.semantic_exact if request.mode == "semantic" else arms.lexical_exact,
    )


async def _embed_question(embedder: Embedder, question: str, notes: list[str]) -> Vectors | None:
    try:
        batch = await embedder.embed([question], "query")
    except MalformedResponse as error:
        notes.append(f"the question could not be embedded ({error.what}); only the lexical arm answered")
        return None
    if batch.truncated:
        notes.append(
            "the question is longer than the embedding model reads; its end counts in the lexical arm only"
        )
    vector: Vectors = batch.vectors[0]
    with np.errstate(over="ignore"):
        compared = vector.astype(np.float16)  # as the statements take it
    if not (np.isfinite(compared).all() and compared.any()):
        notes.append(
            "the question could not be embedded (its vector has no direction); only the lexical arm answered"
        )
        return None
    return vector


async def _terms(
    connection: Connection, request: SearchRequest, question: str
) -> tuple[store.TermExplanation, ...] | None:
    """Read for an explanation alone: no hit needs them."""
    if not request.explain:
        return None
    return await store.explain_terms(connection, question, request.analyser)


Question = TypeVar("Question", store.LexicalQuestion, store.SemanticQuestion)


def _deep(question: Question | None, pool: int) -> Question | None:
    return None if question is None else replace(question, pool=pool)


def _copies_fill(found: Sequence[tuple[Fused, Hit]], k: int, arms: store.ArmResults, pool: int) -> bool:
    return copies_fill(
        full=any(len(candidates) >= pool for candidates in by_arm(arms).values()),
        found=len(found),
        k=k,
        shared=any(hit.also for _, hit in found),
    )


async def _read(
    connection: Connection, arms: store.ArmResults, settings: FusionSettings, k: int, timer: Timer
) -> tuple[dict[str, list[Candidate]], list[tuple[Fused, Hit]]]:
    """The arms' candidates, and the best k hits of them that say different things."""
    with timer.stage("fuse"):
        candidates = by_arm(arms)
        fused = fuse(candidates, settings)
    with timer.stage("read"):
        return candidates, await _distinct(connection, fused, k)


@dataclass(frozen=True, slots=True)
class ArmAgain:
    """An arm as a search reads it, and the exact result with the milliseconds that it took; None where the arm had read
    everything."""

    candidates: Sequence[Candidate]
    exact: Sequence[Candidate] | None
    exact_ms: float = 0.0


async def ask_again(
    connection: Connection,
    request: SearchRequest,
    vector: Vectors | None,
    space_id: int | None,
    config: SearchConfig,
) -> dict[str, ArmAgain]:
    """The arms of a search, repaired as ever, and the exact result of each that did not read everything. `vector` is the
    question's, as it was embedded then. In the caller's transaction, which should have one snapshot."""
    reading = await demanding(connection, request, read(request.question.strip()))
    lexical = None
    if (
        request.mode != "semantic" and reading.text
    ):  # what is missed is told by BM25, whatever scores candidates afterwards
        lexical = replace(lexical_question(request, reading, config), scorer="bm25")
    semantic = semantic_question(request, reading, vector, space_id, config)
    arms, _, lexical = await ask(connection, request, lexical, semantic, Timer(), config)
    again = {}
    if lexical is not None and arms.lexical is not None:
        exactly = partial(store.lexical_permitted, connection, request.filters, lexical)
        again["lexical"] = await _compared(arms.lexical, arms.lexical_exact, exactly)
    if semantic is not None and arms.semantic is not None:
        nearest = partial(store.semantic_exact, connection, request.filters, semantic)
        again["semantic"] = await _compared(arms.semantic, arms.semantic_exact, nearest)
    return again


async def _compared(
    candidates: Sequence[Candidate], exact: bool, exactly: Callable[[], Awaitable[list[Candidate]]]
) -> ArmAgain:
    if exact:
        return ArmAgain(candidates, None)
    started = time.perf_counter()
    found = await exactly()
    return ArmAgain(candidates, found, (time.perf_counter() - started) * 1000)


async def _distinct(connection: Connection, fused: Sequence[Fused], k: int) -> list[tuple[Fused, Hit]]:
    """The best k hits that say different things, each with the other documents that say the same."""
    return [(entry, _with_owners(same)) for entry, same in await _groups(connection, fused, k)]


READ_TOGETHER = 500


async def _groups(connection: Connection, fused: Sequence[Fused], k: int) -> list[tuple[Fused, list[Hit]]]:
    distinct = Distinct[Hit](k)
    for batch in batches(fused, min(k, READ_TOGETHER) or 1):
        if distinct.take(batch, await store.hydrate(connection, [f.chunk_id for f in batch])):
            break
    return distinct.best()


async def _with_in_force(
    connection: Connection, found: Sequence[tuple[Fused, Hit]]
) -> list[tuple[Fused, Hit]]:
    """Names what holds today, where a hit or its document's latest revision only holds from a later day."""
    today = datetime.now(UTC).date()
    ahead = {h.document.document_id for _, h in found if is_ahead(h.document, today)} - {None}
    if not ahead:
        return list(found)
    held = await store.in_force(connection, [key for key in ahead if key], today)
    return [
        (entry, replace(h, document=replace(h.document, in_force=held.get(h.document.document_id))))
        for entry, h in found
    ]


def _with_owners(same: Sequence[Hit]) -> Hit:
    first = same[0]
    others: dict[UUID | None, DocumentRef] = {}
    for hit in same[1:]:
        if hit.document.document_id != first.document.document_id:
            others.setdefault(hit.document.document_id, hit.document)
    return replace(first, also=tuple(others.values()))
