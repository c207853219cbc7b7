"""Late interaction over the embedder's own token vectors: MaxSim (Khattab & Zaharia 2020), changed for a model that was not
trained for it.

Its token vectors all point nearly the same way, so that any two are alike: a mean vector is taken away first, that of sentences
about all sorts of things (`background.txt`), so that a score does not depend on what else was found. And of the question's
tokens only the half counts whose best cosines differ most between the passages: among hits that all say the question's main
words, those tell nothing apart.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

import msgspec
import numpy as np
import numpy.typing as npt

from veraz.errors import UsageError
from veraz.nouns.corpus import Vectors
from veraz.nouns.rerank import RerankScores
from veraz.providers.ports import Embedder, TokenEncoder

Half = npt.NDArray[np.float16]
Seen = tuple[Half, bool]
"""The token vectors of a passage, and whether it was longer than the model reads."""
VERSION = 1
"""Raised when the same vectors would get other scores."""


class MaxSimOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`cache_mb`: what the token vectors of passages that were seen may take in memory."""

    cache_mb: int = 256


class MaxSim:
    """Implements `Reranker` over an embedder that is also a `TokenEncoder`. Raises UsageError for one that is not. Belongs to one
    event loop.

    The score is the mean over the question's telling tokens of the best cosine with any token of the passage: -1 to 1.

    Passages are read for one question at a time, since reading takes all cores; and what was begun is read to its end and
    remembered, also where the question no longer waits: work that nobody stops must not be done for nothing."""

    def __init__(self, embedder: Embedder, options: MaxSimOptions | None = None) -> None:
        if not (isinstance(embedder, TokenEncoder) and embedder.gives_tokens):
            raise UsageError(
                f"the reranker 'maxsim' needs token vectors, and the space {embedder.space.name!r} gives none",
                fix="use another reranker, or the embedder 'local'",
            )
        self._encoder: TokenEncoder = embedder
        self._space = embedder.space
        self._mean: Vectors = np.empty(0, np.float32)  # of the background, once anything was read
        self._known = _Known((options or MaxSimOptions()).cache_mb << 20)
        self._reading = asyncio.Lock()

    @property
    def version(self) -> str:
        return f"maxsim-{VERSION} {self._space.name} {self._space.fingerprint[:16]}"

    async def rerank(self, question: str, passages: Sequence[str]) -> RerankScores:
        asked = await self._encoder.encode_tokens([question], "query")
        found, truncated = await self._passages(passages)
        scores = await asyncio.to_thread(maxsim, asked.vectors[0], found, self._mean)
        return RerankScores(tuple(scores), truncated)

    async def close(self) -> None:
        async with self._reading:
            self._known.clear()

    async def _passages(self, passages: Sequence[str]) -> tuple[list[Vectors], tuple[int, ...]]:
        keys = [hashlib.sha256(passage.encode()).digest() for passage in passages]
        texts = dict(zip(keys, passages, strict=True))
        found = self._remembered(texts)
        if len(found) < len(texts):
            await self._reading.acquire()
            found |= self._remembered(texts)  # by now another question may have had some of them read
            reading = asyncio.create_task(self._read({k: t for k, t in texts.items() if k not in found}))
            reading.add_done_callback(lambda _: self._reading.release())
            found |= await asyncio.shield(reading)
        whole = [found[key][0].astype(np.float32) for key in keys]
        return whole, tuple(place for place, key in enumerate(keys) if found[key][1])

    def _remembered(self, keys: Iterable[bytes]) -> dict[bytes, Seen]:
        return {key: kept for key in keys if (kept := self._known.get(key)) is not None}

    async def _read(self, texts: Mapping[bytes, str]) -> dict[bytes, Seen]:
        if not texts:
            return {}
        batch = await self._encoder.encode_tokens(list(texts.values()), "passage")
        cut = set(batch.truncated)
        found = {
            key: (vectors.astype(np.float16), place in cut)
            for place, (key, vectors) in enumerate(zip(texts, batch.vectors, strict=True))
        }
        if not self._mean.size:
            about = await self._encoder.encode_tokens(background(), "passage")
            self._mean = np.concatenate(about.vectors).mean(axis=0, dtype=np.float64).astype(np.float32)
        for key, seen in found.items():
            self._known.add(key, seen)
        return found


def background() -> list[str]:
    """Passages that the mean token vector is of: every language and subject in each."""
    text = resources.files(__package__ or "").joinpath("background.txt").read_text(encoding="utf-8")
    lines = text.splitlines()
    return [" ".join(lines[start::5]) for start in range(5)]


def maxsim(question: Vectors, passages: Sequence[Vectors], mean: Vectors) -> list[float | None]:
    """MaxSim of each passage less `mean`, over the half of the question's tokens whose best cosines spread most over the
    passages. None for a passage without tokens, and for all where the question has none."""
    held = [passage for passage in passages if len(passage)]
    if not held or not len(question):
        return [None] * len(passages)
    cosines = _unit(question - mean) @ _unit(np.concatenate(held) - mean).T
    starts = np.cumsum([0, *(len(passage) for passage in held[:-1])])
    best = np.maximum.reduceat(cosines, starts, axis=1)
    telling = np.argsort(-best.std(axis=1), kind="stable")[: max(1, len(question) // 2)]
    scores = iter(best[telling].mean(axis=0).tolist())
    return [next(scores) if len(passage) else None for passage in passages]


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


class _Known:
    """Token vectors by key, those used last, within so many bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._entries: OrderedDict[bytes, Seen] = OrderedDict()

    def get(self, key: bytes) -> Seen | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def add(self, key: bytes, entry: Seen) -> None:
        if key in self._entries:
            return
        self._entries[key] = entry
        self._held += entry[0].nbytes
        while self._held > self._most and self._entries:
            _, (dropped, _) = self._entries.popitem(last=False)
            self._held -= dropped.nbytes

    def clear(self) -> None:
        self._entries.clear()
        self._held = 0
