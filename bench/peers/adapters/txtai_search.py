"""txtai: an Embeddings database with hybrid=True and vectors from outside, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from txtai import Embeddings

from peers.worker import Chunk


class Peer:
    packages: ClassVar = ("txtai-minimal", "faiss-cpu")

    def __init__(self, _url: str, folder: Path) -> None:
        self._folder = folder
        self._vectors: dict[str, np.ndarray] = {}

        def transform(texts: Sequence[str]) -> np.ndarray:
            return np.stack([self._vectors[text] for text in texts])

        self._embeddings = Embeddings(method="external", transform=transform, hybrid=True)

    def load(self, chunks: Sequence[Chunk], vectors: np.ndarray) -> None:
        self._vectors = {c.text: v for c, v in zip(chunks, vectors, strict=True)}
        self._embeddings.index((c.id, c.text, None) for c in chunks)
        self._embeddings.save(str(self._folder / "txtai"))

    def search(self, question: str, vector: list[float], k: int) -> list[str]:
        self._vectors = {question: np.asarray(vector, dtype=np.float32)}
        return [str(found[0]) for found in self._embeddings.search(question, k)]

    def size(self) -> int | None:
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())
