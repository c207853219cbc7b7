"""How much of the embedder's own rate an ingest reaches, on the same chunks, in one run.

python bench/ingest_rate.py CORPUS.jsonl.gz --database URL [--sample 3000] [--tenant NAME] [--source NAME]

Ingests the corpus into a tenant of its own, or the named one, which holds nothing yet, then embeds every n-th window of its
stored chunks again with nothing else to do, and compares tokens per second. Chunks reused or shared are not counted: they cost
no call to the model.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from veraz.config import load
from veraz.engine import AsyncVeraz
from veraz.ingest.pipeline import WINDOW_CHUNKS

SQL = """
select distinct on (content_hash) ord, token_count, concat_ws(E'\\n\\n', nullif(header, ''), coalesce(embedded, display))
  from veraz.chunk where tenant_id = %s order by content_hash
"""


async def main(arguments: argparse.Namespace) -> None:
    config = load(flags={"database.url": arguments.database})
    async with await AsyncVeraz.open(config=config) as veraz:
        await veraz.init()
        identity = await veraz.ensure_tenant(arguments.tenant or f"bench-{int(time.time())}")
        veraz._identity = identity
        report = await veraz.ingest([str(arguments.corpus)], source=arguments.source)
        async with veraz._database.maintenance() as connection:
            rows = await (await connection.execute(SQL, [identity.tenant_id])).fetchall()
        tokens = sum(row[1] for row in rows)
        print(
            f"ingest: {report.documents:,} documents, {report.chunks:,} chunks, "
            f"{report.embedded:,} embedded, {report.seconds:,.0f} s"
        )
        ingest_rate = tokens / report.seconds
        embedder = await veraz._open_embedder()
        windows = [rows[i : i + WINDOW_CHUNKS] for i in range(0, len(rows), WINDOW_CHUNKS)]
        step = max(1, len(rows) // arguments.sample)
        sample = windows[::step]
        started = time.perf_counter()
        for window in sample:
            await embedder.embed([row[2] for row in window], "passage")
        seconds = time.perf_counter() - started
        embed_rate = sum(row[1] for window in sample for row in window) / seconds
        print(
            f"ingest {ingest_rate:,.0f} tokens/s, embedder alone {embed_rate:,.0f} tokens/s: {ingest_rate / embed_rate:.1%}"
        )
        again = await veraz.ingest([str(arguments.corpus)], source=arguments.source)
        print(f"again: {again.unchanged:,} unchanged, {again.embedded} embedded, {again.seconds:.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--database", required=True)
    parser.add_argument("--sample", type=int, default=3000)
    parser.add_argument("--tenant")
    parser.add_argument("--source", default="bench")
    asyncio.run(main(parser.parse_args()))
