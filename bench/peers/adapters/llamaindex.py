"""LlamaIndex over PGVectorStore with hybrid_search: the store's hybrid mode, and its two modes fused by QueryFusionRetriever."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.bridge.pydantic import Field
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import TextNode
from llama_index.vector_stores.postgres import PGVectorStore

from peers.adapters.urls import sqlalchemy_url
from peers.worker import Chunk

HNSW = {
    "hnsw_m": 16,
    "hnsw_ef_construction": 64,
    "hnsw_ef_search": 40,
    "hnsw_dist_method": "vector_cosine_ops",
}
"""As in the documentation's example: without it there is no index."""


class Ready(BaseEmbedding):
    """The vector that came with the question."""

    vector: list[float] = Field(default_factory=list)

    def _get_query_embedding(self, query: str) -> list[float]:  # noqa: ARG002
        return self.vector

    async def _aget_query_embedding(self, query: str) -> list[float]:  # noqa: ARG002
        return self.vector

    def _get_text_embedding(self, text: str) -> list[float]:
        raise AssertionError(f"a chunk came without its vector: {text[:80]}")


class Peer:
    packages: ClassVar = ("llama-index-vector-stores-postgres", "llama-index-core")

    def __init__(self, url: str, _folder: Path) -> None:
        at = sqlalchemy_url(url, "postgresql")
        self._store = PGVectorStore.from_params(
            host=at.host,
            port=str(at.port),
            database=at.database,
            user=at.username,
            password=at.password,
            table_name="chunks",
            embed_dim=384,
            hybrid_search=True,
            text_search_config="english",
            hnsw_kwargs=HNSW,
        )
        self._embedding = Ready()
        self._retrievers: dict[int, Any] = {}

    def load(self, chunks: Sequence[Chunk], vectors: np.ndarray) -> None:
        nodes = [
            TextNode(id_=c.id, text=c.text, embedding=v.tolist())
            for c, v in zip(chunks, vectors, strict=True)
        ]
        context = StorageContext.from_defaults(vector_store=self._store)
        self._index = VectorStoreIndex(nodes, storage_context=context, embed_model=self._embedding)

    def search(self, question: str, vector: list[float], k: int) -> list[str]:
        self._embedding.vector = vector
        if k not in self._retrievers:
            self._retrievers[k] = self.retriever(k)
        return [found.node.node_id for found in self._retrievers[k].retrieve(question)]

    def retriever(self, k: int) -> Any:
        return self._index.as_retriever(vector_store_query_mode="hybrid", similarity_top_k=k, sparse_top_k=k)

    def size(self) -> int | None:
        return None
