"""Changing, removing and adding rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from psycopg import sql

from tests.support.attack import attackers
from tests.support.attack.attackers import Attacker
from tests.support.attack.outcome import REFUSED, Leaks
from tests.support.attack.siege import Row, Siege
from tests.support.corpus import table


def writes(siege: Siege, name: str) -> Leaks:
    """Policies hold even if every right on the table were granted: own rows are changed and removed, no row of another tenant is,
    and none is added to another."""
    dump, found = siege.dump(name), []
    foreign = next((row for row in dump if row.values["tenant_id"] == str(siege.world.alpha)), None)
    if foreign is None:
        return [f"{name} holds nothing to attack"]
    for attacker in (
        *attackers.nobodies(),
        *attackers.foreigners(siege.world),
        *attackers.malformed(siege.world),
    ):
        own = len([r for r in dump if r.values["tenant_id"] == str(attacker.tenant_id)])
        with siege.connection.transaction(force_rollback=True):
            siege.connection.execute(sql.SQL("grant all on {} to veraz_app").format(table(name)))
            siege.connection.execute(
                "set local session_replication_role = replica"
            )  # no foreign key comes first
            with siege.acting(attacker):
                found += [
                    f"{name}: {attacker.name} {leak}"
                    for leak in _written(siege, name, attacker, foreign, own)
                ]
    return found


def _written(siege: Siege, name: str, attacker: Attacker, foreign: Row, own: int) -> Iterator[str]:
    mine = attacker.tenant_id or uuid4()
    changed = siege.attempt(sql.SQL("update {} set tenant_id = {}").format(table(name), sql.Literal(mine)))
    if changed.count != own or (own and changed.sqlstate):
        yield f"changes {changed.count} of {own} rows: {changed.message}"
    removed = siege.attempt(sql.SQL("delete from {}").format(table(name)))
    if removed.count != own or (own and removed.sqlstate):
        yield f"removes {removed.count} of {own} rows: {removed.message}"
    if mine == siege.world.alpha:
        return
    given = siege.attempt(
        sql.SQL("update {} set tenant_id = {}").format(table(name), sql.Literal(siege.world.alpha))
    )
    if own and given.sqlstate != REFUSED:
        yield f"gives its rows away: {given}"
    for conflict in ("", " on conflict do nothing"):
        added = siege.attempt(*insertion(siege, name, foreign.values, conflict))
        if added.sqlstate not in (REFUSED, "22P02", "2202E"):
            yield f"adds a row to another tenant{conflict}: {added}"


def insertion(
    siege: Siege, name: str, values: Mapping[str, Any], conflict: str = ""
) -> tuple[sql.Composed, list[str]]:
    columns = [
        sql.Identifier(row[0])
        for row in siege.truth(
            "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped"
            " and attgenerated = ''",
            [f"veraz.{name}"],
        )
    ]
    query = sql.SQL(
        "insert into {table} ({columns}) overriding system value"
        " select {columns} from jsonb_populate_record(null::{table}, %s::jsonb) {conflict}"
    ).format(table=table(name), columns=sql.SQL(", ").join(columns), conflict=sql.SQL(conflict))  # type: ignore[arg-type]
    return query, [json.dumps(values)]
