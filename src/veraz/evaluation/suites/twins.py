"""Documents that were found because they say the same as a hit. Search names them and not the place: it is looked for here.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from veraz.nouns.corpus import Span
from veraz.nouns.evaluation import RankedItem
from veraz.nouns.suite import ChunkPlace

RevisionKey = tuple[str, str, int]
"""Source, external id, number of the revision."""


def key_of(place: ChunkPlace) -> RevisionKey:
    return place.source, place.external_id, place.revision


def with_firsts(items: Iterable[RankedItem]) -> Iterator[tuple[RankedItem, ChunkPlace, ChunkPlace | None]]:
    """Items that say where they stand, each with its place; and, where that is no place in a text, the place of the hit
    whose text it repeats. An item that repeats a hit which is not there is left out."""
    first: dict[str | None, ChunkPlace] = {}
    for item in items:
        if item.place is None:
            continue
        if item.place.spans:
            first[item.chunk_id] = item.place
            yield item, item.place, None
        elif item.chunk_id in first:
            yield item, item.place, first[item.chunk_id]


def standing(place: ChunkPlace, first: ChunkPlace, texts: Mapping[RevisionKey, str]) -> ChunkPlace:
    """Where the text of `first` stands in the other document, piece by piece; `place` as it is where that cannot be told."""
    own, other = texts.get(key_of(place)), texts.get(key_of(first))
    if own is None or other is None:
        return place
    found: list[Span] = []
    after = 0
    for span in first.spans:
        start = own.find(other[span.start : span.end], after)
        if start < 0:
            return place
        after = start + span.end - span.start
        found.append(Span(start, after))
    return replace(place, spans=tuple(found))
