"""Why an expected passage was not found, and what brings it back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Self

from veraz.answer.pipeline import assess, compose
from veraz.diagnosis.asked import Asked, Trial
from veraz.diagnosis.looked import Answered, Cited, Group, Looked
from veraz.diagnosis.pipeline import Expected, Surroundings
from veraz.diagnosis.pipeline import diagnose as follow
from veraz.diagnosis.suite import JudgedRun, spread, summarised
from veraz.engine.evaluation import CORPUS, AskedAs, Evaluation
from veraz.engine.questions import question_lang
from veraz.errors import UsageError
from veraz.evaluation.dataset import Dataset, load_dataset
from veraz.evaluation.perquery import read_results
from veraz.ingest.plan import analyser_for
from veraz.ingest.tally import Progress
from veraz.nouns.corpus import EmbeddingBatch, Identity, TextKind, TokenBatch
from veraz.nouns.diagnosis import Diagnosis, Missed, SuiteDiagnosis, Verb
from veraz.nouns.evidence import Hit, Mode
from veraz.nouns.fusion import Fusion
from veraz.nouns.question import Filters
from veraz.providers.ports import Embedder, TokenEncoder
from veraz.query.clean import MODES, check_choice, check_count, check_search, check_type, clean_question
from veraz.query.route import route
from veraz.search import store as search_store
from veraz.search.fusion import Fused
from veraz.search.pipeline import every_group
from veraz.search.request import SearchRun
from veraz.search.reranking import RerankRun
from veraz.search.syntax import read as read_marks

VERBS = ("search", "ask")


class Diagnoses(Evaluation):
    """Which stage lost a passage."""

    async def diagnose(
        self,
        question: str,
        *,
        expect: str,
        source: str | None = None,
        fact: str | None = None,
        k: int | None = None,
        mode: Mode = "hybrid",
        lang: str = "auto",
        filters: Filters | None = None,
        fusion: Fusion | None = None,
        rerank: str | None = None,
        exact: bool = False,
        as_of: date | None = None,
        verb: Verb = "ask",
    ) -> Diagnosis:
        """The first stage that lost an expected passage on its way into an answer (`verb` search: into the hits), and the
        smallest change that brings it back. `expect` is an external id, or one with the order of a chunk, `ID#3`; `source` the
        source that holds it, where several do; `fact` text that must be in the passage. Leaves no trace and writes nothing. What
        the caller may not know of is told as what was never ingested: labels that are missing and failures are the operator's
        to know. Raises UsageError where several sources hold the id."""
        question, filters = clean_question(question), Filters() if filters is None else filters
        check_search(
            k=k, mode=mode, lang=lang, filters=filters, as_of=as_of, fusion=fusion, rerank=rerank,
            declared=self.config.filters.meta,
        )  # fmt: skip
        check_choice("verb", verb, VERBS)
        for name, value in (("expect", expect), ("source", source), ("fact", fact)):
            check_type(name, value, str, optional=name != "expect")
        identity = await self.identity()
        resolved = self._resolved(filters, as_of)
        asked = Asked(
            question, k, mode, question_lang(lang), resolved, fusion, exact, as_of, verb, rerank=rerank
        )
        around = await self._surroundings(identity)
        return await follow(around, Expected(expect, source, fact), Trial(asked, self.config))

    async def diagnose_suite(
        self,
        folder: Path | None = None,
        *,
        run: Path | None = None,
        source: str | None = None,
        qrels: Path | None = None,
        k: int = 10,
        mode: Mode = "hybrid",
        where: str | None = None,
        most: int = 200,
        progress: Callable[[int, int], None] | None = None,
        ingest_progress: Progress | None = None,
    ) -> SuiteDiagnosis:
        """Why the relevant documents of a judged folder are not among the first k: each with its stage, clustered. A folder with
        a corpus is loaded into a tenant of its own, as `evaluate` does. `run` takes what was found from a stored run (its folder
        or per-query file) in place of searching; without a folder only misses that the file lists can be told. At most `most`
        are followed, evenly over all misses; the rest is counted. Raises UsageError where neither is given."""
        check_choice("mode", mode, MODES)
        check_count("k", k)
        check_count("most", most)
        if folder is None and run is None:
            raise UsageError(
                "nothing says what was expected",
                fix="give a judged folder, or a run that `veraz eval run --out` wrote",
            )
        results = await asyncio.to_thread(read_results, run) if run is not None else ()
        dataset = await asyncio.to_thread(load_dataset, folder, qrels=qrels) if folder is not None else None
        identity = await self.identity()
        if dataset is not None and dataset.corpus_path is not None and source is None:
            identity = await self._evaluation_tenant(dataset, ingest_progress)
        if source is not None:
            await self._check_source(identity, source)
        suite = JudgedRun.of(dataset, results, k) if dataset is not None else JudgedRun.of_run(results, k)
        asking: Mapping[str, AskedAs] = {}
        if dataset is not None:
            looked_in = CORPUS if dataset.corpus_path is not None and dataset.manifest else None
            asking = await self._asking(identity, dataset.asked, dataset.sources, source or looked_in, where)
        trials = await self._suite_trials(
            identity, dataset, suite, asking, k=k, mode=mode, source=source, where=where
        )
        missed = await self._missed(trials, suite, k, progress)
        failures = []
        followed = spread(missed, most)
        for done, (query_id, name, grade) in enumerate(followed, 1):
            around, trial = trials[query_id]
            diagnosis = await follow(around, Expected(name, source), trial)
            failures.append(Missed(query_id, grade, diagnosis))
            if progress is not None:
                progress(done, len(followed))
        return summarised(suite, failures, k=k, mode=mode, missed=len(missed))

    async def _missed(
        self,
        trials: Mapping[str, tuple[Surroundings, Trial]],
        suite: JudgedRun,
        k: int,
        progress: Callable[[int, int], None] | None,
    ) -> list[tuple[str, str, int]]:
        """Query, document and grade of what is not among the first k: as the stored run says, else by searching."""
        missed: list[tuple[str, str, int]] = []
        for done, (query_id, grades) in enumerate(suite.wanted.items(), 1):
            if suite.found is not None:
                found = suite.found.get(query_id, frozenset())
            else:
                around, trial = trials[query_id]
                groups = (await around.look(trial)).groups[:k]
                found = frozenset(name for group in groups for name in group.names)
            missed += [(query_id, name, grade) for name, grade in grades.items() if name not in found]
            if progress is not None:
                progress(done, len(suite.wanted))
        return missed

    async def _suite_trials(
        self,
        identity: Identity,
        dataset: Dataset | None,
        suite: JudgedRun,
        asking: Mapping[str, AskedAs],
        *,
        k: int,
        mode: Mode,
        source: str | None,
        where: str | None,
    ) -> dict[str, tuple[Surroundings, Trial]]:
        """Each judged question as an evaluation asks it: by whom, in what it looks, on which day. One that a run alone names, or
        a folder that says nothing of it, is asked as it stands."""
        alone = AskedAs(identity, Filters(sources=(source,) if source else None, where=where), "auto")
        around: dict[Identity, Surroundings] = {}
        trials = {}
        for query_id in suite.wanted:
            who = asking.get(query_id, alone)
            request = dataset.asked.get(query_id) if dataset is not None else None
            day = request.as_of if request is not None else None
            asked = Asked(
                clean_question(suite.texts[query_id]), k=k, mode=mode, lang=who.lang,
                filters=self._resolved(who.filters, day), as_of=day, verb="search", roles=who.identity.roles,
            )  # fmt: skip
            if who.identity not in around:
                around[who.identity] = await self._surroundings(who.identity)
            trials[query_id] = around[who.identity], Trial(asked, self.config)
        return trials

    async def _surroundings(self, identity: Identity) -> Surroundings:
        """With an embedder that remembers the question: it is searched again for each change that is tried."""
        other = copy(self)
        space = await self.space()
        other._models = replace(self._models, embedder=QuestionMemory(await self._open_embedder()))
        return Surroundings(
            self._database,
            identity,
            space.space_id,
            space.spec.name,
            knows_all=identity.operator,
            route=_rule_of,
            look=partial(other._look, identity),
            answer=partial(other._try_answer, identity),
        )

    async def _run_trial(self, identity: Identity, trial: Trial, k: int) -> tuple[Self, Identity, SearchRun]:
        """Searches as another request or configuration would; no trace is kept."""
        asked, other = trial.asked, copy(self)
        other.config = trial.config
        acting = identity if asked.roles is None else replace(identity, roles=asked.roles)
        run = await other._search(
            acting, asked.question, k, asked.mode, asked.lang, asked.filters, asked.fusion, asked.exact, False, asked.as_of,
            asked.rerank,
        )  # fmt: skip
        return other, acting, run

    async def _look(self, identity: Identity, trial: Trial) -> Looked:
        _, acting, run = await self._run_trial(identity, trial, trial.limit)
        groups = await every_group(self._database, acting, run)
        analyser = analyser_for(run.result.lang)
        postings = 0
        if "lexical" in run.arms and trial.asked.as_of is None:
            words = search_store.LexicalQuestion(
                read_marks(trial.asked.question.strip()).text, analyser, 1, 1, 1
            )
            async with self._database.transaction(acting) as connection:
                _, postings = await search_store.posting_count(connection, words)
        return Looked(
            lang=run.result.lang,
            analyser=analyser,
            groups=tuple(_in_order(groups, run.reranked)),
            arms={arm: tuple((c.chunk_id, c.score) for c in found) for arm, found in run.arms.items()},
            exact=run.exact,
            pool=run.result.config["pool"],
            postings=postings,
            reranker=run.result.config["rerank"]["name"]
            if run.reranked is not None and run.reranked.fallback is None
            else None,
        )

    async def _try_answer(self, identity: Identity, trial: Trial) -> Answered:
        evidence = trial.config.answer.evidence if trial.asked.k is None else trial.asked.k
        other, acting, run = await self._run_trial(identity, trial, evidence)
        gathered = await other._gather(acting, trial.asked.question, run)
        lacking = assess(gathered).lacking
        settings = trial.config.answer
        draft = await compose(gathered, await other._open_embedder(), settings, settings.threshold)
        return Answered(
            outcome=draft.outcome,
            probability=draft.sufficiency,
            lacking=lacking.kind if lacking else None,
            missing=lacking.missing if lacking else (),
            cited=tuple(Cited(c.source, c.external_id, c.revision, c.start, c.end) for c in draft.citations),
            dropped=tuple((d.text, d.why) for d in draft.dropped),
            reason=draft.reason,
        )


class QuestionMemory:
    """An embedder that keeps the vectors of questions: the same one is asked again and again."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, EmbeddingBatch] = {}
        self.space = embedder.space

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        if kind != "query" or len(texts) != 1:
            return await self._embedder.embed(texts, kind)
        if texts[0] not in self._known:
            self._known[texts[0]] = await self._embedder.embed(texts, kind)
        return self._known[texts[0]]

    @property
    def gives_tokens(self) -> bool:
        return isinstance(self._embedder, TokenEncoder) and self._embedder.gives_tokens

    async def encode_tokens(self, texts: Sequence[str], kind: TextKind) -> TokenBatch:
        assert isinstance(self._embedder, TokenEncoder)
        return await self._embedder.encode_tokens(texts, kind)


def _rule_of(question: str, lang: str) -> str | None:
    rule = route(question, None if lang in ("auto", "any") else lang)
    return rule.rule if rule else None


def _in_order(groups: Sequence[tuple[Fused, Sequence[Hit]]], reranked: RerankRun | None) -> Iterator[Group]:
    """All groups in the order that search shows: those that it read as the reranker has them, the others behind."""
    order = [(entry.position, entry.score) for entry in reranked.order] if reranked is not None else []
    order += [(place, fused.score) for place, (fused, _) in enumerate(groups) if place >= len(order)]
    for rank, (place, score) in enumerate(order, 1):
        yield _group(rank, place + 1, score, groups[place][1])


def _group(rank: int, fused_rank: int, score: float, hits: Sequence[Hit]) -> Group:
    return Group(
        rank=rank,
        fused_rank=fused_rank,
        score=score,
        chunks=tuple(h.chunk_id for h in hits),
        documents=tuple(h.document.document_id for h in hits if h.document.document_id),
        names=tuple(h.document.external_id for h in hits),
        sources=tuple(h.document.source for h in hits),
    )
