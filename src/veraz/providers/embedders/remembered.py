"""An embedder that asks another one for each text at most once, ever: what it gave is kept in a file.

For work that embeds the same texts again in other databases or tenants, such as a sweep over chunkers. The file holds vectors and
hashes, no text; one for each embedding space.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from veraz.errors import UsageError
from veraz.nouns.corpus import EmbeddingBatch, SpaceSpec, Span, TextKind, TokenBatch, Vectors
from veraz.providers.ports import Embedder, TokenEmbedder, TokenEncoder

KEY = 32
FLAGS = 4
CUT = 1
"""Flag: the text was longer than the model reads."""

Elsewhere = Callable[[Sequence[bytes]], Awaitable[Mapping[bytes, Vectors]]]
"""Passages that were embedded elsewhere: sha256 of the text → its vector in the same space."""


async def nowhere(_hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
    return {}


class Remembering:
    """Implements `Embedder`, `TokenEmbedder` and `TokenEncoder` over `inner`. `asked` counts the texts that `inner` was given,
    `taken` those it was spared. One process at a time may use a file. Raises UsageError for a file that cannot be written."""

    def __init__(self, inner: Embedder, folder: Path, *, elsewhere: Elsewhere = nowhere) -> None:
        self._inner = inner
        self.elsewhere = elsewhere
        self._vectors = _VectorFile(folder / file_name(inner.space), inner.space.dimension)
        self.asked = self.taken = 0

    @property
    def space(self) -> SpaceSpec:
        return self._inner.space

    @property
    def gives_tokens(self) -> bool:
        return isinstance(self._inner, TokenEmbedder) and self._inner.gives_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.count_tokens(texts)

    def close(self) -> None:
        self._vectors.close()

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        keys = [_key(kind.encode(), text.encode()) for text in texts]
        await self._look_elsewhere(texts, keys, kind)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        if missing:
            batch = await self._inner.embed(list(missing.values()), kind)
            cut = set(batch.truncated)
            for place, (key, vector) in enumerate(zip(missing, batch.vectors, strict=True)):
                self._vectors.add(key, vector, CUT if place in cut else 0)
        self.asked += len(missing)
        self.taken += len(texts) - len(missing)
        found = [self._vectors.get(key) for key in keys]
        return EmbeddingBatch(
            np.stack([vector for vector, _ in found]),
            tuple(place for place, (_, flags) in enumerate(found) if flags & CUT),
        )

    async def embed_spans(self, text: str, groups: Sequence[Sequence[Span]]) -> Vectors:
        inner = self._inner
        if not isinstance(inner, TokenEmbedder):
            raise UsageError(f"the space {self.space.name!r} has no token vectors", fix="use another chunker")
        whole = hashlib.sha256(text.encode()).digest()
        keys = [
            _key(b"spans", whole, msgspec.json.encode([(s.start, s.end) for s in group])) for group in groups
        ]
        if any(key not in self._vectors for key in keys):
            self.asked += len(keys)
            for key, vector in zip(keys, await inner.embed_spans(text, groups), strict=True):
                if key not in self._vectors:
                    self._vectors.add(key, vector, 0)
        else:
            self.taken += len(keys)
        return np.stack([self._vectors.get(key)[0] for key in keys])

    async def encode_tokens(self, texts: Sequence[str], kind: TextKind) -> TokenBatch:
        """As `inner` gives them: they are too large to be kept."""
        inner = self._inner
        if not isinstance(inner, TokenEncoder):
            raise UsageError(
                f"the space {self.space.name!r} has no token vectors", fix="use another reranker"
            )
        return await inner.encode_tokens(texts, kind)

    async def _look_elsewhere(self, texts: Sequence[str], keys: Sequence[bytes], kind: TextKind) -> None:
        if kind != "passage":
            return
        unknown = {
            hashlib.sha256(text.encode()).digest(): key
            for text, key in zip(texts, keys, strict=True)
            if key not in self._vectors
        }
        if unknown:
            for digest, vector in (await self.elsewhere(list(unknown))).items():
                self._vectors.add(unknown[digest], vector, 0)


def file_name(space: SpaceSpec) -> str:
    """Of the file of a space: whatever decides a vector decides the name."""
    digest = hashlib.sha256(msgspec.json.encode(space)).hexdigest()
    return f"vectors-{digest[:16]}.bin"


def _key(*parts: bytes) -> bytes:
    return hashlib.sha256(b"\0".join(parts)).digest()


class _VectorFile:
    """Records of one size: key, flags, float32 vector. What was cut off at the end when a process was killed is dropped."""

    def __init__(self, path: Path, dimension: int) -> None:
        self._path = path
        self._record = np.dtype([("key", "u1", KEY), ("flags", "<u4"), ("vector", "<f4", dimension)])
        self._places: dict[bytes, int] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            self._file = path.open("r+b")
            whole = path.stat().st_size // self._record.itemsize
            self._file.truncate(whole * self._record.itemsize)
        except OSError as error:
            raise self._unwritable(error) from error
        if whole:
            keys = np.memmap(path, self._record, "r", shape=(whole,))["key"]
            self._places = {key.tobytes(): place for place, key in enumerate(keys)}

    def __contains__(self, key: bytes) -> bool:
        return key in self._places

    def get(self, key: bytes) -> tuple[Vectors, int]:
        """The vector and its flags. Raises KeyError."""
        self._file.seek(self._places[key] * self._record.itemsize)
        record = np.frombuffer(self._file.read(self._record.itemsize), self._record)[0]
        return record["vector"].astype(np.float32), int(record["flags"])

    def add(self, key: bytes, vector: Vectors, flags: int) -> None:
        record = np.zeros(1, self._record)
        record["key"] = np.frombuffer(key, "u1")
        record["flags"], record["vector"] = flags, vector
        try:
            at = self._file.seek(0, os.SEEK_END)
            self._file.write(record.tobytes())
            self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from error
        self._places[key] = at // self._record.itemsize

    def close(self) -> None:
        self._file.close()

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(
            f"{self._path}: cannot be written: {error.strerror or error}",
            fix="give a folder that can be written",
        )
