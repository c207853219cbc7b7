"""Random lives of documents from several connections at once, and the definitions that must hold whatever happened.

The definitions are written here a second time, over rows as they are stored, without the functions that keep them.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any, LiteralString
from uuid import UUID

from tests.support import databases, oracle
from tests.support.corpus import put, record, rows
from veraz.engine import AsyncVeraz
from veraz.errors import ItemError, UsageError
from veraz.nouns.corpus import Access, Identity
from veraz.nouns.lifecycle import Retention

DOCUMENTS, ITEMS, CONNECTIONS = 30, 4, 4

# --- the definitions

DOCUMENTS_AS_STORED: LiteralString = """
select d.document_id, d.source_id, d.external_id, d.superseded_by, d.superseded_at, d.superseded_from, d.supersession_pinned,
       d.deleted_at, d.erased_at, d.current_revision_id, r.supersedes, r.item, r.edition, r.valid_from, r.revised_at,
       r.published_at, r.ingested_at
  from veraz.document d left join veraz.revision r on r.revision_id = d.current_revision_id
"""
REVISIONS_AS_STORED: LiteralString = """
select document_id, supersedes, item, edition, valid_from, revised_at, published_at, ingested_at from veraz.revision
"""
PURGED: LiteralString = "select document_id from veraz.document where purged_number > 0"
LEFT_OVER: LiteralString = """
select 'revision', r.revision_id from veraz.revision r join veraz.document d using (tenant_id, document_id)
 where d.current_revision_id is null
union all
select 'section', s.revision_id from veraz.section s left join veraz.revision r using (tenant_id, revision_id) where r is null
union all
select 'revision without chunks', r.revision_id from veraz.revision r left join veraz.chunk c using (tenant_id, revision_id)
 where c.chunk_id is null
union all
select 'chunk', coalesce(c.chunk_id, l.chunk_id, e.chunk_id)
  from veraz.chunk c full join veraz.chunk_lexical l using (tenant_id, chunk_id)
  full join veraz.embedding_1 e using (tenant_id, chunk_id)
 where c.chunk_id is null or l.chunk_id is null or e.chunk_id is null
"""
COPIES_THAT_DISAGREE: LiteralString = """
with wanted as (
    select c.chunk_id, coalesce(c.revision_id = d.current_revision_id and d.superseded_by is null, false) as current
      from veraz.chunk c join veraz.document d using (tenant_id, document_id))
select 'chunk', chunk_id from veraz.chunk join wanted using (chunk_id) where is_current <> current
union all select 'chunk_lexical', chunk_id from veraz.chunk_lexical join wanted using (chunk_id) where is_current <> current
union all select 'embedding', chunk_id from veraz.embedding_1 join wanted using (chunk_id) where is_current <> current
union all select 'retired', revision_id from veraz.revision r join veraz.document d using (tenant_id, document_id)
           where (retired_at is null) is distinct from (r.revision_id = d.current_revision_id)
union all select 'word', l.chunk_id from veraz.chunk_lexical l, unnest(l.tsv) t
           where l.is_current
             and not exists (select from veraz.lexeme_stat s where s.analyser = l.analyser and s.lexeme = t.lexeme)
             and not exists (select from veraz.posting p
                              where p.analyser = l.analyser and p.term = veraz.term(t.lexeme) and p.block < 0)
"""


@dataclass(frozen=True, slots=True)
class Declares:
    """What a revision says of itself and of others."""

    supersedes: str | None
    item: str | None
    edition: str | None
    valid_from: date | None
    revised_at: date | None
    published_at: date | None
    ingested_at: Any

    @property
    def stated(self) -> date | None:
        return self.valid_from or self.revised_at or self.published_at

    @property
    def holds_from(self) -> date:
        return self.stated or self.ingested_at.date()  # type: ignore[no-any-return]

    @property
    def number(self) -> int | None:
        return int(self.edition) if self.edition and re.fullmatch(r"[0-9]{1,15}", self.edition) else None

    def follows(self, other: Stored) -> bool:
        return other.says.item is not None and self.item == other.says.item and is_later(self, other.says)


@dataclass(frozen=True, slots=True)
class Stored:
    document_id: UUID
    source_id: UUID
    external_id: str
    superseded_by: UUID | None
    superseded_at: Any
    superseded_from: date | None
    pinned: bool
    deleted_at: Any
    erased_at: Any
    current: UUID | None
    says: Declares  # the current revision


def successor(of: Stored, others: list[Stored]) -> Stored | None:
    """What documents declare: the newest that names it, else the next edition of its item."""
    others = [
        o for o in others if o.source_id == of.source_id and o.document_id != of.document_id and o.current
    ]
    if of.current is None:
        return None
    named = [o for o in others if o.says.supersedes == of.external_id]
    if named:
        newest = max((o.says.revised_at or date.min) for o in named)
        return min(
            (o for o in named if (o.says.revised_at or date.min) == newest), key=lambda o: o.document_id
        )
    return min(
        (o for o in others if o.says.follows(of)),
        key=lambda o: (
            o.says.stated is None,
            o.says.stated or date.min,
            o.says.number is None,
            o.says.number or 0,
            o.document_id,
        ),
        default=None,
    )


def replaced_since(of: Stored, by: Stored, revisions: list[Declares]) -> date:
    """The first day of those revisions of the successor that make it one."""
    named = by.says.supersedes == of.external_id
    return min(
        r.holds_from for r in revisions if (r.supersedes == of.external_id if named else r.follows(of))
    )


def is_later(a: Declares, b: Declares) -> bool:
    if a.stated and b.stated and a.stated != b.stated:
        return a.stated > b.stated
    return a.number is not None and b.number is not None and a.number > b.number


async def check(engine: AsyncVeraz) -> None:
    """Everything that must hold of the engine's tenant while nobody writes."""
    documents = [Stored(*row[:10], Declares(*row[10:])) for row in await rows(engine, DOCUMENTS_AS_STORED)]
    revisions: dict[UUID, list[Declares]] = {}
    for document_id, *columns in await rows(engine, REVISIONS_AS_STORED):
        revisions.setdefault(document_id, []).append(Declares(*columns))
    purged = {row[0] for row in await rows(engine, PURGED)}
    by_id = {d.document_id: d for d in documents}
    for document in documents:
        assert (
            (document.superseded_by is None)
            == (document.superseded_from is None)
            == (document.superseded_at is None)
        )
        assert document.erased_at is None or (document.deleted_at is not None and document.current is None)
        assert document.current is not None or document.deleted_at is not None, document
        if not document.pinned:
            wanted = successor(document, documents)
            assert document.superseded_by == (wanted.document_id if wanted else None), document
            if wanted is None:
                assert document.superseded_from is None, document
                continue
            since = replaced_since(document, wanted, revisions[wanted.document_id])
            assert document.superseded_from is not None
            assert document.superseded_from == since or (
                wanted.document_id in purged and document.superseded_from < since
            ), document
        seen, end = {document.document_id}, document.superseded_by
        while end is not None:
            assert end not in seen, f"a cycle at {document.external_id}"
            seen.add(end)
            end = by_id[end].superseded_by
    assert await rows(engine, COPIES_THAT_DISAGREE) == []
    assert await rows(engine, LEFT_OVER) == []
    await oracle.check_postings(engine, merged=False)


async def check_rebuild(engine: AsyncVeraz) -> None:
    """Merged postings are those that a rebuild from the chunks makes."""
    await engine.merge_index()
    postings: LiteralString = (
        "select analyser, term, block, n, chunk_nos, impacts from veraz.posting order by 1, 2, 3"
    )
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        merged = await (await connection.execute(postings)).fetchall()
        await connection.execute(
            "select veraz.rebuild_postings(analyser) from veraz.lexical_epoch where tenant_id = veraz.current_tenant()"
        )
        assert await (await connection.execute(postings)).fetchall() == merged
    await oracle.check_postings(engine, merged=True)


# --- the operations

EXPECTED = (
    "supersession would form a cycle: ",
    "was erased on ",
    "was deleted while it was being ingested",
    "already written by another ingest",
    "the database does not take it: new row for relation",  # a document that says it replaces itself
)


@dataclass(slots=True)
class Tally:
    """What happened: operations by name, expected refusals, and what should not have been."""

    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    collisions: int = 0


class Life:
    """One connection's operations on one engine; the seed decides all of them."""

    def __init__(self, engine: AsyncVeraz, seed: str, tally: Tally) -> None:
        self.engine = engine
        self.chance = random.Random(seed)
        self.tally = tally
        self.step = 0

    async def act(self) -> None:
        names, weights = zip(*WEIGHTS.items(), strict=True)
        name = self.chance.choices(names, weights)[0]
        operation: Callable[[], Awaitable[None]] = getattr(self, f"_{name}")
        self.step += 1
        try:
            await operation()
            self.tally.done[name] += 1
        except (ItemError, UsageError) as error:
            self.tally.refused[f"{name}: {error}".splitlines()[0][:60]] += 1
        except Exception as error:
            self.tally.wrong.append(f"{name}: {type(error).__name__}: {error}")

    def _name(self) -> str:
        return f"d{self.chance.randrange(DOCUMENTS)}"

    def _day(self) -> str:
        return f"20{self.chance.randrange(10, 24)}-0{self.chance.randrange(1, 10)}-01"

    async def _put(self, **fields: Any) -> None:
        name = self._name()
        text = f"The rule of {name}, step {self.step} by {self.chance.randrange(10**6)}."
        lang = self.chance.choice(("en", "en", "es"))
        report = await put(self.engine, record(name, text, lang=lang, **fields), clean=False)
        for error in report.errors:
            if error.reason.startswith(EXPECTED):
                self.tally.refused[error.reason[:30]] += 1
            else:
                self.tally.wrong.append(f"ingest: {error.reason}")

    async def _write(self) -> None:
        await self._put()

    async def _write_dated(self) -> None:
        await self._put(valid_from=self._day())

    async def _declare(self) -> None:
        await self._put(supersedes=self._name(), revised_at=self._day())

    async def _edit(self) -> None:
        await self._put(item=f"i{self.chance.randrange(ITEMS)}", edition=str(self.chance.randrange(1, 12)))

    async def _edit_dated(self) -> None:
        await self._put(item=f"i{self.chance.randrange(ITEMS)}", valid_from=self._day())

    async def _supersede(self) -> None:
        await self.engine.supersede(self._name(), by=self._name(), source="s")

    async def _undo(self) -> None:
        await self.engine.supersede(self._name(), undo=True, source="s")

    async def _as_declared(self) -> None:
        await self.engine.supersede(self._name(), as_declared=True, source="s")

    async def _delete(self) -> None:
        await self.engine.delete(self._name(), source="s")

    async def _restore(self) -> None:
        await self.engine.restore(self._name(), source="s")

    async def _erase(self) -> None:
        await self.engine.erase(self._name(), source="s")

    async def _set_access(self) -> None:
        access = self.chance.choice(
            (Access(), Access(("hr",)), Access(("boss",), "owner", "boss"), Access(("a", "b"), "all"))
        )
        await self.engine.set_access(self._name(), source="s", access=access)

    async def _retain(self) -> None:
        policies = (
            Retention(history_revisions=1),
            Retention(history_days=0),
            Retention(deleted_days=0),
            Retention(trace_days=0),
        )
        await self.engine.set_retention(self.chance.choice(policies))
        await self.engine.run_retention(batch=self.chance.choice((1, 5, 200)))

    async def _merge(self) -> None:
        await self.engine.merge_index()

    async def _search(self) -> None:
        found = await self.engine.search("rule step", lang="en", mode="lexical", k=5)
        assert len({h.chunk_id for h in found.hits}) == len(found.hits)


WEIGHTS = {
    "write": 22,
    "write_dated": 10,
    "declare": 12,
    "edit": 8,
    "edit_dated": 6,
    "supersede": 6,
    "undo": 4,
    "as_declared": 4,
    "delete": 6,
    "restore": 7,
    "erase": 1,
    "set_access": 6,
    "retain": 2,
    "merge": 2,
    "search": 4,
}


async def live(url: str, operations: int, *, seed: int, checkpoints: int) -> Tally:
    """So many operations by four connections on two tenants; the definitions are checked at every checkpoint, while all rest."""
    tally = Tally()
    engines = [await databases.open_engine(url) for _ in range(CONNECTIONS)]
    try:
        tenants: list[Identity] = [await engines[0].identity(), await engines[0].ensure_tenant("beta")]
        lives = [
            [Life(engine.acting_as(tenant), f"{seed} {n} {tenant.tenant}", tally) for tenant in tenants]
            for n, engine in enumerate(engines)
        ]
        for _ in range(checkpoints):
            await asyncio.gather(*(_run(mine, operations // checkpoints // CONNECTIONS) for mine in lives))
            assert tally.wrong == [], tally.wrong[:5]
            for tenant in tenants:
                await check(engines[0].acting_as(tenant))
        for tenant in tenants:
            await check_rebuild(engines[0].acting_as(tenant))
            await check(engines[0].acting_as(tenant))
        tally.collisions = sum(engine._database.collisions for engine in engines)
    finally:
        for engine in engines:
            await engine.close()
    return tally


async def _run(lives: list[Life], operations: int) -> None:
    for n in range(operations):
        await lives[n % len(lives)].act()
