"""Veraz itself, as an application calls it: parsed, chunked and written by its ingest, searched under row-level security."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from peers.worker import Chunk
from veraz.config import Config, DatabaseConfig, load
from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import EmbeddingBatch, TextKind
from veraz.nouns.evidence import SearchResult
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.ports import Embedder

SOURCE = "corpus"
FIRST = 50


class Ready:
    """Implements `Embedder` with vectors that were made before. `inner` counts tokens and names the space."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.space = inner.space
        self.passages: Mapping[str, np.ndarray] = {}
        self.question: list[float] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.count_tokens(texts)

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        found = [self.question] if kind == "query" else [self.passages[text] for text in texts]
        return EmbeddingBatch(np.asarray(found, dtype=np.float32), ())


class Peer:
    packages: ClassVar = ()

    def __init__(self, url: str, folder: Path) -> None:
        self._documents = folder.parent / "documents.jsonl"
        self._runner = asyncio.Runner()
        home = load()
        config = Config(home=home.home, database=DatabaseConfig(url=url))
        inner = open_embedder("local", cache=config.model_cache, options={}, progress=None)
        self._embedder = Ready(inner)
        self._engine = self._runner.run(AsyncVeraz.open(config=config, embedder=self._embedder))
        self._runner.run(self._engine.init())
        self.stages: dict[str, float] = {}

    def load(self, chunks: Sequence[Chunk], vectors: np.ndarray) -> None:
        self._embedder.passages = {c.text: v for c, v in zip(chunks, vectors, strict=True)}
        # A server analyses a table that grows; that of the tests does not, and then the first merge of a fresh store compares
        # every posting with every word. So a few documents go first, and the tables are analysed.
        first = self._documents.with_name("first.jsonl")
        with self._documents.open(encoding="utf-8") as lines:
            first.write_text("".join(itertools.islice(lines, FIRST)), encoding="utf-8")
        made = self._ingest(first)
        self._runner.run(self._engine._analyze())
        made += self._ingest(self._documents)
        if made != len(chunks):
            raise ValueError(f"{made} chunks, not {len(chunks)}")

    def _ingest(self, path: Path) -> int:
        report = self._runner.run(self._engine.ingest(path, source=SOURCE))
        if report.errors:
            raise ValueError(f"{len(report.errors)} documents failed, such as: {report.errors[0].reason}")
        return report.chunks

    def search(self, question: str, vector: list[float], k: int) -> list[str]:
        self._embedder.question = vector
        found = self._runner.run(self.asked(question, k))
        self.stages = dict(found.timings_ms)
        return [
            name
            for hit in found.hits
            for name in (
                f"{hit.document.external_id}#{hit.ord}",
                *(f"{also.external_id}#" for also in hit.also),  # says the same: shown once
            )
        ]

    async def asked(self, question: str, k: int) -> SearchResult:
        return await self._engine.search(question, k=k)

    def size(self) -> int | None:
        return None
