"""Faults of the approximate index: passages that it does not reach, planted where comparing every vector would find them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.diagnosis.planting import SOURCE, Planted, configured, plant
from tests.support.corpus import Words, put
from tests.support.hashing import hashed

from veraz.engine import AsyncVeraz

DOCUMENTS = 600
TENANT = "plant-index"
_asked: dict[int, list[tuple[str, str]]] = {}


async def _crowd(engine: AsyncVeraz) -> tuple[AsyncVeraz, list[dict[str, object]]]:
    """A tenant with more vectors than are compared one by one, its index walked with as little effort as there is."""
    own = engine.acting_as(await engine.ensure_tenant(TENANT))
    own = configured(own, search={"pool": 2, "ef_search": 1})
    records = Words(7, size=400).records(DOCUMENTS, sections=1, sentences=2)
    await put(own, *records, source=SOURCE)  # unchanged from the second time on
    return own, records


async def _missed(engine: AsyncVeraz, wanted: int) -> tuple[str, str]:
    """A question whose nearest passage, by vectors compared here, a search does not return."""
    words, found = Words(11, size=400), 0
    rows = await _vectors(engine)
    for _ in range(400):
        question = words.question(6)
        distances = rows[1] @ hashed("hash", question)
        nearest, second = np.argsort(-distances)[:2]
        if distances[nearest] - distances[second] < 0.01:
            continue
        hits = (await engine.search(question, mode="semantic", lang="en", k=2, trace=False)).hits
        if rows[0][nearest] not in {h.document.external_id for h in hits}:
            if found == wanted:
                return question, rows[0][nearest]
            found += 1
    raise AssertionError("the index missed nothing")


async def _vectors(engine: AsyncVeraz) -> tuple[list[str], np.ndarray]:
    async with engine._database.transaction(await engine.identity()) as connection:
        cursor = await connection.execute(
            "select d.external_id, e.vec::real[] from veraz.embedding_1 e join veraz.document d using (tenant_id, document_id)"
            " where e.is_current"
        )
        rows = await cursor.fetchall()
    return [r[0] for r in rows], np.array([r[1] for r in rows], dtype=np.float32)


for _n in range(6):

    @plant("missed by the approximate index", f"question {_n}")
    async def _unreached(engine: AsyncVeraz, _: Path, n: int = _n) -> Planted:
        own, _records = await _crowd(engine)
        question, name = await _missed(own, n)
        given = {"verb": "search", "mode": "semantic", "lang": "en", "k": 2}
        return Planted(own, question, name, "approximate_miss", given)
