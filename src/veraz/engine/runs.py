"""Evaluation runs that were kept: listed, read and compared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from veraz.engine.core import Core
from veraz.errors import DatabaseError, UsageError
from veraz.evaluation.runs import store as runs_store
from veraz.evaluation.runs.comparison import compare_runs
from veraz.evaluation.runs.files import is_place, read_run
from veraz.nouns.corpus import Identity
from veraz.nouns.evaluation import EvalReport, RunComparison, RunSummary, StoredRun
from veraz.query.clean import check_count, check_names, check_type
from veraz.text.decode import require_storable


class Runs(Core):
    """What earlier evaluations said."""

    async def _keep_run(self, identity: Identity, report: EvalReport) -> None:
        async with self._database.transaction(identity, "write") as connection:
            await runs_store.insert(connection, report)

    async def eval_runs(self, *, dataset: str | None = None, top: int = 20) -> tuple[RunSummary, ...]:
        """Stored runs that the caller may read, newest first, of all datasets or of one. An operator is shown those of the
        tenants that evaluations made for collections of their own, too."""
        check_count("top", top)
        require_storable("dataset", dataset)
        found: list[RunSummary] = []
        for identity in await self._run_readers():
            async with self._database.transaction(identity) as connection:
                found += await runs_store.recent(connection, identity.tenant, dataset, top)
        return tuple(sorted(found, key=lambda run: run.started_at, reverse=True)[:top])

    async def eval_run(self, name: str) -> StoredRun:
        """A run by its folder or per-query file, or by its id or a unique beginning of it. Files are the operator's: who
        presented a credential names ids alone. Raises UsageError where there is none that the caller may read, or where several
        ids begin so."""
        check_type("name", name, str)
        if (await self.identity()).operator and is_place(name):
            return await asyncio.to_thread(read_run, Path(name))
        found = []
        for identity in await self._run_readers():
            async with self._database.transaction(identity) as connection:
                one = await runs_store.find(connection, name, identity.tenant)
            found += [one] if one else []
        if len(found) > 1:
            raise UsageError(f"several runs begin with {name!r}", fix="give more characters of the id")
        if not found:
            raise UsageError(
                f"no run {name!r}: neither a folder or per-query file of that name, nor a stored run that you may read",
                fix="see: veraz eval runs, with the same --tenant and --roles",
            )
        return found[0]

    async def compare_runs(
        self, names: Sequence[str], *, measures: Sequence[str] = (), changed: int = 10
    ) -> tuple[RunComparison, ...]:
        """Each further run against the first, query by query, corrected for all comparisons. Names are as in `eval_run`. Raises
        UsageError, saying why, for runs that cannot be compared."""
        check_names("names", names)
        check_names("measures", measures)
        check_count("changed", changed)
        stored = [await self.eval_run(name) for name in names]
        return await asyncio.to_thread(partial(compare_runs, stored, measures=measures, changed=changed))

    async def _run_readers(self) -> list[Identity]:
        """Who reads runs where: the caller in its tenant, and an operator with its roles in those that evaluations made."""
        identity = await self.identity()
        if not identity.operator:
            return [identity]
        try:
            async with self._database.maintenance() as connection:
                others = await runs_store.evaluated_tenants(connection)
        except DatabaseError:  # the runtime login: its own tenant is all that it may read
            others = {}
        return [
            identity,
            *(
                replace(identity, tenant_id=tenant_id, tenant=slug)
                for tenant_id, slug in others.items()
                if tenant_id != identity.tenant_id
            ),
        ]
