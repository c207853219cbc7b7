"""Search: analyse and embed outside, both arms in one round trip, fuse, read the hits. One transaction, one snapshot."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID, uuid4

import numpy as np

from veraz.config import SearchConfig
from veraz.db.session import Connection, Database
from veraz.errors import MalformedResponse
from veraz.nouns.corpus import Identity, SpaceIndex, Vectors
from veraz.nouns.evidence import ArmScore, DocumentRef, Hit, Mode, SearchResult, spelling_note
from veraz.nouns.lexical import EngineQuestion
from veraz.nouns.question import Filters
from veraz.nouns.sweep import Owner
from veraz.providers.ports import Embedder
from veraz.search import store
from veraz.search.abroad import weighed
from veraz.search.ahead import is_ahead
from veraz.search.copies import Distinct, batches, copies_fill
from veraz.search.engines.pipeline import Consulted, Engine, consult, spared
from veraz.search.engines.rules import Given, filled
from veraz.search.fusion import METHODS, Candidate, Fused, FusionSettings, arm_weights, fuse
from veraz.search.misspelt import MOST_WORDS, Similar, chosen, plausible, respelt, words
from veraz.search.replay import DEEPER, owner
from veraz.search.reranking import Reranking, RerankRun, rerank_hits
from veraz.search.rescoring import Rescored
from veraz.search.syntax import Reading, read

__all__ = [
    "DEEPER",
    "ArmAgain",
    "ArmRun",
    "SearchRequest",
    "SearchRun",
    "Timer",
    "ask_again",
    "every_group",
    "few_rows",
    "read_for",
    "run_arm",
    "run_search",
]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question as search takes it: `lang` is the analyser's language, already decided; `k` hits are returned; `exact` reads
    every posting and compares every vector, `few` the latter alone; `as_of` searches the revisions that held on that day. `own`
    current chunks of the tenant and `indexed` vectors of all tenants decide how a filtered search goes about it. `abroad`: there
    are chunks of another analyser than the question's; `told`: its words leave no doubt which language it is in. `index`
    is the one that the space has; `ef_search`, `probes` and `oversampling` say how far it is read; None: as configured, or
    recorded with it."""

    question: str
    lang: str
    analyser: str
    mode: Mode = "hybrid"
    k: int = 10
    filters: Filters = field(default_factory=Filters)
    fusion: str | None = None
    exact: bool = False
    explain: bool = False
    as_of: date | None = None
    few: bool = False
    own: int = 0
    indexed: int = 0
    abroad: bool = False
    told: bool = False
    index: SpaceIndex = field(default_factory=SpaceIndex)
    ef_search: int | None = None
    probes: int | None = None
    oversampling: int | None = None


class Timer:
    """Milliseconds per stage, in the order in which the stages ran."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._started = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.stages[name] = self.stages.get(name, 0.0) + round((time.perf_counter() - started) * 1000, 3)

    def finish(self) -> dict[str, float]:
        return {**self.stages, "total": round((time.perf_counter() - self._started) * 1000, 3)}


@dataclass(frozen=True, slots=True)
class SearchRun:
    """A result with what later stages need of how it came about: the question's vector, both arms' candidates, which of them
    read everything, how they were fused, and what was asked. `fused`: the hits that were read, before a reranker saw them;
    `reranked`: what came of that, None where none was asked."""

    result: SearchResult
    vector: Vectors | None
    arms: Mapping[str, Sequence[Candidate]]
    exact: Mapping[str, bool]
    fusion: FusionSettings
    request: SearchRequest
    fused: tuple[Hit, ...] = ()
    reranked: RerankRun | None = None


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
    consulted = await _consulted(database, identity, engine, config, request, reading, timer)
    async with database.transaction(identity) as connection:
        reading = await _demanding(connection, request, reading)
        lexical = (
            _lexical_question(request, reading, config) if request.mode != "semantic" and question else None
        )
        semantic = _semantic_question(request, reading, vector, space_id, config)
        settings = FusionSettings(request.fusion or config.fusion, config.semantic_weight, config.rrf_k)
        pool = config.pool
        arms, shortfall, lexical = await _weighed(
            connection, request, lexical, semantic, timer, config, consulted
        )
        candidates, distinct = await _read(connection, arms, settings, most, timer)
        if _copies_fill(distinct, most, arms, pool):
            pool *= DEEPER
            lexical, semantic = _deeper(lexical, pool), _deeper(semantic, pool)
            arms, shortfall, lexical = await _weighed(
                connection, request, lexical, semantic, timer, config, consulted
            )
            candidates, distinct = await _read(connection, arms, settings, most, timer)
        with timer.stage("read"):
            found = await _with_in_force(connection, distinct)
            terms = await _terms(connection, request, lexical.text if lexical else question)
            unknown = await store.unknown_sources(connection, request.filters)
    spellings = lexical.spellings if lexical and lexical.spellings else {}
    notes += _remarks(request, reading, arms, unknown, identity.tenant)
    notes += [spelling_note(spellings)] if spellings else []
    notes += consulted.notes if consulted is not None else ()
    by = None if consulted is None else (consulted.record["name"], arms.by_engine)
    fused = tuple(_ranked(found, terms, settings, arm_weights(candidates, settings), by))
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
        shortfall=shortfall,
        timings_ms=timer.finish(),
        hits=ranked,
        notes=tuple(notes),
        config={
            **_configuration(request, config, settings, arms, pool, consulted),
            "rerank": reranked.record if reranked is not None else None,
        },
        as_of=request.as_of,
        spellings=spellings,
    )
    exact = {"lexical": arms.lexical_exact, "semantic": arms.semantic_exact}
    read_all = {arm: exact[arm] for arm in candidates}
    return SearchRun(result, vector, candidates, read_all, settings, request, fused, reranked)


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
    consulted = await _consulted(database, identity, engine, config, request, reading, timer)
    async with database.transaction(identity) as connection:
        reading = await _demanding(connection, request, reading)
        lexical = (
            _lexical_question(request, reading, config) if request.mode == "lexical" and question else None
        )
        semantic = _semantic_question(request, reading, vector, space_id, config)
        arms, _, _ = await _weighed(connection, request, lexical, semantic, timer, config, consulted)
        candidates = _asked(arms).get(request.mode)
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


async def _demanding(connection: Connection, request: SearchRequest, reading: Reading) -> Reading:
    """The reading without what demands nothing: marks around stop words alone."""
    condition = _condition(request, reading)
    if condition is not None and not await store.demands(connection, condition):
        return Reading(reading.text)
    return reading


def _condition(request: SearchRequest, reading: Reading) -> store.Condition | None:
    if reading.condition is None:
        return None
    return store.Condition(reading.condition, request.analyser, reading.is_selective)


def _lexical_question(
    request: SearchRequest, reading: Reading, config: SearchConfig
) -> store.LexicalQuestion:
    budget = EVERY_POSTING if request.exact else config.budget
    return store.LexicalQuestion(
        text=reading.text,
        analyser=request.analyser,
        pool=config.pool,
        budget=budget,
        rescored=config.rescored,
        condition=_condition(request, reading),
        scorer=config.scorer,
    )


def _semantic_question(
    request: SearchRequest,
    reading: Reading,
    vector: Vectors | None,
    space_id: int | None,
    config: SearchConfig,
) -> store.SemanticQuestion | None:
    if vector is None or space_id is None:
        return None
    looked = looks(request, config)
    lists = request.index.options.get("lists", 1)
    return store.SemanticQuestion(
        vector,
        space_id,
        config.pool,
        looked["ef_search"],
        config.max_scan_tuples,
        request.exact or request.few or request.index.kind == "none",
        _condition(request, reading),
        kind=request.index.kind,
        probes=looked.get("probes", 1),
        cluster=max(1, request.indexed // lists),
        oversampling=looked.get("oversampling", 1),
        distance=request.index.distance,
    )


def looks(request: SearchRequest, config: SearchConfig) -> dict[str, int]:
    """How far the index of the space is read: as the request says, else the configuration, else what is recorded with it."""
    options = request.index.options
    found = {"ef_search": request.ef_search or config.ef_search}
    if request.index.kind == "ivfflat":
        found["probes"] = request.probes or config.probes or options.get("probes", 1)
    if request.index.kind == "binary":
        found["oversampling"] = request.oversampling or config.oversampling or options.get("oversampling", 8)
    return found


EVERY_POSTING = 2_000_000_000
"""A budget that no question exceeds."""

Question = TypeVar("Question", store.LexicalQuestion, store.SemanticQuestion)


def _deeper(question: Question | None, pool: int) -> Question | None:
    return None if question is None else replace(question, pool=pool)


def _copies_fill(found: Sequence[tuple[Fused, Hit]], k: int, arms: store.ArmResults, pool: int) -> bool:
    return copies_fill(
        full=any(len(candidates) >= pool for candidates in _asked(arms).values()),
        found=len(found),
        k=k,
        shared=any(hit.also for _, hit in found),
    )


async def _weighed(
    connection: Connection,
    request: SearchRequest,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
    config: SearchConfig,
    consulted: _Consulted | None = None,
) -> tuple[store.ArmResults, dict[str, Any] | None, store.LexicalQuestion | None]:
    """The same with lexical candidates in another language than the question's weighed by how much of it they hold, where their
    scores are our BM25."""
    arms, shortfall, known = await _ask(connection, request, lexical, semantic, timer, config, consulted)
    if known is not None and known.scorer == "bm25" and not arms.by_engine:
        arms = await _across(connection, request, arms, known, timer)
    return arms, shortfall, known


async def _across(
    connection: Connection,
    request: SearchRequest,
    arms: store.ArmResults,
    known: store.LexicalQuestion,
    timer: Timer,
) -> store.ArmResults:
    if not request.abroad or not arms.lexical:
        return arms
    with timer.stage("arms"):
        whole = await store.abroad(connection, known, arms.lexical)
    return replace(arms, lexical=weighed(arms.lexical, whole), proven=0) if whole else arms


async def _ask(
    connection: Connection,
    request: SearchRequest,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
    config: SearchConfig,
    consulted: _Consulted | None = None,
) -> tuple[store.ArmResults, dict[str, Any] | None, store.LexicalQuestion | None]:
    """What both arms gave, repaired, and the lexical question as it was read in the end: with known words for misspelt ones."""
    if lexical is not None and consulted is not None and consulted.given is not None:
        return await _with_engine(connection, request, lexical, semantic, timer, config, consulted)
    if lexical is None or lexical.scorer == "bm25":
        return await _found(connection, request, lexical, semantic, timer, config)
    wide = replace(lexical, pool=max(lexical.pool, lexical.rescored))
    arms, shortfall, known = await _found(connection, request, wide, semantic, timer, config)
    if known is not None and arms.lexical:
        arms = await _across(connection, request, arms, known, timer)
        with timer.stage("arms"):
            scored = await store.cover_density(connection, known, arms.lexical or ())
        arms = replace(arms, lexical=scored[: lexical.pool], proven=0)
    return arms, shortfall, None if known is None else replace(known, pool=lexical.pool)


@dataclass(frozen=True, slots=True)
class _Consulted:
    """What another engine gave for the question as it was read, misspelt words and all; see `Consulted`."""

    question: store.LexicalQuestion
    given: Given | None
    record: Mapping[str, Any]
    notes: tuple[str, ...]


async def _consulted(
    database: Database,
    identity: Identity,
    engine: Engine | None,
    config: SearchConfig,
    request: SearchRequest,
    reading: Reading,
    timer: Timer,
) -> _Consulted | None:
    """None: the postings are the lexical arm, or there is no lexical arm. Each step has a transaction of its own, so that none is
    open while the engine is asked."""
    if engine is None or request.mode == "semantic" or not any(c.isalnum() for c in reading.text):
        return None
    async with database.transaction(identity) as connection:
        reading = await _demanding(connection, request, reading)
        question = _lexical_question(request, reading, config)
        why = _not_the_engines(request)
        if why is None and (await store.posting_count(connection, question))[0] == 0:
            why = "no word that is searched for"
        if why is None and config.fuzzy:
            nothing = store.ArmResults(None, None, lexical_exact=True, semantic_exact=True)
            question = await _respelt(connection, request, nothing, question, timer)
    if why is not None:
        found = spared(engine, why)
    else:
        found = await _asked_engine(database, identity, engine, request, question, timer)
    return _Consulted(question, found.given, found.record, found.notes)


def _not_the_engines(request: SearchRequest) -> str | None:
    if request.as_of is not None:
        return "the day that is asked for: an engine's index holds what is current"
    return "--exact: every posting is read" if request.exact else None


async def _asked_engine(
    database: Database,
    identity: Identity,
    engine: Engine,
    request: SearchRequest,
    question: store.LexicalQuestion,
    timer: Timer,
) -> Consulted:
    async def permitted(given: Given) -> tuple[int, int]:
        async with database.transaction(identity) as connection:
            known, allowed = await store.engine_permitted(connection, request.filters, question, given)
        return known, len(allowed)

    # Begun with what repeated texts may need later: two questions of one depth cost more than one that is deeper.
    asked = EngineQuestion(identity, question.text, request.lang, question.pool * DEEPER)
    with timer.stage("engine"):
        return await consult(engine, asked, question.pool, permitted)


async def _with_engine(
    connection: Connection,
    request: SearchRequest,
    lexical: store.LexicalQuestion,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
    config: SearchConfig,
    consulted: _Consulted,
) -> tuple[store.ArmResults, dict[str, Any] | None, store.LexicalQuestion]:
    """The engine's candidates as the lexical arm, looked at in this transaction's snapshot; where they are fewer than the pool,
    those that the postings find beside them follow."""
    known = replace(consulted.question, pool=lexical.pool)
    with timer.stage("arms"):
        _, given = await store.engine_permitted(connection, request.filters, known, consulted.given or ())
    arms, shortfall = store.ArmResults(None, None, lexical_exact=True, semantic_exact=True), None
    if semantic is not None:
        arms, shortfall, _ = await _found(connection, request, None, semantic, timer, config)
    own, has_no_terms = list[Candidate](), False
    if len(given) < known.pool:
        beside = replace(known, spellings=known.spellings or {})
        found, _, _ = await _found(connection, request, beside, None, timer, config)
        own, has_no_terms = found.lexical or [], found.has_no_terms
    complete = filled(given, own)[: known.pool]
    if len(complete) > len(given):
        shortfall = _also_short(shortfall, len(given), len(complete))
    arms = replace(
        arms,
        lexical=complete,
        lexical_exact=False,
        proven=0,
        has_no_terms=has_no_terms,
        by_engine=frozenset(c.chunk_id for c in given),
    )
    return arms, shortfall, known


def _also_short(semantic: Mapping[str, Any] | None, given: int, complete: int) -> dict[str, Any]:
    """The engine's shortfall beside the semantic arm's."""
    return {
        "arm": "lexical and semantic" if semantic else "lexical",
        "approximate": given + (semantic["approximate"] if semantic else 0),
        "exact": complete + (semantic["exact"] if semantic else 0),
    }


async def _found(
    connection: Connection,
    request: SearchRequest,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
    config: SearchConfig,
) -> tuple[store.ArmResults, dict[str, Any] | None, store.LexicalQuestion | None]:
    way = await _way(connection, request, lexical, semantic, timer)
    arms, shortfall = await _once(connection, request, way, lexical, semantic, timer)
    if lexical is None or lexical.spellings is not None or request.as_of is not None or not config.fuzzy:
        return arms, shortfall, lexical
    known = await _respelt(connection, request, arms, lexical, timer)
    if known.spellings:
        again, more = await _once(connection, request, way, known, None, timer)
        arms = replace(arms, lexical=again.lexical, lexical_exact=again.lexical_exact, proven=again.proven)
        shortfall = more or shortfall
    return arms, shortfall, known


@dataclass(frozen=True, slots=True)
class _Way:
    """How the arms go about filters: `share` of the documents that they leave, as a sample has it; None: not estimated.
    `against`: far fewer are left of what is nearest to the question, hence every vector is compared."""

    share: float | None = None
    documents_first: bool = False
    against: bool = False


async def _way(
    connection: Connection,
    request: SearchRequest,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
) -> _Way:
    asked = semantic or lexical
    if request.filters == Filters() or request.exact or request.as_of is not None or not SAMPLE:
        return _Way()
    if asked is None or (asked.condition is not None and asked.condition.selective):
        return _Way()  # what is quoted is found by its words
    with timer.stage("plan"):
        share = await _share(connection, request)
    if share is None:
        return _Way(documents_first=True)
    left = math.ceil(share * request.own)
    if few_rows(left, request.indexed, asked.pool):
        return _Way(share, documents_first=True)
    with timer.stage("plan"):
        return _Way(share, against=await _is_against(connection, request, semantic, share))


async def _once(
    connection: Connection,
    request: SearchRequest,
    way: _Way,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
) -> tuple[store.ArmResults, dict[str, Any] | None]:
    if request.as_of is not None:
        with timer.stage("arms"):
            arms = await store.run_arms_as_of(connection, request.filters, lexical, semantic, request.as_of)
        return arms, None
    if way.documents_first:
        with timer.stage("arms"):
            arms = await store.narrow(connection, request.filters, lexical, semantic)
        return replace(arms, share=way.share, documents_first=True), None
    if way.share is not None:
        lexical, semantic = _bounded(lexical, semantic, way.share)
    if semantic is not None and way.against:
        semantic = replace(semantic, exact=True)
    with timer.stage("arms"):
        arms = await store.run_arms(connection, request.filters, lexical, semantic)
    arms = replace(arms, share=way.share)
    return await _repair(connection, request, arms, lexical, semantic, timer)


async def _respelt(
    connection: Connection,
    request: SearchRequest,
    arms: store.ArmResults,
    lexical: store.LexicalQuestion,
    timer: Timer,
) -> store.LexicalQuestion:
    """The question with words that the caller may read in place of those that nothing holds and that a slip explains."""
    if lexical.condition is not None and lexical.condition.selective:
        return replace(lexical, spellings={})
    candidates, unseen = words(lexical.text), arms.unseen
    if not candidates or unseen == ():
        return replace(lexical, spellings={})
    with timer.stage("spelling"):
        if unseen is None:
            unseen = await store.unseen_words(connection, lexical)
        near = await store.similar_words(connection, candidates[:MOST_WORDS], unseen) if unseen else []
        likely = plausible(one for one in near or () if _may_be_meant(one, request))
        readable = await store.readable_words(connection, request.filters, likely) if likely else {}
    spellings = chosen(likely, readable)
    return replace(lexical, text=respelt(lexical.text, spellings), spellings=spellings)


def _may_be_meant(one: Similar, request: SearchRequest) -> bool:
    """A word of another language is no slip: fiebre is not fibre. Where nothing tells the question's language, it may be one in
    any."""
    return not request.told or one.analyser == request.analyser


SAMPLE = 200
"""Documents that are looked at to estimate how many a filter lets through; 0: no estimate, and none are found first."""
PATIENCE = 2
"""Times the rows that a filtered arm should have to look at, were matches and filter independent, after which it gives up, and
all that is permitted is scored. This bounds the cost, not what is missed; `AGAINST` does that."""
NEAREST = 100
"""Of the vectors nearest to the question, how many are looked at to see whether a filter works against it."""
AGAINST = 0.5
"""A filter works against the question where the share that it leaves of what is nearest is below this much of what it leaves of
everything. The walk of the index would leave the question's neighbourhood for whatever it meets first: where half of the
documents are left, but nothing of the question's topic, it found 0.1 of the 50 nearest (bench/filters.py)."""


async def _share(connection: Connection, request: SearchRequest) -> float | None:
    """Of the tenant's documents, as a sample has it, with one more than was found: none of a few does not mean none. None where
    all there is costs so little that nothing needs to be estimated."""
    if request.few:
        return None
    sampled, passing = await store.filter_share(connection, request.filters, SAMPLE)
    return min(1.0, (passing + 1) / sampled) if sampled else None


async def _is_against(
    connection: Connection, request: SearchRequest, semantic: store.SemanticQuestion | None, share: float
) -> bool:
    if semantic is None or semantic.exact:
        return False
    sampled, passing = await store.nearest_share(connection, request.filters, semantic, NEAREST)
    return sampled > 0 and passing / sampled < AGAINST * share


def _bounded(
    lexical: store.LexicalQuestion | None, semantic: store.SemanticQuestion | None, share: float
) -> tuple[store.LexicalQuestion | None, store.SemanticQuestion | None]:
    """The same questions, which stop where finding the permitted rows first is the better way."""
    if lexical is not None:
        wanted = max(lexical.rescored, lexical.pool)
        lexical = replace(lexical, walked=math.ceil(PATIENCE * wanted / share))
    if semantic is not None:
        reach = math.ceil(PATIENCE * max(semantic.pool, semantic.reach) / share)
        semantic = replace(semantic, max_scan_tuples=min(semantic.max_scan_tuples, reach))
    return lexical, semantic


async def _read(
    connection: Connection, arms: store.ArmResults, settings: FusionSettings, k: int, timer: Timer
) -> tuple[dict[str, list[Candidate]], list[tuple[Fused, Hit]]]:
    """The arms' candidates, and the best k hits of them that say different things."""
    with timer.stage("fuse"):
        candidates = _asked(arms)
        fused = fuse(candidates, settings)
    with timer.stage("read"):
        return candidates, await _distinct(connection, fused, k)


async def _repair(
    connection: Connection,
    request: SearchRequest,
    arms: store.ArmResults,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
) -> tuple[store.ArmResults, dict[str, Any] | None]:
    """An arm that stopped early and came up short is done again exactly, so that never fewer than min(pool, permitted) are
    seen: neither the index nor the budget of postings knows what is permitted."""
    if request.filters != Filters():
        return await _repair_filtered(connection, request, arms, lexical, semantic, timer)
    short: dict[str, tuple[int, int]] = {}
    if lexical is not None and _came_up_short(arms.lexical, lexical.pool, arms.lexical_exact):
        with timer.stage("repair"):
            found = await store.lexical_permitted(connection, request.filters, lexical)
        short["lexical"] = len(arms.lexical or ()), len(found)
        arms = replace(arms, lexical=found, lexical_exact=True, proven=0)
    if semantic is not None and _semantic_short(arms, semantic):
        with timer.stage("repair"):
            found = await store.semantic_exact(connection, request.filters, semantic)
        short["semantic"] = len(arms.semantic or ()), len(found)
        arms = replace(arms, semantic=found, semantic_exact=True)
    return arms, _shortfall(short)


async def _repair_filtered(
    connection: Connection,
    request: SearchRequest,
    arms: store.ArmResults,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
) -> tuple[store.ArmResults, dict[str, Any] | None]:
    """The same where a filter is what came in between: what meets it is found first, once for both arms."""
    again = (
        lexical if lexical and _came_up_short(arms.lexical, lexical.pool, arms.lexical_exact) else None,
        semantic if semantic and _semantic_short(arms, semantic) else None,
    )
    if again == (None, None):
        return arms, None
    with timer.stage("repair"):
        found = await store.narrow(connection, request.filters, *again)
    short: dict[str, tuple[int, int]] = {}
    if found.lexical is not None:
        short["lexical"] = len(arms.lexical or ()), len(found.lexical)
        arms = replace(arms, lexical=found.lexical, lexical_exact=True, proven=0)
    if found.semantic is not None:
        short["semantic"] = len(arms.semantic or ()), len(found.semantic)
        arms = replace(arms, semantic=found.semantic, semantic_exact=True)
    return arms, _shortfall(short)


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
    reading = await _demanding(connection, request, read(request.question.strip()))
    lexical = (
        _lexical_question(request, reading, config) if request.mode != "semantic" and reading.text else None
    )
    semantic = _semantic_question(request, reading, vector, space_id, config)
    arms, _, lexical = await _ask(connection, request, lexical, semantic, Timer(), config)
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


def _came_up_short(candidates: Sequence[Candidate] | None, pool: int, exact: bool) -> bool:
    return candidates is not None and not exact and len(candidates) < pool


def _semantic_short(arms: store.ArmResults, semantic: store.SemanticQuestion) -> bool:
    return arms.semantic_starved or _came_up_short(arms.semantic, semantic.pool, arms.semantic_exact)


def _shortfall(repaired: Mapping[str, tuple[int, int]]) -> dict[str, Any] | None:
    """Which arms found more when they were repeated, and how many candidates before and after."""
    more = {arm: counts for arm, counts in repaired.items() if counts[1] > counts[0]}
    if not more:
        return None
    return {
        "arm": " and ".join(more),
        "approximate": sum(before for before, _ in more.values()),
        "exact": sum(after for _, after in more.values()),
    }


def _asked(arms: store.ArmResults) -> dict[str, list[Candidate]]:
    named = {"lexical": arms.lexical, "semantic": arms.semantic}
    return {name: candidates for name, candidates in named.items() if candidates is not None}


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


def _remarks(
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


def _ranked(
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


def _configuration(
    request: SearchRequest,
    config: SearchConfig,
    settings: FusionSettings,
    arms: store.ArmResults,
    pool: int,
    consulted: _Consulted | None,
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


def _of_engine(consulted: _Consulted | None, arms: store.ArmResults) -> dict[str, Any] | None:
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


SCAN_COST = 30
"""How many vectors an exact scan compares in the time in which the index's scan reaches one more candidate. With random vectors,
the hardest for an index, bench/tenants.py finds both equally fast at about 45; real ones are easier, hence less."""


def few_rows(own: int, indexed: int, pool: int) -> bool:
    """Whether comparing the `own` vectors of a tenant costs less than walking an index that all tenants share, which meets one
    of them in every indexed/own candidates: own <= SCAN_COST * pool * indexed / own."""
    return own * own <= SCAN_COST * pool * max(indexed, own)
