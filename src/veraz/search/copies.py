"""Hits that say different things: chunks of one wording are one hit, with the documents that share it. Pure.

Search reads hits from the database a batch at a time, a sweep knows them all beforehand; what is grouped with what, and when
there are enough, is decided here for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from veraz.search.fusion import Fused


class Said(Protocol):
    """What is known of a chunk: equal bodies say the same."""

    @property
    def body(self) -> str | bytes: ...


Chunk = TypeVar("Chunk", bound=Said)


class Distinct(Generic[Chunk]):
    """The best `k` different bodies, in the order of the best chunk of each."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._groups: dict[str | bytes, tuple[Fused, list[Chunk]]] = {}

    def take(self, batch: Sequence[Fused], chunks: Mapping[UUID, Chunk]) -> bool:
        """Adds the next batch, best first; a chunk that is not in `chunks` may not be read. True when there are enough."""
        for entry in batch:
            if (chunk := chunks.get(entry.chunk_id)) is not None:
                self._groups.setdefault(chunk.body, (entry, []))[1].append(chunk)
        return len(self._groups) >= self._k

    def best(self) -> list[tuple[Fused, list[Chunk]]]:
        """Of each body the entry that ranks it, and all chunks that say it, best first."""
        return list(self._groups.values())[: self._k]


def batches(fused: Sequence[Fused], k: int) -> Iterator[Sequence[Fused]]:
    """What is looked at together, best first."""
    return (fused[start : start + k] for start in range(0, len(fused), k))


def copies_fill(*, full: bool, found: int, k: int, shared: bool) -> bool:
    """Whether the result is short because many documents say the same (`shared`), while an arm could give more (`full`)."""
    return full and found < k and shared
