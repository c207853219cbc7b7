"""Questions: search, context, answers, and how each came about."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from psycopg import Error as PsycopgError

from veraz.answer import outcome
from veraz.answer import store as answer_store
from veraz.answer.numerals import spelled
from veraz.answer.pipeline import Draft, Evidence, assess, compose
from veraz.answer.words import subject_words
from veraz.assembly.assemble import Assembled, Wanted, evidence_of
from veraz.assembly.pipeline import passages_around
from veraz.config import LEAST_BUDGET, MOST_BUDGET, MOST_NEIGHBOURS
from veraz.engine.core import Core, Sampled
from veraz.errors import UsageError, VerazError
from veraz.filters.typed import resolve
from veraz.ingest.plan import ANALYSERS, analyser_for
from veraz.nouns.answer import Answer, Superseded
from veraz.nouns.context import Context, rendered
from veraz.nouns.corpus import Identity
from veraz.nouns.evidence import Grouping, Mode, SearchResult, by_document
from veraz.nouns.fusion import Fusion
from veraz.nouns.question import Filters, Spoken
from veraz.nouns.repeated import Repeated
from veraz.nouns.shown import Shown
from veraz.nouns.trace import Trace
from veraz.ops import lifecycle
from veraz.ops import store as ops_store
from veraz.ops.show import show_document
from veraz.providers.ports import CountTokens
from veraz.providers.rerankers.registry import READS_TOKENS, open_reranker
from veraz.query.clean import (
    check_choice,
    check_count,
    check_day,
    check_search,
    check_type,
    check_within,
    clean_question,
)
from veraz.query.route import route
from veraz.search import store as search_store
from veraz.search.ahead import ahead_notes
from veraz.search.pipeline import run_search
from veraz.search.request import SearchRequest, SearchRun, Timer, few_rows
from veraz.search.reranking import Reranking
from veraz.search.syntax import read as read_marks
from veraz.text.decode import require_storable
from veraz.text.languages import NO_LANGUAGE, check_lang
from veraz.traces import store as traces
from veraz.traces.record import answer_record, explained, search_record

DEEPEST = 1000
"""Chunks among which the documents of a grouped result are looked for."""
PATIENCE = 600.0
"""Seconds that a reranker has for one question of an evaluation or a sweep."""


class Questions(Core):
    """What a reader asks."""

    async def search(
        self,
        question: str,
        *,
        k: int = 10,
        mode: Mode = "hybrid",
        lang: str = "auto",
        filters: Filters | None = None,
        fusion: Fusion | None = None,
        rerank: str | None = None,
        exact: bool = False,
        explain: bool = False,
        trace: bool = True,
        as_of: date | None = None,
        group: Grouping | None = None,
        per_document: int | None = None,
        ef_search: int | None = None,
        probes: int | None = None,
        oversampling: int | None = None,
    ) -> SearchResult:
        """The best k chunks that the caller may read. Scores are finite and higher is better; the order is total. With `as_of`
        the revisions are searched that held on that day, under today's permissions and deletions. `group="document"`: the best
        k documents, in `documents`, each with up to `per_document` of its best chunks (0: all that were found; None: as
        configured), joined to passages where they touch; `hits` are these chunks, with the ranks that they have among all.
        `ef_search`, `probes` and `oversampling` say how far the index of the space is read, whichever it has; None: as
        configured. Without `trace` nothing is stored, and the result's `trace_id` leads nowhere."""
        question, filters = clean_question(question), Filters() if filters is None else filters
        check_search(
            k=k, mode=mode, lang=lang, filters=filters, as_of=as_of, fusion=fusion, rerank=rerank,
            declared=self.config.filters.meta, ef_search=ef_search, probes=probes, oversampling=oversampling,
        )  # fmt: skip
        check_choice("group", group, ("document",), optional=True)
        check_within("per_document", per_document, 0, 1000)
        lang = question_lang(lang)
        identity = await self.identity()
        ask = partial(
            self._search, identity, question, mode=mode, lang=lang, filters=filters, fusion=fusion,
            exact=exact, explain=explain, as_of=as_of, rerank=rerank, ef_search=ef_search, probes=probes,
            oversampling=oversampling,
        )  # fmt: skip
        run = await (ask(k) if group is None else _deep_enough(ask, k))
        result = await self._assessed(identity, run)
        if group is not None:
            result = await self._by_document(identity, run, result, k, per_document)
        if trace:
            await self._keep_search(result)
        self._sample(identity, run)
        return result

    async def context(
        self,
        question: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        neighbours: int | None = None,
        sections: bool | None = None,
        per_document: int | None = None,
        count_tokens: CountTokens | None = None,
        mode: Mode = "hybrid",
        lang: str = "auto",
        filters: Filters | None = None,
        fusion: Fusion | None = None,
        rerank: str | None = None,
        exact: bool = False,
        trace: bool = True,
        as_of: date | None = None,
    ) -> Context:
        """What a reader, such as a chat model, is given for a question: the best k hits and what stands around them, as passages
        of `budget` tokens at most, labels included. Hits come first; then, the best first, their whole section (`sections`)
        and `neighbours` chunks on each side, as far as they fit. Of a document at most `per_document` hits count (0: all).
        `count_tokens` counts with the tokenizer of who will read; None: the embedder's. None elsewhere: as configured.

        What stands around a hit is of the same revision, may be read by the same caller, and meets what the filters say of
        chunks. Raises MalformedResponse where `count_tokens` gives anything but one number a text."""
        question, filters = clean_question(question), Filters() if filters is None else filters
        check_search(
            k=k, mode=mode, lang=lang, filters=filters, as_of=as_of, fusion=fusion, rerank=rerank,
            declared=self.config.filters.meta,
        )  # fmt: skip
        check_within("budget", budget, LEAST_BUDGET, MOST_BUDGET)
        check_within("neighbours", neighbours, 0, MOST_NEIGHBOURS)
        check_within("per_document", per_document, 0, 1000)
        check_type("sections", sections, bool, optional=True)
        given = self.config.context
        most = given.per_document if per_document is None else per_document
        wanted = Wanted(
            budget=given.budget if budget is None else budget,
            neighbours=given.neighbours if neighbours is None else neighbours,
            sections=given.sections if sections is None else sections,
            per_document=most or None,
        )
        identity, timer = await self.identity(), Timer()
        run = await self._search(
            identity, question, self.config.answer.evidence if k is None else k, mode, question_lang(lang), filters,
            fusion, exact, False, as_of, rerank,
        )  # fmt: skip
        result = await self._assessed(identity, run)
        with timer.stage("assembly"):
            assembled = await self._assembled(identity, run, wanted, count_tokens or await self._counter())
        found = _context(result, wanted, assembled, timer, traced=trace)
        if trace:
            await self._keep_search(result, {"context": _context_record(found, wanted)})
        self._sample(identity, run)
        return found

    async def _assembled(
        self, identity: Identity, run: SearchRun, wanted: Wanted, count_tokens: CountTokens | None
    ) -> Assembled:
        return await passages_around(
            self._database, identity, run.result.hits, run.request.filters, wanted, count_tokens
        )

    async def _counter(self) -> CountTokens:
        """The embedder's tokenizer, without its prefix and special tokens."""
        embedder = await self._open_embedder()
        one, two = embedder.count_tokens(["a", "a a"])
        fixed = max(0, 2 * one - two)
        return lambda texts: [max(0, count - fixed) for count in embedder.count_tokens(texts)]

    async def _by_document(
        self, identity: Identity, run: SearchRun, result: SearchResult, k: int, per_document: int | None
    ) -> SearchResult:
        most = self.config.context.per_document if per_document is None else per_document
        best = set(list(dict.fromkeys(h.document.document_id for h in result.hits))[:k])
        hits = tuple(h for h in result.hits if h.document.document_id in best)
        shown = replace(run, result=replace(result, hits=hits))
        assembled = await self._assembled(identity, shown, Wanted(None, per_document=most or None), None)
        more = Counter(left.document.document_id for left in assembled.left_out)
        documents = by_document(assembled.passages, more)
        ranks = {rank for document in documents for rank in document.hits}
        notes = result.notes
        if len(best) < k and len(result.hits) >= DEEPEST:
            notes = (*notes, f"the best {len(result.hits)} chunks are of {len(best)} documents")
        return replace(
            result, hits=tuple(h for h in hits if h.rank in ranks), documents=documents, notes=notes
        )

    async def _assessed(self, identity: Identity, run: SearchRun) -> SearchResult:
        """The result with the probability that its best hits can answer the question."""
        timer = Timer()
        with timer.stage("sufficiency"):
            best = replace(run.result, hits=run.result.hits[: self.config.answer.evidence])
            found = assess(await self._gather(identity, run.result.question, replace(run, result=best)))
        timings = dict(run.result.timings_ms)
        total = timings.pop("total", 0.0) + timer.stages["sufficiency"]
        return replace(
            run.result,
            notes=(*run.result.notes, *ahead_notes(run.result.hits, datetime.now(UTC).date())),
            sufficiency=0.0 if found.lacking else round(found.probability, 4),
            threshold=self.config.answer.threshold,
            timings_ms={**timings, **timer.stages, "total": round(total, 3)},
        )

    async def _search(
        self,
        identity: Identity,
        question: str,
        k: int,
        mode: Mode,
        lang: str,
        filters: Filters | None,
        fusion: str | None,
        exact: bool,
        explain: bool,
        as_of: date | None = None,
        rerank: str | None = None,
        *,
        every: bool = False,
        measuring: bool = False,
        ef_search: int | None = None,
        probes: int | None = None,
        oversampling: int | None = None,
    ) -> SearchRun:
        """`every`: `k` is no wish but all that the configured pools hold."""
        resolved, config = self._resolved(filters or Filters(), as_of), self.config.search
        if not every:
            config = config.reaching(k)
        embedder = None if mode == "lexical" else await self._open_embedder()
        space = None if mode == "lexical" else await self.space()
        async with self._database.transaction(identity, plan="once") as connection:
            size = await search_store.corpus_size(connection, space.space_id if space else None)
        spoken = await self._question_lang(size, question, lang)
        analyser = analyser_for(spoken.lang)
        request = SearchRequest(
            question=question,
            lang=spoken.lang,
            analyser=analyser,
            mode=mode,
            k=k,
            filters=resolved,
            fusion=fusion,
            exact=exact,
            explain=explain,
            as_of=as_of,
            few=few_rows(size.own, size.indexed, config.pool),
            own=size.own,
            indexed=size.indexed,
            abroad=size.is_abroad(spoken, analyser),
            told=spoken.told,
            index=size.index,
            ef_search=ef_search,
            probes=probes,
            oversampling=oversampling,
        )
        return await run_search(
            self._database,
            identity,
            embedder,
            space.space_id if space else None,
            config,
            request,
            await self._reranking(rerank, measuring=measuring),
            None if mode == "semantic" else await self._lexical_engine(identity),
        )

    def _resolved(self, filters: Filters, as_of: date | None = None) -> Filters:
        """With their expression read. `today` is the day that is searched."""
        return resolve(filters, self.config.filters.meta, as_of or datetime.now(UTC).date())

    async def _reranking(self, rerank: str | None, *, measuring: bool = False) -> Reranking | None:
        """The reranker of that name, or the configured one. Where quality is measured nobody waits, and a busy machine must not
        change the figures: `measuring` gives it more time. Raises ConfigError for one that cannot be had."""
        search, settings = self.config.search, self.config.rerank
        name = search.rerank if rerank is None else rerank
        if name == "none":
            return None
        embedder = await self._open_embedder() if name in READS_TOKENS else None
        async with self._opening:  # questions that come at once share one
            if name not in self._rerankers:
                self._rerankers[name] = await asyncio.to_thread(
                    open_reranker,
                    name,
                    settings.options.get(name, {}),
                    embedder=embedder,
                    chat=self._chat,
                )
        opened = self._rerankers[name]
        timeout = max(settings.timeout, PATIENCE) if measuring else settings.timeout
        return Reranking(name, opened.reranker, opened.weight, search.rerank_pool, timeout)

    async def _question_lang(self, size: search_store.CorpusSize, question: str, lang: str) -> Spoken:
        """The question's language: stated, or told by its function words, or the corpus's only one, or detected, or the corpus's
        most frequent one. A question may be in a language that no document is in."""
        if lang not in ("auto", "any"):
            return Spoken(lang, decided=lang != NO_LANGUAGE, told=True)
        detector = self._open_detector()
        if told := detector.told(question):
            return Spoken(told, decided=True, told=True)
        if len(size.analysers) <= 1:
            return Spoken(size.analysers[0] if size.analysers else "en", decided=False, told=False)
        found = await asyncio.to_thread(detector.detect, question)
        return Spoken(found or size.analysers[0], decided=found is not None, told=False)

    def _sample(self, identity: Identity, run: SearchRun) -> None:
        """Perhaps has the search measured, once its answer is complete. What was exact anyway has nothing to miss."""
        asked = run.request
        if run.result.config["lexical"]["engine"] is not None:  # what another engine misses, no postings tell
            if asked.mode == "lexical":
                return
            asked = replace(asked, mode="semantic")
        if self._live is not None and run.arms and not asked.exact and asked.as_of is None:
            self._live.offer(
                identity,
                Sampled(asked, run.vector, self._models.space.space_id if self._models.space else None),
            )

    async def _keep_search(self, result: SearchResult, more: Mapping[str, Any] | None = None) -> None:
        record = {**search_record(result), **(more or {})}
        async with self._database.transaction(await self.identity(), plan="once") as connection:
            await traces.insert(
                connection, result.trace_id, "search", result.question, result.outcome, record
            )

    async def show(
        self,
        external_id: str,
        *,
        source: str | None = None,
        revision: int | None = None,
        as_of: date | None = None,
    ) -> Shown:
        """A document as it is stored: its revisions, its place in a supersession, the sections and chunks of one revision: the
        current one, or `revision`, or the one that held on the day `as_of`."""
        if revision is not None and as_of is not None:
            raise UsageError("both a revision and a day are given", fix="name one of them")
        check_count("revision", revision, optional=True)
        check_day("as_of", as_of)
        require_storable("document", external_id, source)
        async with self._database.transaction(await self.identity()) as connection:
            shown = await show_document(connection, external_id, source, revision, as_of)
        return await self._with_hidden_successor(shown)

    async def repeated(self, source: str, *, least: int = 2, top: int = 20) -> Repeated:
        """What at least `least` documents of a source say to the letter, the `top` texts of most documents, and how much of the
        source that is. Only what the caller may read and a search would look through counts."""
        check_count("least", least)
        check_count("top", top)
        identity = await self.identity()
        await self._check_source(identity, source)
        async with self._database.transaction(identity) as connection:
            return await ops_store.repeated_texts(connection, source, least, top)

    async def _with_hidden_successor(self, shown: Shown) -> Shown:
        """Names a successor that was deleted, to who could read it were it not: it hides this document all the same."""
        if shown.superseded_at is None or shown.superseded_by is not None:
            return shown
        # for readers too: only mode "write" sees deleted rows, and the statement asks for their labels
        reader = replace(await self.identity(), may_write=True)
        async with self._database.transaction(reader, "write") as connection:
            hidden = await lifecycle.hidden_successor(connection, shown.document_id)
        if hidden is None:
            return shown
        return replace(
            shown,
            superseded_by=hidden.external_id,
            successor_deleted_at=hidden.deleted_at,
            successor_erased_at=hidden.erased_at,
        )

    async def ask(
        self,
        question: str,
        *,
        lang: str = "auto",
        filters: Filters | None = None,
        k: int | None = None,
        mode: Mode = "hybrid",
        fusion: Fusion | None = None,
        rerank: str | None = None,
        exact: bool = False,
        as_of: date | None = None,
        budget: int | None = None,
    ) -> Answer:
        """An answer of verbatim sentences, each with its citation; a conflict shown; a refusal with its reason; or the fixed
        message of a route, before anything is searched. All four are values and leave a trace; a route is answered, with a
        note, where none can be stored. With `as_of` it rests on the revisions that held on that day, and says which of them
        have changed since. With `budget` only as many hits are read as have that many tokens with their labels, the best
        first, by the embedder's tokenizer; `usage` says what was read."""
        question, filters = clean_question(question), Filters() if filters is None else filters
        check_search(
            k=k, mode=mode, lang=lang, filters=filters, as_of=as_of, fusion=fusion, rerank=rerank,
            declared=self.config.filters.meta,
        )  # fmt: skip
        check_within("budget", budget, LEAST_BUDGET, MOST_BUDGET)
        lang = question_lang(lang)
        identity, timer = await self.identity(), Timer()
        with timer.stage("route"):
            rule = route(question, None if lang in ("auto", "any") else lang)
        if rule is not None:
            answer = outcome.routed(question, rule, identity, timer.finish(), self.config.answer.threshold)
            try:
                await self._keep_answer(identity, answer, {})
            except (VerazError, PsycopgError) as error:  # nobody in an emergency waits for a full disk
                self._report(f"the trace of a routed answer could not be stored: {error}")
                answer = replace(
                    answer, notes=(*answer.notes, "this answer left no trace: it could not be stored")
                )
            return answer
        with timer.stage("model"):
            await self._open_embedder()
        with timer.stage("search"):
            evidence = self.config.answer.evidence if k is None else k
            run = await self._search(
                identity, question, evidence, mode, lang, filters, fusion, exact, False, as_of, rerank
            )
        usage: Mapping[str, int] = {}
        if budget is not None:
            with timer.stage("assembly"):
                run, usage = await self._within(identity, run, budget)
        with timer.stage("evidence"):
            gathered = await self._gather(identity, question, run)
        with timer.stage("compose"):
            draft = await compose(
                gathered, await self._open_embedder(), self.config.answer, self.config.answer.threshold
            )
        with timer.stage("supersession"):
            superseded = await self._replaced(identity, draft, run)
        answer = outcome.drafted(
            question, draft, run.result, superseded, identity, timer.finish(), self.config.answer.threshold
        )
        answer = replace(answer, usage={**answer.usage, **usage})
        await self._keep_answer(identity, answer, {"signals": draft.signals, **search_record(run.result)})
        self._sample(identity, run)
        return answer

    async def _within(
        self, identity: Identity, run: SearchRun, budget: int
    ) -> tuple[SearchRun, Mapping[str, int]]:
        """The search as if it had found what fits, and the figures of that."""
        assembled = await self._assembled(identity, run, Wanted(budget), await self._counter())
        hits = evidence_of(run.result.hits, assembled)
        notes = [*run.result.notes, *assembled.notes]
        if assembled.left_out:
            notes.append(
                f"{len(assembled.left_out)} of {len(run.result.hits)} hits did not fit the budget of {budget} tokens"
            )
        usage = {"budget": budget, "evidence_tokens": assembled.tokens, "evidence": len(hits)}
        return replace(run, result=replace(run.result, hits=hits, notes=tuple(notes))), usage

    async def _gather(self, identity: Identity, question: str, run: SearchRun) -> Evidence:
        """Judged by what the question asks for: a word that it excludes is not missed."""
        result, question = run.result, read_marks(question).text
        words = subject_words(spelled(question, result.lang), result.lang)
        revisions = {h.document.revision_id for h in result.hits if h.document.revision_id}
        async with self._database.transaction(identity, plan="once") as connection:
            weights, texts = await answer_store.read_evidence(
                connection, words, analyser_for(result.lang), sorted(revisions)
            )
        tops = {arm: tuple(c.chunk_id for c in candidates) for arm, candidates in run.arms.items()}
        return Evidence(
            question=question,
            lang=result.lang,
            space=(await self.space()).spec.name if run.arms.get("semantic") else "",
            hits=result.hits,
            texts={key: found.text for key, found in texts.items()},
            pages={key: found.page_starts for key, found in texts.items()},
            recognised={key: found.recognised for key, found in texts.items()},
            words=weights,
            vector=run.vector,
            dense_pool=tuple(c.score for c in run.arms.get("semantic", ())),
            lexical_top=tops.get("lexical", ()),
            semantic_top=tops.get("semantic", ()),
        )

    async def _replaced(self, identity: Identity, draft: Draft, run: SearchRun) -> tuple[Superseded, ...]:
        """What the cited documents replaced, so that a reader learns that guidance changed."""
        cited = {(c.source, c.external_id) for c in draft.citations}
        ids = {
            h.document.document_id
            for h in run.result.hits
            if (h.document.source, h.document.external_id) in cited
        }
        if not ids:
            return ()
        async with self._database.transaction(identity) as connection:
            return await answer_store.replaced_documents(connection, sorted(i for i in ids if i))

    async def _keep_answer(self, identity: Identity, answer: Answer, search: Mapping[str, Any]) -> None:
        record = {**search, **answer_record(answer)}
        async with self._database.transaction(identity) as connection:
            await traces.insert(connection, answer.trace_id, "ask", answer.question, answer.outcome, record)

    async def trace(self, trace_id: str) -> Trace:
        """A stored trace by its id, or a unique beginning of it."""
        async with self._database.transaction(await self.identity()) as connection:
            return await traces.find(connection, trace_id)

    async def explain_trace(self, trace_id: str) -> Mapping[str, Any]:
        """The stored trace with the live text of what it cites, under the caller's own rights; or that it is gone."""
        identity = await self.identity()
        async with self._database.transaction(identity) as connection:
            found = await traces.find(connection, trace_id)
            live = await traces.live_quotes(connection, found)
        return explained(found, live, identity.tenant)


async def _deep_enough(ask: Callable[[int], Awaitable[SearchRun]], documents: int) -> SearchRun:
    """A search so deep that its hits are of that many documents, if so many match: how deep that is, nobody knows before."""
    depth = min(max(documents, DEEPEST), 3 * documents)
    while True:
        run = await ask(depth)
        hits = run.result.hits
        if len(hits) < depth or depth >= max(documents, DEEPEST):
            return run
        if len({hit.document.document_id for hit in hits}) >= documents:
            return run
        depth = min(max(documents, DEEPEST), 4 * depth)


def _context(
    result: SearchResult, wanted: Wanted, assembled: Assembled, timer: Timer, *, traced: bool
) -> Context:
    timings = dict(result.timings_ms)
    total = timings.pop("total", 0.0) + timer.stages["assembly"]
    assert wanted.budget is not None
    return Context(
        trace_id=result.trace_id if traced else None,
        question=result.question,
        lang=result.lang,
        mode=result.mode,
        as_of=result.as_of,
        budget=wanted.budget,
        tokens=assembled.tokens,
        sufficiency=result.sufficiency,
        threshold=result.threshold,
        passages=assembled.passages,
        left_out=assembled.left_out,
        notes=(*result.notes, *assembled.notes),
        timings_ms={**timings, **timer.stages, "total": round(total, 3)},
        text=rendered(assembled.passages),
    )


def _context_record(found: Context, wanted: Wanted) -> dict[str, Any]:
    """Ids, offsets and settings; no text."""
    passages = [
        {
            "n": passage.n,
            "revision_id": passage.document.revision_id,
            "spans": passage.spans,
            "chunks": [chunk.chunk_id for chunk in passage.chunks],
            "truncated": passage.truncated,
        }
        for passage in found.passages
    ]
    left = [{"rank": one.rank, "why": one.why} for one in found.left_out]
    return {**asdict(wanted), "tokens": found.tokens, "passages": passages, "left_out": left}


def question_lang(lang: str) -> str:
    return check_lang(lang, ("auto", "any"), ANALYSERS)
