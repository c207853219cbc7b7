"""What the server tells by itself."""

from __future__ import annotations

import re
from typing import LiteralString

from psycopg import sql

from tests.support.attack import attackers
from tests.support.attack.outcome import Leaks
from tests.support.attack.siege import Siege
from tests.support.statement_files import statement_files, statement_of


def silence(siege: Siege) -> Leaks:
    """Nothing tells by itself: no trigger, rule, notification, publication or large object."""
    found = [f"{kind} {name}" for kind, name in siege.truth(TELLING)]
    return found + [
        f"{name} notifies: every listener of the database would hear it"
        for name in statement_files()
        if re.search(r"\b(pg_)?notify\b", statement_of(name).as_string(None), re.IGNORECASE)
    ]


TELLING: LiteralString = """
select 'trigger', tgname::text from pg_trigger t join pg_class c on c.oid = tgrelid
 where not tgisinternal and relnamespace = 'veraz'::regnamespace
union all
select 'rule', rulename from pg_rewrite r join pg_class c on c.oid = ev_class
 where relnamespace = 'veraz'::regnamespace and rulename <> '_RETURN'
union all
select 'function that notifies', proname from pg_proc
 where pronamespace = 'veraz'::regnamespace and prosrc ~* '\\m(pg_)?notify\\M'
union all
select 'publication', pubname from pg_publication
union all
select 'large object', oid::text from pg_largeobject_metadata
"""


def statistics(siege: Siege) -> Leaks:
    """The planner's statistics hold values of rows: the server keeps those of tables under policies from the runtime login."""
    found = []
    owned = [name for name, belongs in siege.tables.items() if belongs]
    for view in ("pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"):
        query = sql.SQL(
            "select distinct tablename from {} where schemaname = 'veraz' and tablename = any (%s)"
        )
        for attacker in (
            attackers.nobodies()[0],
            *attackers.foreigners(siege.world),
            *attackers.insiders(siege.world),
        ):
            with siege.acting(attacker):
                shown = siege.attempt(query.format(sql.Identifier(view)), [owned])
            found += [f"{view} shows {attacker.name} values of {row[0]}" for row in shown.rows]
    kept = siege.truth(
        "select count(*) from pg_stats where schemaname = 'veraz' and tablename = any (%s)", [owned]
    )
    return found if kept[0][0] else ["no statistics were gathered"]
