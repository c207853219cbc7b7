"""LlamaIndex as its documentation improves its hybrid mode: a vector and a sparse retriever, fused by relative score."""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever

from peers.adapters import llamaindex


class Peer(llamaindex.Peer):
    def retriever(self, k: int) -> Any:
        return QueryFusionRetriever(
            [
                self._index.as_retriever(vector_store_query_mode="default", similarity_top_k=k),
                self._index.as_retriever(vector_store_query_mode="sparse", similarity_top_k=k),
            ],
            similarity_top_k=k,
            num_queries=1,  # no model writes further questions
            mode="relative_score",
            use_async=False,
            llm=MockLLM(),
        )
