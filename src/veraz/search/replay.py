"""What a search would have returned, from candidates that were kept: fused, and copies of one wording folded, by the functions
that search itself uses. Pure; the twin of the middle of `run_search`, held to it by tests/search/test_replay.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from uuid import UUID

from veraz.nouns.evaluation import RankedItem
from veraz.nouns.evidence import Candidate, Hit
from veraz.nouns.sweep import Owner
from veraz.search.copies import Distinct, batches, copies_fill
from veraz.search.fusion import FusionSettings, fuse

DEEPER = 10
"""Times the pool in which an arm is asked again after copies of a few texts filled it."""


def owner(hit: Hit) -> Owner:
    """What is kept of a hit. The body goes as its hash: what says the same can be told, what it says cannot."""
    return Owner(
        external_id=hit.document.external_id,
        document_id=hit.document.document_id,
        body=blake2b(hit.body.encode(), digest_size=16).digest(),
    )


@dataclass(frozen=True, slots=True)
class Replayed:
    """The hits in rank order, each followed by the other documents that say the same, as `RankedItem`s of the hit's chunk and
    score. `deeper`: copies filled the arms' pools; search would ask them again with `DEEPER` times the pool, and return that."""

    ranked: tuple[RankedItem, ...]
    deeper: bool


def replay(
    arms: Mapping[str, Sequence[Candidate]],
    owners: Mapping[UUID, Owner],
    settings: FusionSettings,
    *,
    k: int,
    pool: int,
) -> Replayed:
    """`arms`: those that the mode asks, each with at most `pool` candidates. A chunk without an owner may not be read."""
    distinct = Distinct[Owner](k)
    for batch in batches(fuse(arms, settings), k):
        if distinct.take(batch, owners):
            break
    found = distinct.best()
    return Replayed(
        ranked=tuple(
            RankedItem(document, entry.score, str(entry.chunk_id))
            for entry, same in found
            for document in _documents(same)
        ),
        deeper=copies_fill(
            full=any(len(candidates) >= pool for candidates in arms.values()),
            found=len(found),
            k=k,
            shared=any(len({one.document_id for one in same}) > 1 for _, same in found),
        ),
    )


def _documents(same: Sequence[Owner]) -> list[str]:
    """External ids, the hit's own first, each document once."""
    return list({one.document_id: one.external_id for one in same}.values())
