"""Real chunks with real vectors out of a store that was ingested, and real questions with their vectors."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import sql

from veraz.providers.embedders.registry import open_embedder
from veraz.providers.embedders.remembered import Remembering

Matrix = npt.NDArray[np.float32]
BATCH = 16

CHUNKS: LiteralString = """
select c.document_id::text, c.ord, c.lang, l.analyser, c.header, coalesce(c.embedded, c.display), c.token_count, l.length,
       e.vec::real[]
  from veraz.tenant t
  join veraz.chunk c on c.tenant_id = t.tenant_id and c.is_current
  join veraz.chunk_lexical l on l.tenant_id = c.tenant_id and l.chunk_id = c.chunk_id
  join {embedding} e on e.tenant_id = c.tenant_id and e.chunk_id = c.chunk_id
 where t.slug = %(tenant)s and c.token_count <= 512
 order by c.document_id, c.ord
"""
SPACE: LiteralString = (
    "select space_id, dimension, fingerprint from veraz.embedding_space where is_active limit 1"
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """`document` numbers documents from 0; `text` stands below `header` in what both arms read; `length` in words that count."""

    document: int
    ord: int
    lang: str
    analyser: str
    header: str
    text: str
    tokens: int
    length: int


@dataclass(frozen=True, slots=True)
class Real:
    """`vectors`: (chunks, dimension), of length 1."""

    chunks: Sequence[Chunk]
    vectors: Matrix

    def first(self, count: int) -> Real:
        return Real(self.chunks[:count], self.vectors[:count])

    def mean_lengths(self) -> dict[str, float]:
        """Words that count, of a chunk, by analyser."""
        lengths: dict[str, list[int]] = {}
        for chunk in self.chunks:
            lengths.setdefault(chunk.analyser, []).append(chunk.length)
        return {analyser: float(np.mean(found)) for analyser, found in lengths.items()}


def read(url: str, tenant: str) -> Real:
    """Every current chunk of a tenant. Nothing is written there: the session is read-only."""
    with psycopg.connect(url, options="-c default_transaction_read_only=on") as connection:
        space = connection.execute(SPACE).fetchone()
        if space is None:
            raise SystemExit("the store has no active space: ingest something first")
        table = sql.Identifier("veraz", f"embedding_{space[0]}")
        with connection.cursor("chunks", binary=True) as cursor:
            cursor.itersize = 1000
            cursor.execute(sql.SQL(CHUNKS).format(embedding=table), {"tenant": tenant})
            numbers: dict[str, int] = {}
            chunks, vectors = [], []
            for document, *rest, vector in cursor:
                chunks.append(Chunk(numbers.setdefault(document, len(numbers)), *rest))
                vectors.append(np.array(vector, np.float32))
    if not chunks:
        raise SystemExit(f"tenant {tenant} has no chunks in that store")
    matrix = np.stack(vectors)
    return Real(chunks, matrix / np.linalg.norm(matrix, axis=1, keepdims=True))


def questions(data: Path, count: int, seed: int = 7) -> list[str]:
    """Half consumer questions of LiveQA, half titles of MedQuAD, which are questions; each once."""
    chance = random.Random(seed)
    lines = (data / "liveqa_medquad" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line)["text"] for line in lines]
    with gzip.open(data / "medquad" / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        titles = sorted({json.loads(line)["title"] for line in file} - set(asked))
    half = min(len(asked), count // 2)
    return chance.sample(asked, half) + chance.sample(titles, count - half)


async def question_vectors(asked: Sequence[str], model_cache: Path | None, cache: Path) -> dict[str, Matrix]:
    """By the local embedder, each text once for all runs that share `cache`."""
    cache.mkdir(parents=True, exist_ok=True)
    embedder = Remembering(open_embedder("local", cache=model_cache, options={}, progress=None), cache)
    try:
        made = [
            (await embedder.embed(list(asked[start : start + BATCH]), "query")).vectors
            for start in range(0, len(asked), BATCH)
        ]
    finally:
        embedder.close()
    return dict(zip(asked, np.concatenate(made), strict=True))
