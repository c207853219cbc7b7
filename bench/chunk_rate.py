"""Megabytes of Markdown a second through parsing, chunking and tokenising; each alone, and all three side by side.

python bench/chunk_rate.py FILE… [--megabytes 8] [--chunker structure] [--option size=200]

A FILE is Markdown, or a collection (.jsonl, .jsonl.gz) whose records become Markdown: those whose ids are equal up to a `#` are
the sections of one document. Side by side as in an ingest: a pool of processes parses, the main thread chunks, another one
turns every chunk into token ids, once. Rates are of UTF-8 bytes; `cpu` is what the
threads of the main process worked.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

from veraz.config import load
from veraz.ingest.chunkers import CHUNKERS, ChunkContext, Chunker, chunker
from veraz.nouns.corpus import Chunk, ParsedDocument, RawItem
from veraz.providers.embedders.onnx_engine import Tokenizer
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.parsers import parser_for

BATCH = 32
"""Documents that are handed on together."""


def markdown(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        if ".jsonl" not in path.suffixes:
            yield path.read_text("utf-8")
            continue
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            records = map(json.loads, lines)
            for _, group in groupby(records, key=lambda record: str(record["id"]).partition("#")[0]):
                yield "\n\n".join(f"# {record.get('title', '')}\n\n{record['text']}" for record in group)


def items_of(paths: Iterable[Path], size: int) -> list[RawItem]:
    items: list[RawItem] = []
    for n, text in enumerate(markdown(paths)):
        items.append(RawItem(f"{n}.md", str(n), "markdown", payload=text.encode()))
        size -= len(items[-1].payload or b"")
        if size <= 0:
            break
    return items


def parse(items: Iterable[RawItem]) -> list[ParsedDocument]:
    return [parser_for(item).parse(item) for item in items]


class Bench:
    def __init__(
        self, made: Chunker, context: ChunkContext, tokenizer: Tokenizer, items: list[RawItem]
    ) -> None:
        self.made, self.context, self.tokenizer, self.items = made, context, tokenizer, items
        self.megabytes = sum(len(item.payload or b"") for item in items) / 1e6

    def chunk(self, docs: Iterable[ParsedDocument]) -> list[Chunk]:
        return [chunk for doc in docs for chunk in self.made.chunk(doc, self.context)]

    def tokenise(self, chunks: Iterable[Chunk]) -> int:
        return sum(map(len, self.tokenizer.encode(["passage: " + chunk.embedded_text for chunk in chunks])))

    def side_by_side(self, pool: ProcessPoolExecutor) -> int:
        batches = [self.items[n : n + BATCH] for n in range(0, len(self.items), BATCH)]
        with ThreadPoolExecutor(1) as other:
            counts = [other.submit(self.tokenise, self.chunk(docs)) for docs in pool.map(parse, batches)]
            return sum(count.result() for count in counts)

    def timed(self, what: str, work: Callable[[], Any]) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"{what:<14} {self.megabytes / wall:6.2f} MB/s   {cpu / self.megabytes:.2f} s cpu/MB")
        return result


def main(arguments: argparse.Namespace) -> None:
    config = load()
    embedder: Any = open_embedder("local", cache=config.model_cache, options={})
    options = dict(option.split("=", 1) for option in arguments.option)
    context = ChunkContext("bench", embedder.space.max_tokens, embedder.count_tokens, "en")
    items = items_of(arguments.files, int(arguments.megabytes * 1e6))
    bench = Bench(chunker(arguments.chunker, options), context, embedder._tokenizer, items)
    print(
        f"{len(items):,} documents, {bench.megabytes:.1f} MB, {bench.made.version}, load {os.getloadavg()[0]:.1f}"
    )
    docs = bench.timed("parse", lambda: parse(items))
    chunks = bench.timed("chunk, cold", lambda: bench.chunk(docs))
    bench.timed("chunk, again", lambda: bench.chunk(docs))
    tokens = bench.timed("tokenise", lambda: bench.tokenise(chunks))
    with ProcessPoolExecutor(arguments.processes) as pool:
        list(pool.map(parse, [items[:1]] * arguments.processes))  # start them
        assert bench.timed("side by side", lambda: bench.side_by_side(pool)) == tokens
    print(f"{len(chunks):,} chunks, {tokens:,} tokens")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--chunker", choices=CHUNKERS, default="structure")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    main(parser.parse_args())
