"""A local embedding server for tests: speaks the OpenAI `/embeddings` call on loopback, misbehaves on request, and
remembers what it was sent.

Its vectors are a pure function of model and text (`fake_vector`), so a test can say which vector any text must have.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.support.json_server import JsonServer, Reply


def fake_vector(text: str, model: str = "fake-a", dimension: int = 8) -> npt.NDArray[np.float32]:
    """A vector of length 1 whose direction depends on every character of `text` and on the model."""
    seed = hashlib.sha256(f"{model}\n{text}".encode()).digest()
    values = np.random.default_rng(list(seed)).standard_normal(dimension)
    return (values / np.linalg.norm(values)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Received:
    """One request: its number from 0, when it came (time.monotonic), its texts, body and headers."""

    number: int
    at: float
    texts: list[str]
    body: dict[str, Any]
    headers: dict[str, str]


Behaviour = Callable[[Received, "FakeEmbeddingServer"], Reply]


def answer(request: Received, server: FakeEmbeddingServer) -> Reply:
    """The right answer; 400 if a text is blank, as real servers do."""
    if any(not text.strip() for text in request.texts):
        return Reply(400, {"error": {"message": "'$.input' is invalid: empty input"}})
    return Reply(body={"object": "list", "model": server.model, "data": server.items(request.texts)})


def altered(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Behaviour:
    """The right answer with its `data` list changed."""

    def behave(request: Received, server: FakeEmbeddingServer) -> Reply:
        reply = answer(request, server)
        reply.body["data"] = change(reply.body["data"])
        return reply

    return behave


def first(replies: Sequence[Reply], then: Behaviour = answer, *, skip: int = 0) -> Behaviour:
    """`replies` in turn, from request number `skip` on; `then` before and afterwards."""

    def behave(request: Received, server: FakeEmbeddingServer) -> Reply:
        place = request.number - skip
        return replies[place] if 0 <= place < len(replies) else then(request, server)

    return behave


def delayed(number: int, seconds: float) -> Behaviour:
    """The right answers, request `number` late."""

    def behave(request: Received, server: FakeEmbeddingServer) -> Reply:
        reply = answer(request, server)
        return Reply(reply.status, reply.body, delay=seconds if request.number == number else 0.0)

    return behave


class FakeEmbeddingServer(JsonServer):
    """Set `behaviour` to change what it answers."""

    path = "/v1/embeddings"

    def __init__(self, *, model: str = "fake-a", dimension: int = 8, behaviour: Behaviour = answer) -> None:
        super().__init__()
        self.model = model
        self.dimension = dimension
        self.behaviour = behaviour
        self.received: list[Received] = []

    @property
    def texts(self) -> list[str]:
        """Every text received, in order of arrival."""
        return [text for request in self.received for text in request.texts]

    def vector(self, text: str) -> npt.NDArray[np.float32]:
        return fake_vector(text, self.model, self.dimension)

    def items(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        return [
            {"object": "embedding", "index": i, "embedding": self.vector(text).tolist()}
            for i, text in enumerate(texts)
        ]

    def receive(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        given = body["input"]
        texts = [given] if isinstance(given, str) else list(given)
        with self._lock:
            request = Received(len(self.received), time.monotonic(), texts, body, headers)
            self.received.append(request)
        return self.behaviour(request, self)
