"""Ingest, as four steps that run side by side: parse (what changed), chunk, embed, write.

No transaction is open while a parser or a model works. A document is written by one transaction, so stopping at any moment
leaves whole revisions only, and running again continues where the last commit was.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psycopg

from veraz.db.session import Database
from veraz.errors import ItemError, MalformedResponse, VerazError
from veraz.ingest import plan, store
from veraz.ingest.chunkers import ChunkContext, dropped, stated_chunker, token_embedder
from veraz.ingest.discover import read_payload
from veraz.ingest.listing import Listing, LiveDocument, gone
from veraz.ingest.versions import Versions
from veraz.nouns.corpus import (
    Access,
    Change,
    ChangeKind,
    Chunk,
    Dropped,
    Identity,
    IngestReport,
    ItemFailure,
    ParsedDocument,
    RawItem,
    SourceSettings,
    Vectors,
)
from veraz.providers.parsers import PARSERS_VERSION, SCANS, stated_access
from veraz.providers.ports import DocumentParser, Embedder, LanguageDetector

WINDOW_CHUNKS = 384
"""Chunks that are embedded together: enough for the model's batches to hold texts of like length."""
WINDOW_ITEMS = 64
DELETED_TOGETHER = 500
SURE_CHARACTERS = 200
"""A section shorter than this is taken to be in the document's language."""
MERGE_EVERY = 256
"""Documents between two looks at the size of the posting deltas."""

REFUSED = (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded)
"""What the server says of a document that it will not take; anything else says something about the server."""
REMEMBERED_VECTORS = 50_000
"""Vectors kept in memory to share among equal texts; older ones are read back from the database."""

HARMLESS = "text"
"""What a provider is asked to embed when it took nothing else yet: whether it is to blame, or the documents."""

Progress = Callable[["Tally"], None]


@dataclass(frozen=True, slots=True)
class Chunking:
    """How documents are cut where their source says nothing else: the chunker's name with its options, the most tokens of a
    chunk, and whether chunks are embedded with their contextual header."""

    chunker: str
    limit: int
    header: bool = True


@dataclass(frozen=True, slots=True)
class Prune:
    """`confirmed`: however many documents are gone, they are to be deleted."""

    listing: Listing
    confirmed: bool = False


@dataclass(slots=True)
class Tally:
    """Counts so far; the one object that changes during a run."""

    seen: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    errors: list[ItemFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    embedding_seconds: float = 0.0

    def report(self, *, dry_run: bool = False) -> IngestReport:
        names = (
            "new",
            "changed",
            "unchanged",
            "superseded",
            "unsuperseded",
            "deleted",
            "documents",
            "chunks",
            "embedded",
            "reused",
            "renamed",
        )
        return IngestReport(
            **{name: self.counts[name] for name in names},
            failed=len(self.errors),
            seconds=round(time.perf_counter() - self.started, 3),
            errors=tuple(self.errors),
            warnings=tuple(self.warnings),
            changes=tuple(self.changes),
            dry_run=dry_run,
        )


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document that is not stored in this state; `stored` is what is known under its id."""

    item: RawItem
    document: ParsedDocument
    raw_hash: bytes
    stated: Mapping[str, str]  # what callers say of it, now or earlier
    stored: store.KnownDocument | None
    was: LiveDocument | None = None  # the same bytes under an id that is gone


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that needs writing, its chunks cut; `expected` is the revision that was current when the work started."""

    item: RawItem
    document: ParsedDocument
    lang: str
    langs: tuple[str, ...]  # of each chunk
    chunks: tuple[Chunk, ...]
    dropped: tuple[Dropped, ...]
    hashes: tuple[bytes, ...]
    raw_hash: bytes
    stated: Mapping[str, str]  # by callers, now and earlier of the same bytes
    expected: UUID | None
    is_new: bool
    deleted_at: datetime | None
    was: LiveDocument | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    prepared: Prepared
    vectors: Vectors
    fresh: int  # chunks whose text this run gave to the model; the others shared or reused a vector


@dataclass(frozen=True, slots=True)
class Texts:
    """Vectors by content hash, of one window; `fresh` are those that the model gave now."""

    vectors: dict[bytes, Vectors] = field(default_factory=dict)
    fresh: set[bytes] = field(default_factory=set)

    def hold(self, prepared: Prepared) -> bool:
        return all(h in self.vectors for h in prepared.hashes)

    def of(self, prepared: Prepared) -> Vectors:
        return np.stack([self.vectors[h] for h in prepared.hashes])


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
        self._chunking = replace(chunking, limit=min(chunking.limit, embedder.space.max_tokens))
        self._progress = progress or (lambda _: None)
        self._vectors: dict[bytes, Vectors] = {}
        self._gone: dict[bytes, LiveDocument] = {}
        self._provider_answers = False  # it embedded something in this run
        self._of_run = Versions()
        self.tally = Tally()

    async def run(self, items: Iterator[RawItem | ItemError], prune: Prune | None = None) -> IngestReport:
        """Takes every item or says why not. With `prune`, documents of the source that it does not list are deleted at the end,
        and their access labels go to new ones of the same bytes. Raises what stops the whole run: a lost server, a provider that
        stays away; CheckFailed before anything was done when too much would be deleted."""
        if self._settings.chunker is not None:
            self._choose_chunker(self._settings.chunker)  # refused before the source remembers it
        missing = await self._missing(prune)
        async with self._database.transaction(self._identity, "write") as connection:
            self._source = await store.ensure_source(connection, self._identity.tenant_id, self._settings)
        self._choose_chunker(self._source.chunker)
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
        await self._delete(missing)
        await self._merge(final=True)
        return self.tally.report()

    async def preview(self, items: Iterator[RawItem | ItemError], prune: Prune | None = None) -> IngestReport:
        """What `run` would do, told by hashes alone: nothing is parsed, embedded or written."""
        missing = await self._missing(prune)
        source_id = store.source_key(self._identity.tenant_id, self._settings.slug)
        async with self._database.transaction(self._identity, "write") as connection:
            stored = await store.stored_source(connection, source_id)
        self._choose_chunker(self._settings.chunker or (stored.chunker if stored else None))
        renamed: set[str] = set()
        async for batch in _batches(items):
            for entry in batch:
                if isinstance(entry, ItemError):
                    self._fail(entry)
            raws = [entry for entry in batch if isinstance(entry, RawItem)]
            async with self._database.transaction(self._identity, "write") as connection:
                known = await store.known_documents(connection, source_id, [i.external_id for i in raws])
            for item in raws:
                self._compare(item, known.get(item.external_id), renamed)
        for document in missing:
            if document.external_id not in renamed:
                self.tally.changes.append(Change("deleted", document.external_id))
        self.tally.counts["deleted"] = len(missing)
        return self.tally.report(dry_run=True)

    def _compare(self, item: RawItem, stored: store.KnownDocument | None, renamed: set[str]) -> None:
        digest = self._digest(item)
        if stored is not None and stored.erased_at is not None:
            self._fail(_erased(item, stored.erased_at))
        elif stored is not None and stored.holds(digest, self._overrides.stated()):
            self._count("unchanged")
        elif stored is not None and item.record is not None and stored.held(digest):
            self._count("unchanged")  # an earlier version in the same collection
        elif stored is None and (was := self._gone.get(digest)) is not None:
            renamed.add(was.external_id)
            self.tally.counts["renamed"] += 1
            self.tally.changes.append(Change("renamed", item.external_id, was.external_id))
            self._count("new")
        else:
            kind: ChangeKind = "new" if stored is None or stored.current_revision_id is None else "changed"
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
        }

    def _digest(self, item: RawItem) -> bytes:
        """Where pages are recognised from now on, files that may hold such pages are parsed again."""
        recognised = {"ocr": self._ocr} if self._ocr and item.media in SCANS else {}
        return plan.raw_hash(item, self._versions | recognised)

    # --- what is gone

    async def _missing(self, prune: Prune | None) -> tuple[LiveDocument, ...]:
        if prune is None:
            return ()
        source_id = store.source_key(self._identity.tenant_id, self._settings.slug)
        async with self._database.transaction(self._identity, "write") as connection:
            live = await store.live_documents(connection, source_id)
        missing = gone(prune.listing, live, confirmed=prune.confirmed)
        self._gone = {d.raw_hash: d for d in missing if d.raw_hash is not None}
        return missing

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
            for entry in batch:
                if isinstance(entry, ItemError):
                    self._fail(entry)
            if parsed := await self._parse([entry for entry in batch if isinstance(entry, RawItem)]):
                await out.put(parsed)
        left = self._of_run.left()
        for start in range(0, len(left), WINDOW_ITEMS):
            await out.put(await self._parse(left[start : start + WINDOW_ITEMS], last=True))
        await out.put(None)

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
                self._fail(_erased(item, stored.erased_at))
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
            self._fail(error)
            return None
        self.tally.warnings += [f"{item.path}: {warning}" for warning in document.warnings]
        was = self._gone.get(digest) if stored is None else None
        return Parsed(item, document, digest, overrides.stated(), stored, was)

    async def _keep(self, item: RawItem, stored: store.KnownDocument, *, is_current: bool) -> None:
        try:
            access = self._overrides.access or (stated_access(item) if is_current else None)
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
            raise _refused(item, error) from error
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
            window += await self._chunk(parsed)
            if sum(len(p.chunks) for p in window) >= WINDOW_CHUNKS:
                await out.put(window)
                window = []
        await out.put(window)
        await out.put(None)

    async def _chunk(self, parsed: Sequence[Parsed]) -> list[Prepared]:
        prepared = []
        self._loop = asyncio.get_running_loop()
        for outcome in await asyncio.to_thread(self._chunk_each, parsed):
            if isinstance(outcome, ItemError):
                self._fail(outcome)
            else:
                prepared.append(outcome)
        return prepared

    def _chunk_each(self, parsed: Sequence[Parsed]) -> list[Prepared | ItemError]:
        """Runs in a worker thread, so it only returns: the tally and the caller's progress belong to the event loop."""
        outcomes: list[Prepared | ItemError] = []
        for one in parsed:
            try:
                outcomes.append(self._chunk_one(one))
            except ItemError as error:
                outcomes.append(error)
            except MalformedResponse as error:  # of a chunker that looks at meanings
                outcomes.append(_cannot_be_embedded(one.item, error))
        return outcomes

    def _chunk_one(self, parsed: Parsed) -> Prepared:
        item, document, stored = parsed.item, parsed.document, parsed.stored
        lang = document.lang or self._detector.detect(document.text[:4000]) or "und"
        chunks = self._chunker.chunk(document, self._context(document, lang))
        if not chunks:
            raise ItemError(
                "no content",
                path=item.path,
                external_id=item.external_id,
                stage="chunk",
                fix="leave the file out",
            )
        expected = stored.current_revision_id if stored else None
        hashes = tuple(self._hash(document, chunk) for chunk in chunks)
        deleted_at = stored.deleted_at if stored else None
        return Prepared(
            item,
            document,
            lang,
            self._langs(document, lang, chunks),
            chunks,
            self._dropped(document, chunks, item),
            hashes,
            parsed.raw_hash,
            parsed.stated,
            expected,
            expected is None,
            deleted_at,
            parsed.was,
        )

    def _dropped(
        self, document: ParsedDocument, chunks: Sequence[Chunk], item: RawItem
    ) -> tuple[Dropped, ...]:
        try:
            return dropped(document, chunks)
        except ValueError as error:  # a fault of the chunker: nobody may be shown a document with holes
            raise ItemError(
                str(error),
                path=item.path,
                external_id=item.external_id,
                stage="chunk",
                fix="choose another chunker for the source, and report this one",
            ) from None

    def _context(self, document: ParsedDocument, lang: str) -> ChunkContext:
        return ChunkContext(
            document.publisher or self._source.name,
            self._chunking.limit,
            self._embedder.count_tokens,
            lang,
            self._chunking.header,
            self._embed_from_thread,
        )

    def _embed_from_thread(self, texts: Sequence[str]) -> Vectors:
        """For chunkers that look at meanings. They run in a worker thread; models belong to the event loop."""
        batch = asyncio.run_coroutine_threadsafe(self._embedder.embed(texts, "passage"), self._loop).result()
        return batch.vectors

    def _hash(self, document: ParsedDocument, chunk: Chunk) -> bytes:
        return plan.pooled_hash(document, chunk) if self._chunker.pooled else plan.content_hash(chunk)

    def _langs(self, document: ParsedDocument, lang: str, chunks: Sequence[Chunk]) -> tuple[str, ...]:
        """The language of each chunk: its section's, where that holds enough words to be sure of another one. A caller who
        states it is believed."""
        if self._overrides.lang is not None or len(document.sections) == 1:
            return (lang,) * len(chunks)
        sections = {
            section.ord: self._detector.certain(document.text[section.start : section.end]) or lang
            for section in document.sections
            if section.end - section.start >= SURE_CHARACTERS
        }
        return tuple(sections.get(chunk.section, lang) for chunk in chunks)

    # --- embed

    async def _embed_all(
        self, source: asyncio.Queue[list[Prepared] | None], out: asyncio.Queue[Embedded | None]
    ) -> None:
        while (window := await source.get()) is not None:
            texts = Texts()
            try:
                await self._embed_window(window, texts)
            except VerazError:
                await self._hand_over(window, texts, out)
                await out.join()  # what is embedded is paid for: it is written before the run ends
                raise
            await self._hand_over(window, texts, out)
            self._forget_old_vectors()
        await out.put(None)

    async def _embed_window(self, window: Sequence[Prepared], texts: Texts) -> None:
        try:
            await self._embed_texts(window, texts)
        except MalformedResponse:
            await self._embed_one_by_one(window, texts)

    async def _hand_over(
        self, window: Sequence[Prepared], texts: Texts, out: asyncio.Queue[Embedded | None]
    ) -> None:
        counted: set[bytes] = set()
        for prepared in window:
            if texts.hold(prepared):
                new = (texts.fresh & set(prepared.hashes)) - counted
                counted |= new
                await out.put(Embedded(prepared, texts.of(prepared), len(new)))

    async def _embed_texts(self, window: Sequence[Prepared], into: Texts) -> None:
        """Adds the vectors of a window: those in memory or stored are taken, equal texts share one call."""
        texts = {h: c.embedded_text for p in window for h, c in zip(p.hashes, p.chunks, strict=True)}
        into.vectors.update((h, self._vectors[h]) for h in texts if h in self._vectors)
        unknown = [h for h in texts if h not in into.vectors]
        if not unknown:
            return
        async with self._database.transaction(self._identity, "write") as connection:
            stored = await store.known_vectors(connection, self._space_id, unknown)
        self._vectors.update(stored)
        into.vectors.update(stored)
        missing = [h for h in unknown if h not in stored]
        if not missing:
            return
        started = time.perf_counter()
        embedded = await (self._pooled(window) if self._chunker.pooled else self._each(missing, texts))
        self._provider_answers = True
        self.tally.embedding_seconds += time.perf_counter() - started
        self._vectors.update(embedded)
        into.vectors.update(embedded)
        into.fresh.update(missing)

    async def _each(self, missing: Sequence[bytes], texts: Mapping[bytes, str]) -> dict[bytes, Vectors]:
        batch = await self._embedder.embed([texts[h] for h in missing], "passage")
        self.tally.warnings += [
            f"a chunk exceeded the model's limit and was cut: {texts[missing[i]][:80]!r}"
            for i in batch.truncated
        ]
        return dict(zip(missing, batch.vectors, strict=True))

    async def _pooled(self, window: Sequence[Prepared]) -> dict[bytes, Vectors]:
        """Vectors that depend on the whole document: one call a document."""
        embedder = token_embedder(self._embedder)
        found: dict[bytes, Vectors] = {}
        for prepared in window:
            groups = [chunk.spans for chunk in prepared.chunks]
            vectors = await embedder.embed_spans(prepared.document.text, groups)
            found.update(zip(prepared.hashes, vectors, strict=True))
        return found

    def _forget_old_vectors(self) -> None:
        for old in list(self._vectors)[: max(0, len(self._vectors) - REMEMBERED_VECTORS)]:
            del self._vectors[old]

    async def _embed_one_by_one(self, window: Sequence[Prepared], texts: Texts) -> None:
        """One text that the model cannot embed must not cost its neighbours: find the document and report it. Raises where the
        provider embeds nothing at all."""
        failures: list[tuple[Prepared, MalformedResponse]] = []
        for prepared in window:
            try:
                await self._embed_texts([prepared], texts)
            except MalformedResponse as error:
                failures.append((prepared, error))
        if failures and not self._provider_answers:
            await self._embedder.embed([HARMLESS], "passage")
            self._provider_answers = True
        for prepared, failure in failures:
            if not texts.hold(prepared):
                self._fail(_cannot_be_embedded(prepared.item, failure))

    # --- write

    async def _write_all(self, source: asyncio.Queue[Embedded | None]) -> None:
        written = 0
        while (embedded := await source.get()) is not None:
            try:
                await self._database.again(partial(self._write, embedded))
            except REFUSED as error:
                self._fail(_refused(embedded.prepared.item, error))
            except ItemError as error:
                self._fail(error)
            written += 1
            if written % MERGE_EVERY == 0:
                await self._merge(final=False)
            source.task_done()

    async def _write(self, embedded: Embedded) -> None:
        prepared = embedded.prepared
        document_id = store.document_key(self._source.source_id, prepared.item.external_id)
        async with self._database.transaction(self._identity, "write") as connection:
            await self._lock(connection, document_id, prepared.document)
            state = await store.document_state(connection, document_id, prepared.raw_hash, prepared.stated)
            if state.erased_at is not None:
                raise _erased(prepared.item, state.erased_at)
            if state.deleted_at not in (None, prepared.deleted_at):
                raise _deleted_meanwhile(prepared.item)
            # labels are no part of a revision: equal text may come with others
            access = self._access(prepared, state)
            if state.is_stored and access is not None:
                await store.update_access(connection, document_id, access)
            if not state.is_stored and (fresh := self._still_fits(prepared, state)):
                links = await self._write_checked(connection, self._revision(embedded, document_id, state))
        if state.is_stored:
            self._count("unchanged")
            return
        if not fresh:
            await self._start_over(prepared)
            return
        self._count_links(links)
        ahead = plan.not_yet(prepared.document, datetime.now(UTC).date())
        self.tally.warnings += [f"{prepared.item.path}: {warning}" for warning in ahead]
        self._of_run.wrote(store.revision_key(document_id, state.last_number + 1))
        self.tally.counts["documents"] += 1
        self.tally.counts["chunks"] += len(prepared.chunks)
        self.tally.counts["embedded"] += embedded.fresh
        self.tally.counts["reused"] += len(prepared.chunks) - embedded.fresh
        if prepared.was is not None:
            self.tally.counts["renamed"] += 1
            self.tally.changes.append(Change("renamed", prepared.item.external_id, prepared.was.external_id))
        self._count("new" if prepared.is_new and state.current_revision_id is None else "changed")

    async def _lock(self, connection: Any, document_id: UUID, document: ParsedDocument) -> None:
        """The document and the one it replaces: were both written at the same moment, neither would see the other."""
        locked = [document_id]
        if document.supersedes is not None:
            locked.append(store.document_key(self._source.source_id, document.supersedes))
        declares = document.supersedes is not None or document.item is not None
        await store.lock_documents(connection, locked, declares=declares)

    def _still_fits(self, prepared: Prepared, state: store.DocumentState) -> bool:
        """Whether the document is what the work started from, or its dates say where this revision belongs, or it was this run
        itself that wrote in between: the later line of a collection is the later version."""
        if state.current_revision_id == prepared.expected or self._of_run.is_own(state.current_revision_id):
            return True
        return plan.stated_from(prepared.document) is not None and state.stated_from is not None

    def _revision(
        self, embedded: Embedded, document_id: UUID, state: store.DocumentState
    ) -> store.RevisionToWrite:
        prepared = embedded.prepared
        return store.RevisionToWrite(
            source_id=self._source.source_id,
            document_id=document_id,
            number=state.last_number + 1,
            document=prepared.document,
            lang=prepared.lang,
            langs=prepared.langs,
            analysers=tuple(map(plan.analyser_for, prepared.langs)),
            raw_hash=prepared.raw_hash,
            bytes_hash=plan.bytes_hash(prepared.item),
            stated=prepared.stated,
            supersedes_now=self._overrides.supersedes,
            chunker=self._chunker.version,
            chunks=prepared.chunks,
            hashes=prepared.hashes,
            vectors=embedded.vectors,
            becomes_current=plan.becomes_current(plan.stated_from(prepared.document), state.stated_from),
            access=self._access(prepared, state),
            dropped=prepared.dropped,
        )

    def _access(self, prepared: Prepared, state: store.DocumentState) -> Access | None:
        """Labels belong to the document: the caller's word counts, else its newest version's, never an older one's. A document
        that only changed its name keeps those that were set on it."""
        document = prepared.document
        newest = plan.becomes_current(plan.stated_from(document), state.stated_from)
        kept = prepared.was.access if prepared.was else None
        return self._overrides.access or (document.access if newest else None) or kept

    async def _write_checked(self, connection: Any, revision: store.RevisionToWrite) -> store.Links:
        written, links = await store.write_revision(connection, self._space_id, revision)
        wanted = len(revision.chunks)
        searchable = 0 if written.is_superseded or not revision.becomes_current else wanted
        if (written.current_chunks, written.lexical_rows, written.vectors) != (searchable, wanted, wanted):
            raise ItemError(
                f"wrote {written} of {wanted} chunks; nothing was kept",
                external_id=revision.document.external_id,
                stage="store",
                fix="run `veraz status`, then ingest it again",
            )
        return links

    async def _start_over(self, prepared: Prepared) -> None:
        """Another ingest published this document meanwhile. A file is read again, so that the older text cannot
        win; a record cannot be, and what was published stays."""
        if prepared.item.payload is None:
            raise ItemError(
                "already written by another ingest since this one began, and no date says which is newer; theirs was kept",
                path=prepared.item.path,
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
            await self._embed_texts(window, texts)
        except MalformedResponse as error:
            raise _cannot_be_embedded(again.item, error) from error
        await self._write(Embedded(again, texts.of(again), len(texts.fresh)))

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

    def _fail(self, error: ItemError) -> None:
        self.tally.seen += 1
        reason = f"{error.reason}; {error.fix}" if error.fix else error.reason
        self.tally.errors.append(ItemFailure(error.path, error.external_id, error.stage, reason))
        self._progress(self.tally)


async def _batches(items: Iterator[RawItem | ItemError]) -> AsyncIterator[list[RawItem | ItemError]]:
    def take() -> list[RawItem | ItemError]:
        batch = []
        for entry in items:
            batch.append(entry)
            if len(batch) == WINDOW_ITEMS:
                break
        return batch

    while batch := await asyncio.to_thread(take):
        yield batch


def _refused(item: RawItem, error: psycopg.Error) -> ItemError:
    reason = str(error).splitlines()[0]
    return ItemError(reason, path=item.path, external_id=item.external_id, stage="store")


def _cannot_be_embedded(item: RawItem, error: MalformedResponse) -> ItemError:
    return ItemError(error.what, path=item.path, external_id=item.external_id, stage="embed", fix=error.fix)


def _erased(item: RawItem, when: datetime) -> ItemError:
    return ItemError(
        f"was erased on {when:%Y-%m-%d} and does not come back by itself",
        path=item.path,
        external_id=item.external_id,
        stage="store",
        fix="leave it out, or allow it again with: veraz restore EXTERNAL_ID --source SLUG",
    )


def _deleted_meanwhile(item: RawItem) -> ItemError:
    return ItemError(
        "was deleted while it was being ingested; it stays deleted",
        path=item.path,
        external_id=item.external_id,
        stage="store",
        fix="ingest it again if it should come back",
    )


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
