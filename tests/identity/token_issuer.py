"""An issuer of tokens with keys of its own, and forgers who have none."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm, get_default_algorithms

from veraz.config import AuthConfig
from veraz.engine import AsyncVeraz

ISSUER, AUDIENCE = "https://login.example.org/", "veraz"


def part(value: bytes | dict[str, Any]) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Issuer:
    """Publishes an RSA, an EC and an Ed25519 key, and one RSA key that is too short, in `jwks`."""

    def __init__(self, folder: Path) -> None:
        self.private: dict[str, Any] = {
            "rsa": rsa.generate_private_key(public_exponent=65537, key_size=2048),
            "ec": ec.generate_private_key(ec.SECP256R1()),
            "ed": ed25519.Ed25519PrivateKey.generate(),
            "short": rsa.generate_private_key(public_exponent=65537, key_size=1024),
        }
        algorithms = {"rsa": RSAAlgorithm, "ec": ECAlgorithm, "ed": OKPAlgorithm, "short": RSAAlgorithm}
        self.keys = [
            {**algorithms[kid].to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"}
            for kid, key in self.private.items()
        ]
        self.jwks = folder / "jwks.json"
        self.publish(self.keys)

    def publish(self, keys: list[dict[str, Any]]) -> None:
        self.jwks.write_text(json.dumps({"keys": keys}), encoding="utf-8")

    def settings(self, **changes: Any) -> AuthConfig:
        return AuthConfig(**{"issuer": ISSUER, "audience": AUDIENCE, "jwks": str(self.jwks), **changes})

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Of a token that is accepted, with `changes`; a claim that is changed to `...` is left out."""
        now = int(time.time())
        usual = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "ada",
            "iat": now,
            "exp": now + 300,
            "tenant": "default",
        }
        return {name: value for name, value in {**usual, "roles": [], **changes}.items() if value is not ...}

    def token(
        self,
        algorithm: str = "RS256",
        kid: str | None = "rsa",
        key: str | None = None,
        headers: Any = None,
        **changes: Any,
    ) -> str:
        named = {"kid": kid} if kid is not None else {}
        signed = f"{part({'alg': algorithm, **named, **(headers or {})})}.{part(self.claims(**changes))}"
        private = self.private[key or kid or "rsa"]
        return f"{signed}.{part(get_default_algorithms()[algorithm].sign(signed.encode(), private))}"

    def forged(self, header: dict[str, Any], secret: bytes | None = None, **changes: Any) -> str:
        """Signed by HMAC with `secret`, or not at all."""
        signed = f"{part(header)}.{part(self.claims(**changes))}"
        seal = hmac.digest(secret, signed.encode(), hashlib.sha256) if secret is not None else b"x"
        return f"{signed}.{part(seal)}"

    def public_pem(self) -> bytes:
        pem: bytes = (
            self.private["rsa"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
        return pem


@contextmanager
def connections_taken(engine: AsyncVeraz, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[None]]:
    """One entry for each time that something took a connection: no transaction opens without."""
    taken: list[None] = []
    pool = engine._database._pool
    connection = pool.connection

    def counted(*args: Any, **kwargs: Any) -> Any:
        taken.append(None)
        return connection(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(pool, "connection", counted)
        yield taken
