"""Veraz itself, as an application calls it: parsed, chunked and written by its ingest, searched under row-level security."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from peers.worker import Chunk
from veraz.config import Config, DatabaseConfig, load
from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import EmbeddingBatch, TextKind
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.ports import Embedder

SOURCE = "corpus"


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
    trace = True

    def __init__(self, url: str, folder: Path) -> None:
        self._documents = folder.parent / "documents.jsonl"
        self._runner = asyncio.Runner()
        home = load()
        config = Config(home=home.home, database=DatabaseConfig(url=url))
        inner = open_embedder("local", cache=config.model_cache, options={}, progress=None)
        self._embedder = Ready(inner)
        self._engine = self._runner.run(AsyncVeraz.open(config=config, embedder=self._embedder))
        self._runner.run(self._engine.init())

    def load(self, chunks: Sequence[Chunk], vectors: np.ndarray) -> None:
        self._embedder.passages = {c.text: v for c, v in zip(chunks, vectors, strict=True)}
        report = self._runner.run(self._engine.ingest(self._documents, source=SOURCE))
        if report.errors or report.chunks != len(chunks):
            raise ValueError(
                f"{report.chunks} chunks and {len(report.errors)} errors, not {len(chunks)} chunks"
            )

    def search(self, question: str, vector: list[float], k: int) -> list[str]:
        self._embedder.question = vector
        found = self._runner.run(self._engine.search(question, k=k, trace=self.trace))
        return [
            name
            for hit in found.hits
            for name in (
                f"{hit.document.external_id}#{hit.ord}",
                *(f"{also.external_id}#" for also in hit.also),  # says the same: shown once
            )
        ]

    def size(self) -> int | None:
        return None
