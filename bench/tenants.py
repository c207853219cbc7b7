"""What an exact scan and the shared index take for tenants of many sizes in one database, in one run.

python bench/tenants.py [--total 150000] [--rounds 15]

Shows for each tenant the median of both ways to run the semantic arm, where they cost the same, and what `few_rows` chooses.
On the server that tests share, or $VERAZ_TEST_SERVER; a fresh database, dropped afterwards. Vectors are random: the hardest case
for the index.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.db.server_fixture import test_server
from tests.support import databases, many
from tests.support.many import Tenant, in_turn, p50

from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Identity
from veraz.nouns.question import Filters
from veraz.search import store
from veraz.search.request import few_rows

SIZES = (50, 200, 1000, 5000, 10_000, 20_000, 40_000)


async def arm(engine: AsyncVeraz, identity: Identity, questions: many.Questions, *, exact: bool) -> None:
    """The semantic arm, and its repair where the index comes up short."""
    config, space = engine.config.search, (await engine.space()).space_id
    vector = many.near_axis(questions.next())
    asked = store.SemanticQuestion(
        vector, space, config.pool, config.ef_search, config.max_scan_tuples, exact
    )
    async with engine._database.transaction(identity) as connection:
        found = (await store.run_arms(connection, Filters(), None, asked)).semantic or []
        if len(found) < config.pool and not exact:
            await store.semantic_exact(connection, Filters(), asked)


async def compare(engine: AsyncVeraz, identity: Identity, rounds: int) -> None:
    space, pool = (await engine.space()).space_id, engine.config.search.pool
    async with engine._database.transaction(identity) as connection:
        size = await store.corpus_size(connection, space)
    questions = many.Questions()
    ways = {
        name: partial(arm, engine, identity, questions, exact=name == "exact") for name in ("exact", "index")
    }
    times = {name: p50(taken) for name, taken in (await in_turn(ways, rounds)).items()}
    chosen = "exact" if few_rows(size.own, size.indexed, pool) else "index"
    cost = size.own**2 / (pool * size.indexed)
    print(
        f"{size.own:>7,} of {size.indexed:,}: exact {times['exact']:6.1f} ms, index {times['index']:6.1f} ms;"
        f" own²/(pool · indexed) {cost:8.3f}, chosen: {chosen}"
    )


async def main(url: str, total: int, rounds: int) -> None:
    rest = max(total - sum(SIZES), 0)
    await many.fill(url, [Tenant("rest", rest), *(Tenant(f"t{size}", size) for size in SIZES)])
    async with await many.open_engine(url) as engine:
        for slug in (*(f"t{size}" for size in SIZES), "rest"):
            await compare(engine, await engine.ensure_tenant(slug), rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--total", type=int, default=150_000)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    server = os.environ.get("VERAZ_TEST_SERVER") or test_server()
    with databases.fresh(server, databases.schema_template(server)) as made:
        asyncio.run(main(made, arguments.total, arguments.rounds))
