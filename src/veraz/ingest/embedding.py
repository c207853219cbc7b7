"""The vectors of documents that are to be written: equal texts share one, stored ones are taken, the model is asked for the rest.

It knows no database: how stored vectors are looked up is given to it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from veraz.errors import ItemError, MalformedResponse
from veraz.ingest import failures
from veraz.ingest.chunkers import token_embedder
from veraz.ingest.stages import Embedded, Prepared, Texts
from veraz.ingest.tally import Tally
from veraz.nouns.corpus import Vectors
from veraz.providers.ports import Embedder

REMEMBERED_VECTORS = 50_000
"""Vectors kept in memory to share among equal texts; older ones are read back from the database."""
HARMLESS = "text"
"""What a provider is asked to embed when it took nothing else yet: whether it is to blame, or the documents."""

Stored = Callable[[Sequence[bytes]], Awaitable[dict[bytes, Vectors]]]
"""The vectors that are stored of these content hashes."""


class Embedding:
    """Of one run. `pooled`: vectors come from whole documents (`TokenEmbedder.embed_spans`); `fail` reports a document whose text
    the model does not take."""

    def __init__(
        self,
        embedder: Embedder,
        stored: Stored,
        *,
        pooled: bool,
        tally: Tally,
        fail: Callable[[ItemError], None],
    ) -> None:
        self._embedder = embedder
        self._stored = stored
        self._is_pooled = pooled
        self._tally = tally
        self._fail = fail
        self._vectors: dict[bytes, Vectors] = {}
        self._provider_answers = False  # it embedded something in this run

    async def window(self, window: Sequence[Prepared], into: Texts) -> None:
        """Adds to `into` the vectors of documents that are embedded together. One text that the model cannot embed costs its
        document alone. Raises what says something of the provider (VerazError); what was embedded until then is in `into`."""
        try:
            await self.texts(window, into)
        except MalformedResponse:
            await self._one_by_one(window, into)

    def embedded(self, window: Sequence[Prepared], texts: Texts) -> list[Embedded]:
        """Those of the window that are embedded as a whole. A text is counted as fresh once."""
        found: list[Embedded] = []
        counted: set[bytes] = set()
        for prepared in window:
            if texts.hold(prepared):
                new = (texts.fresh & set(prepared.hashes)) - counted
                counted |= new
                found.append(Embedded(prepared, texts.of(prepared), len(new)))
        return found

    async def texts(self, window: Sequence[Prepared], into: Texts) -> None:
        """Adds the vectors of a window: those in memory or stored are taken, equal texts share one call. Raises MalformedResponse
        where the model does not take one of the texts."""
        texts = {h: c.embedded_text for p in window for h, c in zip(p.hashes, p.chunks, strict=True)}
        into.vectors.update((h, self._vectors[h]) for h in texts if h in self._vectors)
        unknown = [h for h in texts if h not in into.vectors]
        if not unknown:
            return
        stored = await self._stored(unknown)
        self._vectors.update(stored)
        into.vectors.update(stored)
        missing = [h for h in unknown if h not in stored]
        if not missing:
            return
        started = time.perf_counter()
        embedded = await (self._pooled(window) if self._is_pooled else self._each(missing, texts))
        self._provider_answers = True
        self._tally.embedding_seconds += time.perf_counter() - started
        self._vectors.update(embedded)
        into.vectors.update(embedded)
        into.fresh.update(missing)

    def forget_old(self) -> None:
        """Bounds what is remembered; `Texts` keep their own."""
        for old in list(self._vectors)[: max(0, len(self._vectors) - REMEMBERED_VECTORS)]:
            del self._vectors[old]

    async def _each(self, missing: Sequence[bytes], texts: Mapping[bytes, str]) -> dict[bytes, Vectors]:
        batch = await self._embedder.embed([texts[h] for h in missing], "passage")
        self._tally.warnings += [
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

    async def _one_by_one(self, window: Sequence[Prepared], texts: Texts) -> None:
        """Finds the documents whose text the model does not take, and reports them. Raises where the provider embeds nothing at
        all."""
        failed: list[tuple[Prepared, MalformedResponse]] = []
        for prepared in window:
            try:
                await self.texts([prepared], texts)
            except MalformedResponse as error:
                failed.append((prepared, error))
        if failed and not self._provider_answers:
            await self._embedder.embed([HARMLESS], "passage")
            self._provider_answers = True
        for prepared, failure in failed:
            if not texts.hold(prepared):
                self._fail(failures.cannot_be_embedded(prepared.item, failure))
