"""From a credential to an identity, and the end of a tenant. What can be refused without the database is refused before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import psycopg

from veraz.config import AuthConfig
from veraz.db.session import Database
from veraz.errors import AccessDenied, UsageError
from veraz.identity import store, tokens
from veraz.identity.claims import granted
from veraz.identity.keys import key_digest, key_prefix
from veraz.nouns.corpus import Identity

if TYPE_CHECKING:
    from veraz.providers.ports import KeySet

BATCH_ROWS = 5_000
LATE_COMMITS = 20
"""How often rows are looked for again because a transaction that had begun before the tenant was disabled left some."""


async def identify_key(database: Database, key: str) -> Identity:
    digest = key_digest(key)
    async with database.authentication() as connection:
        found = await store.find_key(connection, digest, key_prefix(key))
    if found is None:
        raise AccessDenied(
            f"the key {key_prefix(key)} is unknown, expired or revoked, or its tenant is disabled",
            fix="make another with: veraz key add NAME --roles public",
        )
    return found


async def identify_token(
    database: Database, token: str, settings: AuthConfig, keys: KeySet | None, tenant: str
) -> Identity:
    """`tenant`: the one of tokens that name none. Every check of the token comes before the transaction."""
    header = tokens.read_header(token, settings)
    if keys is None:
        key = tokens.shared_secret(settings, header)
    else:
        assert header.kid is not None  # read_header demands it beside a key set
        key = tokens.public_key(await keys.key(header.kid), header)
    grant = granted(tokens.verified_claims(token, key, header, settings), settings, tenant)
    async with database.authentication() as connection:
        found = await store.find_tenant(connection, grant.tenant)
    if found is None:
        raise AccessDenied(
            "the token names a tenant that does not exist or is disabled",
            fix="compare its tenant claim with: veraz tenant list",
        )
    return Identity(found[0], found[1], grant.roles, grant.may_write, grant.subject)


async def remove_tenant(
    database: Database, slug: str, progress: Callable[[int], None] | None, *, batch: int = BATCH_ROWS
) -> int:
    """Disables the tenant, deletes its rows in transactions of `batch` rows, and then itself. Returns how many rows went.
    Interrupted, it leaves the tenant disabled; run again, it goes on."""
    async with database.maintenance() as connection:
        tenant_id = await store.set_disabled(connection, slug, True)
    if tenant_id is None:
        raise UsageError(f"no tenant {slug!r}", fix="see: veraz tenant list")
    removed = 0
    for attempt in range(LATE_COMMITS):
        while True:
            async with database.maintenance(tenant_id) as connection:
                rows = await store.erase_rows(connection, tenant_id, batch)
            if not rows:
                break
            removed += rows
            if progress:
                progress(removed)
        try:
            async with database.maintenance(tenant_id) as connection:
                await store.delete_tenant(connection, tenant_id)
            break
        except psycopg.errors.ForeignKeyViolation:
            if attempt == LATE_COMMITS - 1:
                raise
    return removed
