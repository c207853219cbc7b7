"""Judged collections as chunks with vectors: cut by Veraz, embedded by Veraz, the same for everybody."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.support import databases

from veraz.engine import AsyncVeraz
from veraz.evaluation.dataset import Dataset, load_dataset
from veraz.ingest.discover import discover
from veraz.ingest.pipeline import Ingest
from veraz.ingest.plan import Overrides
from veraz.nouns.corpus import RawItem, SourceSettings
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.embedders.remembered import Remembering

SOURCE = "corpus"
BATCH = 64

ELSEWHERE = {"liveqa_medquad": ("qrels_open_subset.tsv", Path("..") / "medquad" / "corpus.jsonl.gz")}
"""Folders whose judgements or documents are not where a BEIR folder has them."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """`folder` holds documents.jsonl, chunks.jsonl and vectors.npy. `documents` of `whole` are in it."""

    name: str
    folder: Path
    documents: int
    whole: int
    chunks: int
    questions: Mapping[str, str]
    vectors: Mapping[str, list[float]]
    qrels: Mapping[str, Mapping[str, int]]


def read(folder: Path) -> tuple[Dataset, Path]:
    """The judged collection of a folder, and its documents."""
    qrels, corpus = ELSEWHERE.get(folder.name, (None, None))
    dataset = load_dataset(folder, qrels=folder / qrels if qrels else None)
    path = folder / corpus if corpus else dataset.corpus_path
    if path is None:
        raise FileNotFoundError(f"{folder} has no corpus.jsonl[.gz]")
    return dataset, path


def _lines(path: Path) -> Iterator[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        yield from lines


def write_documents(path: Path, into: Path, judged: set[str], most: int | None) -> tuple[int, int]:
    """Every judged document, and the first of the others up to `most`, in their order. How many, of how many."""
    total, kept, room = 0, 0, None if most is None else max(most - len(judged), 0)
    with into.open("w", encoding="utf-8") as out:
        for line in _lines(path):
            record = json.loads(line)
            total += 1
            if str(record["id"]) not in judged:
                if room == 0:
                    continue
                room = room and room - 1
            # nothing but what every peer is given
            out.write(json.dumps({k: record.get(k) or "" for k in ("id", "title", "text")}) + "\n")
            kept += 1
    return kept, total


async def prepare(dataset: Dataset, path: Path, folder: Path, url: str, cache: Path, most: int | None) -> Corpus:  # fmt: skip
    """Cuts and embeds. `url`: an empty database, which keeps nothing. `cache` keeps vectors for the next run."""
    folder.mkdir(parents=True, exist_ok=True)
    judged = {d for grades in dataset.qrels.values() for d in grades}
    documents, whole = write_documents(path, folder / "documents.jsonl", judged, most)
    config = databases.config(url)
    local = open_embedder("local", cache=config.model_cache, options={}, progress=None)
    embedder = Remembering(local, cache)
    try:
        async with await AsyncVeraz.open(config=config, embedder=embedder) as engine:
            await engine.init()
            texts = await _cut(engine, folder)
        vectors = await _embedded(embedder, texts)
        np.save(folder / "vectors.npy", vectors)
        judged_questions = dataset.judged
        asked = await embedder.embed(list(judged_questions.values()), "query")
    finally:
        embedder.close()
    ready = {q: v.tolist() for q, v in zip(judged_questions, asked.vectors, strict=True)}
    return Corpus(dataset.name, folder, documents, whole, len(texts), judged_questions, ready, dataset.qrels)


async def _cut(engine: AsyncVeraz, folder: Path) -> list[str]:
    """The embedded text of every chunk; ids and texts go to chunks.jsonl."""
    ingest = Ingest(
        engine._database,
        await engine.identity(),
        await engine._open_embedder(),
        (await engine.space()).space_id,
        source=SourceSettings(SOURCE),
        overrides=Overrides(),
        parsers=engine._parsers,
        detector=engine._open_detector(),
        chunking=engine._chunking(),
    )
    await ingest.run(iter(()))
    items = [i for i in discover([str(folder / "documents.jsonl")]) if isinstance(i, RawItem)]
    texts: list[str] = []
    with (folder / "chunks.jsonl").open("w", encoding="utf-8") as out:
        for start in range(0, len(items), BATCH):
            for one in await ingest._chunk(await ingest._parse(items[start : start + BATCH])):
                for chunk in one.chunks:
                    texts.append(chunk.embedded_text)
                    name = f"{one.item.external_id}#{chunk.ord}"
                    out.write(json.dumps({"id": name, "text": chunk.embedded_text}) + "\n")
    return texts


async def _embedded(embedder: Remembering, texts: list[str]) -> np.ndarray:
    parts = []
    for start in range(0, len(texts), BATCH):
        parts.append((await embedder.embed(texts[start : start + BATCH], "passage")).vectors)
        if start and start % (50 * BATCH) == 0:
            print(f"  {start:,} of {len(texts):,} chunks embedded", flush=True)
    return np.concatenate(parts)
