"""An issuer's key set: read when needed, kept, bounded, and never asked more often because somebody forges key ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from veraz.errors import ConfigError, ProviderError
from veraz.providers.jwks import KEPT_SECONDS, MOST_BYTES, PAUSE_SECONDS, Jwks

URL = "https://login.example.org/keys"


class Published:
    """A server that counts its requests, and a clock that stands still until it is moved."""

    def __init__(self, *keys: Any) -> None:
        self.body: bytes = json.dumps({"keys": keys}).encode()
        self.status, self.requests, self.now = 200, 0, 0.0

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert str(request.url) == URL
        self.requests += 1
        return httpx.Response(
            self.status, content=self.body, headers={"location": "https://elsewhere.example/"}
        )

    def jwks(self) -> Jwks:
        return Jwks(URL, transport=httpx.MockTransport(self.answer), clock=lambda: self.now)


A, B = {"kid": "a", "kty": "RSA"}, {"kid": "b", "kty": "EC"}


async def test_keys_are_kept_and_read_again_when_they_are_old() -> None:
    published = Published(A)
    keys = published.jwks()
    assert [await keys.key("a") for _ in range(3)] == [A] * 3
    assert published.requests == 1
    published.now = KEPT_SECONDS + 1
    assert await keys.key("a") == A
    assert published.requests == 2


async def test_a_new_key_is_found_soon_and_a_forged_id_asks_the_issuer_seldom() -> None:
    published = Published(A)
    keys = published.jwks()
    for _ in range(50):
        assert await keys.key("b") is None
    assert published.requests == 1
    published.body = json.dumps({"keys": [A, B]}).encode()
    published.now = PAUSE_SECONDS + 1
    assert await keys.key("b") == B
    assert published.requests == 2


async def test_a_withdrawn_key_is_gone_when_the_set_is_read_again() -> None:
    published = Published(A, B)
    keys = published.jwks()
    assert await keys.key("b") == B
    published.body = json.dumps({"keys": [A]}).encode()
    published.now = KEPT_SECONDS + 1
    assert await keys.key("b") is None


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (500, b"", "cannot be read: Server error '500"),
        (302, b"", "cannot be read: Redirect response '302"),
        (200, b"<html>", "holds no key set"),
        (200, b"[]", "holds no key set"),
        (200, b'{"keys": 7}', "holds no key set"),
        (200, b"[" * 100_000, "holds no key set"),
        (200, b'{"keys": []}', "holds no key with a kid"),
        (200, b'{"keys": [{"kty": "RSA"}, 7, {"kid": 7}]}', "holds no key with a kid"),
        (200, b"x" * (MOST_BYTES + 1), "sends more than keys"),
    ],
)
async def test_what_is_no_key_set_is_an_error_of_the_provider(status: int, body: bytes, said: str) -> None:
    published = Published()
    published.status, published.body = status, body
    with pytest.raises(ProviderError, match=said) as refused:
        await published.jwks().key("a")
    assert (refused.value.exit_code, published.requests) == (3, 1)
    assert refused.value.fix


async def test_a_file_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    with pytest.raises(ConfigError, match=r"jwks\.json: No such file"):
        await Jwks(str(file)).key("a")
    file.write_text(json.dumps({"keys": [A]}))
    assert await Jwks(str(file)).key("a") == A
