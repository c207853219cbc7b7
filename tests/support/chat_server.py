"""A local chat server for tests: speaks the OpenAI `/chat/completions` call on loopback, misbehaves on request, and remembers
what it was asked. What it says about a passage is a pure function of the passage."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.json_server import JsonServer, Reply

_PASSAGE = re.compile(r"==== \w+ passage ====\n(.*)\n==== \w+ end ====", re.DOTALL)


def said_about(passage: str) -> str:
    """The context that the server writes of a passage."""
    words = re.findall(r"\w+", passage)
    return f"Kontext of {words[0]} to {words[-1]}."


@dataclass(frozen=True, slots=True)
class Question:
    """One request: its number from 0, when it came, its body and headers, and the passage that it is about."""

    number: int
    at: float
    body: dict[str, Any]
    headers: dict[str, str]
    passage: str

    @property
    def text(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])


Behaviour = Callable[[Question], Reply]


def saying(text: str | None, finish_reason: str = "stop", **more: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    return Reply(body={"object": "chat.completion", "model": "served", "choices": [choice]}, **more)


def answer(question: Question) -> Reply:
    return saying(said_about(question.passage))


class FakeChatServer(JsonServer):
    """Set `behaviour` to change what it answers."""

    path = "/v1/chat/completions"

    def __init__(self, behaviour: Behaviour = answer) -> None:
        super().__init__()
        self.behaviour = behaviour
        self.received: list[Question] = []
        self.most_at_once = 0
        self._under_way = 0

    @property
    def passages(self) -> list[str]:
        return [question.passage for question in self.received]

    def receive(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        found = _PASSAGE.search(body["messages"][-1]["content"])
        with self._lock:
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            passage = found[1] if found else ""
            question = Question(len(self.received), time.monotonic(), body, headers, passage)
            self.received.append(question)
        return self.behaviour(question)

    def done(self) -> None:
        with self._lock:
            self._under_way -= 1
