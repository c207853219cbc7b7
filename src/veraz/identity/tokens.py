"""Bearer tokens (JWT, RFC 7519; the advice of RFC 8725): is it genuine, and which claims does it make? No I/O.

The algorithm is chosen by the configuration and must fit the key: a token's header never decides how it is checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from veraz.config import AuthConfig
from veraz.errors import AccessDenied, ConfigError

MOST_CHARACTERS = 16_384
LEAST_SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
"""As many as the hash has: RFC 7518, section 3.2."""
LEAST_RSA_BITS = 2048
_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
FIX = "sign in again; if that does not help, compare the token with [auth]"


@dataclass(frozen=True, slots=True)
class Header:
    algorithm: str
    kid: str | None


def read_header(token: object, settings: AuthConfig) -> Header:
    """What the token says of its signature, before that is checked. Raises AccessDenied for anything but an accepted algorithm
    and, where there are several keys, a key id."""
    jwt = _library()
    if not settings.enabled:
        raise AccessDenied(
            "tokens are not accepted here", fix="use an API key, or set [auth] issuer, audience and jwks"
        )
    if not isinstance(token, str) or len(token) > MOST_CHARACTERS or not _COMPACT.fullmatch(token):
        raise AccessDenied("this is not a signed token", fix=FIX)
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise AccessDenied("the token's header cannot be read", fix=FIX) from None
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in settings.algorithms:
        raise AccessDenied("the token's algorithm is not one of [auth] algorithms", fix=FIX)
    if "crit" in header:
        raise AccessDenied("the token demands extensions", fix=FIX)
    if settings.jwks and not (isinstance(kid, str) and 0 < len(kid) <= 200):
        raise AccessDenied("the token does not say which key signed it (kid)", fix=FIX)
    return Header(algorithm, kid if isinstance(kid, str) else None)


def shared_secret(settings: AuthConfig, header: Header, environ: Mapping[str, str] = os.environ) -> bytes:
    """Raises ConfigError where the variable of `secret_env` holds no secret, or one that is too short for the algorithm."""
    secret, least = environ.get(settings.secret_env, "").encode(), LEAST_SECRET_BYTES[header.algorithm]
    if len(secret) < least:
        raise ConfigError(
            f"{settings.secret_env} holds {len(secret)} bytes",
            fix=f"set the variable that [auth] secret_env names to at least {least} random ones",
        )
    return secret


def public_key(jwk: Mapping[str, Any] | None, header: Header) -> Any:
    """The issuer's key, for the one algorithm of the header. Raises AccessDenied where they do not fit."""
    jwt = _library()
    if jwk is None:
        raise AccessDenied("the issuer has no such key as the token names", fix=FIX)
    fits = (
        jwk.get("kty") == _KEY_TYPES.get(header.algorithm[:2])
        and jwk.get("alg", header.algorithm) == header.algorithm
    )
    if not fits or jwk.get("use", "sig") != "sig" or "d" in jwk:
        raise AccessDenied("the key that the token names is not for its algorithm", fix=FIX)
    try:
        key = jwt.PyJWK.from_dict(dict(jwk), algorithm=header.algorithm)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        raise AccessDenied("the key that the token names cannot be used", fix=FIX) from None
    if jwk["kty"] == "RSA" and key.key.key_size < LEAST_RSA_BITS:
        raise AccessDenied("the key that the token names is too short to be safe", fix=FIX)
    return key


def verified_claims(token: str, key: Any, header: Header, settings: AuthConfig) -> Mapping[str, Any]:
    """The claims of a genuine token that is for us and valid now. Raises AccessDenied, which never repeats the token."""
    jwt = _library()
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key=key,
            algorithms=[header.algorithm],
            audience=settings.audience,
            issuer=settings.issuer,
            leeway=settings.leeway,
            options={"require": ["exp", "iss", "aud"]},
        )
    except jwt.ExpiredSignatureError:
        raise AccessDenied("the token has expired", fix="sign in again") from None
    except jwt.ImmatureSignatureError:
        raise AccessDenied(
            "the token is not valid yet", fix="compare this machine's clock with the issuer's"
        ) from None
    except jwt.InvalidAudienceError:
        raise AccessDenied(
            "the token is for another audience", fix="compare it with [auth] audience"
        ) from None
    except jwt.InvalidIssuerError:
        raise AccessDenied("the token is of another issuer", fix="compare it with [auth] issuer") from None
    except jwt.MissingRequiredClaimError as error:
        raise AccessDenied(f"the token lacks the claim {error.claim}", fix=FIX) from None
    except jwt.InvalidSignatureError:
        raise AccessDenied("the token's signature is not its issuer's", fix=FIX) from None
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
        raise AccessDenied("the token's claims cannot be read", fix=FIX) from None
    if type(claims["exp"]) not in (int, float):  # the library takes "1e9" and true as well
        raise AccessDenied("the token's claim exp is not a number", fix=FIX)
    return claims


def _library() -> Any:
    """PyJWT, which is an extra. Raises ConfigError where it is missing."""
    try:
        import cryptography  # noqa: F401
        import jwt
    except ImportError as error:
        raise ConfigError(
            "tokens need PyJWT, which is not installed", fix="pip install 'veraz[server]'"
        ) from error
    return jwt
