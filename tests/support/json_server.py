"""A local HTTP server for tests that answers each POST of JSON, and misbehaves on request. Its kinds say what they answer."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Reply:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0  # seconds between single bytes


class JsonServer(ABC):
    """Use as a context manager; `url` is the base URL."""

    path: str
    """What every request must ask for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @abstractmethod
    def receive(self, body: dict[str, Any], headers: dict[str, str]) -> Reply: ...

    def done(self) -> None:  # noqa: B027
        """Called for each request once its delay is over."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _handler(server: JsonServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.path == server.path
            reply = server.receive(body, {name.lower(): value for name, value in self.headers.items()})
            time.sleep(reply.delay)
            server.done()
            try:
                self._send(reply)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client had stopped waiting: what a test of time-outs wants

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
