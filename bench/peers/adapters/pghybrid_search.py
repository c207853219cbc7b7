"""pghybrid: a table as its migration asks for it, its psycopg adapter, its defaults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import psycopg
from pghybrid.adapters import for_psycopg

from peers.adapters.recipes import literal, statement
from peers.worker import Chunk


class Peer:
    packages: ClassVar = ("pghybrid", "psycopg")

    def __init__(self, url: str, _folder: Path) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def load(self, chunks: Sequence[Chunk], vectors: np.ndarray) -> None:
        with self._connection.transaction():
            self._connection.execute(statement("create"))
            rows = ((c.id, c.text, literal(v.tolist())) for c, v in zip(chunks, vectors, strict=True))
            self._connection.cursor().executemany(statement("insert"), rows)
            self._connection.execute(statement("index_text"))
            self._connection.execute(statement("index_vector"))
        self._hybrid = for_psycopg(
            self._connection,
            table="recipe",
            text_column="content",
            vector_column="embedding",
            tsvector_column="fts",
        )

    def search(self, question: str, vector: list[float], k: int) -> list[str]:
        return [str(row.id) for row in self._hybrid.search(question, embedding=vector, limit=k)]

    def size(self) -> int | None:
        return None
