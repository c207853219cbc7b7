"""A corpus that is large enough for the planner to have a choice: 6,000 chunks in one cluster, 20 far away in another source.

It is kept between runs under the digest of what decides its content. It has no planner statistics, as a database has right
after it was loaded; `analysed` is a copy that has them.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import numpy as np
import psycopg
from psycopg import sql

from tests.support import databases
from tests.support.corpus import Words, put, record
from tests.support.hashing import DIMENSION, HashingEmbedder, hashed
from veraz.nouns.corpus import Vectors

TABLES = "select relname from pg_class where relnamespace = 'veraz'::regnamespace and relkind = 'r'"
DOCUMENTS, SECTIONS, RARE = 120, 50, 20
FAR = "zonefar"
"""Texts that hold this word lie far from all others, and every question near those others."""


def place(text: str) -> Vectors:
    axis = np.zeros(DIMENSION, np.float32)
    axis[1 if FAR in text else 0] = 1
    spread = axis + 0.5 * hashed("spread", text)
    unit: Vectors = (spread / np.linalg.norm(spread)).astype(np.float32)
    return unit


def embedder() -> HashingEmbedder:
    return HashingEmbedder(place=place)


@cache
def words() -> Words:
    return Words(7, 800)


async def fill(url: str) -> None:
    made = Words(7, 800)
    bulk = [
        {**r, "site": "A"} for r in made.records(DOCUMENTS, prefix="bulk", sections=SECTIONS, sentences=2)
    ]
    rare = [
        record(f"rare{n}", f"{FAR}{n} {FAR} {made.text(2)}", date=f"2024-01-{n + 1:02}", site="B")
        for n in range(RARE)
    ]
    _without_autovacuum(url)
    async with await databases.open_engine(url, embedder()) as engine:
        for part in range(0, DOCUMENTS, 10):  # small runs: a large one is followed by ANALYZE
            await put(engine, *bulk[part : part + 10], source="bulk", authority=2)
        await put(engine, *rare, source="rare", authority=5)


def _without_autovacuum(url: str) -> None:
    """It analyses as well, on a slow machine in the middle of the loading."""
    with psycopg.connect(url) as connection:
        for (name,) in connection.execute(TABLES).fetchall():
            table = sql.Identifier("veraz", name)
            connection.execute(sql.SQL("alter table {} set (autovacuum_enabled = off)").format(table))


async def analyse(url: str) -> None:
    async with await databases.open_engine(url, embedder()) as engine:
        await engine._analyze()


def database(server: str, template: str) -> str:
    """The name of the kept database. Tests read it; what they write is traces."""
    own = "".join(
        Path(__file__).with_name(n).read_text(encoding="utf-8")
        for n in ("large.py", "corpus.py", "hashing.py")
    )
    digest = hashlib.sha256((own + databases.digest_of("schema", "ingest")).encode()).hexdigest()[:16]
    return databases.kept(server, f"veraz_corpus_{digest}", fill, template=template)
