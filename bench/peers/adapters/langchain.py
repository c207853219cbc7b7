"""langchain-postgres: PGVectorStore with a HybridSearchConfig, a tsvector column, its text index and an HNSW index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_postgres import Column, PGEngine, PGVectorStore
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig
from langchain_postgres.v2.indexes import HNSWIndex

from peers.adapters.urls import sqlalchemy_url
from peers.worker import Chunk

TABLE = "chunks"


class Ready(Embeddings):
    """The vector that came with the question."""

    vector: ClassVar[list[float]] = []

    def embed_query(self, text: str) -> list[float]:  # noqa: ARG002
        return self.vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError(f"{len(texts)} chunks came without their vectors")


def hybrid(k: int = 4) -> HybridSearchConfig:
    """`k`: 4 is the library's default for each arm, which cannot fill a longer result."""
    return HybridSearchConfig(tsv_column="content_tsv", primary_top_k=k, secondary_top_k=k)


class Peer:
    packages: ClassVar = ("langchain-postgres", "langchain-core")

    def __init__(self, url: str, _folder: Path) -> None:
        self._engine = PGEngine.from_connection_string(sqlalchemy_url(url, "postgresql+asyncpg"))
        self._embedding = Ready()

    def load(self, chunks: Sequence[Chunk], vectors: np.ndarray) -> None:
        self._engine.init_vectorstore_table(
            TABLE,
            vectors.shape[1],
            id_column=Column("langchain_id", "text", nullable=False),
            hybrid_search_config=hybrid(),
        )
        self._store = PGVectorStore.create_sync(
            self._engine, self._embedding, TABLE, hybrid_search_config=hybrid()
        )
        self._store.add_embeddings([c.text for c in chunks], vectors.tolist(), ids=[c.id for c in chunks])
        self._store.apply_hybrid_search_index()
        self._store.apply_vector_index(HNSWIndex())

    def search(self, question: str, vector: list[float], k: int) -> list[str]:
        self._embedding.vector = vector  # type: ignore[misc]
        # A new one for each question: the store's own keeps the words of the first question for all that follow.
        found = self._store.similarity_search(question, k=k, hybrid_search_config=hybrid(k))
        return [str(document.id) for document in found]

    def size(self) -> int | None:
        return None
