"""Several versions of one document in one run: what a run must remember of itself so that the later line counts. Pure.

Between the look-up of a document and its writing lie two windows of documents and a queue, so what was looked up may be older
than what this run is about to write.
"""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from veraz.nouns.corpus import RawItem

REMEMBERED = 10_000
"""Documents and revisions that are remembered: several times what a run has under way at once."""

Key = TypeVar("Key")


class Versions:
    def __init__(self) -> None:
        self._under_way: dict[str, None] = {}
        self._written: dict[UUID, None] = {}
        self._returning: dict[str, RawItem] = {}

    def begin(self, external_id: str) -> None:
        _add(self._under_way, external_id)

    def under_way(self, external_id: str) -> bool:
        """Whether a version of the document may still wait to be written, so that what is stored says nothing yet."""
        return external_id in self._under_way

    def wrote(self, revision_id: UUID) -> None:
        _add(self._written, revision_id)

    def is_own(self, revision_id: UUID | None) -> bool:
        return revision_id in self._written

    def put_off(self, item: RawItem) -> None:
        """For a line that brings back an earlier text without a date. It counts if no later line of the run says more of the
        document; else it is what an earlier run of the same collection went through, and is passed over."""
        self._returning[item.external_id] = item

    def passed_over(self, external_id: str) -> bool:
        """Whether a line was put off that the present one replaces."""
        return self._returning.pop(external_id, None) is not None

    def left(self) -> list[RawItem]:
        """The lines put off that nothing replaced; they are handed out once."""
        left, self._returning = list(self._returning.values()), {}
        return left


def _add(remembered: dict[Key, None], key: Key) -> None:
    remembered.pop(key, None)
    remembered[key] = None
    if len(remembered) > REMEMBERED:
        del remembered[next(iter(remembered))]
