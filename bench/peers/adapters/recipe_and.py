"""The SQL recipe with the words of the question all required."""

from __future__ import annotations

from pathlib import Path

from peers.adapters.recipes import Recipe


class Peer(Recipe):
    def __init__(self, url: str, _folder: Path) -> None:
        super().__init__(url, "search_and")
