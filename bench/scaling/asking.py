"""Every way of finding chunks, asked question by question in turn on warm connections: what else the machine does slows all.

Beside the clock's time stands the processor's, of this process and of the server's session, where the system tells it (Linux, a
server on this machine): what others do hardly changes that. Parallel workers of scans are not in it.

All but the recipe run as the runtime role under row-level security. An arm's time is that of its statements; a search's is all of
it: both arms, fusion, the reading of ten hits. Vectors of questions are ready.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, LiteralString

import numpy as np
import psycopg
from peers.arithmetic import turns

from scaling.real import Matrix
from scaling.verdicts import Times, recall
from veraz.db.session import Connection
from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import Mode
from veraz.nouns.question import Filters
from veraz.search import store
from veraz.search.pipeline import run_search
from veraz.search.request import EVERY_POSTING, SearchRequest, few_rows

POOL = 100
"""Of every way that has one; recall is cut at 10 and 50."""
CUTS = (10, 50)
WARM = 8
"""Questions that every way is asked before the clock counts: a statement is prepared from its fifth run on."""
BUDGETS = (25_000, 50_000, 100_000, 200_000, 400_000)
ANALYSER = "en"

SPARSE: LiteralString = """
with idf as materialized (
    select veraz.dimension(t.term) as dimension, sum(t.weight * ln(1 + (s.chunks - p.chunks + 0.5) / (p.chunks + 0.5))) as idf
      from veraz.query_terms(%(question)s, %(analyser)s) t
     cross join (select sum(chunks)::double precision as chunks from veraz.lexical_stat
                  where tenant_id = veraz.current_tenant() and analyser = %(analyser)s) s
     cross join lateral (select sum(n) as chunks from veraz.posting
                          where tenant_id = veraz.current_tenant() and analyser = %(analyser)s and term = t.term offset 0) p
     where t.analyser = %(analyser)s and p.chunks > 0
     group by 1
)
select ('{' || string_agg(dimension || ':' || idf, ',' order by dimension) || '}/1000000000') from idf
"""
"""The question as one sparse vector; not part of what is timed."""
SCAN: LiteralString = """
select chunk_id, -(bm25 <#> %(vector)s::sparsevec) as score
  from veraz.chunk_lexical
 where tenant_id = veraz.current_tenant() and is_current and analyser = %(analyser)s
 order by (bm25 <#> %(vector)s::sparsevec) + 0
 limit %(pool)s
"""
RECIPE: LiteralString = """
select r.id, ts_rank_cd(r.fts, w.query) as score
  from scale.recipe r, (select replace(plainto_tsquery('english', %(question)s)::text, '&', '|')::tsquery as query) w
 where r.fts @@ w.query
 order by score desc
 limit %(pool)s
"""
WAYS = (
    "lexical",
    "lexical --exact",
    "sparse scan",
    "recipe",
    "semantic",
    "vector scan",
    "search lexical",
    "search semantic",
    "search hybrid",
)


@dataclass(slots=True)
class Asked:
    """`times`, `processor`: of each way, milliseconds, (questions, rounds); the latter empty where nobody tells. `found`: recall
    of each arm by cut, one a question. `unproven`: questions whose --exact result is not that of the sparse scan, or does not
    call itself exact. `read_all`: the share of questions of which the lexical arm read every posting, `proven` its candidates
    that are proved the best, `postings` of a question in the median; `budgets`: recall by cut and p50 with other budgets."""

    times: dict[str, Times] = field(default_factory=dict)
    processor: dict[str, Times] = field(default_factory=dict)
    found: dict[str, list[float]] = field(default_factory=dict)
    unproven: list[str] = field(default_factory=list)
    read_all: float = 0.0
    proven: float = 0.0
    postings: float = 0.0
    budgets: dict[int, dict[str, float]] = field(default_factory=dict)


class Asker:
    """Build it over an engine with one connection; `vectors`: of every question."""

    def __init__(self, engine: AsyncVeraz, url: str, vectors: dict[str, Matrix], space: int) -> None:
        self._engine = engine
        self._vectors = vectors
        self._space = space
        self._recipe = psycopg.connect(url, autocommit=True)
        self._recipe_pid, self._pid = self._recipe.info.backend_pid, 0
        self._sparse: dict[str, str] = {}
        self._size = store.CorpusSize((), 0, 0)

    def close(self) -> None:
        self._recipe.close()

    # --- what is measured

    async def run(self, questions: Sequence[str], rounds: int, say: Callable[[str], None]) -> Asked:
        await self._prepare(questions)
        done, ways = Asked(), list(WAYS)
        for question in questions[:WARM]:
            for way in ways:
                await self._ask(way, question)
        times: dict[str, list[list[tuple[float, float]]]] = {way: [] for way in ways}
        found: dict[str, list[list[float]]] = {}
        for number, question in enumerate(questions):
            for way in ways:
                times[way].append([])
            for turn in range(rounds):
                for way in turns(ways, number + turn):
                    before = self._processor(way)
                    taken, scores = await self._ask(way, question)
                    times[way][-1].append((taken, self._processor(way) - before))
                    if turn == 0:
                        found.setdefault(way, []).append(scores)
            if number % 10 == 9:
                say(f"{number + 1} of {len(questions)} questions asked")
        done.times = {way: np.array(rows)[:, :, 0] for way, rows in times.items()}
        if np.isfinite(times[ways[0]][0][0][1]):
            done.processor = {way: np.array(rows)[:, :, 1] for way, rows in times.items()}
        self._compare(done, questions, found)
        await self._look(done, questions)
        return done

    async def _prepare(self, questions: Sequence[str]) -> None:
        identity = await self._engine.identity()
        async with self._engine._database.transaction(identity) as connection:
            self._pid = connection.info.backend_pid
            self._size = await store.corpus_size(connection, self._space)
            for question in questions:
                row = await (
                    await connection.execute(SPARSE, {"question": question, "analyser": ANALYSER})
                ).fetchone()
                self._sparse[question] = (row and row[0]) or "{}/1000000000"

    def _compare(self, done: Asked, questions: Sequence[str], found: dict[str, list[list[float]]]) -> None:
        for arm, exact in (("lexical", "sparse scan"), ("semantic", "vector scan")):
            for cut in CUTS:
                pairs = zip(found[arm], found[exact], strict=True)
                done.found[f"{arm} recall@{cut}"] = [recall(a, e, cut) for a, e in pairs]
        for question, claimed, scanned in zip(
            questions, found["lexical --exact"], found["sparse scan"], strict=True
        ):
            positive = [score for score in scanned if score > 0]
            if len(claimed) != len(positive) or not np.allclose(claimed, positive, rtol=1e-6):
                done.unproven.append(question)

    async def _look(self, done: Asked, questions: Sequence[str]) -> None:
        """What the lexical arm says of itself, and what other budgets would give."""
        exact, proven, postings = [], [], []
        scanned = {q: [s for _, s in await self._scan(q)] for q in questions}
        identity = await self._engine.identity()
        for budget in BUDGETS:
            taken, recalls = list[float](), {cut: list[float]() for cut in CUTS}
            for question in questions:
                asked = self._lexical_question(question, budget)
                async with self._engine._database.transaction(identity) as connection:
                    started = time.perf_counter()
                    arms = await store.run_arms(connection, Filters(), asked, None)
                    taken.append((time.perf_counter() - started) * 1000)
                    if budget == self._engine.config.search.budget:
                        exact.append(arms.lexical_exact)
                        proven.append(len(arms.lexical or ()) if arms.lexical_exact else arms.proven)
                        postings.append((await store.posting_count(connection, asked))[1])
                scores = [c.score for c in arms.lexical or ()]
                for cut in CUTS:
                    recalls[cut].append(recall(scores, scanned[question], cut))
            done.budgets[budget] = {
                "p50": float(np.median(taken)),
                **{f"recall@{cut}": float(np.mean(found)) for cut, found in recalls.items()},
            }
        async with self._engine._database.transaction(identity) as connection:
            for question in questions:
                arms = await store.run_arms(
                    connection, Filters(), self._lexical_question(question, EVERY_POSTING), None
                )
                if not arms.lexical_exact and question not in done.unproven:
                    done.unproven.append(question)
        if exact:
            done.read_all, done.proven = float(np.mean(exact)), float(np.mean(proven))
            done.postings = float(np.median(postings))

    def _processor(self, way: str) -> float:
        """Milliseconds so far, of the session that answers `way` and of this process."""
        session = session_ms(self._recipe_pid if way == "recipe" else self._pid)
        return session + time.process_time() * 1000

    # --- one way, one question: milliseconds, and scores, best first

    async def _ask(self, way: str, question: str) -> tuple[float, list[float]]:
        if way == "recipe":
            return self._ask_recipe(question)
        if way.startswith("search "):
            return await self._search(way.removeprefix("search "), question)  # type: ignore[arg-type]
        identity = await self._engine.identity()
        asked: Callable[[Connection], Awaitable[Any]] = partial(getattr(self, ARMS[way]), question)
        async with self._engine._database.transaction(identity) as connection:
            if (
                way == "sparse scan"
            ):  # readers never scan tables from end to end; who would do it this way does
                await connection.execute("set local enable_seqscan = on")
            started = time.perf_counter()
            rows = await asked(connection)
            taken = (time.perf_counter() - started) * 1000
        return taken, sorted((float(row[1]) for row in rows), reverse=True)

    async def _lexical(self, question: str, connection: Connection) -> list[tuple[Any, float]]:
        return await self._lexical_within(question, self._engine.config.search.budget, connection)

    async def _lexical_exactly(self, question: str, connection: Connection) -> list[tuple[Any, float]]:
        return await self._lexical_within(question, EVERY_POSTING, connection)

    async def _lexical_within(self, question: str, budget: int, connection: Connection) -> list[tuple[Any, float]]:  # fmt: skip
        arms = await store.run_arms(connection, Filters(), self._lexical_question(question, budget), None)
        return [(c.chunk_id, c.score) for c in arms.lexical or ()]

    def _lexical_question(self, question: str, budget: int) -> store.LexicalQuestion:
        return store.LexicalQuestion(
            question, ANALYSER, POOL, budget, rescored=self._engine.config.search.rescored
        )

    async def _sparse_scan(self, question: str, connection: Connection) -> list[tuple[Any, float]]:
        given = {"vector": self._sparse[question], "analyser": ANALYSER, "pool": POOL}
        return await (await connection.execute(SCAN, given)).fetchall()

    async def _scan(self, question: str) -> list[tuple[Any, float]]:
        async with self._engine._database.transaction(await self._engine.identity()) as connection:
            return await self._sparse_scan(question, connection)

    async def _semantic(self, question: str, connection: Connection) -> list[tuple[Any, float]]:
        asked = self._semantic_question(question, exact=False)
        arms = await store.run_arms(connection, Filters(), None, asked)
        return [(c.chunk_id, c.score) for c in arms.semantic or ()]

    async def _vector_scan(self, question: str, connection: Connection) -> list[tuple[Any, float]]:
        asked = self._semantic_question(question, exact=True)
        return [(c.chunk_id, c.score) for c in await store.semantic_exact(connection, Filters(), asked)]

    def _semantic_question(self, question: str, *, exact: bool) -> store.SemanticQuestion:
        config = self._engine.config.search
        return store.SemanticQuestion(
            self._vectors[question], self._space, POOL, config.ef_search, config.max_scan_tuples, exact
        )

    def _ask_recipe(self, question: str) -> tuple[float, list[float]]:
        started = time.perf_counter()
        rows = self._recipe.execute(RECIPE, {"question": question, "pool": POOL}).fetchall()
        return (time.perf_counter() - started) * 1000, [float(row[1]) for row in rows]

    async def _search(self, mode: Mode, question: str) -> tuple[float, list[float]]:
        config, size = self._engine.config.search, self._size
        request = SearchRequest(
            question, "en", ANALYSER, mode=mode, few=few_rows(size.own, size.indexed, config.pool),
            own=size.own, indexed=size.indexed, index=size.index,
        )  # fmt: skip
        identity, embedder = await self._engine.identity(), await self._engine._open_embedder()
        started = time.perf_counter()
        run = await run_search(self._engine._database, identity, embedder, self._space, config, request)
        return (time.perf_counter() - started) * 1000, [hit.score for hit in run.result.hits]


def session_ms(pid: int) -> float:
    """Processor time that the kernel counted for a process; NaN where it does not tell."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6
    except (OSError, ValueError, IndexError):
        return float("nan")


ARMS = {
    "lexical": "_lexical",
    "lexical --exact": "_lexical_exactly",
    "sparse scan": "_sparse_scan",
    "semantic": "_semantic",
    "vector scan": "_vector_scan",
}
