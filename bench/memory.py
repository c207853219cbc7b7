"""Memory of an ingest of one large collection, sampled every second over the process and those that parse for it.

python bench/memory.py [--megabytes 1024] [--collection FILE]

Writes a collection of that size, of made-up words, into a temporary folder, or takes the one given, and ingests it into a fresh
database on the server that tests share, or $VERAZ_TEST_SERVER. The embedder is the tests' (no model), with long chunks, so that
the run ends within the hour: what is measured is all that Veraz keeps beside a model. Flat means that the second half needs no
more than the first.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from tests.db.server_fixture import test_server
from tests.support import databases
from tests.support.hashing import DIMENSION, HashingEmbedder

from veraz.config import IngestConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import EmbeddingBatch, TextKind, Vectors

DOCUMENT = 40_000
TOKENS = 4_000


def collection(path: Path, megabytes: int) -> None:
    source = random.Random(7)
    words = [
        "".join(source.choices("abcdefghijklmnoprstuvwz", k=source.randint(3, 9))) for _ in range(20_000)
    ]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    with path.open("w") as out:
        number = 0
        while out.tell() < megabytes << 20:
            picked = source.choices(words, weights, k=DOCUMENT // 7)
            text = "\n\n".join(" ".join(picked[at : at + 60]) + "." for at in range(0, len(picked), 60))
            out.write(json.dumps({"id": f"d{number}", "title": f"Document {number}", "text": text}) + "\n")
            number += 1


def place(text: str) -> Vectors:
    """Anywhere, at once: the tests' embedder hashes word after word, and remembers what it hashed."""
    seed = hashlib.blake2b(text.encode(), digest_size=8).digest()
    vector = np.random.default_rng(list(seed)).standard_normal(DIMENSION)
    unit: Vectors = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit


class Forgetful(HashingEmbedder):
    """The tests' embedder remembers every text that it was given."""

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        try:
            return await super().embed(texts, kind)
        finally:
            self.calls.clear()


def resident() -> int:
    """Bytes of this process and its children, shared pages counted once where the system tells (PSS)."""
    me = Path("/proc/self")
    children = (me / "task" / str(me.resolve().name) / "children").read_text().split()
    return sum(map(_pss, ["self", *children]))


def _pss(process: str) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    except OSError:  # it has just ended
        pass
    return 0


async def main(megabytes: int, given: Path | None) -> None:
    server = test_server()
    samples: list[int] = []
    with tempfile.TemporaryDirectory() as folder, databases.fresh(server) as url:
        path = given or Path(folder) / "large.jsonl"
        if given is None:
            collection(path, megabytes)
        settings = databases.config(url, ingest=IngestConfig(chunk_tokens=TOKENS))
        async with await AsyncVeraz.open(
            config=settings, embedder=Forgetful(max_tokens=TOKENS, place=place)
        ) as engine:
            await engine.init()
            size, before = path.stat().st_size, resident()
            started = time.perf_counter()
            task = asyncio.create_task(engine.ingest([path], source="large", lang="en"))
            while not task.done():
                samples.append(resident() - before)
                await asyncio.sleep(1)
            report = await task
            seconds = time.perf_counter() - started
    half = len(samples) // 2
    first, second = statistics.median(samples[half // 4 : half]), statistics.median(samples[half:])
    print(
        f"{size >> 20:,} MiB, {report.documents:,} documents, {report.chunks:,} chunks, {report.failed} failed, "
        f"{seconds:,.0f} s: most {max(samples) >> 20} MiB above {before >> 20}; median of the first half {first / 2**20:.0f}, "
        f"of the second {second / 2**20:.0f}"
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--megabytes", type=int, default=1024)
    options.add_argument("--collection", type=Path, help="a file instead of made-up words")
    arguments = options.parse_args()
    asyncio.run(main(arguments.megabytes, arguments.collection))
