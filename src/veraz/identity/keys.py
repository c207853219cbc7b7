"""API keys: `vz_<8 characters>_<secret>`. The beginning up to the second underscore is public, the secret holds 256 random bits.
Pure but for the randomness."""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from veraz.errors import AccessDenied, UsageError

PUBLIC_LENGTH = 8
DEFAULT_DAYS = 365
MOST_DAYS = 36_500
_ALPHABET = string.ascii_lowercase + string.digits
_PREFIX = rf"vz_[a-z0-9]{{{PUBLIC_LENGTH}}}"
_KEY = re.compile(rf"({_PREFIX})_[A-Za-z0-9_-]{{43}}")
_DAYS = re.compile(r"([0-9]{1,6})d")
FIX = "write 90d, a day such as 2027-01-31, or never"


@dataclass(frozen=True, slots=True)
class Secret:
    """A new key. `digest` is what is stored of it, beside the prefix."""

    text: str = field(repr=False)
    prefix: str
    digest: bytes = field(repr=False)


def make_key() -> Secret:
    prefix = "vz_" + "".join(secrets.choice(_ALPHABET) for _ in range(PUBLIC_LENGTH))
    text = f"{prefix}_{secrets.token_urlsafe(32)}"
    return Secret(text, prefix, _digest(text))


def key_digest(text: object) -> bytes:
    """What a presented key is looked up by. Raises AccessDenied for what cannot be a key."""
    if not isinstance(text, str) or not _KEY.fullmatch(text):
        raise AccessDenied(
            "this is not an API key", fix="a key reads vz_…_…, and is made with: veraz key add"
        )
    return _digest(text)


def key_prefix(text: str) -> str:
    """The public beginning of a prefix or of a whole key, so that a leaked key can be revoked as it was found."""
    found = re.fullmatch(rf"({_PREFIX})(?:_[A-Za-z0-9_-]+)?", text.strip())
    if not found:
        raise UsageError("this is no key's prefix", fix="look it up with: veraz key list")
    return found[1]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def expiry(text: str, now: datetime) -> datetime | None:
    """When a key made now ends: `90d`, a date (its first moment, UTC) or `never`. Raises UsageError for the past."""
    if text == "never":
        return None
    if days := _DAYS.fullmatch(text):
        if not 0 < int(days[1]) <= MOST_DAYS:
            raise UsageError(f"{text} is no life of a key", fix=f"give 1d to {MOST_DAYS}d, or never")
        return now + timedelta(days=int(days[1]))
    try:
        end = datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError as error:
        raise UsageError(f"{text[:40]!r} is no time to expire", fix=FIX) from error
    if end <= now:
        raise UsageError(f"{text} is past", fix=FIX)
    return end


def check_name(name: str) -> str:
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise UsageError(f"{name[:40]!r} is no name of a key", fix="use printable characters, at most 100")
    return name.strip()
