"""One JSON call of an HTTP provider, made again while what failed may pass."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import httpx

from veraz.errors import ConfigError, MalformedResponse, ProviderError, RateLimited, RequestRefused
from veraz.providers.retry import RETRIED, Backoff, parse_retry_after

_SHOWN = 300  # characters of a provider's message that an error repeats
_OF_THE_REQUEST = frozenset({400, 411, 413, 414, 415, 422, 431, 451})
"""HTTP statuses that speak of one request: another one may be taken."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`url` is that of the call. `timeout` bounds one attempt and `max_wait` what a request spends waiting between attempts, in
    seconds; `concurrency` how many are under way. An answer of more than `most_bytes` is not read. The names are those of the
    settings that an error tells to correct."""

    url: str
    model: str
    key: str | None
    timeout: float
    max_wait: float
    concurrency: int
    most_bytes: int
    url_name: str
    key_name: str
    settings_name: str


def check_address(name: str, url: str) -> None:
    """Raises ConfigError naming the setting whose value nothing can be sent to."""
    if not re.match(r"https?://[^/]", url):
        raise ConfigError(f"{name} {url!r} is no http(s) address", fix="give it as https://host/v1")


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    content: bytes
    asked: float | None  # seconds that the server wants to be left alone

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Calls:
    """The requests to one endpoint that share its limit on concurrency, and the pause that it asked for.

    A request that fails for a passing reason (429, 5xx, a timeout, a broken connection) is sent again, alone.
    """

    def __init__(self, client: httpx.AsyncClient, endpoint: Endpoint) -> None:
        self._client = client
        self._endpoint = endpoint
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        self._paused_until = 0.0

    async def post(self, body: dict[str, Any]) -> bytes:
        """The answer to `body`. Raises RateLimited or ProviderError once the bound on waiting is reached, RequestRefused for a
        request that the provider does not take, MalformedResponse for an answer that is too large."""
        async with self._slots:  # held while waiting too: a server that is short of room gets nothing new
            return await self._answered(body)

    async def _answered(self, body: dict[str, Any]) -> bytes:
        backoff = Backoff(budget=self._endpoint.max_wait)
        while True:
            await self._observe_pause()
            failure = await self._attempt(body)
            if isinstance(failure, _Reply) and failure.is_success:
                return failure.content
            asked = failure.asked if isinstance(failure, _Reply) else None
            wait = backoff.next_wait(asked)
            if wait is None:
                raise self._gave_up(failure, backoff.attempts)
            if asked is not None:
                self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + asked)
            await asyncio.sleep(wait)

    async def _attempt(self, body: dict[str, Any]) -> _Reply | str:
        """The answer, or the failure worth another attempt: what the server said, or why nothing came."""
        try:
            async with asyncio.timeout(self._endpoint.timeout):  # httpx's own begins anew with every byte
                reply = await self._sent(body)
        except TimeoutError:
            return f"no answer within {self._endpoint.timeout:g} s"
        except httpx.TransportError as error:
            return str(error) or type(error).__name__
        except httpx.DecodingError as error:
            raise MalformedResponse(
                f"{self._endpoint.url}: an answer that cannot be unpacked ({error})",
                fix=f"check {self._endpoint.url_name}",
            ) from error
        if not reply.is_success and reply.status not in RETRIED:
            raise self._refused(reply)
        return reply

    async def _sent(self, body: dict[str, Any]) -> _Reply:
        async with self._client.stream("POST", self._endpoint.url, json=body) as response:
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > self._endpoint.most_bytes:
                    raise MalformedResponse(
                        f"{self._endpoint.url} answered more than {self._endpoint.most_bytes:,} bytes",
                        fix=f"check {self._endpoint.url_name}",
                    )
            asked = parse_retry_after(response.headers.get("retry-after"))
            return _Reply(response.status_code, bytes(content), asked)

    async def _observe_pause(self) -> None:
        pause = self._paused_until - asyncio.get_running_loop().time()
        if pause > 0:
            await asyncio.sleep(pause)

    def _gave_up(self, failure: _Reply | str, attempts: int) -> ProviderError:
        endpoint = self._endpoint
        tries = f"after {attempts} attempts and at most {endpoint.max_wait:g} s of waiting"
        if isinstance(failure, str):
            return ProviderError(
                f"{endpoint.url}: {failure}, {tries}", fix=f"check {endpoint.url_name} and the network"
            )
        what = f"{endpoint.url} answered {failure.status} {tries}: {self._message(failure)}"
        if failure.status == 429:
            fix = "run again later, lower concurrency, or raise max_wait"
            return RateLimited(what, retry_after=failure.asked, fix=fix)
        return ProviderError(what, fix="run again later")

    def _refused(self, reply: _Reply) -> ProviderError:
        endpoint = self._endpoint
        fixes = {
            401: f"set {endpoint.key_name} to a valid key",
            403: f"use a key that may call {endpoint.model}",
            404: f"check {endpoint.url_name} and model",
        }
        what = f"{endpoint.url} answered {reply.status}: {self._message(reply)}"
        kind = RequestRefused if reply.status in _OF_THE_REQUEST else ProviderError
        return kind(
            what, fix=fixes.get(reply.status, f"correct {endpoint.settings_name} as the message says")
        )

    def _message(self, reply: _Reply) -> str:
        """The provider's own words, shortened, without the key if it repeats it."""
        text = re.sub(r"\s+", " ", reply.content.decode(errors="replace"))
        key = self._endpoint.key
        return (text.replace(key, "***") if key else text)[:_SHOWN] or "(no message)"


class KeptCalls:
    """`Calls` over connections that are kept from request to request: opened by the first one, ended by `close`. For one event
    loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: httpx.AsyncClient | None = None
        self._calls: Calls | None = None

    async def post(self, body: dict[str, Any]) -> bytes:
        """As `Calls.post`."""
        if self._calls is None:
            endpoint = self._endpoint
            headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
            self._client = httpx.AsyncClient(headers=headers, timeout=endpoint.timeout)
            self._calls = Calls(self._client, endpoint)
        return await self._calls.post(body)

    async def close(self) -> None:
        client, self._client, self._calls = self._client, None, None
        if client is not None:
            await client.aclose()
