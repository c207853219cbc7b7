"""Tenants and their keys: the operator's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from veraz.engine.core import Core
from veraz.errors import UsageError
from veraz.identity import store as identities
from veraz.identity.keys import check_name, expiry, key_prefix, make_key
from veraz.identity.pipeline import remove_tenant as erase_tenant
from veraz.identity.roles import check_roles, check_slug
from veraz.nouns.identity import ApiKey, NewKey, Tenant
from veraz.query.clean import check_names, check_type


class Tenants(Core):
    """Who may ask, and in which tenant."""

    async def add_key(
        self,
        name: str,
        *,
        roles: Sequence[str],
        expires: str = "365d",
        may_write: bool = False,
    ) -> NewKey:
        """A new API key of the engine's tenant. It opens the labels of `roles`; `expires` is a number of days such as `90d`, a
        date, or `never`. The key itself is in this answer alone."""
        self._require_operator()
        check_names("roles", roles)
        check_type("expires", expires, str)
        kept, secret, name = check_roles(roles), make_key(), check_name(name)
        expires_at = expiry(expires, datetime.now(UTC))
        async with self._database.maintenance((await self.identity()).tenant_id) as connection:
            info = await identities.add_key(
                connection, secret, name=name, roles=kept, may_write=may_write, expires_at=expires_at
            )
        return NewKey(secret.text, info)

    async def keys(self) -> tuple[ApiKey, ...]:
        """The keys of the engine's tenant, revoked and expired ones too, newest first."""
        self._require_operator()
        async with self._database.maintenance((await self.identity()).tenant_id) as connection:
            return await identities.keys(connection)

    async def revoke_key(self, prefix: str) -> ApiKey:
        """Refuses the key from the next request on. `prefix` may be the whole key. Raises UsageError where there is none."""
        self._require_operator()
        public, identity = key_prefix(prefix), await self.identity()
        async with self._database.maintenance(identity.tenant_id) as connection:
            revoked = await identities.revoke_key(connection, public)
        if revoked is None:
            raise UsageError(f"no key {public} in tenant {identity.tenant}", fix="see: veraz key list")
        return revoked

    async def tenants(self) -> tuple[Tenant, ...]:
        """Every tenant, with what it holds."""
        self._require_operator()
        await self._installed()
        async with self._database.maintenance() as connection:
            return await identities.tenants(connection)

    async def add_tenant(self, slug: str, *, name: str | None = None) -> Tenant:
        """Makes a tenant. Raises UsageError when there is one of that slug."""
        self._require_operator()
        await self._installed()
        async with self._database.maintenance() as connection:
            made = await identities.add_tenant(connection, check_slug(slug), name)
            (found,) = await identities.tenants(connection, slug)
        if not made:
            raise UsageError(f"tenant {slug!r} exists already", fix="see: veraz tenant list")
        return found

    async def disable_tenant(self, slug: str) -> Tenant:
        """From the next transaction on nobody acts in it: no key, no token, no command, and no identity obtained before."""
        return await self._set_disabled(slug, True)

    async def enable_tenant(self, slug: str) -> Tenant:
        """Takes the disabling back."""
        return await self._set_disabled(slug, False)

    async def _set_disabled(self, slug: str, disabled: bool) -> Tenant:
        self._require_operator()
        await self._installed()
        async with self._database.maintenance() as connection:
            if await identities.set_disabled(connection, slug, disabled) is None:
                raise UsageError(f"no tenant {slug!r}", fix="see: veraz tenant list")
            (found,) = await identities.tenants(connection, slug)
        return found

    async def remove_tenant(self, slug: str, *, progress: Callable[[int], None] | None = None) -> int:
        """Disables the tenant and erases everything of it, for good: documents, vectors, traces, keys. Returns the number of
        rows; `progress` is told how many are gone. Interrupted, it is run again."""
        self._require_operator()
        await self._installed()
        return await erase_tenant(self._database, slug, progress)
