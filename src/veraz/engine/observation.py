"""How the store is doing: counts, spaces, health."""

from __future__ import annotations

from collections.abc import Sequence

from veraz import __version__
from veraz.db.capabilities import read_capabilities
from veraz.db.session import OPS_ROLE, RUNTIME_ROLE, Connection, redact
from veraz.engine.core import Core
from veraz.errors import VerazError
from veraz.ingest.plan import ANALYSERS
from veraz.nouns.status import Check, LexicalState, SpaceIndexed, Status
from veraz.ops import store as ops_store
from veraz.ops.health import checks
from veraz.schema.apply import OWNER, latest_version
from veraz.search.engines import pipeline as lexical_engines


class Observation(Core):
    """What can be seen from outside."""

    async def status(self) -> Status:
        """Of the whole database, all tenants together: the operator's."""
        self._require_operator()
        replayed = await self._is_replayed()
        async with self._database.maintenance() as connection:
            counted = await ops_store.counts(connection)
            spaces = await ops_store.spaces(connection)
            indexed = await ops_store.space_indexes(connection)
            lexical = await ops_store.lexical_state(connection)
            health = await self._health(connection, lexical, indexed, replayed=replayed)
        capabilities = self._database.capabilities
        return Status(
            version=__version__,
            database={
                "embedded": self._embedded,
                "server_version": capabilities.server_version,
                "pgvector": capabilities.pgvector,
                "url": redact(self._database.url),
                "roles": {"runtime": RUNTIME_ROLE, "owner": OWNER, "maintenance": OPS_ROLE},
            },
            schema_version=latest_version(),
            spaces=tuple(
                {
                    "name": s.spec.name,
                    "model": s.spec.model,
                    "dimension": s.spec.dimension,
                    "distance": s.spec.distance,
                    "active": s.is_active,
                    "index": i,
                }
                for s, i in zip(spaces, indexed, strict=True)
            ),
            counts=counted,
            lexical=lexical,
            health=(*health, *await self._health_of_engine()),
        )

    async def _health_of_engine(self) -> tuple[Check, ...]:
        """Whether the extension that `[search] lexical` names can answer for this tenant."""
        name = self.config.search.lexical
        if name == "postings":
            return ()
        try:
            version = await lexical_engines.examine(self._database, await self.identity(), name, ANALYSERS)
        except VerazError as error:
            return (Check("lexical engine", False, error.what, error.fix),)
        return (Check("lexical engine", True, f"{name} {version} answers", None),)

    async def _health(
        self,
        connection: Connection,
        lexical: Sequence[LexicalState],
        spaces: Sequence[SpaceIndexed],
        *,
        replayed: bool,
    ) -> tuple[Check, ...]:
        broken = await ops_store.invalid_indexes(connection)
        dead = await ops_store.dead_rows(connection)
        extensions = (await read_capabilities(connection)).extensions
        missing = [e.name for e in extensions if e.installed is None]
        return checks(broken, lexical, dead, replayed=replayed, missing=missing, spaces=spaces)
