"""An embedder that needs no model: a vector is a hash of the words and word pairs of a text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from veraz.nouns.corpus import EmbeddingBatch, SpaceSpec, TextKind, TokenBatch, Vectors
from veraz.nouns.distance import Distance

DIMENSION = 384
_WORD = re.compile(r"\w+")

Placement = Callable[[str], Vectors | None]
"""A vector for a text whose place a test decides; None leaves it to the hash."""


class HashingEmbedder:
    """Implements `Embedder`. Equal texts get equal vectors, texts that share words similar ones; the same on every machine.

    Tokens are words, plus two as a real model adds. `calls` keeps the texts of every call, in order. Placed vectors may have any
    length where `normalised` is false.
    """

    def __init__(
        self,
        model: str = "hash",
        *,
        place: Placement | None = None,
        max_tokens: int = 512,
        distance: Distance = "cosine",
        normalised: bool = True,
    ) -> None:
        self.space = SpaceSpec(
            name=f"{model}-{DIMENSION}",
            provider="tests",
            model=model,
            dimension=DIMENSION,
            normalised=normalised,
            query_prefix="",
            passage_prefix="",
            distance=distance,
            max_tokens=max_tokens,
            fingerprint=hashlib.sha256(model.encode()).hexdigest(),
        )
        self.calls: list[list[str]] = []
        self._place = place

    @property
    def texts(self) -> list[str]:
        """Every text that was embedded, in order."""
        return [text for call in self.calls for text in call]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [2 + len(_WORD.findall(text)) for text in texts]

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:  # noqa: ARG002
        if any(not text.strip() for text in texts):
            raise ValueError("a blank text cannot be embedded")
        self.calls.append(list(texts))
        cut = tuple(i for i, n in enumerate(self.count_tokens(texts)) if n > self.space.max_tokens)
        return EmbeddingBatch(np.stack([self.vector(text) for text in texts]), cut)

    def vector(self, text: str) -> Vectors:
        """Float32, of length 1 unless it is placed."""
        placed = self._place(text) if self._place else None
        return hashed(self.space.model, text) if placed is None else placed


def hashed(model: str, text: str) -> Vectors:
    words = _WORD.findall(text.lower())
    total = np.full(DIMENSION, 1e-3, dtype=np.float64)  # a text without words has a vector too
    for feature in [*words, *(f"{a} {b}" for a, b in pairwise(words))]:
        total += _feature(model, feature)
    return (total / np.linalg.norm(total)).astype(np.float32)


@lru_cache(maxsize=100_000)
def _feature(model: str, feature: str) -> Vectors:
    seed = hashlib.blake2b(f"{model} {feature}".encode(), digest_size=8).digest()
    return np.random.default_rng(list(seed)).standard_normal(DIMENSION).astype(np.float32)


class TokenHashing(HashingEmbedder):
    """Implements `TokenEncoder` too: a token is a word, its vector the word's hash. `encoded` keeps the texts of every call."""

    gives_tokens = True

    def __init__(self, model: str = "hash", *, max_tokens: int = 512) -> None:
        super().__init__(model, max_tokens=max_tokens)
        self.encoded: list[list[str]] = []

    async def encode_tokens(self, texts: Sequence[str], kind: TextKind) -> TokenBatch:  # noqa: ARG002
        self.encoded.append(list(texts))
        words = [_WORD.findall(text.lower()) for text in texts]
        most = self.space.max_tokens
        vectors = [
            np.stack([_feature(self.space.model, word) for word in found[:most]])
            if found
            else np.empty((0, DIMENSION), np.float32)
            for found in words
        ]
        return TokenBatch(tuple(vectors), tuple(i for i, found in enumerate(words) if len(found) > most))
