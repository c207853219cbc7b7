"""How long a search of a day takes: exact, over every valid revision.

python bench/as_of.py [--documents 20000] [--chunks 10] [--revisions 1] [--rounds 15]

One tenant of documents × chunks valid chunks (100 words, 384 dimensions) in a fresh database on the server that tests
share, or $VERAZ_TEST_SERVER. Both arms, fusion and the reading of ten hits, as the runtime role under row-level security; the
question's vector is given. Checks the semantic arm against vectors compared here.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.db.server_fixture import test_server
from tests.support import bulk, databases
from tests.support.hashing import HashingEmbedder

from veraz.engine import AsyncVeraz

DAY = date(2020, 6, 1)
QUESTION = "w17 w400 w3000 w12000 w5 w90 w7777"


async def measure(url: str, arguments: argparse.Namespace) -> None:
    async with await databases.open_engine(url) as engine:
        identity, space = await engine.identity(), (await engine.space()).space_id
        await bulk.without_index(engine, space)
        started = time.perf_counter()
        async with engine._database.maintenance(identity.tenant_id) as connection:
            await bulk.fill_tenant(
                connection,
                identity.tenant_id,
                space_id=space,
                documents=arguments.documents,
                chunks=arguments.chunks,
                revisions=arguments.revisions,
            )
        await bulk.with_index(engine, space)
        print(f"filled in {time.perf_counter() - started:,.0f} s")
        await check(engine)
        for mode in ("lexical", "semantic", "hybrid"):
            for name, day in (("as of a day", DAY), ("current", None)):
                taken = []
                for n in range(arguments.rounds):
                    result = await engine.search(
                        f"{QUESTION} w{n}", lang="en", mode=mode, as_of=day, trace=False
                    )  # type: ignore[arg-type]
                    assert len(result.hits) == 10
                    if n >= 3:
                        stages = result.timings_ms
                        taken.append(
                            stages["arms"] + stages["fuse"] + stages["read"] + stages.get("repair", 0.0)
                        )
                print(
                    f"{mode:9} {name:12} p50 {statistics.median(taken):7.1f} ms, worst {max(taken):7.1f} ms"
                )


async def check(engine: AsyncVeraz) -> None:
    """The nearest chunks of the day, by vectors compared here."""
    identity = await engine.identity()
    found = await engine.search(QUESTION, lang="en", mode="semantic", k=10, as_of=DAY, trace=False)
    async with engine._database.transaction(identity) as connection:
        rows = await (
            await connection.execute(
                "select e.chunk_id, e.vec::real[] from veraz.embedding_1 e join veraz.revision r using (tenant_id, revision_id)"
                " where r.number = 1"
            )
        ).fetchall()
    vector = (
        (await HashingEmbedder().embed([QUESTION], "query")).vectors[0].astype(np.float16).astype(np.float32)
    )
    scores = np.array([row[1] for row in rows], np.float32) @ vector
    expected = sorted(zip(-scores, [row[0] for row in rows], strict=True))[:10]
    assert {h.chunk_id for h in found.hits} == {chunk for _, chunk in expected}
    print(f"{len(rows):,} valid chunks; the ten nearest are the ten nearest")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option, default in (("documents", 20_000), ("chunks", 10), ("revisions", 1), ("rounds", 15)):
        parser.add_argument(f"--{option}", type=int, default=default)
    given = parser.parse_args()
    server = os.environ.get("VERAZ_TEST_SERVER") or test_server()
    with databases.fresh(server, databases.schema_template(server)) as fresh:
        asyncio.run(measure(fresh, given))
