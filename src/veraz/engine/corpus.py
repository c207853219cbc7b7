"""Documents come in: discover, parse, chunk, embed, one transaction for a revision."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import BinaryIO

from veraz.engine.core import Core
from veraz.errors import ConfigError, ItemError, UsageError
from veraz.ingest import discover as discovery
from veraz.ingest import store as ingest_store
from veraz.ingest.chunkers import stated_chunker
from veraz.ingest.context_writers import ChatContext
from veraz.ingest.contexts import ContextRules
from veraz.ingest.listing import list_items
from veraz.ingest.pipeline import Chunking, Ingest, Prune
from veraz.ingest.plan import ANALYSERS, Overrides, check_access, check_source
from veraz.ingest.tally import Progress
from veraz.nouns.corpus import AccessRule, Identity, IngestReport, RawItem, SourceSettings
from veraz.providers import ocr
from veraz.query.clean import check_choice, check_day, check_names, check_type
from veraz.schema.apply import analyse_tables
from veraz.text.decode import require_storable
from veraz.text.languages import NO_LANGUAGE, check_lang

AnyPath = str | os.PathLike[str]
CONTEXTS = ("none", "llm")
UNDETERMINED = "und"
"""ISO 639-2, as documents have it whose language nothing tells."""
BULK_CHUNKS = 1000
"""A run that wrote this many chunks is followed by fresh planner statistics."""


class Corpus(Core):
    """What fills the store."""

    async def ingest(
        self,
        paths: AnyPath | Sequence[AnyPath],
        *,
        source: str,
        name: str | None = None,
        license: str | None = None,
        authority: int | None = None,
        base_url: str | None = None,
        jurisdiction: str | None = None,
        lang: str | None = None,
        acl: Sequence[str] | None = None,
        acl_rule: AccessRule | None = None,
        owner: str | None = None,
        readable_from: datetime | None = None,
        readable_until: datetime | None = None,
        revised_at: date | None = None,
        supersedes: str | None = None,
        chunker: str | None = None,
        context: str | None = None,
        exclude: Sequence[str] = (),
        prune: bool = False,
        confirmed: bool = False,
        dry_run: bool = False,
        stdin: BinaryIO | None = None,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Reads files, folders, globs and collections into `source`. What fails is listed in the report; the rest is kept.

        `lang` is an ISO 639-1 code, xx for a language without stop words and stems, or auto (as None): as documents say, else
        detected. `chunker`, such as `parent-child` or `fixed:size=200,overlap=40`, is remembered for the source. `context`:
        none, or llm to have the configured chat model write a line about each chunk; None: as configured. `exclude` holds
        patterns as in a .gitignore file. `prune` deletes the documents of the source that are not found any more; more than
        a fifth of them only when `confirmed`, else CheckFailed. `dry_run` says what would be done, and does nothing."""
        identity = await self._writer()
        check_names("acl", acl)
        check_names("exclude", exclude)
        check_day("revised_at", revised_at)
        check_type("source", source, str)
        if chunker is not None:
            check_type("chunker", chunker, str)
        settings = SourceSettings(source, name, license, jurisdiction, authority, base_url, chunker)
        check_source(settings)
        if chunker is not None:
            stated_chunker(chunker)
        contexts = self._context_rules(context)
        require_storable("supersedes", supersedes)
        access = check_access(acl, acl_rule, owner, readable_from, readable_until)
        overrides = Overrides(
            lang=_document_lang(lang), revised_at=revised_at, access=access, supersedes=supersedes
        )
        named = _listed(paths)
        pruned = await asyncio.to_thread(_prune, named, exclude, confirmed) if prune else None
        items = discovery.discover(named, stdin=stdin, exclude=exclude)
        return await self._ingest(
            identity, items, settings, overrides, progress, context=contexts, prune=pruned, dry_run=dry_run
        )

    async def _ingest(
        self,
        identity: Identity,
        items: Iterator[RawItem | ItemError],
        settings: SourceSettings,
        overrides: Overrides,
        progress: Progress | None,
        *,
        context: ContextRules | None = None,
        prune: Prune | None = None,
        dry_run: bool = False,
    ) -> IngestReport:
        space = await self.space()
        run = Ingest(
            self._database,
            identity,
            await self._open_embedder(),
            space.space_id,
            source=settings,
            overrides=overrides,
            parsers=self._parsers,
            detector=self._open_detector(),
            chunking=self._chunking(),
            ocr=ocr.VERSION if self.config.ingest.ocr and ocr.installed() else "",
            context=context or self._context_rules(None),
            progress=progress,
        )
        if dry_run:
            return await run.preview(items, prune)
        report = await run.run(items, prune)
        if report.chunks >= BULK_CHUNKS:
            await self._analyze()
        return report

    async def _analyze(self) -> None:
        space = await self.space()
        async with self._database.administration() as connection:
            await analyse_tables(connection, space.space_id)

    async def merge_index(self) -> Mapping[str, int]:
        """Merges the lexical deltas of the tenant now. Returns the postings taken in, by analyser."""
        identity = await self._writer()
        async with self._database.transaction(identity, "write") as connection:
            pending = await ingest_store.pending_postings(connection)
        merged = {}
        for entry in pending:  # a transaction each: a merge that holds one analyser never waits for another
            merge = partial(ingest_store.merge_postings, analyser=entry.analyser)
            merged[entry.analyser] = await self._changing(merge)
        return merged

    def _chunking(self) -> Chunking:
        settings = self.config.ingest
        return Chunking(settings.chunker, settings.chunk_tokens, settings.header, settings.title_weight)

    def _context_rules(self, stated: str | None) -> ContextRules:
        """As stated, or as configured. Raises UsageError for an unknown name and for a model that is not configured."""
        settings = self.config.ingest
        chosen = settings.context if stated is None else stated
        check_choice("context", chosen, CONTEXTS)
        if chosen == "none":
            return ContextRules()
        if self._chat is None:
            raise ConfigError(
                "contexts are to be written, and no chat model is configured",
                fix="set url and model of [chat]",
            )
        return ContextRules(
            ChatContext(self._chat, tokens=settings.context_tokens, window=settings.context_window),
            tokens=settings.context_tokens,
            required=settings.context_failure == "refuse",
            side_by_side=self.config.chat.concurrency,
        )


def _prune(paths: Sequence[str], exclude: Sequence[str], confirmed: bool) -> Prune:
    if "-" in paths:
        raise UsageError(
            "standard input and prune", fix="give paths: what is gone cannot be told from one document"
        )
    items = discovery.discover(paths, exclude=exclude, names_only=True)
    return Prune(list_items(items), confirmed)


def _document_lang(lang: str | None) -> str | None:
    code = check_lang("auto" if lang is None else lang, ("auto",), ANALYSERS)
    return {"auto": None, NO_LANGUAGE: UNDETERMINED}.get(code, code)


def _listed(paths: AnyPath | Sequence[AnyPath]) -> list[str]:
    return [os.fspath(p) for p in ((paths,) if isinstance(paths, str | os.PathLike) else paths)]
