"""How fast revisions are written, against COPY of the same rows into the same indexed tables, in one run.

python bench/write_rate.py CORPUS.jsonl[.gz] [--documents 2000] [--rounds 3] [--writers 2] [--alone]

Each round: two fresh databases on the server that tests share, or $VERAZ_TEST_SERVER. In the first an ingest prepares everything;
then its transactions alone are timed, in the groups of a run and as many at once, or one a document, as the runtime role under
row-level security, analysis of the text and all checks included. Its rows are then copied into the second by the administrator, a
COPY for each table in a single transaction, already analysed and current. Vectors are random: the hardest case for the index.
The last line is the median round.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import psycopg
from psycopg import sql
from tests.db.server_fixture import test_server
from tests.support import databases
from tests.support.hashing import DIMENSION, HashingEmbedder

from veraz.engine import AsyncVeraz
from veraz.ingest import writing
from veraz.ingest.discover import discover
from veraz.ingest.pipeline import Ingest
from veraz.ingest.plan import Overrides
from veraz.ingest.stages import Embedded
from veraz.nouns.corpus import RawItem, SourceSettings

TABLES = (
    "source",
    "document",
    "revision",
    "section",
    "chunk",
    "chunk_lexical",
    "lexical_epoch",
    "posting",
    "lexical_stat",
)
COLUMNS = """
select column_name from information_schema.columns
 where table_schema = 'veraz' and table_name = %s and is_generated = 'NEVER' and (identity_generation is distinct from 'ALWAYS')
 order by ordinal_position
"""
EMBEDDINGS = "select c.relname from pg_class c where c.relnamespace = 'veraz'::regnamespace and c.relname ~ '^embedding_[0-9]+$'"


async def write(url: str, corpus: str, documents: int) -> tuple[float, int]:
    """Seconds of the writing transactions, and chunks written."""
    async with await databases.open_engine(url) as engine:
        ingest = await _prepared(engine)
        items = [i for i in itertools.islice(discover([corpus]), documents) if isinstance(i, RawItem)]
        random = np.random.default_rng(7)
        ready: list[Embedded] = []
        for start in range(0, len(items), 64):
            for one in await ingest._chunk(await ingest._parse(items[start : start + 64])):
                vectors = random.normal(size=(len(one.chunks), DIMENSION)).astype(np.float32)
                vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
                ready.append(Embedded(one, vectors, len(one.chunks)))
        waiting: asyncio.Queue[Embedded | None] = asyncio.Queue()
        for embedded in (*ready, None):
            waiting.put_nowait(embedded)
        started = time.perf_counter()
        await ingest._write_all(waiting)
        seconds = time.perf_counter() - started
        assert ingest.tally.counts["documents"] == len(ready), ingest.tally.errors
        return seconds, sum(len(e.prepared.chunks) for e in ready)


async def _prepared(engine: AsyncVeraz) -> Ingest:
    space = await engine.space()
    ingest = Ingest(
        engine._database,
        await engine.identity(),
        HashingEmbedder(),
        space.space_id,
        source=SourceSettings("bench"),
        overrides=Overrides(),
        parsers=engine._parsers,
        detector=engine._open_detector(),
        chunking=engine._chunking(),
    )
    await ingest.run(iter(()))
    return ingest


def copy(source: str, target: str) -> float:
    """Seconds of COPY, all rows in one transaction."""
    with psycopg.connect(source) as read, psycopg.connect(target) as written:
        tables = [*TABLES, *(row[0] for row in read.execute(EMBEDDINGS))]
        tenant = read.execute("select tenant_id from veraz.source").fetchone()
        assert tenant is not None
        blocks = {table: _rows(read, table) for table in tables}
        written.execute("truncate veraz.tenant cascade")
        with read.cursor().copy("copy veraz.tenant to stdout (format binary)") as out:
            tenants = b"".join(bytes(part) for part in out)
        with written.cursor().copy("copy veraz.tenant from stdin (format binary)") as into:
            into.write(tenants)
        written.commit()
        started = time.perf_counter()
        for table, (columns, rows) in blocks.items():
            statement = sql.SQL("copy veraz.{} ({}) from stdin (format binary)")
            with written.cursor().copy(statement.format(sql.Identifier(table), columns)) as into:
                into.write(rows)
        written.commit()
        return time.perf_counter() - started


def _rows(connection: psycopg.Connection, table: str) -> tuple[sql.Composable, bytes]:
    names = [row[0] for row in connection.execute(COLUMNS, [table])]
    columns = sql.SQL(", ").join(map(sql.Identifier, names))
    statement = sql.SQL("copy (select {} from veraz.{}) to stdout (format binary)")
    with connection.cursor().copy(statement.format(columns, sql.Identifier(table))) as out:
        return columns, b"".join(bytes(part) for part in out)


def one_round(server: str, template: str, corpus: str, documents: int) -> float:
    """COPY's seconds as a share of the writing transactions'."""
    with databases.fresh(server, template) as first, databases.fresh(server, template) as second:
        seconds, chunks = asyncio.run(write(first, corpus, documents))
        copied = copy(first, second)
    print(
        f"{chunks:,} chunks: written in {seconds:.1f} s ({chunks / seconds:.0f}/s), "
        f"copied in {copied:.1f} s ({chunks / copied:.0f}/s): {copied / seconds:.0%} of COPY's rate",
        flush=True,
    )
    return copied / seconds


def main(corpus: str, documents: int, rounds: int) -> None:
    server = test_server()
    template = databases.schema_template(server)
    shares = [one_round(server, template, corpus, documents) for _ in range(rounds)]
    print(f"median of {rounds} rounds: {statistics.median(shares):.0%} of COPY's rate")


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("corpus")
    options.add_argument("--documents", type=int, default=2000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--writers", type=int, default=writing.WRITERS, help="groups written at once")
    options.add_argument("--alone", action="store_true", help="a transaction for each document")
    arguments = options.parse_args()
    writing.WRITERS = arguments.writers
    if arguments.alone:
        writing.GROUP_DOCUMENTS = 1
    main(arguments.corpus, arguments.documents, arguments.rounds)
