"""The write step: whole revisions of several documents in one short transaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from veraz.db.session import Connection, Database
from veraz.errors import ItemError
from veraz.ingest import failures, plan, store
from veraz.ingest.stages import Embedded, Prepared
from veraz.ingest.versions import Versions
from veraz.nouns.corpus import Access, Identity

GROUP_DOCUMENTS = 64
GROUP_CHUNKS = 640
GROUP_CHARACTERS = 2_000_000
"""What documents may bring together into one transaction; a larger one comes alone."""
WRITERS = 2
"""Groups of a run that are written at once: a transaction keeps one processor of the server busy."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a group. `written`: with the revision that was current before. `stored`: exactly that was there
    already. `stale`: another ingest published the document meanwhile, and no date says which is newer."""

    written: tuple[tuple[Embedded, UUID | None], ...]
    stored: tuple[Embedded, ...]
    stale: tuple[Embedded, ...]
    links: store.Links


async def groups(
    source: asyncio.Queue[Embedded | None], writing: Collection[asyncio.Task[None]] = ()
) -> AsyncIterator[list[Embedded]]:
    """What waits in the queue, in its order, in groups that one transaction can take; ends at None. A document is in a group
    once: its later version comes in the next. `writing`: the writes that run, as the caller keeps them. Beside one of them only
    a full group is written; without any, nothing is waited for once there is a document."""
    held: Embedded | None = None
    ended = False
    while not ended:
        group = [held] if held is not None else []
        held = None
        while not group or not source.empty() or writing:
            arrived = await _arrival(source, writing) if group else [await source.get()]
            for embedded in arrived:
                if embedded is None:
                    ended = True
                elif _fits(group, embedded):
                    group.append(embedded)
                else:
                    held = embedded
            if ended or held is not None:
                break
        if group:
            yield group


async def _arrival(
    source: asyncio.Queue[Embedded | None], writing: Collection[asyncio.Task[None]]
) -> list[Embedded | None]:
    """What comes next in the queue; nothing where a write is done before."""
    if not source.empty():
        return [source.get_nowait()]
    getting = asyncio.ensure_future(source.get())
    try:
        await asyncio.wait({getting, *writing}, return_when=asyncio.FIRST_COMPLETED)
        return [getting.result()] if getting.done() else []
    finally:
        getting.cancel()


def may_join(group: Sequence[Embedded], writing: Iterable[Sequence[Embedded]]) -> bool:
    """Whether a group may be written beside others: not beside another version of its documents, and what is written alone is
    written beside nothing."""
    others = list(writing)
    names = {_name(e) for other in others for e in other}
    return not others or (
        len(others) < WRITERS
        and not any(_declares(e) for e in (*group, *(e for other in others for e in other)))
        and names.isdisjoint(map(_name, group))
    )


def _fits(group: Sequence[Embedded], embedded: Embedded) -> bool:
    """One that says what it replaces, or is an edition of an item, is written alone: what that changes is told by its order."""
    together = [*group, embedded]
    return not group or (
        len(together) <= GROUP_DOCUMENTS
        and sum(len(e.prepared.chunks) for e in together) <= GROUP_CHUNKS
        and sum(len(e.prepared.document.text) for e in together) <= GROUP_CHARACTERS
        and not any(_declares(e) for e in together)
        and _name(embedded) not in map(_name, group)
    )


def _name(embedded: Embedded) -> str:
    return embedded.prepared.item.external_id


def _declares(embedded: Embedded) -> bool:
    document = embedded.prepared.document
    return document.supersedes is not None or document.item is not None


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes for one run into one source. `own`: what this run wrote before, which does not count as another ingest's."""

    database: Database
    identity: Identity
    space_id: int
    source_id: UUID
    chunker: str
    overrides: plan.Overrides
    own: Versions
    title_weight: int = 1

    async def write(self, group: Sequence[Embedded]) -> Outcome:
        """All of a group or nothing. Raises ItemError for a document that may not be written, psycopg.Error for what the server
        refuses."""
        ids = [store.document_key(self.source_id, e.prepared.item.external_id) for e in group]
        written: list[tuple[Embedded, UUID | None]] = []
        revisions: list[store.RevisionToWrite] = []
        stored: list[Embedded] = []
        stale: list[Embedded] = []
        links = store.Links(0, 0)
        async with self.database.transaction(self.identity, "write") as connection:
            await self._lock(connection, ids, group)
            wanted = [
                (key, e.prepared.raw_hash, e.prepared.stated) for key, e in zip(ids, group, strict=True)
            ]
            states = await store.document_states(connection, wanted)
            for document_id, embedded in zip(ids, group, strict=True):
                prepared, state = embedded.prepared, states.get(document_id)
                _require_writable(prepared, state)
                access = self._access(prepared, state)
                # labels are no part of a revision: equal text may come with others
                if state is not None and state.is_stored:
                    if access is not None:
                        await store.update_access(connection, document_id, access)
                    stored.append(embedded)
                elif self._still_fits(prepared, state):
                    written.append((embedded, state.current_revision_id if state else None))
                    revisions.append(self._revision(embedded, document_id, state, access))
                else:
                    stale.append(embedded)
            if revisions:
                links = await self._write_checked(connection, revisions)
        for revision in revisions:
            self.own.wrote(revision.revision_id)
        return Outcome(tuple(written), tuple(stored), tuple(stale), links)

    async def _lock(
        self, connection: Connection, document_ids: Sequence[UUID], group: Sequence[Embedded]
    ) -> None:
        """The documents and those that they replace: were both written at the same moment, neither would see the other."""
        named = [e.prepared.document.supersedes for e in group]
        replaced = [store.document_key(self.source_id, name) for name in named if name is not None]
        declares = any(map(_declares, group))
        await store.lock_documents(connection, [*document_ids, *replaced], declares=declares)

    def _still_fits(self, prepared: Prepared, state: store.DocumentState | None) -> bool:
        """Whether the document is what the work started from, or its dates say where this revision belongs, or it was this run
        itself that wrote in between: the later line of a collection is the later version."""
        current = state.current_revision_id if state else None
        if current == prepared.expected or self.own.is_own(current):
            return True
        dated = state is not None and state.stated_from is not None
        return dated and plan.stated_from(prepared.document) is not None

    def _revision(
        self,
        embedded: Embedded,
        document_id: UUID,
        state: store.DocumentState | None,
        access: Access | None,
    ) -> store.RevisionToWrite:
        prepared = embedded.prepared
        return store.RevisionToWrite(
            document_id=document_id,
            number=(state.last_number if state else 0) + 1,
            is_new=state is None,
            document=prepared.document,
            lang=prepared.lang,
            langs=prepared.langs,
            analysers=tuple(map(plan.analyser_for, prepared.langs)),
            raw_hash=prepared.raw_hash,
            bytes_hash=plan.bytes_hash(prepared.item),
            stated=prepared.stated,
            chunker=self.chunker,
            chunks=prepared.chunks,
            hashes=prepared.hashes,
            vectors=embedded.vectors,
            becomes_current=_becomes_current(prepared, state),
            access=access,
            dropped=prepared.dropped,
        )

    def _access(self, prepared: Prepared, state: store.DocumentState | None) -> Access | None:
        """Labels belong to the document: the caller's word counts, else its newest version's, never an older one's. A document
        that only changed its name keeps those that were set on it."""
        newest = _becomes_current(prepared, state)
        kept = prepared.was.access if prepared.was else None
        return self.overrides.access or (prepared.document.access if newest else None) or kept

    async def _write_checked(
        self, connection: Connection, revisions: Sequence[store.RevisionToWrite]
    ) -> store.Links:
        stated = self.overrides.supersedes
        counted, links = await store.write_revisions(
            connection,
            self.space_id,
            self.source_id,
            revisions,
            stated=stated,
            title_weight=self.title_weight,
        )
        for revision in revisions:
            wanted, found = len(revision.chunks), counted.get(revision.revision_id)
            shown = wanted if found and revision.becomes_current and not found.is_superseded else 0
            if found is None or (found.current_chunks, found.lexical_rows, found.vectors) != (
                shown,
                wanted,
                wanted,
            ):
                was = (found.current_chunks, found.lexical_rows, found.vectors) if found else (0, 0, 0)
                raise ItemError(
                    "of {} chunks {} became current, {} were made searchable and {} got a vector; nothing was kept".format(
                        wanted, *was
                    ),
                    external_id=revision.document.external_id,
                    stage="store",
                    fix="run `veraz status`, then ingest it again",
                )
        return links


def _becomes_current(prepared: Prepared, state: store.DocumentState | None) -> bool:
    return plan.becomes_current(plan.stated_from(prepared.document), state.stated_from if state else None)


def _require_writable(prepared: Prepared, state: store.DocumentState | None) -> None:
    if state is None:
        return
    if state.erased_at is not None:
        raise failures.erased(prepared.item, state.erased_at)
    if state.deleted_at not in (None, prepared.deleted_at):
        raise failures.deleted_meanwhile(prepared.item)
