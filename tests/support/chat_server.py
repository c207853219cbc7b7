"""A local chat server for tests: speaks the OpenAI `/chat/completions` call on loopback, misbehaves on request, and remembers
what it was asked. What it says about a passage is a pure function of the passage."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Reply:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0  # seconds between single bytes


Behaviour = Callable[[Question], Reply]


def saying(text: str | None, finish_reason: str = "stop", **more: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    return Reply(body={"object": "chat.completion", "model": "served", "choices": [choice]}, **more)


def answer(question: Question) -> Reply:
    return saying(said_about(question.passage))


class FakeChatServer:
    """Use as a context manager; `url` is the base URL. Set `behaviour` to change what it answers."""

    def __init__(self, behaviour: Behaviour = answer) -> None:
        self.behaviour = behaviour
        self.received: list[Question] = []
        self.most_at_once = 0
        self._under_way = 0
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

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

    def __enter__(self) -> FakeChatServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _handler(server: FakeChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.path == "/v1/chat/completions"
            reply = server.receive(body, {name.lower(): value for name, value in self.headers.items()})
            time.sleep(reply.delay)
            server.done()
            try:
                self._send(reply)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client had stopped waiting

        def _send(self, reply: Reply) -> None:
            payload = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(payload)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if not reply.drip:
                self.wfile.write(payload)
                return
            for at in range(len(payload)):
                self.wfile.write(payload[at : at + 1])
                time.sleep(reply.drip)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
