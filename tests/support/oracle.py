"""BM25 recomputed in Python from what is stored of each current chunk, and the rules that the inverted file obeys."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from tests.support.corpus import rows
from veraz.engine import AsyncVeraz
from veraz.nouns.question import Filters
from veraz.search import store
from veraz.search.fusion import Candidate

K1, B = 1.5, 0.75
NO_LIMIT = 2_000_000_000
BLOCK = 640


@dataclass(frozen=True, slots=True)
class Bm25:
    """Current chunks of one tenant: term frequencies, lengths, and the statistics of each analyser, counted here."""

    frequencies: dict[UUID, dict[str, int]]
    lengths: dict[UUID, int]
    analysers: dict[UUID, str]
    references: dict[str, float]
    chunks: Counter[str]
    documents_with: Counter[tuple[str, str]]

    def scores(self, terms: Sequence[tuple[str, str, float]]) -> dict[UUID, float]:
        """Chunks that hold a term, with their score. `terms` are (analyser, lexeme, weight)."""
        wanted: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for analyser, lexeme, weight in terms:
            df = self.documents_with[analyser, lexeme]
            if df:
                n = self.chunks[analyser]
                wanted[analyser].append((lexeme, weight * math.log(1 + (n - df + 0.5) / (df + 0.5))))
        found = {chunk: self._score(chunk, wanted[analyser]) for chunk, analyser in self.analysers.items()}
        return {chunk: score for chunk, score in found.items() if score > 0}

    def _score(self, chunk: UUID, wanted: Sequence[tuple[str, float]]) -> float:
        norm = K1 * (1 - B + B * self.lengths[chunk] / self.references[self.analysers[chunk]])
        tf = self.frequencies[chunk]
        return sum(idf * tf[t] * (K1 + 1) / (tf[t] + norm) for t, idf in wanted if t in tf)


async def load(engine: AsyncVeraz) -> Bm25:
    stored = await rows(
        engine,
        "select l.chunk_id, l.analyser, l.length, t.lexeme, t.positions from veraz.chunk_lexical l"
        " join veraz.chunk c using (tenant_id, chunk_id) left join lateral unnest(l.tsv) t on true where c.is_current",
    )
    references = await rows(engine, "select analyser, reference_length::float8 from veraz.lexical_epoch")
    frequencies: dict[UUID, dict[str, int]] = defaultdict(dict)
    places: dict[UUID, set[int]] = defaultdict(set)
    lengths, analysers = {}, {}
    for chunk, analyser, length, lexeme, positions in stored:
        lengths[chunk], analysers[chunk] = length, analyser
        if lexeme is not None:
            frequencies[chunk][lexeme] = len(positions or [0])
            places[chunk].update(positions or [])
    assert all(len(places[c]) == length for c, length in lengths.items()), (
        "a stored length is not the number of tokens"
    )
    return Bm25(
        dict(frequencies) | {c: {} for c in analysers if c not in frequencies},
        lengths,
        analysers,
        dict(references),
        Counter(analysers.values()),
        Counter((analysers[c], lexeme) for c, tf in frequencies.items() for lexeme in tf),
    )


async def question_terms(engine: AsyncVeraz, question: str, lang: str) -> list[tuple[str, str, float]]:
    found = await rows(
        engine, "select analyser, lexeme, weight from veraz.query_terms(%s, %s)", question, lang
    )
    return [(analyser, lexeme, float(weight)) for analyser, lexeme, weight in found]


async def lexical_arm(
    engine: AsyncVeraz,
    question: str,
    lang: str,
    *,
    pool: int = 10_000,
    budget: int = NO_LIMIT,
    filters: Filters | None = None,
) -> list[Candidate]:
    asked = store.LexicalQuestion(question, lang, pool, budget, pool)
    async with engine._database.transaction(await engine.identity()) as connection:
        arms = await store.run_arms(connection, filters or Filters(), asked, None)
    assert arms.lexical is not None
    return arms.lexical


async def check_scores(
    engine: AsyncVeraz, questions: Sequence[tuple[str, str]], *, relative: float = 1e-5
) -> int:
    """The lexical arm gives exactly the chunks and scores of the recomputation, best first. Returns how many it compared."""
    oracle = await load(engine)
    compared = 0
    for question, lang in questions:
        wanted = oracle.scores(await question_terms(engine, question, lang))
        found = await lexical_arm(engine, question, lang)
        assert {c.chunk_id for c in found} == set(wanted), question
        for candidate in found:
            assert math.isclose(candidate.score, wanted[candidate.chunk_id], rel_tol=relative), (
                question,
                candidate,
            )
        scores = [c.score for c in found]
        assert scores == sorted(scores, reverse=True), question
        compared += len(found)
    return compared


async def check_postings(engine: AsyncVeraz, *, merged: bool) -> None:
    """Every rule of the inverted file, against the chunks themselves."""
    assert await rows(engine, WRONG_SHAPE) == []
    assert await rows(engine, WRONG_FREQUENCY) == []
    assert await rows(engine, WRONG_STATISTICS) == []
    if merged:
        assert await rows(engine, "select term, block from veraz.posting where block < 0 or n < 0") == []
        assert await rows(engine, "select analyser, block from veraz.lexical_stat where block <> 0") == []
        assert await rows(engine, WRONG_IMPACT) == []
        blocks = await rows(
            engine, "select analyser, term, block, impacts from veraz.posting order by 1, 2, 3"
        )
        flat: dict[tuple[str, int], list[int]] = defaultdict(list)
        for analyser, term, block, impacts in blocks:
            assert block == -(-len(flat[analyser, term]) // BLOCK), "blocks are full and without gaps"
            flat[analyser, term] += impacts
        assert all(impacts == sorted(impacts, reverse=True) for impacts in flat.values()), (
            "impact falls along the blocks"
        )


WRONG_SHAPE = """
select term, block from veraz.posting
 where cardinality(chunk_nos) <> abs(n) or cardinality(impacts) <> abs(n) or (block >= 0 and (n > 640 or n < 0))
"""
WRONG_FREQUENCY = """
with counted as (
    select l.analyser, veraz.term(t.lexeme) as term, count(*) as n
      from veraz.chunk c join veraz.chunk_lexical l using (tenant_id, chunk_id), unnest(l.tsv) t where c.is_current group by 1, 2
), posted as (select analyser, term, sum(n) as n from veraz.posting group by 1, 2 having sum(n) <> 0)
select analyser, term, counted.n, posted.n from counted full join posted using (analyser, term)
 where counted.n is distinct from posted.n
"""
WRONG_STATISTICS = """
with counted as (select l.analyser, count(*) as chunks, sum(l.length) as length
                   from veraz.chunk c join veraz.chunk_lexical l using (tenant_id, chunk_id) where c.is_current group by 1),
     kept as (select analyser, sum(chunks) as chunks, sum(length) as length from veraz.lexical_stat
               group by 1 having sum(chunks) <> 0)
select * from counted full join kept using (analyser)
 where counted.chunks is distinct from kept.chunks or counted.length is distinct from kept.length
"""
WRONG_IMPACT = """
with posted as (select analyser, term, u.chunk_no, u.impact
                  from veraz.posting, unnest(chunk_nos, impacts) as u (chunk_no, impact)),
     wanted as (select l.analyser, veraz.term(t.lexeme) as term, l.chunk_no,
                       round(13000 * coalesce(cardinality(t.positions), 1) * 2.5 / (coalesce(cardinality(t.positions), 1)
                             + 1.5 * (0.25 + 0.75 * l.length / e.reference_length::float8))) as impact
                  from veraz.chunk_lexical l join veraz.lexical_epoch e using (tenant_id, analyser), unnest(l.tsv) t
                 where l.is_current)
select * from posted full join wanted using (analyser, term, chunk_no)
 where posted.impact is null or wanted.impact is null or abs(posted.impact - wanted.impact) > 1
"""
