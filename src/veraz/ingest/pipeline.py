"""Ingest, as four steps that run side by side: parse (what changed), chunk, embed, write.

No transaction is open while a parser or a model works. A document is written by one transaction, which others that wait may
share, so stopping at any moment leaves whole revisions only, and running again continues where the last commit was.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import psycopg

from veraz.db.session import Database
from veraz.errors import ItemError, MalformedResponse, UsageError, VerazError
from veraz.ingest import failures, plan, store
from veraz.ingest.chunkers import stated_chunker, token_embedder
from veraz.ingest.contexts import NO_CONTEXTS, ContextRules, Contexts, Given, Wanted
from veraz.ingest.cutting import Cutter
from veraz.ingest.discover import read_payload
from veraz.ingest.embedding import Embedding
from veraz.ingest.listing import Gone, Listing, LiveDocument, gone
from veraz.ingest.stages import Embedded, Parsed, Prepared, Texts
from veraz.ingest.tally import Progress, Tally
from veraz.ingest.versions import Versions
from veraz.ingest.writing import Writer, groups, may_join
from veraz.nouns.corpus import (
    Access,
    Change,
    Identity,
    IngestReport,
    ItemFailure,
    RawItem,
    SourceSettings,
    Vectors,
)
from veraz.providers.parsers import PARSERS_VERSION, SCANS, stated_access
from veraz.providers.ports import DocumentParser, Embedder, LanguageDetector
from veraz.text.decode import storable

WINDOW_CHUNKS = 384
"""Chunks that are embedded together: enough for the model's batches to hold texts of like length."""
WINDOW_ITEMS = 64
WINDOW_BYTES = 1 << 26
"""Of items that are in memory together, unless a single one is larger: files may have half a gigabyte."""
DELETED_TOGETHER = 500
FAILURES_TOGETHER = 500
MERGE_EVERY = 256
"""Documents between two looks at the size of the posting deltas."""

REFUSED = (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded)
"""What the server says of a document that it will not take; anything else says something about the server."""


@dataclass(frozen=True, slots=True)
class Chunking:
    """How documents are cut where their source says nothing else: the chunker's name with its options, the most tokens of a
    chunk, whether chunks are embedded with their contextual header, and how often its words count in the lexical arm."""

    chunker: str
    limit: int
    header: bool = True
    title_weight: int = 1


@dataclass(frozen=True, slots=True)
class Prune:
    """`confirmed`: however many documents are gone, they are to be deleted."""

    listing: Listing
    confirmed: bool = False


class Ingest:
    """One run into one source. Build it, call `run` once."""

    def __init__(
        self,
        database: Database,
        identity: Identity,
        embedder: Embedder,
        space_id: int,
        *,
        source: SourceSettings,
        overrides: plan.Overrides,
        parsers: DocumentParser,
        detector: LanguageDetector,
        chunking: Chunking,
        ocr: str = "",
        context: ContextRules = NO_CONTEXTS,
        progress: Progress | None = None,
    ) -> None:
        """`ocr`: the engine that recognises pages without text; "" where none does."""
        self._database = database
        self._identity = identity
        self._embedder = embedder
        self._space_id = space_id
        self._settings = source
        self._overrides = overrides
        self._parsers = parsers
        self._detector = detector
        self._ocr = ocr
        limit = min(chunking.limit, embedder.space.max_tokens)
        if context.room * 2 > limit:
            raise UsageError(
                f"contexts of {context.room} tokens in chunks of {limit} leave too little for the text",
                fix="lower [ingest] context_tokens, or raise chunk_tokens",
            )
        self._chunking = replace(chunking, limit=limit - context.room)
        self._rules = context
        self._contexts = Contexts(
            database, identity, context, limit=limit, count_tokens=embedder.count_tokens
        )
        self._progress = progress or (lambda _: None)
        self._gone = Gone()
        self._written = 0
        self._of_run = Versions()
        self._failed: dict[str, ItemFailure] = {}
        self._met: set[UUID] = set()  # of those that failed before: what this run met
        self._failed_before: frozenset[UUID] = frozenset()
        self.tally = Tally()

    async def run(self, items: Iterator[RawItem | ItemError], prune: Prune | None = None) -> IngestReport:
        """Takes every item or says why not. With `prune`, documents of the source that it does not list are deleted at the end,
        and their access labels go to new ones of the same bytes. Raises what stops the whole run: a lost server, a provider that
        stays away; CheckFailed before anything was done when too much would be deleted."""
        if self._settings.chunker is not None:
            self._choose_chunker(self._settings.chunker)  # refused before the source remembers it
        await self._look_for_gone(prune)
        async with self._database.transaction(self._identity, "write") as connection:
            self._source = await store.ensure_source(connection, self._identity.tenant_id, self._settings)
            self._failed_before = await store.failed_documents(connection, self._settings.slug)
        self._choose_chunker(self._source.chunker)
        self._writer = self._new_writer()
        self._cutter = self._new_cutter()
        self._embedding = Embedding(
            self._embedder,
            self._stored_vectors,
            pooled=self._chunker.pooled,
            tally=self.tally,
            fail=self._fail,
        )
        parsed: asyncio.Queue[list[Parsed] | None] = asyncio.Queue(maxsize=1)
        prepared: asyncio.Queue[list[Prepared] | None] = asyncio.Queue(maxsize=1)
        embedded: asyncio.Queue[Embedded | None] = asyncio.Queue(maxsize=256)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._parse_all(items, parsed))
                group.create_task(self._chunk_all(parsed, prepared))
                group.create_task(self._embed_all(prepared, embedded))
                group.create_task(self._write_all(embedded))
        except BaseExceptionGroup as errors:  # not `except*`: 3.11.2 groups again what is raised in it
            known = errors.subgroup((VerazError, psycopg.Error))
            if known is None:
                raise
            raise _first(known) from None
        await self._delete(self._gone.left())
        await self._keep_failures()
        await self._merge(final=True)
        await self._contexts.settle()
        return self.tally.report()

    async def preview(self, items: Iterator[RawItem | ItemError], prune: Prune | None = None) -> IngestReport:
        """What `run` would do, told by hashes and labels alone: nothing is parsed, embedded or written."""
        await self._look_for_gone(prune)
        source_id = store.source_key(self._identity.tenant_id, self._settings.slug)
        async with self._database.transaction(self._identity, "write") as connection:
            stored = await store.stored_source(connection, source_id)
        self._choose_chunker(self._settings.chunker or (stored.chunker if stored else None))
        renamed: set[str] = set()
        async for batch in _batches(items):
            raws = self._taken(batch)
            async with self._database.transaction(self._identity, "write") as connection:
                known = await store.known_documents(connection, source_id, [i.external_id for i in raws])
            for item in raws:
                try:
                    self._compare(item, known.get(item.external_id), renamed)
                except ItemError as error:
                    self._fail(error)
        missing = self._gone.left()
        self.tally.changes += [
            Change("deleted", d.external_id) for d in missing if d.external_id not in renamed
        ]
        self.tally.counts["deleted"] = len(missing)
        return self.tally.report(dry_run=True)

    def _compare(self, item: RawItem, stored: store.KnownDocument | None, renamed: set[str]) -> None:
        digest, stated = self._digest(item), self._overrides.stated()
        if stored is not None and stored.erased_at is not None:
            raise failures.erased(item, stored.erased_at)
        if stored is not None and stored.holds(digest, stated):
            access = self._stated_access(item, is_current=stored.is_current(digest, stated))
            kept = access is None or access == stored.access
            self._foresee("unchanged" if kept else "changed", item)
        elif stored is not None and item.record is not None and stored.held(digest):
            self._foresee("unchanged", item)  # an earlier version in the same collection
        elif stored is None and (was := self._gone.renamed(plan.bytes_hash(item))) is not None:
            renamed.add(was.external_id)
            self.tally.counts["renamed"] += 1
            self.tally.changes.append(Change("renamed", item.external_id, was.external_id))
            self._count("new")
        else:
            self._foresee("new" if stored is None or stored.current_revision_id is None else "changed", item)

    def _foresee(self, kind: Literal["new", "changed", "unchanged"], item: RawItem) -> None:
        if kind != "unchanged":
            self.tally.changes.append(Change(kind, item.external_id))
        self._count(kind)

    def _choose_chunker(self, stated: str | None) -> None:
        """The chunker of the source, or the configured one; raises UsageError where this embedder cannot serve it."""
        self._chunker = stated_chunker(stated or self._chunking.chunker)
        if self._chunker.pooled:
            token_embedder(self._embedder)
        self._versions = {
            "chunker": self._chunker.version,
            "tokens": str(self._chunking.limit),
            "header": str(self._chunking.header),
            "parsers": PARSERS_VERSION,
            **({"context": self._rules.version} if self._rules.version else {}),
            **({"title_weight": str(weight)} if (weight := self._chunking.title_weight) != 1 else {}),
        }

    def _digest(self, item: RawItem) -> bytes:
        """Where pages are recognised from now on, files that may hold such pages are parsed again."""
        recognised = {"ocr": self._ocr} if self._ocr and item.media in SCANS else {}
        return plan.raw_hash(item, self._versions | recognised)

    # --- what is gone

    async def _look_for_gone(self, prune: Prune | None) -> None:
        if prune is None:
            return
        source_id = store.source_key(self._identity.tenant_id, self._settings.slug)
        async with self._database.transaction(self._identity, "write") as connection:
            live = await store.live_documents(connection, source_id)
        self._gone = gone(prune.listing, live, confirmed=prune.confirmed)

    async def _delete(self, missing: Sequence[LiveDocument]) -> None:
        renamed = {change.was for change in self.tally.changes}
        for start in range(0, len(missing), DELETED_TOGETHER):
            hidden = await self._database.again(
                partial(self._hide, missing[start : start + DELETED_TOGETHER])
            )
            self.tally.counts["deleted"] += len(hidden)
            self.tally.changes += [Change("deleted", name) for name in hidden if name not in renamed]

    async def _hide(self, documents: Sequence[LiveDocument]) -> list[str]:
        async with self._database.transaction(self._identity, "write") as connection:
            return await store.delete_documents(connection, self._source.source_id, documents)

    # --- parse

    async def _parse_all(
        self, items: Iterator[RawItem | ItemError], out: asyncio.Queue[list[Parsed] | None]
    ) -> None:
        async for batch in _batches(items):
            if parsed := await self._parse(self._taken(batch)):
                await out.put(parsed)
        left = self._of_run.left()
        for start in range(0, len(left), WINDOW_ITEMS):
            await out.put(await self._parse(left[start : start + WINDOW_ITEMS], last=True))
        await out.put(None)

    def _taken(self, batch: Sequence[RawItem | ItemError]) -> list[RawItem]:
        """The items of a batch; what could not be taken is reported. Neither is gone."""
        for entry in batch:
            self._gone.met(entry.external_id)
            if isinstance(entry, ItemError):
                self._fail(entry)
            elif self._failed_before:
                self._met.add(self._key(entry.external_id))
        return [entry for entry in batch if isinstance(entry, RawItem)]

    async def _parse(self, items: Sequence[RawItem], *, last: bool = False) -> list[Parsed]:
        """Those of the items that are not stored in this state; what cannot be taken is reported. `last`: no further version of
        these documents will come."""
        async with self._database.transaction(self._identity, "write") as connection:
            known = await store.known_documents(
                connection, self._source.source_id, [i.external_id for i in items]
            )
        changed = []
        stated = self._overrides.stated()
        for item in items:
            stored = known.get(item.external_id)
            digest = self._digest(item)
            if self._of_run.passed_over(item.external_id):
                self._count("unchanged")
            under_way = self._of_run.under_way(item.external_id)
            if stored is not None and stored.erased_at is not None:
                self._fail(failures.erased(item, stored.erased_at))
            elif stored is not None and stored.holds(digest, stated) and not under_way:
                await self._keep(item, stored, is_current=stored.is_current(digest, stated))
            elif (
                stored is not None
                and item.record is not None
                and stored.held(digest)
                and not (under_way or last)
            ):
                self._of_run.put_off(item)
            else:
                self._of_run.begin(item.external_id)
                changed.append(self._parse_one(item, digest, stored))
        return [parsed for parsed in await asyncio.gather(*changed) if parsed is not None]

    async def _parse_one(
        self, item: RawItem, digest: bytes, stored: store.KnownDocument | None
    ) -> Parsed | None:
        overrides = self._overrides.after(stored.stated_of(plan.bytes_hash(item)) if stored else {})
        try:
            document = overrides.apply(await self._parsers.parse(item))
            plan.check_ids(document)
        except ItemError as error:
            self._fail(error, item)
            return None
        self.tally.warnings += [f"{item.place}: {warning}" for warning in document.warnings]
        was = self._gone.renamed(plan.bytes_hash(item)) if stored is None else None
        return Parsed(item, document, digest, overrides.stated(), stored, was)

    async def _keep(self, item: RawItem, stored: store.KnownDocument, *, is_current: bool) -> None:
        try:
            access = self._stated_access(item, is_current=is_current)
            restated = await self._restate(item, stored)
        except ItemError as error:
            self._fail(error)
            return
        if access is not None and access != stored.access:
            async with self._database.transaction(self._identity, "write") as connection:
                await store.update_access(connection, stored.document_id, access)
            self._of_run.begin(item.external_id)  # what was looked up is no longer what is stored
            self._count("changed")
        else:
            self._count("changed" if restated else "unchanged")

    def _stated_access(self, item: RawItem, *, is_current: bool) -> Access | None:
        """Who may read a stored document, as is said now: by the caller, else by the record of its newest version.
        Raises ItemError for labels that cannot be read."""
        return self._overrides.access or (stated_access(item) if is_current else None)

    async def _restate(self, item: RawItem, stored: store.KnownDocument) -> bool:
        """What the caller says that an unchanged document replaces counts now, whatever was said since. True where it changed
        something."""
        old = self._overrides.supersedes
        if old is None:
            return False

        async def once() -> store.Links:
            async with self._database.transaction(self._identity, "write") as connection:
                locked = [stored.document_id, store.document_key(self._source.source_id, old)]
                await store.lock_documents(connection, locked, declares=True)
                return await store.restate_supersession(connection, stored.document_id, old)

        try:
            links = await self._database.again(once)
        except REFUSED as error:
            raise failures.refused(item, error) from error
        self._count_links(links)
        return links.made > 0

    def _count_links(self, links: store.Links) -> None:
        self.tally.counts.update(superseded=links.made, unsuperseded=links.removed)

    # --- chunk

    async def _chunk_all(
        self, source: asyncio.Queue[list[Parsed] | None], out: asyncio.Queue[list[Prepared] | None]
    ) -> None:
        window: list[Prepared] = []
        while (parsed := await source.get()) is not None:
            for prepared in await self._chunk(parsed):
                window.append(prepared)
                if sum(len(p.chunks) for p in window) >= WINDOW_CHUNKS:
                    await out.put(window)
                    window = []
        await out.put(window)
        await out.put(None)

    async def _chunk(self, parsed: Sequence[Parsed]) -> list[Prepared]:
        """Those that could be cut. The thread only returns: the tally and the caller's progress belong to the event loop."""
        prepared = []
        for outcome in await asyncio.to_thread(self._cutter.cut_each, parsed):
            if isinstance(outcome, ItemError):
                self._fail(outcome)
            else:
                prepared.append(outcome)
        return await self._with_contexts(prepared)

    async def _with_contexts(self, prepared: Sequence[Prepared]) -> list[Prepared]:
        """With what a model says about each chunk. Where it fails, the document is refused, or goes on without, under a hash of
        its own: the next run looks at it again."""
        if not self._rules.version:
            return list(prepared)
        wanted = [
            Wanted(store.document_key(self._source.source_id, p.item.external_id), p.document, p.chunks)
            for p in prepared
        ]
        taken = []
        for one, given in zip(prepared, await self._contexts.give(wanted), strict=True):
            if given.why is not None and self._rules.required:
                self._fail(failures.without_context(one.item, given.shortfall(), given.why.fix))
            else:
                taken.append(self._contextual(one, given))
        self.tally.counts["contexts"] = self._contexts.asked
        self.tally.counts["contexts_reused"] = self._contexts.reused
        return taken

    def _contextual(self, prepared: Prepared, given: Given) -> Prepared:
        raw_hash = prepared.raw_hash
        if given.missing:
            raw_hash = plan.raw_hash(prepared.item, {**self._versions, "without": given.named()})
            self.tally.warnings.append(f"{prepared.item.place}: {given.shortfall()}")
        hashes = tuple(self._cutter.hash(prepared.document, chunk) for chunk in given.chunks)
        return replace(prepared, chunks=given.chunks, hashes=hashes, raw_hash=raw_hash)

    def _new_cutter(self) -> Cutter:
        loop = asyncio.get_running_loop()

        def embed(texts: Sequence[str]) -> Vectors:
            """Chunkers run in a worker thread; models belong to the event loop."""
            return (
                asyncio.run_coroutine_threadsafe(self._embedder.embed(texts, "passage"), loop)
                .result()
                .vectors
            )

        return Cutter(
            self._chunker,
            limit=self._chunking.limit,
            header=self._chunking.header,
            source_name=self._source.name,
            lang_is_stated=self._overrides.lang is not None,
            count_tokens=self._embedder.count_tokens,
            embed=embed,
            detector=self._detector,
        )

    # --- embed

    async def _embed_all(
        self, source: asyncio.Queue[list[Prepared] | None], out: asyncio.Queue[Embedded | None]
    ) -> None:
        while (window := await source.get()) is not None:
            texts = Texts()
            try:
                await self._embedding.window(window, texts)
            except VerazError:
                await self._hand_over(window, texts, out)
                await out.join()  # what is embedded is paid for: it is written before the run ends
                raise
            await self._hand_over(window, texts, out)
            self._embedding.forget_old()
        await out.put(None)

    async def _hand_over(
        self, window: Sequence[Prepared], texts: Texts, out: asyncio.Queue[Embedded | None]
    ) -> None:
        for embedded in self._embedding.embedded(window, texts):
            await out.put(embedded)

    async def _stored_vectors(self, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
        async with self._database.transaction(self._identity, "write") as connection:
            return await store.known_vectors(connection, self._space_id, hashes)

    # --- write

    async def _write_all(self, source: asyncio.Queue[Embedded | None]) -> None:
        writing: dict[asyncio.Task[None], list[Embedded]] = {}
        async with asyncio.TaskGroup() as writers:
            async for group in groups(source, writing):
                while not may_join(group, writing.values()):
                    await asyncio.wait(writing, return_when=asyncio.FIRST_COMPLETED)
                task = writers.create_task(self._write_and_merge(group, source))
                writing[task] = group
                task.add_done_callback(writing.pop)

    async def _write_and_merge(
        self, group: Sequence[Embedded], source: asyncio.Queue[Embedded | None]
    ) -> None:
        await self._write_group(group)
        before, self._written = self._written, self._written + len(group)
        if before // MERGE_EVERY < self._written // MERGE_EVERY:
            await self._merge(final=False)
        for _ in group:
            source.task_done()

    def _new_writer(self) -> Writer:
        return Writer(
            self._database,
            self._identity,
            self._space_id,
            self._source.source_id,
            self._chunker.version,
            self._overrides,
            self._of_run,
            self._chunking.title_weight,
        )

    async def _write_group(self, group: Sequence[Embedded]) -> None:
        """Documents that waited together share a transaction. Where it fails each is tried alone: only the one to blame fails."""
        try:
            outcome = await self._database.again(partial(self._writer.write, group))
        except (*REFUSED, ItemError) as error:
            if len(group) > 1:
                for one in group:
                    await self._write_group([one])
            else:
                item = group[0].prepared.item
                failed = error if isinstance(error, ItemError) else failures.refused(item, error)
                self._fail(failed, item)
            return
        self._count_links(outcome.links)
        for _ in outcome.stored:
            self._count("unchanged")
        for embedded, before in outcome.written:
            self._count_written(embedded, before)
        for embedded in outcome.stale:
            try:
                await self._start_over(embedded.prepared)
            except ItemError as error:
                self._fail(error)

    def _count_written(self, embedded: Embedded, before: UUID | None) -> None:
        prepared = embedded.prepared
        ahead = plan.not_yet(prepared.document, datetime.now(UTC).date())
        self.tally.warnings += [f"{prepared.item.place}: {warning}" for warning in ahead]
        self.tally.counts["documents"] += 1
        self.tally.counts["chunks"] += len(prepared.chunks)
        self.tally.counts["embedded"] += embedded.fresh
        self.tally.counts["reused"] += len(prepared.chunks) - embedded.fresh
        if prepared.was is not None:
            self.tally.counts["renamed"] += 1
            self.tally.changes.append(Change("renamed", prepared.item.external_id, prepared.was.external_id))
        self._count("new" if prepared.is_new and before is None else "changed")

    async def _start_over(self, prepared: Prepared) -> None:
        """Another ingest published this document meanwhile. A file is read again, so that the older text cannot
        win; a record cannot be, and what was published stays."""
        if prepared.item.payload is None:
            raise ItemError(
                "already written by another ingest since this one began, and no date says which is newer; theirs was kept",
                path=prepared.item.place,
                external_id=prepared.item.external_id,
                stage="store",
                fix="ingest it again if yours is the newer, or give the records a revised_at",
            )
        item = await asyncio.to_thread(_reread, prepared.item)
        window = await self._chunk(await self._parse([item]))
        if not window:
            return
        texts, again = Texts(), window[0]
        try:
            await self._embedding.texts(window, texts)
        except MalformedResponse as error:
            raise failures.cannot_be_embedded(again.item, error) from error
        await self._write_group([Embedded(again, texts.of(again), len(texts.fresh))])

    # --- shared

    async def _merge(self, *, final: bool) -> None:
        """Keeps the deltas small beside the merged blocks: geometric, so that the total work stays proportional to the corpus."""
        async with self._database.transaction(self._identity, "write") as connection:
            pending = await store.pending_postings(connection)
        for entry in pending:
            due = (
                entry.delta >= max(20_000, entry.merged // 10)
                if final
                else entry.delta >= max(100_000, entry.merged)
            )
            if entry.delta and (due or (final and entry.merged < 200_000)):
                await self._database.again(partial(self._merge_one, entry.analyser))

    async def _merge_one(self, analyser: str) -> None:
        async with self._database.transaction(self._identity, "write") as connection:
            await store.merge_postings(connection, analyser)

    def _count(self, what: str) -> None:
        self.tally.seen += 1
        self.tally.counts[what] += 1
        self._progress(self.tally)

    def _fail(self, error: ItemError, item: RawItem | None = None) -> None:
        """`item` says where, for an error that does not."""
        self.tally.seen += 1
        reason = f"{error.reason}; {error.fix}" if error.fix else error.reason
        path = error.path or (item.place if item else "")
        failure = ItemFailure(path, error.external_id, error.stage, reason)
        self.tally.errors.append(failure)
        known_as = item.external_id if item else error.external_id
        if known_as:
            self._failed[known_as] = failure
        self._progress(self.tally)

    def _key(self, external_id: str) -> UUID:
        return store.document_key(
            store.source_key(self._identity.tenant_id, self._settings.slug), external_id
        )

    async def _keep_failures(self) -> None:
        """Why documents could not be taken, so that whoever misses one can be told; forgotten once it is taken."""
        failures = [
            store.Failure(self._key(name), name, storable(f.path)[0], f.stage, storable(f.reason)[0])
            for name, f in self._failed.items()
            if plan.is_storable_id(name)
        ]
        settled = (self._met & self._failed_before) - {f.document_id for f in failures}
        if not failures and not settled:
            return
        async with self._database.transaction(self._identity, "write") as connection:
            for start in range(0, len(failures), FAILURES_TOGETHER):
                await store.keep_failures(
                    connection, self._settings.slug, failures[start : start + FAILURES_TOGETHER]
                )
            await store.settle_failures(connection, sorted(settled))


async def _batches(items: Iterator[RawItem | ItemError]) -> AsyncIterator[list[RawItem | ItemError]]:
    def take() -> list[RawItem | ItemError]:
        batch, size = [], 0
        for entry in items:
            batch.append(entry)
            size += _size(entry)
            if len(batch) == WINDOW_ITEMS or size >= WINDOW_BYTES:
                break
        return batch

    while batch := await asyncio.to_thread(take):
        yield batch


def _size(entry: RawItem | ItemError) -> int:
    """Bytes of a file; of a record its text, which is nearly all of it."""
    if isinstance(entry, ItemError):
        return 0
    text = (entry.record or {}).get("text")
    return len(entry.payload or b"") + (len(text) if isinstance(text, str) else 0)


def _reread(item: RawItem) -> RawItem:
    if item.payload is None:
        return item
    try:
        return replace(item, payload=read_payload(Path(item.path)))
    except (OSError, EOFError, zlib.error):
        return item


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
