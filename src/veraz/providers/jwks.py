"""The public keys of a token issuer (RFC 7517), from a file or an https URL.

They are kept for an hour, and read again when a token names a key that is not among them: at most once in ten seconds, so that
forged key ids cannot make this process ask the issuer all the time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import msgspec

from veraz.errors import ConfigError, ProviderError

KEPT_SECONDS = 3600.0
PAUSE_SECONDS = 10.0
MOST_BYTES = 1_000_000
MOST_KEYS = 1_000
Key = Mapping[str, Any]


class Jwks:
    """`place`: a path or an https URL. `transport` and `clock` take the place of the network and of time."""

    def __init__(
        self,
        place: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.place = place
        self._transport = transport
        self._clock = clock
        self._keys: dict[str, Key] = {}
        self._read_at: float | None = None
        self._lock = asyncio.Lock()

    async def key(self, kid: str) -> Key | None:
        """The key of that id as the issuer published it; None where it has none. Raises ProviderError when the keys cannot be
        read, ConfigError for a file that holds none."""
        async with self._lock:
            age = None if self._read_at is None else self._clock() - self._read_at
            if age is None or age > KEPT_SECONDS or (kid not in self._keys and age > PAUSE_SECONDS):
                self._keys = _by_id(self.place, await self._read())
                self._read_at = self._clock()
            return self._keys.get(kid)

    async def _read(self) -> bytes:
        if not self.place.startswith("https://"):
            return await asyncio.to_thread(_read_file, Path(self.place).expanduser())
        try:
            async with (
                httpx.AsyncClient(transport=self._transport, timeout=10) as client,
                client.stream("GET", self.place) as response,
            ):
                response.raise_for_status()
                return await _bounded(self.place, response)
        except httpx.HTTPError as error:
            raise ProviderError(
                f"the issuer's keys at {self.place} cannot be read: {str(error) or type(error).__name__}",
                fix="check [auth] jwks, and that this machine reaches it",
            ) from error


async def _bounded(place: str, response: httpx.Response) -> bytes:
    body = b""
    async for part in response.aiter_bytes():
        body += part
        if len(body) > MOST_BYTES:
            raise ProviderError(f"{place} sends more than keys", fix="check [auth] jwks")
    return body


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"the issuer's keys cannot be read: {path}: {error.strerror}", fix="check [auth] jwks"
        ) from error


def _by_id(place: str, body: bytes) -> dict[str, Key]:
    """Keys without an id are left out: a token could not name them."""
    try:
        found = msgspec.json.decode(body)
        keys = found["keys"]
        named: dict[str, Key] = {
            k["kid"]: k for k in keys[:MOST_KEYS] if isinstance(k, dict) and isinstance(k.get("kid"), str)
        }
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError) as error:
        raise ProviderError(
            f"{place} holds no key set", fix="check [auth] jwks: it is a JWK set, RFC 7517"
        ) from error
    if not named:
        raise ProviderError(
            f"{place} holds no key with a kid", fix="check [auth] jwks: it is a JWK set, RFC 7517"
        )
    return named
