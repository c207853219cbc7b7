"""One peer in a process of its own: JSON lines on standard input, one line of answer for each.

    {"do": "load", "folder": …}                 → {"seconds", "bytes"}
    {"do": "search", "question", "vector", "k"} → {"ids", "ms", "stages"}

`folder` holds chunks.jsonl (id, text), vectors.npy in the same order, and documents.jsonl. `stages`: milliseconds by stage, of a
peer that tells them. Times are taken here, around the peer's own call alone: neither this protocol nor the reading of files is
in them.

    python worker.py ADAPTER DATABASE-URL FOLDER
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np


@dataclass(frozen=True)
class Chunk:
    """`id` is DOCUMENT#n; `text` is what was embedded."""

    id: str
    text: str


class Peer(Protocol):
    """A module of `adapters` has a class `Peer` of this shape, made with the URL of an empty database and an empty folder."""

    packages: Sequence[str]
    """The distributions whose versions count."""

    def load(self, chunks: Sequence[Chunk], vectors: np.ndarray) -> None:
        """Stores and indexes everything. `vectors`: float32 (chunks, dimension), of length 1."""
        ...

    def search(self, question: str, vector: list[float], k: int) -> list[str]:
        """Ids of chunks, best first."""
        ...

    def size(self) -> int | None:
        """Bytes on disk outside the database; None where everything is in it."""
        ...


def answers(peer: Peer, requests: TextIO) -> Iterator[dict[str, Any]]:
    """One for each line. What fails is an answer with `error`."""
    for line in requests:
        asked = json.loads(line)
        try:
            yield _load(peer, Path(asked["folder"])) if asked["do"] == "load" else _search(peer, asked)
        except Exception as error:
            traceback.print_exc()
            yield {"error": f"{type(error).__name__}: {error}"[:500]}


def _load(peer: Peer, folder: Path) -> dict[str, Any]:
    with (folder / "chunks.jsonl").open(encoding="utf-8") as lines:
        chunks = [Chunk(**json.loads(line)) for line in lines]
    vectors = np.load(folder / "vectors.npy")
    started = time.perf_counter()
    peer.load(chunks, vectors)
    return {"seconds": time.perf_counter() - started, "bytes": peer.size()}


def _search(peer: Peer, asked: dict[str, Any]) -> dict[str, Any]:
    question, vector, k = asked["question"], asked["vector"], asked["k"]
    started = time.perf_counter()
    ids = peer.search(question, vector, k)
    taken = (time.perf_counter() - started) * 1000
    return {"ids": ids, "ms": taken, "stages": getattr(peer, "stages", {})}


def main() -> None:
    # Libraries print; the protocol has the real standard output to itself.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    name, url, folder = sys.argv[1:]
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    try:
        made: Peer = importlib.import_module(f"peers.adapters.{name}").Peer(url, Path(folder))
        first = {"versions": {package: metadata.version(package) for package in made.packages}}
    except Exception as error:
        traceback.print_exc()
        print(json.dumps({"error": f"{type(error).__name__}: {error}"[:500]}), file=out, flush=True)
        return
    print(json.dumps(first), file=out, flush=True)
    for answer in answers(made, sys.stdin):
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
