"""Follows a passage from stage to stage until one has lost it, and tries the changes that could bring it back.

How a question is routed, searched and answered is given to it: those are other stages' work, done by the same statements, as the
same role, as for who asks.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import get_args

from veraz.db.session import Connection, Database
from veraz.diagnosis import commands, store, stored
from veraz.diagnosis.asked import Trial, applied, configured
from veraz.diagnosis.facts import (
    Excluding,
    KnownChunk,
    KnownDocument,
    KnownFailure,
    KnownRevision,
    QuestionWord,
    found,
    words_of,
)
from veraz.diagnosis.looked import (
    Aim,
    Answered,
    Looked,
    Placed,
    arm_facts,
    arm_rank,
    best_arm_rank,
    placed,
)
from veraz.diagnosis.stored import Passage, Verdict
from veraz.errors import UsageError
from veraz.nouns.corpus import Identity
from veraz.nouns.diagnosis import Change, Diagnosis, Stage, StagePassed
from veraz.nouns.fusion import Fusion
from veraz.text.decode import require_storable

STAGES: tuple[Stage, ...] = get_args(Stage)
DEEPEST = 100_000
"""Candidates of an arm that are looked through for a rank."""
MOST_HITS = 1000
"""The most that a search may be asked for."""
MOST_EF_SEARCH = 1000
WEIGHTS = tuple(n / 20 for n in range(21))
CLOSE = 0.75
"""difflib ratio from which a word of the passage counts as what a word of the question means."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a diagnosis is given. `look` and `answer` leave no trace; `space` is the active embedding space; `knows_all`: who asks
    may know of documents that the roles do not open, of failures, and of deletions."""

    database: Database
    identity: Identity
    space_id: int
    space: str
    knows_all: bool
    route: Callable[[str, str], str | None]
    look: Callable[[Trial], Awaitable[Looked]]
    answer: Callable[[Trial], Awaitable[Answered]]


@dataclass(frozen=True, slots=True)
class Expected:
    """What was expected: `EXTERNAL_ID` or `EXTERNAL_ID#ORD`, of `source` where that is stated; `fact`: text that must be in the
    passage."""

    name: str
    source: str | None = None
    fact: str | None = None

    def readings(self) -> Iterator[tuple[str, int | None]]:
        """As an id, and where it ends in #number as an id with an order. An id may end so itself."""
        yield self.name, None
        head, mark, number = self.name.rpartition("#")
        if mark and head and number.isascii() and number.isdecimal() and len(number) < 9:
            yield head, int(number)


async def diagnose(around: Surroundings, expected: Expected, trial: Trial) -> Diagnosis:
    """The first stage that lost the passage. Raises UsageError where several sources hold the id and none is named."""
    require_storable("document", expected.name, expected.source)
    require_storable("fact", expected.fact)
    walk = _Walk(around, expected, trial)
    verdict = await walk.verdict()
    return walk.diagnosis(verdict)


class _Walk:
    def __init__(self, around: Surroundings, expected: Expected, trial: Trial) -> None:
        self._around = around
        self._expected = expected
        self._trial = trial
        self._rows: list[StagePassed] = []
        self._lang: str | None = None
        self._rank: int | None = None
        self._document: KnownDocument | None = None
        self._ord: int | None = None
        self._revision: KnownRevision | None = None

    # --- what comes of it

    def diagnosis(self, verdict: Verdict) -> Diagnosis:
        trial = self._trial
        first, others = (verdict.changes[0], verdict.changes[1:]) if verdict.changes else (None, ())
        if verdict.stage != "found":
            self._rows.append(StagePassed(verdict.stage, "lost", verdict.detail, verdict.facts))
        return Diagnosis(
            question=trial.asked.question,
            expect=self._expected.name,
            source=self._document.source if self._document else self._expected.source,
            ord=self._ord,
            revision=self._revision.number if self._revision else None,
            stage=verdict.stage,
            cause=verdict.cause,
            detail=verdict.detail,
            rank=self._rank,
            change=first,
            others=tuple(others),
            rows=tuple(self._rows),
            lang=self._lang,
            mode=trial.asked.mode,
            verb=trial.asked.verb,
        )

    def _pass(self, stage: Stage, detail: str, **facts: object) -> None:
        self._rows.append(StagePassed(stage, "passed", detail, facts))

    # --- the stages, in order

    async def verdict(self) -> Verdict:
        passage = await self._stored()
        if isinstance(passage, Verdict):
            return passage
        searched = await self._searched(passage)
        if searched is not None:
            return searched
        if self._trial.asked.verb == "ask":
            answered = await self._answered(passage)
            if answered is not None:
                return answered
        detail = f"found, at rank {self._rank}"
        self._pass("found", detail, rank=self._rank)
        return Verdict("found", detail)

    async def _stored(self) -> Passage | Verdict:
        document, revisions, ord_, chunks, failures, excluding = await self._known()
        if document is None:
            return await self._never(failures)
        self._document = document
        self._pass("never_ingested", f"document {document.external_id!r} of source {document.source!r}")
        passage = await self._passage(document, revisions, ord_, chunks)
        if passage is None:
            verdict = stored.deleted(document, has_text=False)
            return verdict or await self._never(failures)
        self._revision = passage.revision
        passage = replace(passage, excluding=excluding)
        trial, now = self._trial, datetime.now(UTC)
        newer = [f for f in failures if f.failed_at >= passage.revisions[0].ingested_at]
        if passage.fact and passage.span is None and newer:
            missing = "the stored revisions do not say it, and a newer version could not be taken"
            verdict = stored.refused(newer, missing=missing)
            assert verdict is not None
            return verdict
        self._pass(
            "refused", f"revision {passage.revision.number} was parsed and stored", known_failures=len(newer)
        )
        roles = trial.asked.roles or self._around.identity.roles
        missing_vector = stored.embedding_missing(passage, self._around.space)
        steps: list[tuple[Stage, Verdict | None, str]] = [
            ("cut", stored.cut(passage, passage.ord, trial), _cut_so(passage)),
            (
                "embedding_missing",
                missing_vector if trial.asked.mode == "semantic" else None,
                "in the active space",
            ),
            (
                "not_current",
                stored.not_current(passage, trial, now.date()),
                "it is the revision that is searched",
            ),
            ("deleted", stored.deleted(document, has_text=True), "not deleted"),
            ("filtered", stored.filtered(passage, trial.asked.filters), "meets every filter"),
            ("not_permitted", stored.not_permitted(document, roles, now), "the roles open it"),
        ]
        for stage, verdict, passed in steps:
            if verdict is not None:
                return await self._tried(verdict, passage)
            self._pass(stage, passed)
        rule = (
            self._around.route(trial.asked.question, trial.asked.lang) if trial.asked.verb == "ask" else None
        )
        if rule is not None:
            detail = (
                f"the rule {rule!r} answers the question with its fixed message before anything is searched"
            )
            return await self._tried(Verdict("routed", detail, (_search_instead(),), rule), passage)
        return passage

    async def _never(self, failures: Sequence[KnownFailure]) -> Verdict:
        """The same words, whoever asks and whatever there is that may not be read."""
        expected = self._expected
        refused = stored.refused(failures, missing="no version of it could be taken")
        if refused is not None:
            self._pass("never_ingested", f"an ingest met {failures[0].external_id!r}")
            return refused
        async with self._around.database.transaction(self._around.identity) as connection:
            near = await store.near_ids(connection, expected.name)
        place = f"source {expected.source!r}" if expected.source else "no source"
        holds = "does not hold" if expected.source else "holds"
        like = ", ".join(f"{n.source}/{n.external_id}" for n in near)
        detail = f"{place} {holds} a document {expected.name!r}" + (f"; alike: {like}" if like else "")
        values = {"source": expected.source, "external_id": expected.name}
        change = Change("ingest", values, commands.ingest(expected.source or "SLUG"))
        return Verdict("never_ingested", detail, (change,))

    async def _known(
        self,
    ) -> tuple[
        KnownDocument | None,
        list[KnownRevision],
        int | None,
        list[KnownChunk],
        list[KnownFailure],
        tuple[Excluding, ...],
    ]:
        """What is stored under the expected id. One statement decides whether who asks may know of it; where it gives nothing,
        nothing else is looked up."""
        readings = dict(self._expected.readings())
        around, failures = self._around, list[KnownFailure]()
        # for readers too: only mode "write" sees deleted rows, and the statement asks for their labels
        reader = replace(around.identity, may_write=True)
        if self._trial.asked.roles is not None:
            reader = replace(reader, roles=self._trial.asked.roles)
        async with around.database.transaction(reader, "write") as connection:
            documents = await store.expected_documents(
                connection, list(readings), self._expected.source, knows_all=around.knows_all
            )
            if around.knows_all:
                failures = await store.known_failures(connection, list(readings), self._expected.source)
            document = self._choose(documents)
            if document is None:
                return None, [], None, [], failures, ()
            revisions = await store.expected_revisions(
                connection, document.document_id, with_text=self._expected.fact is not None
            )
            ord_ = readings[document.external_id]
            chunks = await self._chunks(connection, document, revisions)
            filters = self._trial.asked.filters
            excluding = await store.filter_parts(connection, filters, [c.chunk_id for c in chunks])
        return document, revisions, ord_, chunks, failures, excluding

    def _choose(self, documents: Sequence[KnownDocument]) -> KnownDocument | None:
        whole = [d for d in documents if d.external_id == self._expected.name]
        meant = whole or list(documents)
        if len(meant) > 1:
            raise UsageError(
                f"{self._expected.name!r} is in several sources: {', '.join(d.source for d in meant)}",
                fix="name one with --source",
            )
        return meant[0] if meant else None

    async def _chunks(
        self, connection: Connection, document: KnownDocument, revisions: Sequence[KnownRevision]
    ) -> list[KnownChunk]:
        chosen, _ = stored.choose_revision(document, revisions, self._expected.fact, self._trial.asked.as_of)
        if chosen is None:
            return []
        return await store.expected_chunks(connection, self._around.space_id, chosen.revision_id)

    async def _passage(
        self,
        document: KnownDocument,
        revisions: Sequence[KnownRevision],
        ord_: int | None,
        chunks: Sequence[KnownChunk],
    ) -> Passage | None:
        fact = self._expected.fact
        revision, shown = stored.choose_revision(document, revisions, fact, self._trial.asked.as_of)
        if revision is None:
            return None
        targets = tuple(c for c in chunks if ord_ is None or c.ord == ord_)
        span = found(fact, revision.text) if fact else None
        if fact:
            saying = tuple(c for c in chunks if c.says(fact))
            targets = tuple(c for c in saying if c in targets) or saying
        self._ord = ord_ if ord_ is not None else (targets[0].ord if len(targets) == 1 else None)
        return Passage(document, tuple(revisions), revision, shown, tuple(chunks), targets, fact, span, ord_)

    # --- trying changes

    async def _tried(self, verdict: Verdict, passage: Passage) -> Verdict:
        """The verdict, each change that can be tried marked by whether the passage came back: a second fault may be behind."""
        changes = []
        for change in verdict.changes:
            if change.kind in ("request", "settings"):
                tried = await self._finds(applied(self._trial, change), passage)
                changes.append(replace(change, verified=tried or None))
            else:
                changes.append(change)
        return replace(verdict, changes=tuple(changes))

    async def _finds(self, trial: Trial, passage: Passage) -> bool:
        place = await self._place(trial, passage)
        return place is not None and place.within(trial.limit)

    async def _place(self, trial: Trial, passage: Passage) -> Placed | None:
        looked = await self._around.look(trial)
        return placed(looked, passage.ids, passage.document.document_id, trial.limit)

    async def _working(
        self, changes: Sequence[Change], passage: Passage, most: int = 3
    ) -> tuple[Change, ...]:
        """Those of the changes after which a search finds the passage, in their order."""
        working: list[Change] = []
        for change in changes:
            if len(working) < most and await self._finds(applied(self._trial, change), passage):
                working.append(replace(change, verified=True))
        return tuple(working)

    # --- searching

    async def _searched(self, passage: Passage) -> Verdict | None:
        trial = self._trial
        looked = await self._around.look(trial)
        self._lang = looked.lang
        place = placed(looked, passage.ids, passage.document.document_id, trial.limit)
        facts = arm_facts(looked, passage.ids)
        if place is not None and place.within(trial.limit):
            self._rank = place.rank
            self._pass_arms(looked, passage)
            if looked.reranker is not None:
                before = place.group.fused_rank
                detail = f"rank {place.rank} by the reranker {looked.reranker}, rank {before} as fused"
                self._pass("lost_in_rerank", detail, fused_rank=before)
            self._pass("cut_by_k", f"rank {place.rank} of the first {trial.limit}", rank=place.rank, **facts)
            return None
        if place is not None and place.is_folded and place.rank <= trial.limit:
            self._pass_arms(looked, passage)
            return await self._folded(place, passage)
        words = await self._words(looked, passage)
        lost = await self._headless(words, passage) or await self._other_language(looked, words, passage)
        if lost is not None:
            return lost
        missing_vector = stored.embedding_missing(passage, self._around.space)
        if trial.asked.mode == "hybrid" and missing_vector is not None:
            return missing_vector
        exact = looked
        if trial.asked.as_of is None and not all(looked.exact.values()):
            exact = await self._around.look(replace(trial, asked=replace(trial.asked, exact=True)))
        approximate = await self._approximated(looked, exact, passage)
        if approximate is not None:
            return approximate
        if best_arm_rank(exact, passage.ids) is None:
            return await self._beyond_the_pools(looked, words, passage)
        self._pass_arms(looked, passage)
        assert place is not None
        return await self._outranked(looked, place, passage)

    def _pass_arms(self, looked: Looked, passage: Passage) -> None:
        stages: tuple[tuple[str, Stage], ...] = (
            ("lexical", "not_in_lexical_pool"),
            ("semantic", "not_in_semantic_pool"),
        )
        for arm, stage in stages:
            rank = arm_rank(looked, arm, passage.ids)
            if arm not in looked.arms:
                detail = f"mode {self._trial.asked.mode} does not ask it"
                self._rows.append(StagePassed(stage, "unasked", detail))
            elif rank is None:
                detail = f"not among its {len(looked.arms[arm])} candidates"
                self._rows.append(StagePassed(stage, "lost", detail))
            else:
                self._pass(stage, f"rank {rank[0]}", rank=rank[0], score=round(rank[1], 6))

    async def _folded(self, place: Placed, passage: Passage) -> Verdict:
        group, document = place.group, passage.document
        detail = (
            f"{group.sources[0]}/{group.names[0]} says the same and ranks first: rank {place.rank} shows it once, and names this "
            "document as another that says so"
        )
        own = Change("request", {"filters": {"sources": (document.source,)}}, f"--source {document.source}")
        changes = await self._working([own], passage)
        if group.sources[0] == document.source and self._around.identity.may_write:
            values = {"source": document.source, "external_id": group.names[0], "by": document.external_id}
            command = commands.supersede(group.names[0], document.external_id, document.source)
            changes = (*changes, Change("supersede", values, command))
        self._rank = place.rank
        return Verdict("folded", detail, changes, facts={"rank": place.rank, "shown_as": group.names[0]})

    async def _words(self, looked: Looked, passage: Passage) -> list[QuestionWord]:
        """What became of the question's words in the passage. Nothing of one that may not be read."""
        target = passage.targets[0]
        heading = "\n".join((passage.revision.title, *target.heading_path))
        identity = self._around.identity
        if self._trial.asked.roles is not None:
            identity = replace(identity, roles=self._trial.asked.roles)
        async with self._around.database.transaction(identity) as connection:
            return await store.question_words(
                connection, words_of(self._trial.asked.question), looked.analyser, target.chunk_id, heading
            )

    async def _headless(self, words: Sequence[QuestionWord], passage: Passage) -> Verdict | None:
        """Words of the question that only the headings say, where these are not part of what was embedded."""
        if any(target.header for target in passage.targets):
            return None
        named = [w.word for w in words if w.is_in_heading and not w.is_there]
        if not named:
            return None
        document = passage.document
        values = {"source": document.source, "external_id": document.external_id, "ingest": {"header": True}}
        command = f"{commands.setting('ingest.header', value=True)}; {commands.ingest(document.source)}"
        detail = f"only its headings say {', '.join(named)}, and the passage was embedded without them"
        return Verdict("cut", detail, (Change("reingest", values, command),), "header")

    async def _other_language(
        self, looked: Looked, words: Sequence[QuestionWord], passage: Passage
    ) -> Verdict | None:
        """Words that the question's analyser takes for function words, where another one finds the passage by them."""
        lost = [w.word for w in words if not w.is_kept and w.is_there]
        if not lost or arm_rank(looked, "lexical", passage.ids) or "lexical" not in looked.arms:
            return None
        spoken = dict.fromkeys((*(c.lang for c in passage.targets), "xx"))
        changes = [
            Change("request", {"lang": lang}, f"--lang {lang}")
            for lang in spoken
            if lang not in (looked.lang, "und")
        ]
        working = await self._working(changes, passage)
        if not working:
            return None
        detail = f"the question was read as {looked.lang}, whose analyser drops {', '.join(lost)}: words that the passage says"
        return Verdict("not_in_lexical_pool", detail, working, "language", {"dropped_words": lost})

    async def _approximated(self, looked: Looked, exact: Looked, passage: Passage) -> Verdict | None:
        """Whether the passage is found, or at least a candidate, where both arms read everything."""
        trial = self._trial
        if exact is looked:
            return None
        place = placed(exact, passage.ids, passage.document.document_id, trial.limit)
        is_back = place is not None and place.within(trial.limit)
        if not is_back and (place is None or best_arm_rank(looked, passage.ids) is not None):
            return None
        k = {} if is_back or place is None else {"k": place.rank}
        lexical = arm_rank(exact, "lexical", passage.ids) if not looked.exact.get("lexical", True) else None
        semantic = (
            arm_rank(exact, "semantic", passage.ids) if not looked.exact.get("semantic", True) else None
        )
        whole = Change("request", {"exact": True, **k}, commands.request({"exact": True, **k}, {}))
        budget = Change(
            "request",
            k,
            commands.request(k, {"search.budget": looked.postings}),
            {"search.budget": looked.postings},
        )
        budget = _settled(budget)
        if lexical is not None and await self._finds(applied(trial, budget), passage):
            changes = await self._working([budget, whole], passage)
            detail = (
                f"the question's words have {looked.postings} postings, {trial.config.search.budget} are read, the passage is "
                f"not among those: rank {lexical[0]} when all are"
            )
            return Verdict(
                "truncated_by_budget",
                detail,
                changes,
                facts={"rank": lexical[0], "postings": looked.postings},
            )
        if semantic is None:
            return None
        present = trial.config.search.ef_search
        efforts = [n for n in (present << doublings for doublings in range(1, 10)) if n < MOST_EF_SEARCH]
        wider = [
            _settled(
                Change("request", k, commands.request(k, {"search.ef_search": n}), {"search.ef_search": n})
            )
            for n in (*efforts, MOST_EF_SEARCH)
            if n > present
        ]
        changes = (*await self._working(wider, passage, 1), *await self._working([whole], passage))
        detail = f"the approximate index missed it: rank {semantic[0]} of {exact.pool} when every vector is compared"
        return Verdict("approximate_miss", detail, changes, facts={"rank": semantic[0]})

    async def _beyond_the_pools(
        self, looked: Looked, words: Sequence[QuestionWord], passage: Passage
    ) -> Verdict:
        trial = self._trial
        deep = await self._deeper(passage)
        ranks = {arm: arm_rank(deep, arm, passage.ids) for arm in deep.arms}
        lexical, semantic = ranks.get("lexical"), ranks.get("semantic")
        changes = await self._reaching(deep, words, passage)
        facts = arm_facts(deep, passage.ids)
        if trial.asked.mode != "semantic":
            missing = [w.word for w in words if w.is_kept and not w.is_there]
            told = f"; the passage does not say {', '.join(missing)}" if missing else ""
            rank = (
                f"rank {lexical[0]}, beyond the pool of {looked.pool}"
                if lexical
                else "no word of the question is in it"
            )
            beside = f"; semantic rank {semantic[0]}" if semantic else ""
            detail = f"not a candidate of the lexical arm: {rank}{told}{beside}"
            analysed = {w.word: w.lexemes for w in words}
            cause = "rank" if lexical else "words"
            return Verdict(
                "not_in_lexical_pool",
                detail,
                changes,
                cause,
                {**facts, "missing": missing, "analysed": analysed},
            )
        rank = f"rank {semantic[0]}" if semantic else f"it is beyond the first {deep.pool}"
        detail = f"not a candidate of the semantic arm: {rank} when every vector is compared, beyond the pool of {looked.pool}"
        return Verdict("not_in_semantic_pool", detail, changes, "rank", facts)

    async def _deeper(self, passage: Passage) -> Looked:
        """Ever deeper, reading everything, until an arm has the passage or all have ended."""
        trial = self._trial
        pool = trial.config.search.pool
        while True:
            pool *= 10
            deep = await self._around.look(_with_pool(trial, pool, exact=True))
            is_there = all(arm_rank(deep, arm, passage.ids) for arm in deep.arms)
            has_ended = all(len(candidates) < deep.pool for candidates in deep.arms.values())
            if is_there or has_ended or pool >= DEEPEST:
                return deep

    async def _reaching(
        self, deep: Looked, words: Sequence[QuestionWord], passage: Passage
    ) -> tuple[Change, ...]:
        """What could bring in a passage that is no arm's candidate: the other arm, the words that it says, deeper pools."""
        trial, changes = self._trial, list[Change]()
        if trial.asked.mode != "hybrid":
            changes.append(Change("request", {"mode": "hybrid"}, "--mode hybrid"))
            other = "lexical" if trial.asked.mode == "semantic" else "semantic"
            changes.append(Change("request", {"mode": other}, f"--mode {other}"))
        if reworded := _reworded(trial.asked.question, words, passage):
            changes.append(
                Change("request", {"question": reworded}, commands.request({"question": reworded}, {}))
            )
        working = await self._working(changes, passage)
        best = best_arm_rank(deep, passage.ids)
        if best is not None:
            working = (*working, *await self._with_pools(best[1], passage))
        elif not working and trial.asked.mode == "lexical":
            working = await self._with_the_other_arm(passage)
        return working

    async def _with_pools(self, rank: int, passage: Passage) -> tuple[Change, ...]:
        """The pool that holds the passage, and the k that shows it."""
        trial = self._trial
        settings = {"search.pool": rank}
        place = await self._place(_with_pool(trial, rank, exact=False), passage)
        if place is None:
            rank, place = 2 * rank, await self._place(_with_pool(trial, 2 * rank, exact=False), passage)
            settings = {"search.pool": rank}
        if place is None or place.rank > MOST_HITS:
            return ()
        values = {} if place.within(trial.limit) else {"k": place.rank}
        change = Change("request", values, commands.request(values, settings), settings)
        return await self._working([_settled(change)], passage)

    async def _with_the_other_arm(self, passage: Passage) -> tuple[Change, ...]:
        """A paraphrase shares no word with the passage: the semantic arm may have it, further down."""
        semantic = Trial(replace(self._trial.asked, mode="semantic"), self._trial.config)
        place = await self._place(semantic, passage)
        if place is None or place.is_folded or place.rank > MOST_HITS:
            return ()
        values = {"mode": "semantic", "k": place.rank}
        return await self._working([Change("request", values, commands.request(values, {}))], passage)

    async def _outranked(self, looked: Looked, place: Placed, passage: Passage) -> Verdict:
        trial = self._trial
        facts = {"rank": place.rank, **arm_facts(looked, passage.ids)}
        best = best_arm_rank(looked, passage.ids)
        self._rank = place.rank
        before = place.group.fused_rank
        further = (
            [Change("request", {"k": place.rank}, f"-k {place.rank}")] if place.rank <= MOST_HITS else []
        )
        if looked.reranker is not None and before <= trial.limit:
            detail = f"rank {place.rank} by the reranker {looked.reranker}, beyond {trial.limit}; rank {before} as fused"
            plain = Change("request", {"rerank": "none"}, "--rerank none")
            changes = await self._working([plain, *further], passage)
            return Verdict(
                "lost_in_rerank", detail, changes, looked.reranker, {**facts, "fused_rank": before}
            )
        if len(looked.arms) > 1 and best is not None and best[1] <= trial.limit:
            ranks = ", ".join(
                f"{arm} {facts[arm]['rank'] if arm in facts else 'not at all'}" for arm in looked.arms
            )
            detail = f"rank {place.rank} after fusion, beyond {trial.limit}; in the arms: {ranks}"
            tried = await self._working(list(self._fusions(best[0])), passage, 1)
            return Verdict(
                "lost_in_fusion", detail, (*tried, *await self._working(further, passage)), best[0], facts
            )
        detail = f"rank {place.rank}, and the first {trial.limit} are shown"
        return Verdict("cut_by_k", detail, await self._working(further, passage), facts=facts)

    def _fusions(self, arm: str) -> Iterator[Change]:
        """The other methods; weights, the nearest first; the one arm alone."""
        settings, asked = self._trial.config.search, self._trial.asked
        for other in get_args(Fusion):
            if other != (asked.fusion or settings.fusion):
                yield Change("request", {"fusion": other}, f"--fusion {other}")
        for weight in sorted(WEIGHTS, key=lambda w: abs(w - settings.semantic_weight)):
            values = {"search.semantic_weight": weight}
            yield Change("settings", values, commands.request({}, values))
        yield Change("request", {"mode": arm}, f"--mode {arm}")

    # --- answering

    async def _answered(self, passage: Passage) -> Verdict | None:
        trial = self._trial
        evidence = trial.config.answer.evidence if trial.asked.k is None else trial.asked.k
        reads = await self._place(replace(trial, asked=replace(trial.asked, k=evidence)), passage)
        rank = reads.rank if reads is not None else self._rank
        if reads is None or not reads.within(evidence):
            values = {"answer.evidence": rank}
            detail = f"rank {rank}, and an answer reads the first {evidence}"
            setting = Change("settings", values, commands.request({}, values), verified=True)
            flag = Change("request", {"k": rank}, f"-k {rank}", verified=True)
            return Verdict(
                "cut_by_answer_budget", detail, (setting, flag), facts={"rank": rank, "evidence": evidence}
            )
        self._pass("cut_by_answer_budget", f"rank {rank} of the {evidence} that an answer reads")
        answered, aim = await self._around.answer(trial), _aim(passage)
        gone = [why for text, why in answered.dropped if _says(passage, text)]
        if answered.outcome == "insufficient" and not answered.dropped:
            return await self._refused(answered, aim)
        self._pass(
            "under_threshold",
            f"sufficiency {answered.probability:.4f}, threshold {trial.config.answer.threshold}",
        )
        if aim.is_cited(answered):
            self._pass("not_selected", "an answer quotes it")
            return None
        if gone:
            detail = f"validation dropped what was said of it: {gone[0]}"
            return Verdict(
                "dropped_by_validation",
                detail,
                (replace(_search_instead(), verified=True),),
                facts={"why": gone},
            )
        return await self._unselected(answered, passage, aim)

    async def _refused(self, answered: Answered, aim: Aim) -> Verdict:
        threshold = self._trial.config.answer.threshold
        facts = {"sufficiency": round(answered.probability, 4), "threshold": threshold}
        if answered.lacking is not None:
            said = f" ({', '.join(answered.missing)})" if answered.missing else ""
            detail = f"found at rank {self._rank}, and refused by the rule {answered.lacking}{said}, whatever the probability"
            changes = await self._answering(list(self._without(answered.missing)), aim)
            changes = (*changes, replace(_search_instead(), verified=True))
            return Verdict("under_threshold", detail, changes, answered.lacking, facts)
        lower = math.floor(answered.probability * 10_000) / 10_000
        values = {"answer.threshold": lower}
        detail = f"found at rank {self._rank}, and refused: sufficiency {answered.probability:.4f}, threshold {threshold}"
        change = Change("settings", values, commands.request({}, values))
        tried = await self._around.answer(applied(self._trial, change))
        changes = (replace(change, verified=True),) if tried.outcome != "insufficient" else ()
        return Verdict(
            "under_threshold",
            detail,
            (*changes, replace(_search_instead(), verified=True)),
            "probability",
            facts,
        )

    def _without(self, missing: Sequence[str]) -> Iterator[Change]:
        question = self._trial.asked.question
        for word in missing:
            question = " ".join(question.replace(word, " ").split())
        if question != self._trial.asked.question and any(c.isalnum() for c in question):
            yield Change("request", {"question": question}, commands.request({"question": question}, {}))

    async def _unselected(self, answered: Answered, passage: Passage, aim: Aim) -> Verdict:
        detail = f"found at rank {self._rank}, and the answer quotes other passages: {answered.outcome}"
        changes = await self._answering(list(self._roomier(passage)), aim)
        last = replace(_search_instead(), verified=True)
        return Verdict("not_selected", detail, (*changes, last))

    def _roomier(self, passage: Passage) -> Iterator[Change]:
        """An answer of more sentences, of more documents, of both; of this source alone."""
        settings = self._trial.config.answer
        for times in (2, 4, 16):
            sentences, documents = settings.sentences * times, settings.documents * times
            for values in (
                {"answer.sentences": sentences},
                {"answer.documents": documents},
                {"answer.sentences": sentences, "answer.documents": documents},
            ):
                yield Change("settings", values, commands.request({}, values))
        own = passage.document.source
        yield Change("request", {"filters": {"sources": (own,)}}, f"--source {own}")

    async def _answering(self, changes: Sequence[Change], aim: Aim) -> tuple[Change, ...]:
        """The first of the changes after which an answer quotes the passage."""
        for change in changes:
            if aim.is_cited(await self._around.answer(applied(self._trial, change))):
                return (replace(change, verified=True),)
        return ()


def _cut_so(passage: Passage) -> str:
    if not passage.targets:
        return ""
    ords = ", ".join(f"#{c.ord}" for c in passage.targets[:5])
    more = f" and {len(passage.targets) - 5} more" if len(passage.targets) > 5 else ""
    return f"chunk {ords}{more} of revision {passage.revision.number}"


def _search_instead() -> Change:
    return Change("request", {"verb": "search"}, "use `veraz search`")


def _settled(change: Change) -> Change:
    """A change of settings alone, where nothing of the request is changed beside them."""
    return change if change.values else replace(change, kind="settings", values=change.settings, settings={})


def _with_pool(trial: Trial, pool: int, *, exact: bool) -> Trial:
    config = configured(trial.config, {"search.pool": pool})
    return Trial(replace(trial.asked, exact=exact or trial.asked.exact), config)


def _reworded(question: str, words: Sequence[QuestionWord], passage: Passage) -> str | None:
    """The question with words that the passage spells otherwise as it spells them."""
    there = {w.casefold(): w for target in passage.targets for w in words_of(target.display)}
    reworded = question
    for word in (w.word for w in words if w.is_kept and not w.is_there):
        close = difflib.get_close_matches(word.casefold(), list(there), n=1, cutoff=CLOSE)
        if close:
            reworded = reworded.replace(word, there[close[0]])
    return reworded if reworded != question else None


def _aim(passage: Passage) -> Aim:
    if passage.span is not None:
        spans = [(passage.span.start, passage.span.end)]
    else:
        spans = [pair for c in passage.targets for pair in zip(c.spans[::2], c.spans[1::2], strict=True)]
    document = passage.document
    return Aim(document.source, document.external_id, passage.revision.number, spans)


def _says(passage: Passage, text: str) -> bool:
    return any(found(text, target.display) is not None for target in passage.targets)


__all__ = ["STAGES", "Expected", "Surroundings", "diagnose"]
