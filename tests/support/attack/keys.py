"""What references and unique keys tell of rows that cannot be seen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, LiteralString
from uuid import UUID, uuid4

from psycopg import sql

from tests.support.attack import attackers
from tests.support.attack.outcome import Leaks
from tests.support.attack.registry import (
    KEYS_WITHOUT_TENANT,
)
from tests.support.attack.siege import Siege
from tests.support.attack.writing import insertion
from tests.support.corpus import table

FOREIGN_KEY = "23503"

KEYS: LiteralString = """
select k.conname, c.relname, p.relname,
       array(select attname from unnest(k.conkey) with ordinality u (n, i)
               join pg_attribute a on attrelid = k.conrelid and attnum = u.n order by i),
       array(select attname from unnest(k.confkey) with ordinality u (n, i)
               join pg_attribute a on attrelid = k.confrelid and attnum = u.n order by i)
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class p on p.oid = k.confrelid
 where k.contype = 'f' and c.relnamespace = 'veraz'::regnamespace order by 2, 1
"""
UNIQUE_KEYS: LiteralString = """
select i.indexrelid::regclass::text, c.relname,
       array(select attname from unnest(i.indkey::smallint[]) n join pg_attribute a on attrelid = i.indrelid and attnum = n)
  from pg_index i join pg_class c on c.oid = i.indrelid
 where i.indisunique and c.relnamespace = 'veraz'::regnamespace and c.relkind in ('r', 'p') order by 1
"""


def keys(siege: Siege) -> Leaks:
    """The tenant stands in every key: no reference can cross, no conflict can tell."""
    found = [
        f"{child}.{name}: the reference does not carry the tenant"
        for name, child, parent, columns, others in siege.truth(KEYS)
        if siege.tables[parent] and ("tenant_id", "tenant_id") not in zip(columns, others, strict=True)
    ]
    for index, name, columns in siege.truth(UNIQUE_KEYS):
        short = index.removeprefix("veraz.")
        if siege.tables[name] and "tenant_id" not in columns and short not in KEYS_WITHOUT_TENANT:
            found.append(f"{name}.{short} is unique over all tenants")
    return found


def references(siege: Siege) -> Leaks:
    """A reference to a row that another tenant has is refused in the same words as one to nothing."""
    return list(each_reference(siege))


def each_reference(siege: Siege) -> Iterator[str]:
    for constraint, child, _, columns, _ in siege.truth(KEYS):
        probed = [c for c in columns if c != "tenant_id"]
        if probed:
            answers = [_refer(siege, child, constraint, probed, exists=exists) for exists in (True, False)]
            if answers[0] != answers[1]:
                yield (f"{child}.{constraint}: {answers[0]} for what exists, {answers[1]} for what does not")
            elif answers[0][:2] != (FOREIGN_KEY, constraint):
                yield f"{child}.{constraint}: the probe did not reach it: {answers[0]}"


def _refer(
    siege: Siege, child: str, constraint: str, probed: list[str], *, exists: bool
) -> tuple[str | None, str | None, str]:
    dump = [r.values for r in siege.dump(child)]
    taken = next(
        v for v in dump if v["tenant_id"] == str(siege.world.alpha) and all(v[c] is not None for c in probed)
    )
    new = _fresh(siege, child, _own(siege, dump, probed))
    row = {**new, **{c: taken[c] if exists else _other(taken[c]) for c in probed}}
    foreigner = attackers.foreigners(siege.world)[1]
    with siege.connection.transaction(force_rollback=True):
        for other, table_name, *_ in siege.truth(KEYS):
            if table_name == child and other != constraint:
                command = sql.SQL("alter table {} drop constraint {}")
                siege.connection.execute(command.format(table(child), sql.Identifier(other)))
        siege.connection.execute(sql.SQL("grant insert on {} to veraz_app").format(table(child)))
        siege.connection.execute("set constraints all immediate")
        with siege.acting(foreigner):
            outcome = siege.attempt(*insertion(siege, child, row))
    told = outcome.message
    for column in probed:
        told = told.replace(str(row[column]), "…")
    return outcome.sqlstate, outcome.constraint, told


def _own(siege: Siege, dump: list[Mapping[str, Any]], needed: list[str]) -> Mapping[str, Any]:
    mine = [v for v in dump if v["tenant_id"] == str(siege.world.beta)]
    return next(v for v in mine if all(v[c] is not None for c in needed))


_numbers = itertools.count(20_000)


def _other(value: object) -> object:
    """A value of the same type that nothing has."""
    if isinstance(value, int):
        return next(_numbers)
    try:
        UUID(str(value))
    except ValueError:
        return r"\x" + uuid4().hex * 2 if str(value).startswith(r"\x") else f"other-{uuid4().hex}"
    return str(uuid4())


def _fresh(siege: Siege, name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with new values in every key, so that none of its own rows is in the way."""
    unique = {c for _, t, columns in siege.truth(UNIQUE_KEYS) if t == name for c in columns}
    return {c: _other(v) if c in unique - {"tenant_id"} and v is not None else v for c, v in row.items()}


def conflicts(siege: Siege) -> Leaks:
    """Adding a row under a key that another tenant has meets no conflict."""
    return list(each_conflict(siege))


def each_conflict(siege: Siege) -> Iterator[str]:
    foreigner = attackers.foreigners(siege.world)[1]
    for index, name, columns in siege.truth(UNIQUE_KEYS):
        if (
            not siege.tables[name]
            or index.removeprefix("veraz.") in KEYS_WITHOUT_TENANT
            or columns == ["tenant_id"]
        ):
            continue
        dump = [r.values for r in siege.dump(name)]
        shared = [c for c in columns if c != "tenant_id"]
        taken = next(v for v in dump if v["tenant_id"] == str(siege.world.alpha))
        row = {**_fresh(siege, name, _any_of_beta(siege, name, taken)), **{c: taken[c] for c in shared}}
        with siege.connection.transaction(force_rollback=True):
            siege.connection.execute(sql.SQL("grant insert on {} to veraz_app").format(table(name)))
            siege.connection.execute("set local session_replication_role = replica")
            siege.connection.execute(
                sql.SQL("delete from {} where tenant_id = %s").format(table(name)), [siege.world.beta]
            )
            with siege.acting(foreigner):
                outcome = siege.attempt(*insertion(siege, name, row))
        if outcome.sqlstate:
            yield f"{name}.{index}: {outcome.sqlstate} {outcome.message}"


def _any_of_beta(siege: Siege, name: str, taken: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row that beta could hold: its own, or alpha's under beta's name."""
    mine = [r.values for r in siege.dump(name) if r.values["tenant_id"] == str(siege.world.beta)]
    return mine[0] if mine else {**taken, "tenant_id": str(siege.world.beta)}
