"""The arms for who measures them: each as a search asks it, and exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from veraz.config import SearchConfig
from veraz.nouns.corpus import SpaceIndex, Vectors
from veraz.nouns.question import Filters
from veraz.search import store
from veraz.search.fusion import Candidate
from veraz.search.request import EVERY_POSTING

if TYPE_CHECKING:
    from veraz.db.session import Connection


class MeasuredArms:
    """Both arms over one space with one set of filters. Each method returns chunk ids and scores, higher is better: at most
    `pool`."""

    def __init__(
        self, space_id: int, config: SearchConfig, filters: Filters, index: SpaceIndex, indexed: int
    ) -> None:
        self._space_id = space_id
        self._config = config
        self._filters = filters
        self._index = index
        self._indexed = indexed

    async def exact(self, connection: Connection, vector: Vectors, pool: int) -> list[tuple[UUID, float]]:
        question = self._question(vector, pool, {}, exact=True)
        return scored(await store.semantic_exact(connection, self._filters, question))

    async def approximate(
        self, connection: Connection, vector: Vectors, pool: int, looked: Mapping[str, int]
    ) -> list[tuple[UUID, float]]:
        """By the index as it stands, read as far as `looked` says: a shortfall is not repaired."""
        question = self._question(vector, pool, looked, exact=False)
        arms = await store.run_arms(connection, self._filters, None, question)
        return scored(arms.semantic or [])

    async def lexical(
        self, connection: Connection, text: str, analyser: str, pool: int, *, exact: bool
    ) -> tuple[list[tuple[UUID, float]], bool]:
        """With the configured budget, or over every row. The second value: whether everything was read."""
        budget = EVERY_POSTING if exact else self._config.budget
        question = store.LexicalQuestion(text, analyser, pool, budget, self._config.rescored)
        if exact:
            return scored(await store.lexical_permitted(connection, self._filters, question)), True
        arms = await store.run_arms(connection, self._filters, question, None)
        return scored(arms.lexical or []), arms.lexical_exact

    def _question(
        self, vector: Vectors, pool: int, looked: Mapping[str, int], *, exact: bool
    ) -> store.SemanticQuestion:
        return store.SemanticQuestion(
            vector,
            self._space_id,
            pool,
            looked.get("ef_search", self._config.ef_search),
            max_scan_tuples=self._config.max_scan_tuples,
            exact=exact,
            kind=self._index.kind,
            cluster=max(1, self._indexed // self._index.options.get("lists", 1)),
            probes=looked.get("probes", 1),
            oversampling=looked.get("oversampling", 1),
            distance=self._index.distance,
        )


def scored(candidates: Sequence[Candidate]) -> list[tuple[UUID, float]]:
    return [(c.chunk_id, c.score) for c in candidates]
