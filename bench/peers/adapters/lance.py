"""LanceDB: a table with a full-text index, asked with query_type="hybrid", in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import lancedb
import numpy as np
import pyarrow as pa

from peers.worker import Chunk


class Peer:
    packages: ClassVar = ("lancedb", "pyarrow")

    def __init__(self, _url: str, folder: Path) -> None:
        self._folder = folder
        self._database = lancedb.connect(str(folder / "lance"))

    def load(self, chunks: Sequence[Chunk], vectors: np.ndarray) -> None:
        rows = pa.table(
            {
                "id": [c.id for c in chunks],
                "text": [c.text for c in chunks],
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
            }
        )
        self._table = self._database.create_table("chunks", rows)
        self._table.create_fts_index("text")

    def search(self, question: str, vector: list[float], k: int) -> list[str]:
        asked = self._table.search(query_type="hybrid").vector(vector).text(question).limit(k)
        return [row["id"] for row in asked.to_list()]

    def size(self) -> int | None:
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())
