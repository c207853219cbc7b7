"""How search stands as the corpus grows: recall against exact scans, times against other ways, sizes and build times.

python bench/scale.py --database URL --tenant NAME --data DIR [--sizes real 200000 1000000] [--questions 60] [--rounds 2]
                      [--json FILE] [--markdown FILE] [--cache DIR]

URL and NAME are a store that was ingested, from which real chunks and their vectors are read, and which is left as it is; DIR
holds medquad and liveqa_medquad, from which questions are drawn. `real` is every chunk of that store, a larger number these and
synthetic ones recombined from them (bench/scaling/recombined.py), a smaller one the first so many. For each size a fresh
database on the server that tests share, or $VERAZ_TEST_SERVER, dropped afterwards, one at a time.

Every way is asked each question in turn, on warm connections, with ready vectors: the lexical arm with its usual budget and
--exact, every chunk's sparse vector compared (`sparse scan`), a recipe's ts_rank_cd over any of the words, as the owner, the
semantic arm over its graph, every vector compared (`vector scan`), and whole searches of each mode. Then graph, clusters and
signs over the same vectors, and whether an index of signs is refused. Exit code 1 where a bound falls short.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import LiteralString

import msgspec
import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from scaling import filling, real
from scaling.asking import Asker
from scaling.tables import markdown, shown
from scaling.verdicts import Figures, around_the_floor, bounds, plain
from tests.db.server_fixture import test_server
from tests.support import databases
from tests.support.hashing import HashingEmbedder

from veraz.config import DatabaseConfig
from veraz.engine import AsyncVeraz
from veraz.errors import CheckFailed
from veraz.nouns.question import Filters
from veraz.ops.measure.methods import Choices

OVERSAMPLING = (2, 4, 8, 16, 32)
SMALL = 50_000
"""Chunks up to which an index of signs is measured and built: only real vectors say anything about it."""

SIZES: LiteralString = """
select relname, pg_relation_size(oid) from pg_class
 where relnamespace in ('veraz'::regnamespace, 'scale'::regnamespace) and relkind in ('r', 'i')
   and (relname ~ '^(posting|chunk_lexical|chunk|embedding_1|document|revision|recipe)(_|$)')
   and pg_relation_size(oid) > 0
"""
BLOCKS: LiteralString = """
select (select sum(pg_column_size(p.*)) from veraz.posting p)::float, pg_relation_size('veraz.posting')::float,
       (select count(*) from veraz.chunk_lexical)::float
"""


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


async def open_engine(url: str, vectors: dict[str, real.Matrix], connections: int) -> AsyncVeraz:
    embedder = HashingEmbedder(place=vectors.get)
    database = DatabaseConfig(url=url, pool_size=connections)
    config = msgspec.structs.replace(databases.config(url), database=database)
    return await AsyncVeraz.open(config=config, embedder=embedder)


async def measure(
    url: str, found: real.Real, size: int, vectors: dict[str, real.Matrix], rounds: int
) -> Figures:
    async with await open_engine(url, vectors, 2) as engine:
        await engine.build_index("none")
        seconds = await filling.fill(engine, url, found, size)
        say(f"{size:,} chunks: " + ", ".join(f"{name} {taken:.0f} s" for name, taken in seconds.items()))
        built = await engine.build_index("hnsw")
        seconds["graph"], seconds["recipe"] = built.seconds, filling.recipe(url)
        filling.tidy(url)
        say(f"graph in {built.seconds:.0f} s {' '.join(built.notes)}, recipe in {seconds['recipe']:.0f} s")
    figures = await asked(url, vectors, rounds, size, len(found.chunks))
    figures.seconds = seconds
    with psycopg.connect(url) as connection:
        figures.sizes = dict(connection.execute(SIZES).fetchall())
        row = connection.execute(BLOCKS).fetchone()
        assert row is not None
        figures.posting_bytes = row[0] / row[2], row[1] / row[2]
    print("\n".join(shown(figures)), flush=True)
    await indexes(url, vectors, figures)
    return figures


async def asked(url: str, vectors: dict[str, real.Matrix], rounds: int, size: int, real_ones: int) -> Figures:
    async with await open_engine(url, vectors, 1) as engine:
        asker = Asker(engine, url, vectors, (await engine.space()).space_id)
        try:
            done = await asker.run(list(vectors), rounds, say)
        finally:
            asker.close()
    return Figures(
        chunks=size, real=min(size, real_ones), times=done.times, found=done.found, unproven=done.unproven, posting_bytes=(0, 0),
        processor=done.processor,        read_all=done.read_all, proven=done.proven, postings=done.postings, budgets=done.budgets,
    )  # fmt: skip


async def indexes(url: str, vectors: dict[str, real.Matrix], figures: Figures) -> None:
    """Graph, clusters and signs over the same vectors, by the product's own measurement; and what it refuses to build."""
    small = figures.chunks <= SMALL
    methods = ("exact", "hnsw", "ivfflat", "binary") if small else ("exact", "hnsw", "ivfflat")
    choices = Choices(methods=methods, queries=len(vectors), oversampling=OVERSAMPLING, lexical=False)
    async with await open_engine(url, vectors, 2) as engine:
        measured = await engine._measured(choices, Filters(), tuple(vectors), "suite", None)
        figures.methods = [asdict(row) for row in measured.figures]
        if not small:
            return
        say("signs")
        signs = Choices(methods=("binary",), oversampling=OVERSAMPLING, lexical=False)
        for row in (await engine._measured(signs, Filters(), None, "chunks", None)).figures:
            if row.method == "binary":
                oversampling = row.settings["oversampling"]
                figures.signs[oversampling] = min(figures.signs.get(oversampling, 1.0), row.recall)
        for oversampling in around_the_floor(figures.signs):
            try:
                await engine.build_index("binary", oversampling=oversampling)
            except CheckFailed:
                figures.refused[oversampling] = True
            else:
                figures.refused[oversampling] = False


def sizes(given: Sequence[str], real_ones: int) -> list[int]:
    return sorted({real_ones if size == "real" else int(size) for size in given})


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", required=True)
    parser.add_argument("--tenant", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sizes", nargs="+", default=["real", "200000", "1000000"])
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "veraz-scale")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    server = os.environ.get("VERAZ_TEST_SERVER") or test_server()
    questions = real.questions(options.data, options.questions)
    vectors = asyncio.run(
        real.question_vectors(questions, databases.config(server).model_cache, options.cache)
    )
    found = real.read(options.database, options.tenant)
    say(f"{len(found.chunks):,} real chunks, {len(questions)} questions")
    runs: list[Figures] = []
    for size in sizes(options.sizes, len(found.chunks)):
        with databases.fresh(server, databases.schema_template(server)) as url:
            filling.with_memory(url)
            runs.append(asyncio.run(measure(url, found.first(size), size, vectors, options.rounds)))
        print("\n".join(shown(runs[-1])), flush=True)
        keep(runs, options.json, options.markdown)
    required = bounds(runs)
    print("\n".join(bound.said for bound in required))
    return 0 if all(bound.holds for bound in required) else 1


def keep(runs: Sequence[Figures], raw: Path | None, tables: Path | None) -> None:
    """After each size: the next may take an hour."""
    if raw:
        raw.write_text(json.dumps([plain(run) for run in runs], default=str) + "\n", encoding="utf-8")
    if tables:
        tables.write_text("\n".join(markdown(runs, bounds(runs))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
