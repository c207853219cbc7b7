"""What the two SQL recipes share: one table, a GIN and an HNSW index, one statement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import psycopg

from peers.worker import Chunk

SQL = Path(__file__).resolve().parents[1] / "sql"


def statement(name: str) -> bytes:
    return (SQL / f"{name}.sql").read_bytes()


def literal(vector: Sequence[float]) -> str:
    """As pgvector reads it."""
    return "[" + ",".join(map(repr, vector)) + "]"


class Recipe:
    packages: ClassVar = ("psycopg",)

    def __init__(self, url: str, search: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._search = statement(search)

    def load(self, chunks: Sequence[Chunk], vectors: np.ndarray) -> None:
        with self._connection.transaction():
            self._connection.execute(statement("create"))
            rows = ((c.id, c.text, literal(v.tolist())) for c, v in zip(chunks, vectors, strict=True))
            self._connection.cursor().executemany(statement("insert"), rows)
            self._connection.execute(statement("index_text"))
            self._connection.execute(statement("index_vector"))

    def search(self, question: str, vector: list[float], k: int) -> list[str]:
        given = {"question": question, "vector": literal(vector), "pool": 2 * k, "k": k}
        return [row[0] for row in self._connection.execute(self._search, given)]

    def size(self) -> int | None:
        return None
