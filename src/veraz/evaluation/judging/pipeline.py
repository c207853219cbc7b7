"""From rankings to the passages of a judge. Orchestration only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from veraz.db.session import Database
from veraz.evaluation.judging.pool import Place, earlier_places, newest, pool, revisions_of_twins, shuffled
from veraz.evaluation.suites.pipeline import passages_of, texts_of
from veraz.nouns.corpus import Identity, Span
from veraz.nouns.evaluation import RankedItem
from veraz.nouns.suite import Judgement, Passage, PooledQuestion, QueryRequest


async def pooled_question(
    database: Database,
    identity: Identity,
    request: QueryRequest,
    rankings: Sequence[Sequence[RankedItem]],
    judgements: Sequence[Judgement],
    *,
    depth: int,
    judge: str,
) -> PooledQuestion:
    """The passages of one question, blind and shuffled, with the place by which `judgements` of it name a text already."""
    twins = revisions_of_twins(rankings, depth)
    wanted = pool(rankings, depth, await texts_of(database, identity, twins) if twins else {})
    found = await passages_of(database, identity, wanted)
    judged = {(j.source, j.external_id) for j in judgements}
    revisions = {p[:3] for p in wanted if p[:2] in judged}
    texts = await texts_of(database, identity, revisions) if revisions else {}
    earlier = earlier_places(judgements, texts)
    named = [_named(passage, earlier, request.query_id) for passage in newest(found)]
    return PooledQuestion(request, shuffled(named, request.query_id, judge), len(wanted) - len(found))


def _named(passage: Passage, earlier: Mapping[tuple[str, Place], Span], query_id: str) -> Passage:
    place = (passage.source, passage.external_id, passage.revision, passage.start, passage.end)
    return replace(passage, judged_at=earlier.get((query_id, place)))
