"""A local rerank server for tests: speaks Cohere's, Voyage's and Jina's call on loopback, and misbehaves on request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.json_server import JsonServer, Reply


@dataclass(frozen=True, slots=True)
class Asked:
    number: int
    body: dict[str, Any]
    headers: dict[str, str]


Behaviour = Callable[[Asked], Reply]


def ranked(results: list[dict[str, Any]], key: str = "results", **more: Any) -> Reply:
    return Reply(body={key: results, "model": "served"}, **more)


def by_length(key: str) -> Behaviour:
    """The longest passage first, as providers answer: best first, with the index of each."""

    def behaviour(asked: Asked) -> Reply:
        documents = asked.body["documents"]
        order = sorted(range(len(documents)), key=lambda i: -len(documents[i]))
        return ranked([{"index": i, "relevance_score": len(documents[i]) / 100} for i in order], key)

    return behaviour


class FakeRerankServer(JsonServer):
    """Set `behaviour` to change what it answers."""

    path = "/v1/rerank"

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__()
        self.behaviour = behaviour
        self.received: list[Asked] = []

    def receive(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self._lock:
            asked = Asked(len(self.received), body, headers)
            self.received.append(asked)
        return self.behaviour(asked)
