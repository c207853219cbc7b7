"""What a sweep asks of the other stages: one arm at a time, and the ranking that search would make of what arms gave.

It stands between the engine, which says how a corpus is loaded, and `search/`, whose own functions ask, fuse and fold.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import msgspec

from veraz import __version__
from veraz.config import Config
from veraz.db.session import Database
from veraz.errors import ProviderError, UsageError
from veraz.evaluation.sweeps.grid import Base
from veraz.evaluation.sweeps.pipeline import Loading, SweepSet
from veraz.ingest.chunkers import spelled_out
from veraz.ingest.plan import analyser_for
from veraz.nouns.corpus import Identity
from veraz.nouns.evaluation import RankedItem
from veraz.nouns.evidence import Candidate
from veraz.nouns.question import Filters, Spoken
from veraz.nouns.sweep import ArmSetting, Asked, Corpus, IndexSetting, Owner, Setting
from veraz.providers.ports import Embedder
from veraz.query.clean import clean_question
from veraz.search import store
from veraz.search.engines.pipeline import Engine
from veraz.search.fusion import FusionSettings
from veraz.search.pipeline import run_arm
from veraz.search.replay import DEEPER, replay
from veraz.search.request import SearchRequest, few_rows
from veraz.search.reranking import Reranking, passage_text, rerank_scores
from veraz.search.syntax import read

Load = Callable[[SweepSet, IndexSetting, Loading], Awaitable[tuple[Identity, bool]]]
"""Who reads the set's documents, loaded as the index setting says; and whether the sweep made that tenant for itself."""
Language = Callable[[store.CorpusSize, str, str], Awaitable[Spoken]]
"""Of a question: the corpus, the question, what is stated → the language."""


def configured(config: Config) -> Base:
    """The configuration as the point that a grid starts from."""
    return Base(
        index=IndexSetting(
            spelled_out(config.ingest.chunker), config.ingest.chunk_tokens, config.ingest.header
        ),
        search={
            **msgspec.to_builtins(config.search),
            "mode": "hybrid",
            "exact": False,
            "k": None,
            "reranker": config.search.rerank,
        },
    )


class SearchBench:
    """Implements `Bench` over a database. `embedder` is asked for each question once for every way of asking: it should
    remember."""

    def __init__(
        self,
        database: Database,
        config: Config,
        embedder: Embedder,
        space_id: int,
        *,
        load: Load,
        language: Language,
        engine: Engine | None = None,
    ) -> None:
        self._database = database
        self._config = config
        self._embedder = embedder
        self._space_id = space_id
        self._load = load
        self._language = language
        self._engine = engine
        self._identities: dict[str, Identity] = {}
        self._sizes: dict[str, store.CorpusSize] = {}
        self._texts: dict[str, dict[UUID, str]] = {}

    async def load(self, of: SweepSet, index: IndexSetting, loading: Loading) -> Corpus:
        identity, made = await self._load(of, index, loading)
        self._identities[identity.tenant] = identity
        size = await self._size(identity)
        state = {
            "set": of.dataset.fingerprint,
            "index": None if of.is_ingested else index,
            "space": self._embedder.space,
            "chunks": size.own,
            "title_weight": self._config.ingest.title_weight,
            "fuzzy": self._config.search.fuzzy,
            "scorer": self._config.search.scorer,
            "analysers": size.analysers,
            "roles": sorted(identity.roles),
            "veraz": __version__,
        }
        plain = msgspec.json.encode(state, order="deterministic").decode()
        return Corpus(identity.tenant, of.source, plain, size.own, made)

    async def ask(self, corpus: Corpus, arm: ArmSetting, question: str, known: Mapping[UUID, Owner]) -> Asked:
        try:
            asked = clean_question(question)
        except UsageError:  # `search` refuses it, and `eval run` counts it as found nothing
            return Asked(None, {}, 0.0)
        identity = self._identities[corpus.tenant]
        if corpus.tenant not in self._sizes:  # not before all corpora are loaded: the index is shared
            self._sizes[corpus.tenant] = await self._size(identity)
        size = self._sizes[corpus.tenant]
        spoken = await self._language(size, asked, "auto")
        analyser = analyser_for(spoken.lang)
        request = SearchRequest(
            question=asked,
            lang=spoken.lang,
            analyser=analyser,
            mode=arm.arm,
            filters=Filters(sources=(corpus.source,) if corpus.source else None),
            exact=arm.exact,
            few=few_rows(size.own, size.indexed, arm.pool),
            own=size.own,
            indexed=size.indexed,
            abroad=size.is_abroad(spoken, analyser),
            told=spoken.told,
            index=size.index,
        )
        stated = {
            name: value
            for name in ("budget", "rescored", "ef_search", "max_scan_tuples")
            if (value := getattr(arm, name)) is not None
        }
        pool = arm.pool * (DEEPER if arm.deeper else 1)
        config = msgspec.structs.replace(self._config.search, pool=pool, **stated)
        run = await run_arm(
            self._database, identity, self._embedder, self._space_id, config, request, known, self._engine
        )
        return Asked(run.candidates, run.owners, run.milliseconds)

    def rank(
        self,
        arms: Mapping[str, Sequence[Candidate]],
        owners: Mapping[UUID, Owner],
        setting: Setting,
        *,
        deepened: bool,
    ) -> tuple[tuple[RankedItem, ...], bool]:
        search = self._config.search
        fusion = FusionSettings(
            setting.fusion or search.fusion,
            search.semantic_weight if setting.semantic_weight is None else setting.semantic_weight,
            setting.rrf_k or search.rrf_k,
        )
        found = replay(
            arms,
            owners,
            fusion,
            k=self._read_for(setting),
            pool=setting.pool * (DEEPER if deepened else 1),
        )
        return found.ranked, found.deeper and not deepened

    def _read_for(self, setting: Setting) -> int:
        """As search reads for a reranker: it may bring up any hit of its pool."""
        shown = setting.k or 2 * setting.pool
        return shown if setting.reranker == "none" else max(shown, self._config.search.rerank_pool)

    async def rerank(
        self,
        using: Reranking,
        question: str,
        ranked: tuple[RankedItem, ...],
        corpus: Corpus,
        setting: Setting,
    ) -> tuple[RankedItem, ...]:
        """The hits of a ranking in the order that search gives them with this reranker. Raises ProviderError where that would
        keep the fused order: measured as the reranker's, it would mislead."""
        hits: dict[str, list[RankedItem]] = {}
        for item in ranked:
            hits.setdefault(item.chunk_id or "", []).append(item)
        keys = [UUID(key) for key in list(hits)[: using.pool]]
        texts = await self._texts_of(corpus, keys)
        fused = [items[0].score for items in hits.values()]
        asked = read(clean_question(question).strip()).text if hits else ""
        run = await rerank_scores(using, asked, fused, [texts[key] for key in keys])
        if run.fallback is not None:
            raise ProviderError(
                f"the reranker {using.name} was of no use for {question[:80]!r}: {run.fallback}",
                fix="run it again: it goes on where it stood",
            )
        groups = list(hits.values())
        return tuple(
            replace(item, score=entry.score)
            for entry in run.order[: setting.k]
            for item in groups[entry.position]
        )

    async def _texts_of(self, corpus: Corpus, keys: Sequence[UUID]) -> dict[UUID, str]:
        """What a reranker reads of chunks. Kept: configurations rank much the same hits."""
        known = self._texts.setdefault(corpus.tenant, {})
        if missing := [key for key in keys if key not in known]:
            async with self._database.transaction(self._identities[corpus.tenant]) as connection:
                found = await store.hydrate(connection, missing)
            known.update({key: passage_text(hit) for key, hit in found.items()})
        return {key: known[key] for key in keys}

    async def _size(self, identity: Identity) -> store.CorpusSize:
        async with self._database.transaction(identity) as connection:
            return await store.corpus_size(connection, self._space_id)
