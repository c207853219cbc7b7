"""Logins of a test's own. Roles belong to the server that all tests share, so each is dropped with what it owns."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg import sql

_number = itertools.count()


@contextmanager
def login(
    url: str, attributes: str = "", *, member_of: tuple[str, ...] = (), admin_of: tuple[str, ...] = ()
) -> Iterator[str]:
    """The URL of a new login on the database of `url`, an administrator's. `attributes`: of CREATE ROLE."""
    name, password = f"veraz_test_login_{os.getpid()}_{next(_number)}", secrets.token_urlsafe(12)
    with psycopg.connect(url, autocommit=True) as admin:
        command = f"create role {{}} login {attributes} password {{}}"
        admin.execute(sql.SQL(command).format(sql.Identifier(name), sql.Literal(password)))  # type: ignore[arg-type]
        for role in (*member_of, *admin_of):
            option = sql.SQL(" with admin option" if role in admin_of else "")
            admin.execute(
                sql.SQL("grant {} to {}{}").format(sql.Identifier(role), sql.Identifier(name), option)
            )
    try:
        yield psycopg.conninfo.make_conninfo(url, user=name, password=password)
    finally:
        drop_login(url, name)


def drop_login(url: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = %s", [name])
        for command in ("reassign owned by {} to current_user", "drop owned by {} cascade"):
            with suppress(psycopg.errors.UndefinedObject):
                admin.execute(sql.SQL(command).format(sql.Identifier(name)))
        admin.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(name)))
