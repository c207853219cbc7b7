"""What authenticate() tells, and whether it can be led astray."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import uuid4

from psycopg import sql

from tests.support.attack import attackers
from tests.support.attack.outcome import Leaks
from tests.support.attack.siege import Siege


def credentials(siege: Siege) -> Leaks:
    """authenticate() tells a caller what its own credential is, to the end of its life, and is not led astray by names."""
    found = []
    for label, change in (
        ("expired", "created_at = now() - interval '2 days', expires_at = now() - interval '1 second'"),
        ("revoked", "revoked_at = now()"),
        ("of a disabled tenant", None),
    ):
        with siege.connection.transaction(force_rollback=True):
            secret = _stored_key(siege)
            if change is None:
                siege.connection.execute("update veraz.tenant set disabled_at = now()")
            else:
                siege.connection.execute(sql.SQL("update veraz.api_key set {}").format(sql.SQL(change)))  # type: ignore[arg-type]
            found += [f"a key {label} is accepted"] if _authenticated(siege, secret, None) else []
    with siege.connection.transaction(force_rollback=True):
        secret = _stored_key(siege)
        if [row[0] for row in _authenticated(siege, secret, None)] != [siege.world.alpha]:
            found.append("a good key is not accepted")
        for guess in (b"", secret[:-1], secret + b"\0", bytes(32), b"\xff" * 32):
            found += [f"{guess!r} is accepted"] if _authenticated(siege, guess, "default") else []
        for name in (
            "",
            "%",
            "default'--",
            "default ",
            "d_fault",
            "beta,default",
            "null",
            "*",
            "default\ninto",
        ):
            found += [f"tenant {name!r} is accepted"] if _authenticated(siege, None, name) else []
    return found + _led_astray(siege)


def _stored_key(siege: Siege) -> bytes:
    digest = uuid4().bytes + uuid4().bytes
    siege.connection.execute(
        "insert into veraz.api_key (tenant_id, prefix, key_hash, roles) values (%s, 'probe', %s, '{public}')",
        [siege.world.alpha, digest],
    )
    return digest


def _authenticated(siege: Siege, digest: bytes | None, name: str | None) -> tuple[tuple[Any, ...], ...]:
    with siege.acting(attackers.nobodies()[0]):
        return siege.attempt("select * from veraz.authenticate(%s, %s)", [digest, name]).rows


ASTRAY: tuple[LiteralString, ...] = (
    "create function pg_temp.spy(seen pg_catalog.text) returns boolean language plpgsql as $$ begin"
    " raise notice 'runs as % and reads %', current_user, (select pg_catalog.count(*) from veraz.api_key); return true; end $$",
    "create domain pg_temp.text as pg_catalog.text check (pg_temp.spy(value))",
    "create temp table api_key as select ''::pg_catalog.text as key_hash",
    "create temp table tenant as select 'default'::pg_catalog.text as slug",
    "set local search_path = pg_temp, pg_catalog",
)


def _led_astray(siege: Siege) -> Leaks:
    """A caller's types and tables under the names that the function uses: were its path not pinned, the caller's code would
    run as the function's owner."""
    siege.notices.clear()
    with siege.acting(attackers.nobodies()[0]), siege.connection.transaction(force_rollback=True):
        for command in ASTRAY:
            siege.connection.execute(command)
        outcome = siege.attempt("select tenant_id from veraz.authenticate(null, 'default')")
    found = [
        f"authenticate() ran a caller's code, which {told}" for told in siege.notices if "veraz_auth" in told
    ]
    return found + ([] if outcome.rows == ((siege.world.alpha,),) else [f"authenticate() says {outcome}"])
