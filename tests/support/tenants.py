"""Two tenants whose every table holds rows, and texts that exist in one of them only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from tests.support import databases
from tests.support.corpus import put, record
from tests.support.hashing import HashingEmbedder
from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Identity

ALPHA, BETA, SECRET = "alphaword", "betaword", "salaryword"


@dataclass(frozen=True, slots=True)
class Tenants:
    """`alpha` acts in the tenant default, `beta` in another one, both as `public`. alpha has a document for `hr` alone."""

    engine: AsyncVeraz
    alpha: Identity
    beta: Identity

    @property
    def alpha_hr(self) -> Identity:
        return replace(self.alpha, roles=("public", "hr"))

    def acting_as(self, identity: Identity) -> AsyncVeraz:
        """The engine on the same connections with another identity."""
        return self.engine.acting_as(identity)


async def fill(engine: AsyncVeraz) -> Tenants:
    tenants = Tenants(engine, await engine.identity(), await engine.ensure_tenant("beta"))
    await put(
        engine,
        record(
            "open",
            f"# Open\n\nThe {ALPHA} is for everybody.\n\n## More\n\nSecond section.",
            format="markdown",
        ),
        record(
            "pay",
            f"# Pay\n\nThe {SECRET} is in band four.\n\n## More\n\nBand four begins high.",
            format="markdown",
            acl=["hr"],
        ),
        record("old", f"The {ALPHA} as it was before."),
        record("new", f"The {ALPHA} as it is now.", supersedes="old"),
    )
    await put(engine, record("open", f"The {BETA} belongs to the other tenant."), identity=tenants.beta)
    for identity in (tenants.alpha, tenants.beta):
        acting = tenants.acting_as(identity)
        await acting.search(f"{ALPHA} {BETA}", lang="en")
        await acting.ask(f"What about the {ALPHA} and the {BETA}?", lang="en")
    async with engine._database.maintenance() as connection:
        for identity in (tenants.alpha, tenants.beta):
            for statement in REMAINING:
                await connection.execute(statement, {"tenant": identity.tenant_id})
    return tenants


REMAINING = (
    "insert into veraz.eval_run (tenant_id, run_id, dataset, config, metrics, roles)"
    " select %(tenant)s, gen_random_uuid(), 'd', '{}', '{}', r::text[]"
    " from unnest(array['{public}', '{public,hr}']) r",
    "insert into veraz.eval_query (tenant_id, run_id, roles, query_id, ord, question, measures, documents, scores, grades)"
    " select tenant_id, run_id, roles, 'q', 0, case when 'hr' = any (roles) then 'zqquestionqz' else 'open' end, '{}', d.ids,"
    " '{1}', '{1}' from veraz.eval_run cross join lateral"
    " (select array[case when 'hr' = any (roles) then 'zqpayqz' else 'zqopenqz' end] as ids) d where tenant_id = %(tenant)s",
    "insert into veraz.judgement (tenant_id, suite, query_id, source_id, external_id, grade, judge)"
    " select tenant_id, 's', 'q', source_id, 'open', 1, 'j' from veraz.source where tenant_id = %(tenant)s",
    "insert into veraz.api_key (tenant_id, prefix, key_hash, roles)"
    " values (%(tenant)s, 'vz_' || left(%(tenant)s::text, 8), sha256(%(tenant)s::text::bytea), '{public}')",
    "insert into veraz.synonym values (%(tenant)s, 'en', 'a', 'b')",
    "insert into veraz.route_rule values (%(tenant)s, 'r', 'c', 'en', 'p', 'm')",
    "insert into veraz.context_draft (tenant_id, document_id, context_key, context)"
    " select tenant_id, document_id, sha256(document_id::text::bytea), 'about the document' from veraz.document"
    " where tenant_id = %(tenant)s",
    "insert into veraz.ingest_failure (tenant_id, document_id, source, external_id, path, stage, reason)"
    " select tenant_id, document_id, 's', external_id, 'p', 'parse', 'of the document' from veraz.document"
    " where tenant_id = %(tenant)s",
    "insert into veraz.job (tenant_id, kind) values (%(tenant)s, 'k')",
    "insert into veraz.recall_sample (tenant_id, arm, space_id, k, expected, found, approximated, filtered, exact_ms)"
    " values (%(tenant)s, 'semantic', 1, 10, 10, 9, true, false, 1.5)",
)


@asynccontextmanager
async def opened(url: str, **changes: Any) -> AsyncIterator[Tenants]:
    """On a database that `fill` filled before."""
    async with await databases.open_engine(url, HashingEmbedder(), **changes) as engine:
        yield Tenants(engine, await engine.identity(), await engine.ensure_tenant("beta"))


def as_runtime_login(url: str) -> psycopg.Connection[Any]:
    """A connection whose session user is the runtime login, as if it had logged in, acting for no tenant."""
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("set session authorization veraz_app")
    return connection
