"""Both arms in one round trip: filters first or last, words respelt, and what came up short done again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from veraz.config import SearchConfig
from veraz.nouns.question import Filters
from veraz.search import store
from veraz.search.fusion import Candidate
from veraz.search.misspelt import MOST_WORDS, Similar, chosen, plausible, respelt, words
from veraz.search.request import SearchRequest, Timer, few_rows

if TYPE_CHECKING:
    from veraz.db.session import Connection

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


async def ask_arms(
    connection: Connection,
    request: SearchRequest,
    lexical: store.LexicalQuestion | None,
    semantic: store.SemanticQuestion | None,
    timer: Timer,
    config: SearchConfig,
) -> tuple[store.ArmResults, dict[str, Any] | None, store.LexicalQuestion | None]:
    """What both arms gave, repaired; which of them had come up short; the lexical question with known words for misspelt ones."""
    way = await _way(connection, request, lexical, semantic, timer)
    arms, shortfall = await _once(connection, request, way, lexical, semantic, timer)
    if lexical is None or lexical.spellings is not None or request.as_of is not None or not config.fuzzy:
        return arms, shortfall, lexical
    known = await respelt_question(connection, request, arms, lexical, timer)
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


async def respelt_question(
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
