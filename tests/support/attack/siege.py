"""One connection inside a transaction that is rolled back: what the database holds, and what an attacker gets of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from tests.support.attack.attackers import Attacker
from tests.support.attack.world import QUESTION, World
from tests.support.corpus import table

Parameters = Mapping[str, Any] | Sequence[Any] | None
Query = LiteralString | sql.SQL | sql.Composed

TABLES: LiteralString = """
select c.relname, exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)
  from pg_class c where c.relnamespace = 'veraz'::regnamespace and c.relkind in ('r', 'p') order by 1
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`sqlstate` is None where the server did as told."""

    rows: tuple[tuple[Any, ...], ...] = ()
    count: int = 0
    sqlstate: str | None = None
    constraint: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    ctid: str
    values: Mapping[str, Any]


@dataclass
class Siege:
    """`connection` is a superuser's: it sees the truth, and becomes the runtime login for the length of an attack."""

    connection: psycopg.Connection[Any]
    world: World
    notices: list[str] = field(default_factory=list)
    _forbidden: dict[Attacker, set[str]] = field(default_factory=dict)
    _untouched: dict[UUID | None, list[tuple[Any, ...]]] = field(default_factory=dict)

    @cached_property
    def tables(self) -> dict[str, bool]:
        """Every table, and whether its rows belong to tenants."""
        return dict(self.truth(TABLES))

    def truth(self, query: Query, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        return self.connection.execute(query, parameters).fetchall()

    def dump(self, name: str) -> list[Row]:
        """Every row of a table, whoever it belongs to."""
        query = sql.SQL("select ctid::text, to_jsonb(t) from {} t").format(table(name))
        return [Row(*row) for row in self.truth(query)]

    @cached_property
    def documents(self) -> list[dict[str, Any]]:
        """With the ids of all their revisions and chunks."""
        with self.connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(
                "select d.*, s.slug,"
                " array(select revision_id from veraz.revision r where r.document_id = d.document_id order by number)"
                " as revisions,"
                " array(select chunk_id from veraz.chunk c where c.document_id = d.document_id order by ord) as chunks"
                " from veraz.document d join veraz.source s using (tenant_id, source_id) order by external_id"
            ).fetchall()

    @cached_property
    def traces(self) -> list[dict[str, Any]]:
        with self.connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute("select tenant_id, trace_id, roles from veraz.trace").fetchall()

    # --- who may see what: the definition, written without the functions of the schema

    @cached_property
    def now(self) -> datetime:
        found: datetime = self.truth("select now()")[0][0]
        return found

    def may_read(self, attacker: Attacker, document: Mapping[str, Any]) -> bool:
        if attacker.tenant_id is None or attacker.tenant_id != document["tenant_id"]:
            return False
        if attacker.writes:
            return True
        now = self.now
        owned = document["owner"] is not None and document["owner"] in attacker.held
        begun = document["readable_from"] is None or document["readable_from"] <= now
        over = document["readable_until"] is not None and document["readable_until"] <= now
        held = [label in attacker.held for label in document["acl"]]
        labels = {"any": any(held), "all": all(held), "owner": False}[document["acl_rule"]]
        return document["deleted_at"] is None and (owned or (labels and begun and not over))

    def may_read_trace(self, attacker: Attacker, trace: Mapping[str, Any]) -> bool:
        mine = attacker.tenant_id is not None and attacker.tenant_id == UUID(str(trace["tenant_id"]))
        return mine and (attacker.writes or set(trace["roles"]) <= attacker.held)

    def forbidden(self, attacker: Attacker) -> set[str]:
        """Words and ids that nothing shown to the attacker may hold."""
        if attacker in self._forbidden:
            return self._forbidden[attacker]
        found = set()
        for document in self.documents:
            if not self.may_read(attacker, document):
                ids = (document["document_id"], *document["revisions"], *document["chunks"])
                found |= {document["external_id"], *map(str, ids)}
        hidden = [t for t in self.traces if not self.may_read_trace(attacker, t)]
        found |= {str(t["trace_id"]) for t in hidden}
        found |= {QUESTION} if any("hr" in t["roles"] for t in hidden) else set()
        self._forbidden[attacker] = found
        return found

    def leaks(self, attacker: Attacker, shown: object) -> list[str]:
        text = repr(shown).lower()
        return sorted(word for word in self.forbidden(attacker) if word in text)

    # --- attacking

    @cached_property
    def _search_path(self) -> str:
        found = self.truth(
            "select extnamespace::regnamespace::text from pg_extension where extname = 'vector'"
        )
        return f"veraz, {found[0][0]}, pg_temp"

    @contextmanager
    def acting(self, attacker: Attacker, role: LiteralString = "veraz_app") -> Iterator[None]:
        """As the role, with the attacker's settings. Nothing of it stays."""
        with self.connection.transaction(force_rollback=True):
            settings = [("search_path", self._search_path), *attacker.settings]
            self.connection.execute(
                "select set_config(name, value, true) from unnest(%s::text[], %s::text[]) s (name, value)",
                [[name for name, _ in settings], [value for _, value in settings]],
            )
            command = sql.SQL(
                "set local session authorization {}" if role == "veraz_app" else "set local role {}"
            )
            self.connection.execute(command.format(sql.Identifier(role)))
            yield

    def attempt(self, query: Query, parameters: Parameters = None) -> Outcome:
        """What the server says; undone at once."""
        try:
            with self.connection.transaction(force_rollback=True):
                cursor = self.connection.execute(query, parameters)
                rows = tuple(cursor.fetchall()) if cursor.description else ()
                return Outcome(rows, cursor.rowcount)
        except psycopg.Error as error:
            return Outcome(sqlstate=error.sqlstate, constraint=error.diag.constraint_name, message=str(error))

    def copied(self, query: sql.Composed) -> Outcome:
        try:
            with self.connection.transaction(force_rollback=True), self.connection.cursor() as cursor:
                with cursor.copy(query) as copy:
                    lines = b"".join(bytes(block) for block in copy).splitlines()
                return Outcome(tuple((line.decode(),) for line in lines), len(lines))
        except psycopg.Error as error:
            return Outcome(sqlstate=error.sqlstate, message=str(error))

    def state_of_others(self, own: UUID | None) -> list[tuple[Any, ...]]:
        """A digest of every table's rows of other tenants than `own`."""
        parts = [
            sql.SQL(
                "select {name}, md5(coalesce(string_agg(t::text, '|' order by t::text), '')) from {table} t where {own}"
            ).format(
                name=sql.Literal(name),
                table=table(name),
                own=sql.SQL("tenant_id is distinct from {}").format(sql.Literal(own))
                if owned
                else sql.SQL("true"),
            )
            for name, owned in self.tables.items()
        ]
        return sorted(self.truth(sql.SQL(" union all ").join(parts)))

    def changes_of_others(
        self, attacker: Attacker, query: Query, parameters: Parameters
    ) -> tuple[Outcome, list[str]]:
        """What the attacker is told, and the tables in which rows of others then differ."""
        own = attacker.tenant_id
        before = self._untouched[own] = self._untouched.get(own) or self.state_of_others(own)
        with self.acting(attacker):
            try:
                with self.connection.transaction():
                    cursor = self.connection.execute(query, parameters)
                    outcome = Outcome(tuple(cursor.fetchall()) if cursor.description else (), cursor.rowcount)
            except psycopg.Error as error:
                outcome = Outcome(sqlstate=error.sqlstate, message=str(error))
            self.connection.execute("set local session authorization default")
            after = self.state_of_others(attacker.tenant_id)
        changed = [name for (name, old), (_, new) in zip(before, after, strict=True) if old != new]
        return outcome, changed


@contextmanager
def besieging(url: str, world: World) -> Iterator[Siege]:
    with psycopg.connect(url) as connection:
        siege = Siege(connection, world)
        connection.add_notice_handler(lambda told: siege.notices.append(told.message_primary or ""))
        # what other checks wrote and rolled back stays in an index until vacuum, and may be all that a scan meets first
        connection.execute("set hnsw.iterative_scan = relaxed_order")
        connection.commit()
        try:
            yield siege
        finally:
            connection.rollback()
