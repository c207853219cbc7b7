"""What a search gave, as far as a diagnosis looks at it, and where a passage stands in it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Group:
    """What is shown as one hit: the chunk that ranks first, and all that say the same. `documents` are ids, the head's first;
    `names` and `sources` theirs, in the same order. `rank` counts from 1; `fused_rank` is the one before a reranker."""

    rank: int
    score: float
    chunks: tuple[UUID, ...]
    documents: tuple[UUID, ...]
    names: tuple[str, ...]
    sources: tuple[str, ...]
    fused_rank: int


@dataclass(frozen=True, slots=True)
class Looked:
    """`groups`: every candidate, best first. `arms`: chunk ids with scores as each arm ranked them, best first; `exact`: whether
    it read everything. `pool`: candidates that were asked of each arm. `postings`: how many the question's terms have.
    `reranker`: the name of what changed the fused order; None where nothing did."""

    lang: str
    analyser: str
    groups: tuple[Group, ...]
    arms: Mapping[str, tuple[tuple[UUID, float], ...]]
    exact: Mapping[str, bool]
    pool: int
    postings: int
    reranker: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a passage stands: `is_folded` where another document that says the same stands for it."""

    group: Group
    is_folded: bool

    @property
    def rank(self) -> int:
        return self.group.rank

    def within(self, limit: int) -> bool:
        return not self.is_folded and self.rank <= limit


def placed(looked: Looked, targets: Collection[UUID], document_id: UUID, limit: int) -> Placed | None:
    """The best place of any of the targets: one of its own within the limit, else one that another document stands for, else the
    first. None where no arm has it among its candidates."""
    places = [
        Placed(group, group.documents[0] != document_id)
        for group in looked.groups
        if not set(targets).isdisjoint(group.chunks)
    ]
    own = next((p for p in places if p.within(limit)), None)
    folded = next((p for p in places if p.is_folded and p.rank <= limit), None)
    return own or folded or next(iter(places), None)


def arm_rank(looked: Looked, arm: str, targets: Collection[UUID]) -> tuple[int, float] | None:
    """Rank and score of the best target in an arm; None where it has none of them, or was not asked."""
    for rank, (chunk_id, score) in enumerate(looked.arms.get(arm, ()), 1):
        if chunk_id in targets:
            return rank, score
    return None


def best_arm_rank(looked: Looked, targets: Collection[UUID]) -> tuple[str, int] | None:
    ranks = [(arm, found[0]) for arm in looked.arms if (found := arm_rank(looked, arm, targets))]
    return min(ranks, key=lambda entry: entry[1], default=None)


def arm_facts(looked: Looked, targets: Collection[UUID]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for arm in looked.arms:
        if found := arm_rank(looked, arm, targets):
            facts[arm] = {"rank": found[0], "score": round(found[1], 6)}
    return facts


@dataclass(frozen=True, slots=True)
class Cited:
    """A span of one revision that an answer quotes."""

    source: str
    external_id: str
    revision: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Answered:
    """What `ask` made of the evidence. `lacking`: the rule that refuses whatever the probability, with the words that are
    missing; `dropped`: texts that validation refused, with its reasons."""

    outcome: str
    probability: float
    lacking: str | None
    missing: tuple[str, ...]
    cited: tuple[Cited, ...]
    dropped: tuple[tuple[str, str], ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Aim:
    """What counts as quoted: the spans of the passage in its revision."""

    source: str
    external_id: str
    revision: int
    spans: Sequence[tuple[int, int]]

    def is_cited(self, answered: Answered) -> bool:
        return any(
            (c.source, c.external_id, c.revision) == (self.source, self.external_id, self.revision)
            and any(a < c.end and c.start < b for a, b in self.spans)
            for c in answered.cited
        )
