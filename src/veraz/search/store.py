"""What search asks of the database: one function per statement, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
import psycopg
from psycopg import sql
from psycopg.rows import class_row

from veraz.db.session import Connection
from veraz.db.statements import COMPARISONS, space_statement, statement
from veraz.filters.compose import Composed, composed
from veraz.nouns.corpus import IndexKind, SpaceIndex, Span, Vectors
from veraz.nouns.distance import Distance
from veraz.nouns.evidence import DocumentRef, Hit, InForce, Successor
from veraz.nouns.question import Filters, Spoken
from veraz.search.abroad import Whole
from veraz.search.fusion import Candidate
from veraz.search.misspelt import Known, Similar
from veraz.text.languages import NO_LANGUAGE


@dataclass(frozen=True, slots=True)
class Condition:
    """What marks in the question demand of a chunk (`Reading.condition`), in the question's language. `selective`: chunks can be
    found by the words that it names."""

    alternatives: str
    analyser: str
    selective: bool


@dataclass(frozen=True, slots=True)
class LexicalQuestion:
    """`analyser` decides the stop words; `budget` bounds the postings read; `rescored` candidates get exact scores, a hundred
    more than the pool where all postings are read; at most `walked` are looked up until that many may be read. Only what meets
    the condition is a candidate. `spellings`: words of the question and what `text` has in their place; None where nobody looked
    for misspelt words. `scorer`: bm25 or ts_rank_cd."""

    text: str
    analyser: str
    pool: int
    budget: int
    rescored: int
    walked: int = 2_000_000_000
    condition: Condition | None = None
    spellings: Mapping[str, str] | None = None
    scorer: str = "bm25"


MOST_EF = 1000
"""pgvector's limit of hnsw.ef_search."""
MOST_PROBES = 32_768
"""pgvector's limit of ivfflat.probes."""


@dataclass(frozen=True, slots=True)
class SemanticQuestion:
    """`kind` is the index that the space has: `ef_search` bounds the walk of a graph, `probes` are the clusters that are read of
    one that is made of them, each of about `cluster` vectors, and `oversampling` times the pool are the candidates of one of
    signs. A scan that filters leave short goes on until it has seen `max_scan_tuples`. `exact`: every vector is compared.
    `distance`: the space's."""

    vector: Vectors
    space_id: int
    pool: int
    ef_search: int
    max_scan_tuples: int
    exact: bool
    condition: Condition | None = None
    kind: IndexKind = "hnsw"
    probes: int = 1
    cluster: int = 1000
    oversampling: int = 1
    distance: Distance = "cosine"

    @property
    def candidates(self) -> int:
        return self.pool * self.oversampling if self.kind == "binary" else self.pool

    @property
    def reach(self) -> int:
        """The ef_search of the scan: no less than the candidates of signs, which are far from sure."""
        return min(MOST_EF, max(self.ef_search, self.candidates)) if self.kind == "binary" else self.ef_search

    @property
    def max_probes(self) -> int:
        return min(MOST_PROBES, max(self.probes, -(-self.max_scan_tuples // max(1, self.cluster))))


@dataclass(frozen=True, slots=True)
class ArmResults:
    """None: the arm was not asked. `unseen`: the lexemes of the question's words that nothing holds that the caller may read;
    None where nobody looked. `proven`: how many of the lexical candidates, from the first, are proved to be the best there are,
    although not everything was read. `has_no_terms`: the question is of function words alone. `share`: of the documents, as the
    filters' sample had it; `documents_first`: those that the filters leave were found before anything was scored.
    `semantic_starved`: a scan of signs gave up before it had the candidates that are to be scored again. `by_engine`: the lexical
    candidates that another engine gave and scored."""

    lexical: list[Candidate] | None
    semantic: list[Candidate] | None
    lexical_exact: bool
    semantic_exact: bool
    unseen: tuple[str, ...] | None = None
    proven: int = 0
    has_no_terms: bool = False
    share: float | None = None
    documents_first: bool = False
    semantic_starved: bool = False
    by_engine: frozenset[UUID] = frozenset()


async def run_arms(
    connection: Connection,
    filters: Filters,
    lexical: LexicalQuestion | None,
    semantic: SemanticQuestion | None,
) -> ArmResults:
    """Both arms in one round trip, each best first: the statements are sent together and answered together. Where the question
    quotes words, what holds them is found first, and both arms are exact over it."""
    if (quoted := await _run_quoted(connection, filters, lexical, semantic)) is not None:
        return quoted
    asked = []
    async with connection.pipeline():
        await connection.execute(statement("search", "plan_once"), {"once": True})
        if lexical is not None:
            found = composed(filters, "l")
            query = statement("search", "lexical").format(**found.slots())
            asked.append(await connection.execute(query, _lexical_parameters(lexical, filters, found)))
        if semantic is not None and semantic.exact:
            asked.append(await _ask_semantic(connection, filters, semantic))
        await connection.execute(statement("search", "plan_once"), {"once": False})
        if semantic is not None and not semantic.exact:
            await connection.execute(statement("search", "scan_settings"), _scan_settings(semantic))
            await connection.execute(statement("search", "scan_order"), {"by_index": True})
            asked.append(await _ask_semantic(connection, filters, semantic))
            await connection.execute(statement("search", "scan_order"), {"by_index": False})
        answers = [await cursor.fetchall() for cursor in asked]
    exact, unseen, proven, no_terms = True, None, 0, False
    if lexical is not None and answers[0]:
        exact, unseen = answers[0][0][4], tuple(answers[0][0][5] or ())
        proven = sum(row[1] > row[6] for row in answers[0])
        exact = exact or proven == lexical.pool
    elif lexical is not None:
        terms, postings = await posting_count(connection, lexical)
        exact, no_terms = (
            postings <= min(lexical.budget, lexical.walked),
            terms == 0,
        )  # no more match than were counted
    lexical_rows = answers.pop(0) if lexical is not None else None
    semantic_rows = answers.pop(0) if semantic is not None else None
    nearest = [Candidate(*row[:4]) for row in semantic_rows or ()]
    nearest.sort(key=lambda c: (-c.score, c.chunk_id))  # an iterative scan may yield one a little late
    return ArmResults(
        lexical=[Candidate(*row[:4]) for row in lexical_rows] if lexical_rows is not None else None,
        semantic=nearest if semantic_rows is not None else None,
        lexical_exact=exact,
        semantic_exact=semantic is not None and semantic.exact,
        semantic_starved=_starved(semantic, semantic_rows),
        unseen=unseen,
        proven=proven,
        has_no_terms=no_terms,
    )


def _starved(question: SemanticQuestion | None, rows: Sequence[tuple[Any, ...]] | None) -> bool:
    if question is None or question.exact or question.kind != "binary":
        return False
    return (rows[0][4] if rows else 0) < question.candidates


async def _run_quoted(
    connection: Connection,
    filters: Filters,
    lexical: LexicalQuestion | None,
    semantic: SemanticQuestion | None,
) -> ArmResults | None:
    asked = lexical or semantic
    if asked is None or asked.condition is None or not asked.condition.selective:
        return None
    space_id = semantic.space_id if semantic is not None else await _active_space(connection)
    if space_id is None:
        return None
    found = composed(filters)
    parameters = {**_conditions(filters, found), **_both(lexical, semantic)}
    query = space_statement("search", "quoted", space_id, **_comparing(semantic), **found.slots())
    cursor = await connection.execute(query, parameters)
    return await _of_both(connection, lexical, semantic, await cursor.fetchall())


async def demands(connection: Connection, condition: Condition) -> bool:
    """Whether the marks demand anything: quotations of stop words alone do not."""
    row = await (await connection.execute(statement("search", "demands"), _demanded(condition))).fetchone()
    return bool(row and row[0])


async def run_arms_as_of(
    connection: Connection,
    filters: Filters,
    lexical: LexicalQuestion | None,
    semantic: SemanticQuestion | None,
    day: date,
) -> ArmResults:
    """The same over the revisions that held on a day: exact in both arms, in one statement that finds those revisions once."""
    space_id = semantic.space_id if semantic is not None else await _active_space(connection)
    asked = lexical or semantic
    if asked is None or space_id is None:
        return ArmResults(None, None, lexical_exact=True, semantic_exact=True)
    found = composed(filters)
    parameters = {**_conditions(filters, found), **_both(lexical, semantic), "as_of": day}
    async with connection.pipeline():
        await connection.execute(statement("search", "as_of_plan"), {"by_sets": True})
        query = space_statement("search", "as_of", space_id, **_comparing(semantic), **found.slots())
        cursor = await connection.execute(query, parameters)
        await connection.execute(statement("search", "as_of_plan"), {"by_sets": False})
        rows = await cursor.fetchall()
    return await _of_both(connection, lexical, semantic, rows)


async def narrow(
    connection: Connection,
    filters: Filters,
    lexical: LexicalQuestion | None,
    semantic: SemanticQuestion | None,
) -> ArmResults:
    """Both arms over the documents that meet the filters, which are found first: exact."""
    space_id = semantic.space_id if semantic is not None else await _active_space(connection)
    if (lexical is None and semantic is None) or space_id is None:
        return ArmResults(None, None, lexical_exact=True, semantic_exact=True)
    found = composed(filters)
    parameters = {**_conditions(filters, found), **_both(lexical, semantic)}
    async with connection.pipeline():
        await connection.execute(statement("search", "narrow_plan"), {"by_sets": True})
        query = space_statement("search", "narrow", space_id, **_comparing(semantic), **found.slots())
        cursor = await connection.execute(query, parameters)
        await connection.execute(statement("search", "narrow_plan"), {"by_sets": False})
        rows = await cursor.fetchall()
    return await _of_both(connection, lexical, semantic, rows)


def _both(lexical: LexicalQuestion | None, semantic: SemanticQuestion | None) -> dict[str, Any]:
    """The parameters of a statement that asks both arms."""
    asked = lexical or semantic
    assert asked is not None
    condition = _demanded(asked.condition)
    return {
        "question": lexical.text if lexical else None,
        "vector": vector_text(semantic.vector) if semantic else None,
        "pool": max(one.pool for one in (lexical, semantic) if one is not None),
        **condition,
        "analyser": lexical.analyser if lexical else condition["analyser"],
    }


def _demanded(condition: Condition | None) -> dict[str, Any]:
    if condition is None:
        return {"condition": None, "analyser": None}
    return {"condition": condition.alternatives, "analyser": condition.analyser}


async def _of_both(
    connection: Connection,
    lexical: LexicalQuestion | None,
    semantic: SemanticQuestion | None,
    rows: Sequence[tuple[Any, ...]],
) -> ArmResults:
    found: dict[str, list[Candidate]] = {"lexical": [], "semantic": []}
    for arm, *candidate in rows:
        found[arm].append(Candidate(*candidate))
    no_terms = False
    if lexical is not None and not found["lexical"]:
        no_terms = (await posting_count(connection, lexical))[0] == 0
    return ArmResults(
        lexical=found["lexical"][: lexical.pool] if lexical else None,
        semantic=found["semantic"][: semantic.pool] if semantic else None,
        lexical_exact=True,
        semantic_exact=True,
        has_no_terms=no_terms,
    )


async def filter_share(connection: Connection, filters: Filters, sample: int) -> tuple[int, int]:
    """How many documents were looked at, and how many of them may be read and meet the filters."""
    found = composed(filters)
    query = statement("search", "filter_share").format(**found.slots())
    cursor = await connection.execute(query, {**_conditions(filters, found), "sample": sample})
    row = await cursor.fetchone()
    assert row is not None
    return row[0], row[1]


async def nearest_share(
    connection: Connection, filters: Filters, question: SemanticQuestion, sample: int
) -> tuple[int, int]:
    """How many of the nearest vectors were looked at, and how many of them may be read and meet the filters."""
    found = composed(filters)
    parameters = {
        **_conditions(filters, found),
        "vector": vector_text(question.vector),
        "sample": sample,
    }
    async with connection.pipeline():
        await connection.execute(statement("search", "scan_settings"), _scan_settings(question))
        await connection.execute(statement("search", "scan_order"), {"by_index": True})
        name = "nearest_share_binary" if question.kind == "binary" else "nearest_share"
        query = _over_space(name, question, found)
        cursor = await connection.execute(query, parameters)
        await connection.execute(statement("search", "scan_order"), {"by_index": False})
        row = await cursor.fetchone()
    assert row is not None
    return row[0], row[1]


async def posting_count(connection: Connection, question: LexicalQuestion) -> tuple[int, int]:
    """How many terms the question has, and how many postings these have."""
    parameters = {"question": question.text, "analyser": question.analyser}
    row = await (await connection.execute(statement("search", "posting_count"), parameters)).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


async def abroad(
    connection: Connection, question: LexicalQuestion, candidates: Sequence[Candidate]
) -> dict[UUID, Whole]:
    """Of the candidates in another language than the question's, by chunk: what would hold all of the question."""
    parameters = {
        "question": question.text,
        "analyser": question.analyser,
        "chunk_ids": [candidate.chunk_id for candidate in candidates],
    }
    cursor = await connection.execute(statement("search", "abroad"), parameters)
    return {chunk_id: Whole(*figures) for chunk_id, *figures in await cursor.fetchall()}


async def cover_density(
    connection: Connection, question: LexicalQuestion, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """The candidates scored by ts_rank_cd over any of the question's words, best first; of equals in the order they came in."""
    parameters = {
        "question": question.text,
        "analyser": question.analyser,
        "chunk_ids": [c.chunk_id for c in candidates],
    }
    cursor = await connection.execute(statement("search", "cover_density"), parameters)
    scores = {row[0]: float(row[1]) for row in await cursor.fetchall()}
    scored = [replace(c, score=scores[c.chunk_id] * c.share) for c in candidates if c.chunk_id in scores]
    return sorted(scored, key=lambda c: -c.score)


async def engine_permitted(
    connection: Connection,
    filters: Filters,
    question: LexicalQuestion,
    given: Sequence[tuple[UUID, float]],
) -> tuple[int, list[Candidate]]:
    """Of another engine's candidates: how many the tenant has at all, and the best `question.pool` of those that are current, may
    be read and meet the filters and the condition, by (score, falling; chunk id)."""
    found = composed(filters)
    parameters = {
        **_conditions(filters, found),
        **_demanded(question.condition),
        "chunk_ids": [key for key, _ in given],
        "scores": [score for _, score in given],
        "pool": question.pool,
    }
    query = statement("search", "engine_permitted").format(**found.slots())
    rows = await (await connection.execute(query, parameters)).fetchall()
    return rows[0][4] if rows else 0, [Candidate(*row[:4]) for row in rows if row[0] is not None]


async def unseen_words(connection: Connection, question: LexicalQuestion) -> tuple[str, ...]:
    parameters = {"question": question.text, "analyser": question.analyser}
    row = await (await connection.execute(statement("search", "unseen_words"), parameters)).fetchone()
    return tuple(row[0] or ()) if row else ()


async def similar_words(
    connection: Connection, words: Sequence[str], unseen: Sequence[str]
) -> list[Similar] | None:
    """The vocabulary's lexemes that are most like those of words that nobody wrote; None where the server lacks pg_trgm."""
    parameters = {"words": list(words), "unseen": list(unseen)}
    try:
        async with connection.transaction():
            cursor = await connection.execute(statement("search", "similar_words"), parameters)
            return [Similar(*row) for row in await cursor.fetchall()]
    except psycopg.errors.UndefinedFunction:
        return None


async def readable_words(
    connection: Connection, filters: Filters, found: Sequence[Similar]
) -> dict[tuple[str, str], Known]:
    """By analyser and lexeme: a word of something that may be read and meets the filters. Other lexemes are absent."""
    of_filter = composed(filters)
    parameters = {
        **_conditions(filters, of_filter),
        "analysers": [s.analyser for s in found],
        "lexemes": [s.lexeme for s in found],
    }
    query = statement("search", "readable_words").format(**of_filter.slots())
    cursor = await connection.execute(query, parameters)
    return {(row[0], row[1]): Known(row[2], row[3]) for row in await cursor.fetchall()}


async def lexical_permitted(
    connection: Connection, filters: Filters, question: LexicalQuestion
) -> list[Candidate]:
    """The lexical arm over every row that may be read and meets the filters: exact, whatever the budget."""
    found = composed(filters)
    parameters = {
        **_conditions(filters, found),
        **_demanded(question.condition),
        "question": question.text,
        "analyser": question.analyser,
        "pool": question.pool,
    }
    async with connection.pipeline():
        await connection.execute(statement("search", "as_of_plan"), {"by_sets": True})
        query = statement("search", "lexical_permitted").format(**found.slots())
        cursor = await connection.execute(query, parameters)
        await connection.execute(statement("search", "as_of_plan"), {"by_sets": False})
        rows = await cursor.fetchall()
    return [Candidate(*row) for row in rows]


async def unknown_sources(connection: Connection, filters: Filters) -> tuple[str, ...]:
    """The sources that a filter names and the tenant does not have."""
    if not filters.sources:
        return ()
    cursor = await connection.execute(
        statement("search", "known_sources"), {"sources": list(filters.sources)}
    )
    known = {row[0] for row in await cursor.fetchall()}
    return tuple(dict.fromkeys(name for name in filters.sources if name not in known))


async def _active_space(connection: Connection) -> int | None:
    row = await (await connection.execute(statement("search", "active_space"))).fetchone()
    return row[0] if row else None


@dataclass(frozen=True, slots=True)
class CorpusSize:
    """`analysers` of the tenant's corpus, most chunks first; `own` current chunks of the tenant; `indexed` vectors of all tenants
    in the space's index, from its size: right to a tenth; 0 where there is no index. `index`: the one that the space has."""

    analysers: tuple[str, ...]
    own: int
    indexed: int
    index: SpaceIndex = field(default_factory=SpaceIndex)

    def is_abroad(self, spoken: Spoken, analyser: str) -> bool:
        """Whether chunks are in another language than the question. Undecided texts, and questions, are in none."""
        return spoken.decided and any(other not in (analyser, NO_LANGUAGE) for other in self.analysers)


async def corpus_size(connection: Connection, space_id: int | None) -> CorpusSize:
    cursor = await connection.execute(statement("search", "corpus_size"), {"space_id": space_id})
    rows = await cursor.fetchall()
    index = SpaceIndex()
    if rows and rows[0][3] is not None:
        index = SpaceIndex(rows[0][3], msgspec.json.decode(rows[0][4], type=dict[str, int]), rows[0][5])
    own, indexed = sum(int(r[1] or 0) for r in rows), max((r[2] or 0 for r in rows), default=0)
    return CorpusSize(tuple(r[0] for r in rows if r[0] is not None), own, indexed, index)


def _conditions(filters: Filters, of_filter: Composed) -> dict[str, Any]:
    return {
        **of_filter.parameters,
        "sources": list(filters.sources) if filters.sources is not None else None,
        "langs": list(filters.langs) if filters.langs is not None else None,
        "authority": filters.authority,
        "licenses": list(filters.licenses) if filters.licenses is not None else None,
        "jurisdictions": list(filters.jurisdictions) if filters.jurisdictions is not None else None,
        "revised_from": filters.revised_from,
        "revised_to": filters.revised_to,
        "published_from": filters.published_from,
        "published_to": filters.published_to,
    }


def _lexical_parameters(question: LexicalQuestion, filters: Filters, found: Composed) -> dict[str, Any]:
    return {
        **_conditions(filters, found),
        **_demanded(question.condition),
        "walked": question.walked,
        "question": question.text,
        "analyser": question.analyser,
        "pool": question.pool,
        "budget": question.budget,
        "rescored": max(question.rescored, question.pool),
    }


def _scan_settings(question: SemanticQuestion) -> dict[str, str]:
    return {
        "ef_search": str(question.reach),
        "max_scan_tuples": str(question.max_scan_tuples),
        "probes": str(min(MOST_PROBES, question.probes)),
        "max_probes": str(question.max_probes),
    }


async def _ask_semantic(
    connection: Connection, filters: Filters, question: SemanticQuestion, *, exact: bool | None = None
) -> Any:
    exactly = question.exact if exact is None else exact
    found = composed(filters)
    parameters = {
        **_conditions(filters, found),
        **_demanded(question.condition),
        "vector": vector_text(question.vector),
        "pool": question.pool,
        "candidates": question.candidates,
    }
    approximate = "semantic_binary" if question.kind == "binary" else "semantic"
    query = _over_space("semantic_exact" if exactly else approximate, question, found)
    return await connection.execute(query, parameters)


def _over_space(name: str, question: SemanticQuestion, found: Composed) -> sql.Composed:
    """`{dimension}` too: a type's length cannot be bound, and the index's expression has it."""
    dimension = sql.Literal(len(question.vector))
    slots = {"dimension": dimension, **_comparing(question), **found.slots()}
    return space_statement("search", name, question.space_id, **slots)


def _comparing(question: SemanticQuestion | None) -> dict[str, sql.Composable]:
    """Where no vector is asked for, any comparison makes the statement whole."""
    return COMPARISONS["cosine" if question is None else question.distance].slots()


async def semantic_exact(
    connection: Connection, filters: Filters, question: SemanticQuestion
) -> list[Candidate]:
    cursor = await _ask_semantic(connection, filters, question, exact=True)
    return [Candidate(*row[:4]) for row in await cursor.fetchall()]


def vector_text(vector: Vectors) -> str:
    return msgspec.json.encode(np.asarray(vector, dtype=np.float64).tolist()).decode()


@dataclass(frozen=True, slots=True)
class HydratedRow:
    """The columns of hydrate.sql. `successor…`: the end of the chain of successors that the caller may read."""

    chunk_id: UUID
    ord: int
    kind: str
    heading_path: list[str]
    page: int | None
    start: int
    end: int
    body: str
    spans: list[int]
    token_count: int
    is_current: bool
    document_id: UUID
    external_id: str
    source: str
    source_name: str
    authority: int
    license: str | None
    jurisdiction: str | None
    revision_id: UUID
    revision: int
    title: str
    url: str | None
    lang: str
    publisher: str | None
    published_at: date | None
    revised_at: date | None
    valid_from: date | None
    valid_to: date | None
    current_revision: int | None
    current_since: date | None
    superseded_by: str | None
    successor: str | None
    successor_title: str | None
    successor_url: str | None
    successor_revised_at: date | None
    holds_from: date | None
    superseded_since: date | None


async def hydrate(connection: Connection, chunk_ids: Sequence[UUID]) -> dict[UUID, Hit]:
    """Hits without rank or scores, by chunk id; an id that the caller may not read is absent."""
    wanted = {"chunk_ids": list(chunk_ids)}
    async with connection.pipeline(), connection.cursor(row_factory=class_row(HydratedRow)) as cursor:
        await connection.execute(statement("search", "plan_once"), {"once": True})
        await cursor.execute(statement("search", "hydrate"), wanted)
        await connection.execute(statement("search", "plan_once"), {"once": False})
        rows = await cursor.fetchall()
    return {row.chunk_id: _hit(row) for row in rows}


async def in_force(
    connection: Connection, document_ids: Sequence[UUID], today: date
) -> dict[UUID | None, InForce]:
    """What holds today, by the document whose latest revision only holds from a later day."""
    parameters = {"document_ids": list(document_ids), "today": today}
    cursor = await connection.execute(statement("search", "in_force"), parameters)
    return {row[0]: InForce(*row[1:]) for row in await cursor.fetchall()}


def _hit(row: HydratedRow) -> Hit:
    return Hit(
        rank=0,
        score=0.0,
        chunk_id=row.chunk_id,
        document=_reference(row),
        ord=row.ord,
        kind=row.kind,
        heading_path=tuple(row.heading_path),
        page=row.page,
        start=row.start,
        end=row.end,
        body=row.body,
        spans=tuple(Span(a, b) for a, b in zip(row.spans[::2], row.spans[1::2], strict=True)),
        token_count=row.token_count,
    )


def _reference(row: HydratedRow) -> DocumentRef:
    same = (name for name in DocumentRef.__dataclass_fields__ if name not in ("successor", "in_force"))
    return DocumentRef(**{name: getattr(row, name) for name in same}, successor=_successor(row))


def _successor(row: HydratedRow) -> Successor | None:
    if row.successor is None:
        return None
    return Successor(row.successor, row.successor_title or "", row.successor_url, row.successor_revised_at)


@dataclass(frozen=True, slots=True)
class TermExplanation:
    """A term of the question: `chunks` holding it, and the weight it carries in BM25 (idf x times said)."""

    analyser: str
    lexeme: str
    weight: float
    chunks: int
    idf: float


async def explain_terms(connection: Connection, question: str, analyser: str) -> tuple[TermExplanation, ...]:
    cursor = await connection.execute(
        statement("search", "explain_terms"), {"question": question, "analyser": analyser}
    )
    return tuple(
        TermExplanation(r[0], r[1], float(r[2]), int(r[3]), float(r[4])) for r in await cursor.fetchall()
    )
