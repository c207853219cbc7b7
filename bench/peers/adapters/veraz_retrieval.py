"""Veraz as far as the others go: both arms, their fusion and what the hits show; neither sufficiency nor trace."""

from __future__ import annotations

from peers.adapters import veraz_search
from veraz.nouns.evidence import SearchResult


class Peer(veraz_search.Peer):
    async def asked(self, question: str, k: int) -> SearchResult:
        engine = self._engine
        identity = await engine.identity()
        run = await engine._search(identity, question, k, "hybrid", "auto", None, None, False, False)
        return run.result
