"""One safeguard taken away at a time, and the checks that must then find something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import LiteralString

from psycopg import sql

from tests.support.attack.keys import KEYS, UNIQUE_KEYS
from tests.support.attack.registry import KEYS_WITHOUT_TENANT, STATEMENTS, TABLES, Kind, Shows
from tests.support.attack.siege import Siege
from tests.support.corpus import table
from tests.support.statement_files import filled, statement_of


@dataclass(frozen=True, slots=True)
class Mutation:
    """`checks` are the names of those that must report, each of them. `table` is what checks of one table are given."""

    name: str
    apply: Callable[[Siege], None]
    checks: tuple[str, ...]
    table: str | None = None

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def _does(*commands: LiteralString) -> Callable[[Siege], None]:
    def apply(siege: Siege) -> None:
        for command in commands:
            siege.connection.execute(command)

    return apply


def _on(name: str, command: LiteralString) -> Callable[[Siege], None]:
    return lambda siege: siege.connection.execute(sql.SQL(command).format(table(name))) and None


def of_tables() -> Iterator[Mutation]:
    """Every table of tenants without one part of its row-level security."""
    for name, shows in TABLES.items():
        if shows is Shows.EVERYTHING:
            continue
        seen = () if shows is Shows.NOTHING else ("rows",)
        yield Mutation(
            f"{name}: row security disabled",
            _on(name, "alter table {} disable row level security"),
            (*seen, "writes", "policies"),
            name,
        )
        yield Mutation(
            f"{name}: not forced",
            _on(name, "alter table {} no force row level security"),
            ("owner", "policies"),
            name,
        )
        yield Mutation(
            f"{name}: using true",
            _on(name, "alter policy tenant_isolation on {} using (true)"),
            ("writes", "policies"),
            name,
        )
        yield Mutation(
            f"{name}: with check true",
            _on(name, "alter policy tenant_isolation on {} with check (true)"),
            ("writes", "policies"),
            name,
        )
        yield Mutation(
            f"{name}: one policy too many",
            _on(name, "create policy open on {} to public using (true)"),
            ("writes", "policies"),
            name,
        )
        if shows in (Shows.DOCUMENT, Shows.TRACE, Shows.WRITERS):
            yield Mutation(
                f"{name}: labels not checked", _on(name, "drop policy readable on {}"), ("rows",), name
            )


def _replaced(function: LiteralString, body: LiteralString) -> Callable[[Siege], None]:
    """The function with another body, whatever it did before."""
    return lambda siege: (
        siege.connection.execute("create or replace function " + function + " " + body) and None
    )


def _without(function: str, pattern: str, instead: str = "") -> Callable[[Siege], None]:
    """The function of this name without what matches; the match must exist."""

    def apply(siege: Siege) -> None:
        query = "select pg_get_functiondef(oid) from pg_proc where proname = %s and pronamespace = 'veraz'::regnamespace"
        ((text,),) = siege.truth(query, [function])
        changed, count = re.subn(pattern, instead, text, flags=re.IGNORECASE | re.DOTALL)
        assert count, f"{pattern} is not in {text}"
        siege.connection.execute(sql.SQL(changed))

    return apply


def of_functions() -> Iterator[Mutation]:
    reading: LiteralString = "language sql stable parallel safe return "
    may_read: LiteralString = (
        "veraz.may_read(acl text[], acl_rule text, owner text, readable_from timestamptz, readable_until timestamptz)"
        " returns boolean"
    )
    for name in ("document", "chunk", "revision", "section"):
        yield Mutation(f"may_read is true: {name}", _replaced(may_read, reading + "true"), ("rows",), name)
        yield Mutation(
            f"everybody is writing: {name}",
            _replaced("veraz.is_writing() returns boolean", reading + "true"),
            ("rows",),
            name,
        )
    yield Mutation(
        "may_read takes one label for all", _without("may_read", "<@", "&&"), ("rows",), "document"
    )
    yield Mutation(
        "may_read forgets the beginning",
        _without("may_read", "readable_from <= now\\(\\)", "true"),
        ("rows",),
        "document",
    )
    yield Mutation(
        "may_read forgets the end",
        _without("may_read", "now\\(\\) < readable_until", "true"),
        ("rows",),
        "document",
    )
    yield Mutation(
        "nobody is somebody",
        lambda siege: (
            siege.connection.execute(
                sql.SQL(
                    "create or replace function veraz.current_tenant() returns uuid language sql stable parallel safe"
                    " return coalesce(nullif(current_setting('veraz.tenant_id', true), '')::uuid, {}::uuid)"
                ).format(sql.Literal(siege.world.alpha))
            )
            and None
        ),
        ("rows", "writes"),
        "chunk_lexical",
    )
    yield Mutation(
        "unset roles are public",
        _replaced(
            "veraz.current_roles() returns text[]",
            reading
            + "coalesce(nullif(nullif(current_setting('veraz.roles', true), ''), '{}')::text[], '{public}'::text[])",
        ),
        ("rows",),
        "document",
    )
    yield Mutation(
        "deleted documents are shown",
        _does(
            "alter policy readable on veraz.document using (veraz.is_writing()"
            " or veraz.may_read(acl, acl_rule, owner, readable_from, readable_until))"
        ),
        ("rows",),
        "document",
    )
    for name in ("eligible", "eligible_documents", "valid_revisions", "filterable", "last_successor"):
        yield Mutation(
            f"{name} does not ask may_read", _without(name, r"veraz\.may_read\([^)]*\)", "true"), ("alone",)
        )
        yield Mutation(
            f"{name} forgets deletions", _without(name, r"(d\.)?deleted_at is null", "true"), ("alone",)
        )


def of_keys(siege: Siege) -> Iterator[Mutation]:
    """Every reference and every unique key without the tenant."""
    for constraint, child, parent, columns, others in siege.truth(KEYS):
        kept = [(c, o) for c, o in zip(columns, others, strict=True) if c != "tenant_id"]
        if kept:
            yield Mutation(
                f"{constraint} without the tenant",
                _reference_without_tenant(constraint, child, parent, kept),
                ("references", "keys"),
            )
    for index, name, columns in siege.truth(UNIQUE_KEYS):
        kept_columns = [c for c in columns if c != "tenant_id"]
        if siege.tables[name] and kept_columns and index.removeprefix("veraz.") not in KEYS_WITHOUT_TENANT:
            yield Mutation(
                f"{index} without the tenant",
                _unique_without_tenant(name, kept_columns),
                ("conflicts", "keys"),
            )


def _reference_without_tenant(
    constraint: str, child: str, parent: str, kept: list[tuple[str, str]]
) -> Callable[[Siege], None]:
    own = sql.SQL(", ").join(sql.Identifier(c) for c, _ in kept)
    other = sql.SQL(", ").join(sql.Identifier(o) for _, o in kept)
    commands = (
        sql.SQL("alter table {child} drop constraint {name}"),
        sql.SQL("create unique index on {parent} ({other})"),
        sql.SQL(
            "alter table {child} add constraint {name} foreign key ({own}) references {parent} ({other})"
        ),
    )

    def apply(siege: Siege) -> None:
        for command in commands:
            siege.connection.execute(
                command.format(
                    child=table(child),
                    parent=table(parent),
                    name=sql.Identifier(constraint),
                    own=own,
                    other=other,
                )
            )

    return apply


def _unique_without_tenant(name: str, columns: list[str]) -> Callable[[Siege], None]:
    def apply(siege: Siege) -> None:
        siege.connection.execute("set local session_replication_role = replica")
        remove = sql.SQL("delete from {} where tenant_id = %s").format(table(name))
        siege.connection.execute(remove, [siege.world.beta])  # both may have the same words
        listed = sql.SQL(", ").join(map(sql.Identifier, columns))
        siege.connection.execute(sql.SQL("create unique index on {} ({})").format(table(name), listed))
        siege.connection.execute("set local session_replication_role = origin")

    return apply


RIGHTS: tuple[tuple[LiteralString, str], ...] = (
    ("grant update (text) on veraz.revision to veraz_app", "privileges"),
    ("grant update (tenant_id) on veraz.document to veraz_app", "privileges"),
    ("grant update on veraz.chunk to veraz_app", "privileges"),
    ("grant delete on veraz.chunk to veraz_app", "privileges"),
    ("grant truncate on veraz.posting to veraz_app", "privileges"),
    ("grant trigger on veraz.document to veraz_app", "privileges"),
    ("grant references on veraz.document to veraz_app", "privileges"),
    ("grant select on veraz.api_key to veraz_app", "privileges"),
    ("grant select (key_hash) on veraz.api_key to veraz_app", "privileges"),
    ("grant insert on veraz.tenant to veraz_app", "privileges"),
    ("grant select on veraz.document to public", "privileges"),
    ("grant select (question) on veraz.trace to public", "privileges"),
    ("grant create on schema veraz to veraz_app", "privileges"),
    ("grant usage on schema veraz to public", "privileges"),
    ("grant select on veraz.posting_delta to veraz_app", "privileges"),
    ("grant execute on function veraz.authenticate to public", "privileges"),
    ("revoke select on veraz.chunk from veraz_app", "privileges"),
    ("grant veraz_ops to veraz_app", "roles"),
    ("grant veraz_owner to veraz_app", "roles"),
    ("grant veraz_auth to veraz_app", "roles"),
    ("grant pg_read_all_data to veraz_app", "roles"),
    ("grant pg_read_server_files to veraz_app", "roles"),
    ("alter role veraz_app inherit; grant veraz_ops to veraz_app", "privileges"),
    ("alter role veraz_app bypassrls", "roles"),
    ("alter role veraz_app createrole", "roles"),
    ("alter role veraz_app superuser", "roles"),
    ("grant execute on function pg_read_file(text) to veraz_app", "roles"),
)

PEEK: LiteralString = "select external_id, document_id from veraz.document"


def of_objects() -> Iterator[Mutation]:
    """A grant widened, a view, a function, a table, something that tells by itself."""
    for command, check in RIGHTS:
        yield Mutation(command, _does(*command.split("; ")), (check,))  # type: ignore[arg-type]
    seen: LiteralString = "grant select on veraz.peek to veraz_app"
    yield Mutation(
        "a view with its owner's rights",
        _does("create view veraz.peek as " + PEEK, seen),
        ("views", "registered", "privileges"),
    )
    yield Mutation(
        "a view that nobody registered",
        _does("create view veraz.peek with (security_invoker) as " + PEEK, seen),
        ("registered",),
    )
    yield Mutation(
        "a view that is no longer its caller's",
        _does(
            "create view veraz.peek with (security_invoker) as " + PEEK,
            "alter view veraz.peek reset (security_invoker)",
        ),
        ("views",),
    )
    yield Mutation(
        "a materialised view", _does("create materialized view veraz.peek as " + PEEK, seen), ("views",)
    )
    yield Mutation(
        "a function with rights of its own",
        _does(
            "create function veraz.peek() returns setof text language sql security definer return 'x'::text"
        ),
        ("definers", "registered"),
    )
    yield Mutation(
        "a known function with rights of its own",
        _does("alter function veraz.last_successor security definer"),
        ("definers",),
    )
    yield Mutation(
        "a second form of a known function",
        _does("create function veraz.term(n integer) returns integer language sql return n"),
        ("registered",),
    )
    yield Mutation(
        "a pure function that reads",
        _replaced(
            "veraz.searchable(body text) returns text",
            "language sql stable return veraz.current_tenant()::text",
        ),
        ("functions",),
    )
    yield Mutation(
        "a table without policies",
        _does("create table veraz.fresh (tenant_id uuid, secret text)"),
        ("registered", "policies", "stocked"),
    )
    yield Mutation("a sequence that nobody registered", _does("create sequence veraz.fresh"), ("registered",))
    yield Mutation("a key on one column", _does("create unique index on veraz.trace (trace_id)"), ("keys",))
    yield Mutation(
        "statistics of open tables",
        _on("document", "alter table {} disable row level security"),
        ("statistics",),
    )
    yield from _of_authenticate()
    yield Mutation(
        "a trigger that notifies",
        _does(
            "create function veraz.tell() returns trigger language plpgsql as"
            " $$ begin perform pg_notify('veraz', new.external_id); return new; end $$",
            "create trigger tell after insert on veraz.document for each row execute function veraz.tell()",
        ),
        ("silence", "registered"),
    )
    yield Mutation("a large object", _does("select lo_create(0)"), ("silence",))


def _of_authenticate() -> Iterator[Mutation]:
    yield Mutation(
        "authenticate without a pinned path",
        _does("alter function veraz.authenticate reset search_path"),
        ("credentials", "definers"),
    )
    yield Mutation(
        "authenticate with temporary names first",
        _does("alter function veraz.authenticate set search_path = pg_temp, pg_catalog"),
        ("credentials", "definers"),
    )
    for what, pattern in (
        ("revoked", r"k\.revoked_at is null and"),
        ("expired", r"k\.expires_at > now\(\)"),
        ("disabled", r"t\.disabled_at is null"),
    ):
        instead = "" if what == "revoked" else "true"
        yield Mutation(
            f"authenticate forgets {what}", _without("authenticate", pattern, instead), ("credentials",)
        )
    yield Mutation(
        "authenticate takes a pattern",
        _without("authenticate", r"t\.slug = tenant_name", "t.slug like tenant_name"),
        ("credentials",),
    )


PREDICATES = {
    "may_read": r"veraz\.may_read\([^)]*\)",
    "deletions": r"(?<![\w.])(\w\.)?deleted_at is null",
    "roles": r"roles <@ veraz\.current_roles\(\)",
}
"""Of the statements that read: each occurrence is taken away by itself."""
TENANT = r"= veraz\.current_tenant\(\)"
"""Taken away everywhere at once: a row that is found by the tenant is mostly found again by the tenant."""
COVERED = (
    "evaluation/held_revisions",
    "ops/measure/sample_chunks",
    "search/semantic",
    "search/semantic_exact",
    "search/as_of",
    "search/lexical_permitted",
    "search/narrow",
    "search/readable_words",
)
"""Without it these show the same: eligible(), eligible_documents() and valid_revisions() ask for the tenant. They have mutations
of their own."""

TOLD_BY_ABSENCE = frozenset(
    {
        ("search/lexical", "may_read 0"),
        ("search/lexical", "deletions 0"),
        ("search/unseen_words", "may_read 0"),
        ("search/unseen_words", "deletions 0"),
        ("search/unseen_words", "tenant"),
    }
)
"""Where these are missing nothing is shown that should not be: a word of the question is not said to be unseen.
tests/security/test_unseen_words.py takes each of them away."""


def of_statements() -> Iterator[tuple[str, str, sql.Composable]]:
    """Statement, what is missing, and the text without it."""
    for name, entry in STATEMENTS.items():
        if entry.kind not in (Kind.CONTENT, Kind.STATISTICS):
            continue
        for what, text in without_each(name):
            if (name, what) not in TOLD_BY_ABSENCE and not (what == "tenant" and name in COVERED):
                yield name, what, text


def without_each(name: str) -> Iterator[tuple[str, sql.Composable]]:
    """A statement without each of its predicates in turn, and what that is called."""
    text = statement_of(name).as_string(None)
    for what, pattern in PREDICATES.items():
        for number, match in enumerate(re.finditer(pattern, text)):
            yield f"{what} {number}", _composed(f"{text[: match.start()]}true{text[match.end() :]}")
    if re.search(TENANT, text):
        yield "tenant", _composed(re.sub(TENANT, "is not null", text))


def _composed(text: str) -> sql.Composable:
    return filled(sql.SQL(text))  # type: ignore[arg-type]
