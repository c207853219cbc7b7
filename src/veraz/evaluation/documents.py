"""From chunks to documents: judgements name documents, search ranks chunks."""

from __future__ import annotations

from collections.abc import Iterable

from veraz.nouns.evaluation import RankedItem


def rank_documents(chunks: Iterable[RankedItem], depth: int | None = None) -> tuple[RankedItem, ...]:
    """Each document once, at the place and with the score of its best-ranked chunk, at most `depth` of them.

    The input is in rank order and total, so the result is too: no tie is opened again.
    """
    best: dict[str, RankedItem] = {}
    for item in chunks:
        best.setdefault(item.docid, item)
    return tuple(best.values())[:depth]
