"""Tenants and keys, as their administrator sees them. Who acts is `nouns.corpus.Identity`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Tenant:
    """`disabled_at`: since when nobody acts in it. `documents` are those not deleted, `keys` the active ones."""

    tenant_id: UUID
    slug: str
    name: str | None
    created_at: datetime
    disabled_at: datetime | None
    documents: int
    keys: int


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key once it was handed out: `prefix` is its public beginning, the key itself is not stored."""

    prefix: str
    name: str
    tenant: str
    roles: tuple[str, ...]
    may_write: bool
    state: Literal["active", "expired", "revoked"]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewKey:
    """`key` is shown this once."""

    key: str
    info: ApiKey
