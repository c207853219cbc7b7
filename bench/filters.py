"""What filters cost and miss: 50 %, 5 %, 0.5 % and 0.01 % of the documents, related to the question in three ways, in one run.

python bench/filters.py [--documents 5000] [--rounds 3] [--k 50] [--json FILE]

Documents have ten chunks each and one of 64 topics, which their vectors lie around and their text names; every question is
about the first topic. A filter is correlated (what it leaves is nearest to the question), uncorrelated, or anti-correlated
(nothing of the question's topic is left). For each: hits against min(k, matching), recall of either arm against an exact
scan, and p50 and p95 as a ratio to unfiltered searches of the same questions, asked in turn. Fails where fewer than
min(k, matching) are found, a recall is below 0.95, or a p95 above four times the unfiltered one. On the server that tests
share, or $VERAZ_TEST_SERVER; a fresh database, dropped afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import LiteralString

import numpy as np
from psycopg import sql

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.db.server_fixture import test_server
from tests.support import bulk, databases
from tests.support.hashing import DIMENSION, HashingEmbedder, hashed

from veraz.config import FiltersConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Vectors
from veraz.nouns.question import Filters
from veraz.search import store
from veraz.search.pipeline import ask_again
from veraz.search.request import SearchRequest

TOPICS = 64
SHARES = (0.5, 0.05, 0.005, 0.0001)
RELATIONS = ("correlated", "uncorrelated", "anti-correlated")
QUESTIONS = 20

REVISIONS: LiteralString = """
insert into veraz.revision (tenant_id, revision_id, document_id, number, text, title, lang, valid_from, raw_hash, media, parser,
                            chunker, meta)
select %(tenant)s, md5(%(tenant)s::text || 'd' || n || 'r1')::uuid, md5(%(tenant)s::text || 'd' || n)::uuid, 1, 'text',
       'Title ' || n, 'en', date '2020-01-01', sha256(n::text::bytea), 'text', 'bulk/1', 'bulk/1',
       jsonb_build_object('drawn', (n::bigint * 7919 %% %(documents)s) / %(documents)s::numeric,
                          'near', (n %% %(topics)s + n / %(documents)s::numeric) / %(topics)s)
  from generate_series(1, %(documents)s) n
"""
CHUNKS: LiteralString = """
insert into veraz.chunk (tenant_id, chunk_id, document_id, revision_id, ord, section, heading_path, kind, body, display, header,
                         token_count, spans, start_at, end_at, content_hash, lang, is_current)
select tenant_id, md5(revision_id::text || c)::uuid, document_id, revision_id, c - 1, 0, '{}', 'paragraph', words, words, '', 50,
       '{0,4}', 0, 4, sha256(words::bytea), 'en', true
  from (select r.tenant_id, r.document_id, r.revision_id, c,
               'topic' || floor((r.meta ->> 'near')::numeric * %(topics)s) || ' '
               || (select string_agg('w' || floor(power(random(), 3) * %(vocabulary)s)::integer, ' ')
                     from generate_series(1, %(words)s + 0 * c)) as words
          from veraz.revision r, generate_series(1, 10) c where r.tenant_id = %(tenant)s) made
"""
VECTORS: LiteralString = """
insert into {embedding} (tenant_id, chunk_id, document_id, revision_id, is_current, vec)
select tenant_id, chunk_id, document_id, revision_id, true, l2_normalize(vec)::halfvec
  from (select c.*, (select array_agg((case when d = 1 + topic then 1 else 0 end + 0.15 * (random() - 0.5))::real)
                       from generate_series(1, {dimension} + 0 * c.ord) d)::vector as vec
          from (select *, substring(body from '^topic([0-9]+)')::integer as topic
                  from veraz.chunk where tenant_id = %(tenant)s) c) v
"""


def place(text: str) -> Vectors:
    """Questions lie around the first topic."""
    axis = np.zeros(DIMENSION, np.float32)
    axis[0] = 1
    spread = axis + 0.8 * hashed("question", text)
    unit: Vectors = (spread / np.linalg.norm(spread)).astype(np.float32)
    return unit


async def fill(engine: AsyncVeraz, documents: int, words: int) -> None:
    space, tenant = (await engine.space()).space_id, (await engine.identity()).tenant_id
    given = {
        "tenant": tenant,
        "documents": documents,
        "revisions": 1,
        "topics": TOPICS,
        "words": words,
        "vocabulary": 20_000,
        "acl": ["public"],
    }
    table = sql.Identifier("veraz", f"embedding_{space}")
    vectors = sql.SQL(VECTORS).format(embedding=table, dimension=sql.Literal(DIMENSION))
    await bulk.without_index(engine, space)
    async with engine._database.maintenance(tenant) as connection:
        for statement in (
            bulk.SOURCE,
            bulk.DOCUMENTS,
            REVISIONS,
            bulk.POINTERS,
            bulk.SECTIONS,
            CHUNKS,
            vectors,
            bulk.EPOCH,
            bulk.LEXICAL,
            bulk.POSTINGS,
            bulk.STATISTICS,
        ):
            await connection.execute(statement, given)
    await bulk.with_index(engine, space)


def expression(relation: str, share: float, documents: int) -> str:
    """At least one document is left."""
    bound = f"{max(share, 1.5 / documents):.8f}"
    if relation == "uncorrelated":
        return f"meta.drawn < {bound}"
    if relation == "correlated":
        return f"meta.near < {bound}"
    return f"meta.near >= {1 - float(bound):.8f}"


@dataclass(slots=True)
class Case:
    """`hits`: of every search; `recall`: of every search and arm, of the first k."""

    relation: str
    share: float
    where: str | None
    matching: int = 0
    documents_first: bool = False
    repaired: int = 0
    times: list[float] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)
    recall: dict[str, list[float]] = field(default_factory=lambda: {"lexical": [], "semantic": []})
    exact: dict[str, int] = field(default_factory=lambda: {"lexical": 0, "semantic": 0})


async def measure(engine: AsyncVeraz, cases: list[Case], rounds: int, k: int) -> None:
    questions = [f"topic0 w{17 * n} w{900 + 31 * n} w{4000 + 101 * n} w{n}" for n in range(QUESTIONS)]
    for case in cases:
        await look(engine, case, questions, k)
    for _ in range(rounds):
        for question in questions:
            for case in cases:
                filters = Filters(where=case.where)
                started = time.perf_counter()
                found = await engine.search(question, lang="en", k=k, filters=filters, trace=False)
                case.times.append((time.perf_counter() - started) * 1000)
                case.hits.append(len(found.hits))
                case.repaired += "repair" in found.timings_ms
                case.documents_first = found.config.get("filters", {}).get("documents_first", False)


async def look(engine: AsyncVeraz, case: Case, questions: list[str], k: int) -> None:
    """What matches, and the recall of each arm."""
    filters, space = engine._resolved(Filters(where=case.where)), (await engine.space()).space_id
    async with engine._database.transaction(await engine.identity()) as connection:
        size = await store.corpus_size(connection, space)
        every = store.SemanticQuestion(place(""), space, 10_000_000, 100, 100, exact=True)
        case.matching = len((await store.narrow(connection, filters, None, every)).semantic or ())
        for question in questions:
            request = SearchRequest(question, "en", "en", filters=filters, own=size.own, indexed=size.indexed)
            again = await ask_again(connection, request, place(question), space, engine.config.search)
            for arm, found in again.items():
                case.exact[arm] += found.exact is None
                if found.exact is not None:
                    wanted = {c.chunk_id for c in found.exact[:k]}
                    got = {c.chunk_id for c in sorted(found.candidates, key=lambda c: -c.score)[:k]}
                    case.recall[arm].append(len(wanted & got) / len(wanted) if wanted else 1.0)


def percentile(values: list[float], q: float) -> float:
    return float(np.percentile(values, q))


def shown(cases: list[Case], k: int) -> list[str]:
    """The table, and whether what must hold does: the failures."""
    base, failures = cases[0], []
    print(
        f"{'filter':>24} {'matching':>9} {'hits':>5} {'recall lex/sem':>15} {'p50':>7} {'p95':>7} {'p95 ratio':>9}  way"
    )
    for case in cases:
        name = "none" if case.where is None else f"{case.relation} {case.share:.2%}"
        lexical, semantic = (np.mean(case.recall[arm] or [1.0]) for arm in ("lexical", "semantic"))
        ratio = percentile(case.times, 95) / percentile(base.times, 95)
        way = "documents first" if case.documents_first else "walk"
        if case.repaired:
            way += f", {case.repaired / len(case.times):.0%} repaired"
        print(
            f"{name:>24} {case.matching:>9,} {min(case.hits):>5} {lexical:>7.3f} {semantic:>7.3f} "
            f"{percentile(case.times, 50):>7.1f} {percentile(case.times, 95):>7.1f} {ratio:>9.2f}  {way}"
        )
        if min(case.hits) < min(k, case.matching):
            failures.append(f"{name}: {min(case.hits)} of {min(k, case.matching)} hits")
        if min(lexical, semantic) < 0.95 and case.where is not None:
            failures.append(f"{name}: recall {min(lexical, semantic):.3f}")
        if ratio > 4:
            failures.append(f"{name}: p95 {ratio:.2f} times the unfiltered one")
    return failures


async def main(url: str, documents: int, words: int, rounds: int, k: int, out: Path | None) -> int:
    declared = FiltersConfig(meta={"drawn": "number", "near": "number"})
    embedder = HashingEmbedder(place=place)
    async with await databases.open_engine(url, embedder, filters=declared) as engine:
        started = time.perf_counter()
        await fill(engine, documents, words)
        print(f"{documents * 10:,} chunks in {time.perf_counter() - started:.0f} s")
        cases = [Case("", 1.0, None)] + [
            Case(relation, share, expression(relation, share, documents))
            for share in SHARES
            for relation in RELATIONS
        ]
        await measure(engine, cases, rounds, k)
    failures = shown(cases, k)
    if out:
        out.write_text(json.dumps([asdict(case) for case in cases]), encoding="utf-8")
    print("\n".join(failures) or "all hold")
    return 1 if failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--words", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    server = os.environ.get("VERAZ_TEST_SERVER") or test_server()
    with databases.fresh(server, databases.schema_template(server)) as made:
        sys.exit(asyncio.run(main(made, given.documents, given.words, given.rounds, given.k, given.json)))
