"""Who is compared: adapter, licence, every setting that was chosen, and what is known of its speed and its quality."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """`adapter`: a module of `adapters/`. `venv`: whether it needs the peers' own. `faster` and `better`: why it may be."""

    name: str
    adapter: str
    licence: str
    in_database: bool
    venv: bool
    settings: tuple[str, ...]
    faster: str
    better: str

    @property
    def is_peer(self) -> bool:
        """Somebody else's, not Veraz asked in another way."""
        return not self.adapter.startswith("veraz")


BASE = "veraz"
POOL = "Each list has 2 × k rows at most; hnsw.ef_search stays at pgvector's 40, so that the index gives no more than 40 vectors"
LESS = "It does less for a search: no row-level security, no term statistics, no probability of an answer, no stored trace"
UNWEIGHTED = (
    "PostgreSQL's rank knows nothing of how rare a word is, which leaves fusion to explain a difference"
)

ENTRIES = (
    Entry(
        BASE,
        "veraz_search",
        "Apache-2.0",
        True,
        False,
        (
            "All defaults. As an application calls it: one search, its trace stored, as the runtime role under its policies",
            "Building includes parsing and chunking, which the others are spared",
            "The first 50 documents are ingested and the tables analysed before the rest: the tests' server does not by itself",
        ),
        "",
        "",
    ),
    Entry(
        "veraz, retrieval alone",
        "veraz_retrieval",
        "Apache-2.0",
        True,
        False,
        ("The same store, as far as the others go: no probability that the hits answer, no stored trace",),
        "It leaves out what a search of Veraz does besides",
        "It ranks as Veraz does",
    ),
    Entry(
        "SQL recipe, OR",
        "recipe_or",
        "none",
        True,
        False,
        (
            "The words of plainto_tsquery joined by OR, ts_rank_cd, HNSW with m 16, ef_construction 64, RRF with k = 60",
            POOL,
        ),
        f"{LESS}; and its time is per match, so that it is fast while few rows match",
        UNWEIGHTED,
    ),
    Entry(
        "SQL recipe, AND",
        "recipe_and",
        "none",
        True,
        False,
        ("The same with websearch_to_tsquery, which requires every word", POOL),
        f"{LESS}; and its lexical list is short or empty for questions in sentences, which costs nothing",
        "Where no chunk has every word, its vectors alone decide; where that is better, the lexical arm does harm",
    ),
    Entry(
        "LlamaIndex",
        "llamaindex",
        "MIT",
        True,
        True,
        (
            "PGVectorStore with hybrid_search=True, retriever with vector_store_query_mode=hybrid",
            "similarity_top_k and sparse_top_k = k (default 2)",
            "hnsw_kwargs of the documentation's example (m 16, ef_construction 64, ef_search 40): without them there is no index",
        ),
        LESS,
        "It puts the sparse list behind the dense one and fuses nothing: it is the vectors' order",
    ),
    Entry(
        "LlamaIndex, fusion",
        "llamaindex_fusion",
        "MIT",
        True,
        True,
        (
            "The same store; QueryFusionRetriever over a vector and a sparse retriever, mode relative_score, num_queries 1",
            "similarity_top_k = k for all three",
        ),
        LESS,
        UNWEIGHTED,
    ),
    Entry(
        "langchain-postgres",
        "langchain",
        "MIT",
        True,
        True,
        (
            "PGVectorStore with HybridSearchConfig: a stored tsv_column, weighted sum, apply_hybrid_search_index, HNSWIndex",
            "primary_top_k and secondary_top_k = k: the default of 4 cannot fill a result of k",
            "A new HybridSearchConfig for each question: that of the store keeps the first question's words for all later ones",
        ),
        f"{LESS}; and plainto_tsquery requires every word, so that its lexical list is short or empty for questions in sentences",
        "Where no chunk has every word, its vectors alone decide; where that is better, the lexical arm does harm",
    ),
    Entry(
        "pghybrid",
        "pghybrid_search",
        "MIT",
        True,
        True,
        ("for_psycopg, a stored tsvector and an HNSW index, all else as it is: any word, RRF with k = 60, 50 candidates a list",),
        LESS,
        UNWEIGHTED,
    ),
    Entry(
        "txtai",
        "txtai_search",
        "Apache-2.0",
        False,
        True,
        (
            "Embeddings(method=external, hybrid=True), all else as it is: Faiss, its own BM25, equal weights",
            "Vectors come from a transform function; content is not stored, so a hit is an id",
        ),
        "It searches in its own process's memory: no server, no transaction, no permissions; a hit is an id without text",
        "Its fusion is a weighted sum over BM25 of its own; its analyser does not stem",
    ),
    Entry(
        "LanceDB",
        "lance",
        "Apache-2.0",
        False,
        True,
        (
            "create_fts_index(text), query_type=hybrid, all else as it is: RRF reranker",
            "No vector index: for tables below 100,000 rows its documentation advises the exact scan, which is the default",
        ),
        "It searches files in its own process: no server, no transaction, no permissions",
        "It compares every vector: nothing is lost to an approximate index",
    ),
)  # fmt: skip
