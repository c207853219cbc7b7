"""The arms as a search asks them: another engine's candidates, another scorer, words across languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from veraz.config import SearchConfig
from veraz.db.session import Connection, Database
from veraz.nouns.corpus import Identity
from veraz.nouns.lexical import EngineQuestion
from veraz.search import store
from veraz.search.abroad import weighed
from veraz.search.arms import ask_arms, respelt_question
from veraz.search.engines.pipeline import Consulted, Engine, consult, spared
from veraz.search.engines.rules import Given, filled
from veraz.search.fusion import Candidate
from veraz.search.replay import DEEPER
from veraz.search.request import SearchRequest, Timer, condition_of, lexical_question
from veraz.search.syntax import Reading


async def demanding(connection: Connection, request: SearchRequest, reading: Reading) -> Reading:
    """The reading without what demands nothing: marks around stop words alone."""
    condition = condition_of(request, reading)
    if condition is not None and not await store.demands(connection, condition):
        return Reading(reading.text)
    return reading


async def ask_weighed(
    connection: Connection,
    request: SearchRequest,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
    config: SearchConfig,
    consulted: Consultation | None = None,
) -> tuple[store.ArmResults, dict[str, Any] | None, store.LexicalQuestion | None]:
    """As `ask`, and lexical candidates in another language than the question's weighed by how much of it they hold, where their
    scores are our BM25."""
    arms, shortfall, known = await ask(connection, request, lexical, semantic, timer, config, consulted)
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


async def ask(
    connection: Connection,
    request: SearchRequest,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
    config: SearchConfig,
    consulted: Consultation | None = None,
) -> tuple[store.ArmResults, dict[str, Any] | None, store.LexicalQuestion | None]:
    """What both arms gave, repaired, and the lexical question as it was read in the end: with known words for misspelt ones."""
    if lexical is not None and consulted is not None and consulted.given is not None:
        return await _with_engine(connection, request, lexical, semantic, timer, config, consulted)
    if lexical is None or lexical.scorer == "bm25":
        return await ask_arms(connection, request, lexical, semantic, timer, config)
    wide = replace(lexical, pool=max(lexical.pool, lexical.rescored))
    arms, shortfall, known = await ask_arms(connection, request, wide, semantic, timer, config)
    if known is not None and arms.lexical:
        arms = await _across(connection, request, arms, known, timer)
        with timer.stage("arms"):
            scored = await store.cover_density(connection, known, arms.lexical or ())
        arms = replace(arms, lexical=scored[: lexical.pool], proven=0)
    return arms, shortfall, None if known is None else replace(known, pool=lexical.pool)


@dataclass(frozen=True, slots=True)
class Consultation:
    """What another engine gave for the question as it was read, misspelt words and all; see `Consulted`."""

    question: store.LexicalQuestion
    given: Given | None
    record: Mapping[str, Any]
    notes: tuple[str, ...]


async def consult_engine(
    database: Database,
    identity: Identity,
    engine: Engine | None,
    config: SearchConfig,
    request: SearchRequest,
    reading: Reading,
    timer: Timer,
) -> Consultation | None:
    """None: the postings are the lexical arm, or there is no lexical arm. Each step has a transaction of its own, so that none is
    open while the engine is asked."""
    if engine is None or request.mode == "semantic" or not any(c.isalnum() for c in reading.text):
        return None
    async with database.transaction(identity) as connection:
        reading = await demanding(connection, request, reading)
        question = lexical_question(request, reading, config)
        why = _not_the_engines(request)
        if why is None and (await store.posting_count(connection, question))[0] == 0:
            why = "no word that is searched for"
        if why is None and config.fuzzy:
            nothing = store.ArmResults(None, None, lexical_exact=True, semantic_exact=True)
            question = await respelt_question(connection, request, nothing, question, timer)
    if why is not None:
        found = spared(engine, why)
    else:
        found = await _asked_engine(database, identity, engine, request, question, timer)
    return Consultation(question, found.given, found.record, found.notes)


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
    consulted: Consultation,
) -> tuple[store.ArmResults, dict[str, Any] | None, store.LexicalQuestion]:
    """The engine's candidates as the lexical arm, looked at in this transaction's snapshot; where they are fewer than the pool,
    those that the postings find beside them follow."""
    known = replace(consulted.question, pool=lexical.pool)
    with timer.stage("arms"):
        _, given = await store.engine_permitted(connection, request.filters, known, consulted.given or ())
    arms, shortfall = store.ArmResults(None, None, lexical_exact=True, semantic_exact=True), None
    if semantic is not None:
        arms, shortfall, _ = await ask_arms(connection, request, None, semantic, timer, config)
    own, has_no_terms = list[Candidate](), False
    if len(given) < known.pool:
        beside = replace(known, spellings=known.spellings or {})
        found, _, _ = await ask_arms(connection, request, beside, None, timer, config)
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


def by_arm(arms: store.ArmResults) -> dict[str, list[Candidate]]:
    """The candidates of each arm that was asked, best first, by its name."""
    named = {"lexical": arms.lexical, "semantic": arms.semantic}
    return {name: candidates for name, candidates in named.items() if candidates is not None}
