"""What a judge is to look at: the top results of several runs, once each, in an order that tells nothing. Pure."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from veraz.errors import UsageError
from veraz.evaluation.perquery import read_results
from veraz.evaluation.suites.spans import places
from veraz.evaluation.suites.twins import RevisionKey, key_of, standing, with_firsts
from veraz.nouns.corpus import Span
from veraz.nouns.evaluation import RankedItem
from veraz.nouns.suite import JudgedSpan, Judgement, Passage

Place = tuple[str, str, int, int, int]
"""Source, external id, revision, start, end: the hull of a chunk."""


def revisions_of_twins(rankings: Iterable[Sequence[RankedItem]], depth: int) -> set[RevisionKey]:
    """Whose texts `pool` needs: documents that say the same as a hit are named without a place in them."""
    found = (entry for ranking in rankings for entry in with_firsts(_first(ranking, depth)))
    return {key_of(p) for _, place, first in found if first for p in (place, first)}


def pool(
    rankings: Iterable[Sequence[RankedItem]], depth: int, texts: Mapping[RevisionKey, str]
) -> tuple[Place, ...]:
    """Where the first `depth` results of each ranking stand, once each. Several results may stand in one place: judged spans
    that one chunk earned."""
    found: dict[Place, None] = {}
    for ranking in rankings:
        for _, place, first in with_firsts(_first(ranking, depth)):
            where = standing(place, first, texts) if first else place
            if where.spans:
                found[where.source, where.external_id, where.revision, where.start, where.end] = None
    return tuple(found)


def _first(ranking: Iterable[RankedItem], depth: int) -> list[RankedItem]:
    """The first results, once each: a chunk that earned several judged spans has a place for each."""
    return list({(item.chunk_id, item.place): item for item in ranking}.values())[:depth]


def newest(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Without passages that a newer revision of the same document holds as well: runs may be of different days."""
    found = tuple(passages)
    latest: dict[tuple[str, str, str], int] = {}
    for p in found:
        latest[p.source, p.external_id, p.sha256] = max(
            p.revision, latest.get((p.source, p.external_id, p.sha256), 0)
        )
    return tuple(p for p in found if p.revision == latest[p.source, p.external_id, p.sha256])


def shuffled(places: Iterable[Passage], query_id: str, judge: str) -> tuple[Passage, ...]:
    """An order that depends on the judge, the query and the text alone: the same after each start, and not that of any run."""

    def key(passage: Passage) -> tuple[bytes, str, int]:
        told = f"{judge}\0{query_id}\0{passage.source}\0{passage.external_id}\0{passage.sha256}"
        return hashlib.sha256(told.encode()).digest(), passage.external_id, passage.start

    return tuple(sorted(places, key=key))


def stored_rankings(run: Path, known: Mapping[str, object]) -> dict[str, list[RankedItem]]:
    """Query id → results, read from a folder that `eval run --out` wrote, or its per-query file. Raises UsageError for a run
    over other queries, and for one that was written before places were."""
    results = read_results(run)
    if strange := [result.query_id for result in results if result.query_id not in known]:
        raise UsageError(
            f"{run}: query {strange[0]!r} is not in the suite",
            fix="give runs over this suite: veraz eval run SUITE --out DIR",
        )
    ranked = [d for result in results for d in result.ranked]
    if ranked and not any(d.place for d in ranked):
        raise UsageError(
            f"{run}: it does not say where its results stand",
            fix="run it again: veraz eval run SUITE --out DIR",
        )
    return {
        result.query_id: [RankedItem(d.docid, d.score, d.chunk_id, d.place) for d in result.ranked]
        for result in results
    }


def earlier_places(
    judgements: Iterable[Judgement], texts: Mapping[RevisionKey, str]
) -> dict[tuple[str, Place], Span]:
    """Where judgements stand in revisions whose text is given: (query, place there) → the place that the judgement names. By
    it a judge who sees the same text in a newer revision judges the same unit."""
    of_document: defaultdict[tuple[str, str], dict[tuple[str, JudgedSpan], None]] = defaultdict(dict)
    for j in judgements:
        span = JudgedSpan(j.source, j.external_id, j.start, j.end, j.sha256, 0)
        of_document[span.document][j.query_id, span] = None
    found: dict[tuple[str, Place], Span] = {}
    for (source, external_id, revision), text in texts.items():
        judged = of_document.get((source, external_id), {})
        placed = places(text, dict.fromkeys(span for _, span in judged))
        for query_id, span in judged:
            if where := placed.get(span):
                place = (source, external_id, revision, where.start, where.end)
                found[query_id, place] = Span(span.start, span.end)
    return found
