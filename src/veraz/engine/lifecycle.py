"""The life of a stored document: labels, deletion, erasure, supersession, and what a policy lets go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial

from psycopg.errors import InsufficientPrivilege

from veraz.db.session import Connection
from veraz.engine.core import Result
from veraz.engine.corpus import Corpus
from veraz.errors import UsageError
from veraz.ingest import store as ingest_store
from veraz.ingest.plan import check_access
from veraz.nouns.corpus import Access
from veraz.nouns.lifecycle import Erasure, Purged, Restored, Retention, Standing
from veraz.ops import lifecycle, retention
from veraz.query.clean import check_count, check_day
from veraz.schema.apply import vacuum_documents


class Lifecycle(Corpus):
    """What becomes of documents that are stored."""

    async def _removing(self, what: str, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        """The same as the maintenance role: the runtime login may not remove what it serves. That role asks nothing about who
        acts, so it is asked here."""
        identity = await self._writer()

        async def once() -> Result:
            async with self._database.maintenance(identity.tenant_id) as connection:
                return await work(connection)

        try:
            return await self._database.again(once)
        except InsufficientPrivilege as error:
            raise UsageError(
                f"this login may not {what}",
                fix="use the administrator's URL, not that of the runtime login: --database URL",
            ) from error

    async def standing(self, external_id: str, *, source: str) -> Standing:
        """A document as its operator sees it: who may read it, whether it is deleted, by what it is replaced. Raises ItemError
        where there is none."""
        async with self._database.transaction(await self.identity(), "write") as connection:
            return await lifecycle.required(connection, source, external_id, "look up", lock=False)

    async def set_access(self, external_id: str, *, source: str, access: Access) -> Access:
        """Who may read a document from the next query on. Returns what held before. Raises ItemError where there is none."""
        labels = None if access.rule == "owner" else access.labels
        checked = check_access(labels, access.rule, access.owner, access.readable_from, access.readable_until)
        assert checked is not None

        async def work(connection: Connection) -> Access:
            found = await lifecycle.required(connection, source, external_id, "change")
            await ingest_store.update_access(connection, found.document_id, checked)
            return found.access

        return await self._changing(work)

    async def delete(self, external_id: str, *, source: str, erase: bool = False) -> bool:
        """Hides a document from the next query on, until `restore` or the retention policy; with `erase` its text is removed
        for good, see there. False where there is none, or where that was done before."""
        if erase:
            erased = await self.erase(external_id, source=source)
            return erased is not None and erased.erased_before is None

        async def work(connection: Connection) -> bool:
            await lifecycle.standing(connection, source, external_id)
            return await ingest_store.delete_document(connection, source, external_id) is not None

        return await self._changing(work)

    async def restore(self, external_id: str, *, source: str) -> Restored:
        """Takes a deletion back, with the labels, the revision and the supersession that the document had. After an erasure
        there is nothing to bring back: its id may be ingested again. Raises ItemError where there is nothing to restore."""
        undelete = partial(lifecycle.restore, source=source, external_id=external_id)
        restored = await self._changing(undelete)
        if restored is None:
            lift = partial(lifecycle.lift_tombstone, source=source, external_id=external_id)
            return await self._removing("lift a tombstone", lift)
        return restored

    async def erase(self, external_id: str, *, source: str, rewrite: bool = False) -> Erasure | None:
        """Removes every text and vector of a document and every text of traces that name it, and vacuums the tables. The
        identity stays as a tombstone, and ingests refuse the id. None where there is no such document. `rewrite` writes
        the tables anew, so that no freed page keeps old bytes; nobody else reads or writes meanwhile. Safe to repeat: what an
        interrupted run left undone is done, and the result says when the text went."""
        removed = await self._removing(
            "erase", partial(lifecycle.erase, source=source, external_id=external_id)
        )
        if removed is None:
            await self._erase_drafts(external_id, source)
            return None
        erasure, transaction = removed
        await self.merge_index()
        return replace(erasure, remains=await self._vacuum_after(transaction, rewrite))

    async def _erase_drafts(self, external_id: str, source: str) -> None:
        """Of a document that never came to be written: a model may have been asked about it."""
        source_id = ingest_store.source_key((await self.identity()).tenant_id, source)
        document_id = ingest_store.document_key(source_id, external_id)
        await self._removing("erase", partial(lifecycle.erase_drafts, document_id=document_id))

    async def _vacuum_after(self, transaction: str, rewrite: bool) -> str | None:
        """Why dead rows may still hold what `transaction` removed; None where they do not."""
        async with self._database.administration() as connection:
            before = await lifecycle.older_readers(connection, transaction, everywhere=rewrite)
            refused = await vacuum_documents(connection, rewrite=rewrite)
            readers = max(before, await lifecycle.older_readers(connection, transaction, everywhere=rewrite))
        if refused:
            return f"this login may not vacuum {', '.join(refused)}"
        return f"{readers} older transactions may still see it; vacuum again after them" if readers else None

    async def supersede(
        self,
        external_id: str,
        *,
        source: str,
        by: str | None = None,
        since: date | None = None,
        undo: bool = False,
        as_declared: bool = False,
    ) -> Standing:
        """An operator's word, which counts before what documents declare: the document is replaced `by` another of its source
        since a day (None: today); or (`undo`) it counts again, whatever is declared; or (`as_declared`) the word is taken back.
        Raises UsageError for a cycle, naming it, ItemError where a document does not exist."""
        if (by is not None) + undo + as_declared != 1:
            raise UsageError(
                "say exactly one of by, undo and as_declared",
                fix="veraz supersede OLD --by NEW --source SLUG",
            )
        if by is None:
            work = lifecycle.unsupersede if undo else lifecycle.as_declared
            return await self._changing(partial(work, source=source, old=external_id))
        check_day("since", since)
        if by == external_id:
            raise UsageError(f"{by!r} cannot replace itself", fix="name another document with --by")
        if since is not None and since > datetime.now(UTC).date():
            raise UsageError(
                f"{since} is still to come, and search would hide {external_id!r} from now on",
                fix="supersede it on that day",
            )
        return await self._changing(
            partial(lifecycle.supersede, source=source, old=external_id, new=by, since=since)
        )

    async def retention(self) -> Retention:
        """How long the tenant keeps what is no longer current."""
        async with self._database.transaction(await self.identity()) as connection:
            return await retention.policy_of(connection)

    async def set_retention(self, policy: Retention) -> None:
        """Another policy, for the next run of it: nothing is removed now."""
        retention.check_policy(policy)
        await self._removing("set the policy", partial(retention.set_policy, policy=policy))

    async def run_retention(
        self,
        *,
        dry_run: bool = False,
        batch: int = 200,
        progress: Callable[[int, int], None] | None = None,
    ) -> Purged:
        """Removes what the tenant's policy no longer keeps, `batch` rows at a time, each batch in a short transaction of its
        own. It may be stopped at any moment and run again. Neither readers nor writers wait for it."""
        identity = await self._writer()
        check_count("batch", batch)
        run = retention.Run(self._database, identity, await self.retention(), batch, progress)
        try:
            return await run.run(dry_run=dry_run)
        except InsufficientPrivilege as error:
            raise UsageError(
                "this login may not remove documents",
                fix="use the administrator's URL, not that of the runtime login: --database URL",
            ) from error
