"""Databases for tests: one template with the schema applied, kept between runs, and a copy of it for every test.

Names: `veraz_template_<digest>` and `veraz_test_<process>_<number>`. What a killed run left behind is removed by the next one.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.db.server_fixture import test_home
from tests.support.hashing import HashingEmbedder
from veraz.config import Config, DatabaseConfig, IngestConfig
from veraz.engine import AsyncVeraz
from veraz.providers.ports import Embedder, LexicalEngine

LOCK = 0x7665_7465_7374
UNUSED_SECONDS = 3 * 3600
_number = itertools.count()

Fill = Callable[[str], Awaitable[None]]
"""Fills a fresh database, given its URL."""


def config(url: str, **changes: Any) -> Config:
    """A configuration that touches nothing outside the tests' own folder."""
    changes.setdefault("ingest", IngestConfig(isolated=False))
    return Config(home=str(test_home()), database=DatabaseConfig(url=url), **changes)


async def open_engine(
    url: str, embedder: Embedder | None = None, *, lexical_engine: LexicalEngine | None = None, **changes: Any
) -> AsyncVeraz:
    return await AsyncVeraz.open(
        config=config(url, **changes), embedder=embedder or HashingEmbedder(), lexical_engine=lexical_engine
    )


def at(url: str, name: str) -> str:
    """The same server's URL for another database."""
    return psycopg.conninfo.make_conninfo(url, dbname=name)


def digest_of(*folders: str) -> str:
    """Of the text of all Python and SQL files below these folders of the package."""
    digest = hashlib.sha256()
    for folder in folders:
        root = Path(str(resources.files("veraz"))) / folder
        for file in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".sql")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def schema_template(server: str) -> str:
    """The name of the template database: schema, the hashing embedder's space, the tenant `default`."""

    async def fill(url: str) -> None:
        engine = await open_engine(url)
        async with engine:
            await engine.init()

    return kept(server, f"veraz_template_{digest_of('schema')}", fill)


def kept(server: str, name: str, fill: Fill, *, template: str = "template0") -> str:
    """The database `name`, made and filled where it does not exist. It appears whole or not at all, whoever else makes it."""
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("select pg_advisory_lock(%s)", [LOCK])
        if not _exists(admin, name):
            half = f"{name}_unfinished"
            _drop(admin, half)
            _create(admin, half, template)
            asyncio.run(fill(at(server, half)))  # type: ignore[arg-type]
            admin.execute(
                sql.SQL("alter database {} rename to {}").format(sql.Identifier(half), sql.Identifier(name))
            )
        admin.execute(
            sql.SQL("comment on database {} is {}").format(
                sql.Identifier(name), sql.Literal(f"last used {int(time.time())}")
            )
        )
    return name


@contextmanager
def fresh(server: str, template: str = "template0") -> Iterator[str]:
    """The URL of a new database, dropped afterwards together with whatever is still connected."""
    name = f"veraz_test_{os.getpid()}_{next(_number)}"
    with psycopg.connect(server, autocommit=True) as admin:
        _create(admin, name, template)
    try:
        yield at(server, name)
    finally:
        with psycopg.connect(server, autocommit=True) as admin:
            _drop(admin, name)


def sweep(server: str) -> None:
    """Drops test databases whose process is gone, and kept ones that nobody used for hours or finished."""
    with psycopg.connect(server, autocommit=True) as admin:
        rows = admin.execute(
            "select datname, shobj_description(oid, 'pg_database') from pg_database"
            " where datname ~ '^veraz_(test|template|corpus)_'"
        ).fetchall()
        idle = admin.execute("select pg_try_advisory_lock(%s)", [LOCK]).fetchone() == (True,)
        for name, comment in rows:
            parts = name.split("_")
            dead = parts[1] == "test" and not Path(f"/proc/{parts[2]}").exists() and Path("/proc").exists()
            unused = comment and time.time() - int(comment.split()[-1]) > UNUSED_SECONDS
            half = idle and name.endswith("_unfinished")  # its maker was killed: nobody holds the lock
            if dead or unused or half:
                with suppress(psycopg.Error):  # another run sweeps as well
                    _drop(admin, name)


def _exists(admin: psycopg.Connection[Any], name: str) -> bool:
    return admin.execute("select from pg_database where datname = %s", [name]).fetchone() is not None


def _create(admin: psycopg.Connection[Any], name: str, template: str) -> None:
    admin.execute(
        sql.SQL("create database {} template {} encoding 'UTF8' strategy file_copy").format(
            sql.Identifier(name), sql.Identifier(template)
        )
    )


def _drop(admin: psycopg.Connection[Any], name: str) -> None:
    admin.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
