"""Asks a reranker about the best hits. Whatever it does, there is an order: where it fails, the fused one, and the reason.

Called after the transaction in which the hits were read, never within: the rows are those that the caller may read.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from veraz.errors import VerazError
from veraz.nouns.evidence import Hit
from veraz.nouns.rerank import RerankScores
from veraz.providers.ports import Reranker
from veraz.search.rescoring import Rescored, rescored

__all__ = ["RerankRun", "Reranking", "passage_text", "rerank_hits", "rerank_scores"]

_SEPARATOR = " › "


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranker as search uses it: `weight` in 0..1 is its share in the score, the fused score has the rest; the first `pool`
    hits are given to it, and `timeout` seconds to score them."""

    name: str
    reranker: Reranker
    weight: float
    pool: int
    timeout: float


@dataclass(frozen=True, slots=True)
class RerankRun:
    """What came of it. `fallback`: why the fused order stayed; None where the reranker decided. `record` is for the trace."""

    order: tuple[Rescored, ...]
    record: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    fallback: str | None = None


def passage_text(hit: Hit) -> str:
    """What a reranker reads of a hit: title, heading path and body. A body alone often does not say what it is about."""
    title = hit.document.title.strip()
    path = [h for h in hit.heading_path if h.strip() and h.strip().casefold() != title.casefold()]
    return "\n".join(line for line in (title, _SEPARATOR.join(path), hit.body) if line)


async def rerank_hits(using: Reranking, question: str, hits: Sequence[Hit]) -> RerankRun:
    """`hits` in fused order with their fused scores, more of them than `using.pool` or fewer; none of them is dropped."""
    fused = [hit.score for hit in hits]
    asked = [passage_text(hit) for hit in hits[: using.pool]]
    return await rerank_scores(using, question, fused, asked)


async def rerank_scores(
    using: Reranking, question: str, fused: Sequence[float], passages: Sequence[str]
) -> RerankRun:
    """The same for the texts of the first hits. What a reranker raises as its port says, and no answer in time, are reasons to
    keep the fused order, never errors."""
    record: dict[str, Any] = {
        "name": using.name,
        "version": using.reranker.version,
        "weight": using.weight,
        "pool": using.pool,
        "asked": len(passages),
        "scored": 0,
        "truncated": 0,
        "fallback": None,
    }
    stays = tuple(Rescored(at, score) for at, score in enumerate(fused))
    if not passages:
        return RerankRun(stays, record)
    try:
        async with asyncio.timeout(using.timeout):
            found = await using.reranker.rerank(question, passages)
        reason = _unusable(found, len(passages))
    except TimeoutError:
        reason = f"no scores within {using.timeout:g} s"
    except VerazError as error:
        reason = error.what
    except OSError as error:
        reason = str(error) or type(error).__name__
    if reason is not None:
        note = f"the reranker {using.name} was of no use ({reason}); the fused order stays"
        return RerankRun(stays, {**record, "fallback": reason}, (note,), reason)
    scored = sum(score is not None for score in found.scores)
    record |= {"scored": scored, "truncated": len(found.truncated)}
    notes: tuple[str, ...] = ()
    if scored < len(passages):
        notes = (
            f"the reranker {using.name} scored {scored} of {len(passages)} passages; the others follow in fused order",
        )
    return RerankRun(tuple(rescored(fused, found.scores, using.weight)), record, notes)


def _unusable(found: RerankScores, count: int) -> str | None:
    """Why no score is taken. One that is not finite tells that something is wrong with all of them."""
    if len(found.scores) != count:
        return f"{len(found.scores)} scores for {count} passages"
    given = [score for score in found.scores if score is not None]
    if not given:
        return "it scored nothing"
    if not all(map(math.isfinite, given)):
        return "a score that is not finite"
    return None
