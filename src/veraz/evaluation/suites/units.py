"""From chunks to units: judgements of a suite name spans, search ranks chunks.

Each judged span is one unit. A chunk takes one place in the ranking for every unit that it is the first to cover, best grade
first, and one place that earns nothing where it covers none or only what was found before. So no unit counts twice, and a
chunk without anything judged takes its place all the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace

from veraz.evaluation.suites.spans import earned, places
from veraz.evaluation.suites.twins import RevisionKey, key_of, standing, with_firsts
from veraz.nouns.corpus import Span
from veraz.nouns.evaluation import RankedItem
from veraz.nouns.suite import ChunkPlace, DocumentKey, JudgedSpan, QueryRequest

TextsFn = Callable[[QueryRequest, Collection[RevisionKey]], Awaitable[Mapping[RevisionKey, str]]]
"""The texts of revisions, as far as who asks that query may read them."""

Placed = Mapping[JudgedSpan, Span]


class Units:
    """Ranks judged spans. It asks for the text of a revision once per tenant, and keeps only where the spans stand in it."""

    def __init__(self, spans: Mapping[str, Sequence[JudgedSpan]], texts: TextsFn) -> None:
        self._spans = spans
        self._texts = texts
        self._of_document: defaultdict[DocumentKey, dict[JudgedSpan, None]] = defaultdict(dict)
        for found in spans.values():
            for span in found:
                self._of_document[span.document][span] = None
        self._placed: dict[tuple[str | None, RevisionKey], Placed] = {}

    async def ranked(
        self, request: QueryRequest, items: Sequence[RankedItem], depth: int | None = None
    ) -> tuple[RankedItem, ...]:
        """At most `depth` places. `docid` is a unit, or for a place that earns nothing `SOURCE/EXTERNAL_ID@START-END`."""
        mine: defaultdict[DocumentKey, set[JudgedSpan]] = defaultdict(set)
        for span in self._spans.get(request.query_id, ()):
            mine[span.document].add(span)
        found: dict[str, RankedItem] = {}
        for item, place in await self._located(request, items, mine):
            placed = self._placed.get((request.tenant, key_of(place)), {})
            judged = {s: where for s, where in placed.items() if s in mine.get(place.document, ())}
            new = [s.unit for s in earned(place.spans, judged) if s.unit not in found]
            for docid in new or [_nothing(item, place)]:
                found.setdefault(docid, replace(item, docid=docid, place=place))
        return tuple(found.values())[:depth]

    async def _located(
        self, request: QueryRequest, items: Sequence[RankedItem], judged: Collection[DocumentKey]
    ) -> list[tuple[RankedItem, ChunkPlace]]:
        """The items with their places, and the places of the judged spans in all judged revisions among them. A document
        that says the same as a hit is searched for that text where something in it is judged."""
        known = list(with_firsts(items))
        of_interest = [(place, first) for _, place, first in known if place.document in judged]
        missing = {key_of(p) for p, _ in of_interest if (request.tenant, key_of(p)) not in self._placed}
        of_twins = {key_of(p) for twin, first in of_interest if first for p in (twin, first)}
        texts = await self._texts(request, missing | of_twins) if missing | of_twins else {}
        for key in missing:
            text = texts.get(key)
            found = places(text, self._of_document[key[:2]]) if text is not None else {}
            self._placed[request.tenant, key] = found
        return [(i, standing(place, first, texts) if first else place) for i, place, first in known]


def _nothing(item: RankedItem, place: ChunkPlace) -> str:
    """The id of a place that earns nothing: no other's, and not that of a unit."""
    where = f"{place.start}-{place.end}" if place.spans else item.chunk_id
    return f"{place.source}/{place.external_id}@{where}"
