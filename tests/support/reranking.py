"""Rerankers for tests: each is what a function says of a passage, and keeps what it was given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from veraz.nouns.rerank import RerankScores

Said = Callable[[str, Sequence[str]], Awaitable[RerankScores]]


class SaidReranker:
    """Implements `Reranker`: `said` makes the answer."""

    version = "said-1"

    def __init__(self, said: Said) -> None:
        self._said = said
        self.asked: list[tuple[str, list[str]]] = []
        self.closed = False

    async def rerank(self, question: str, passages: Sequence[str]) -> RerankScores:
        self.asked.append((question, list(passages)))
        return await self._said(question, passages)

    async def close(self) -> None:
        self.closed = True


def scoring(score: Callable[[str], float | None]) -> SaidReranker:
    async def said(_question: str, passages: Sequence[str]) -> RerankScores:
        return RerankScores(tuple(map(score, passages)))

    return SaidReranker(said)


def failing(error: BaseException) -> SaidReranker:
    async def said(_question: str, _passages: Sequence[str]) -> RerankScores:
        raise error

    return SaidReranker(said)


def giving(*scores: float | None) -> SaidReranker:
    """The same whatever is asked."""

    async def said(_question: str, _passages: Sequence[str]) -> RerankScores:
        return RerankScores(scores)

    return SaidReranker(said)
