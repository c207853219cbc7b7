"""SQL files. One statement a file, beside the stage that runs it, with a header comment of purpose and index."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import LiteralString, cast

from psycopg import sql


@cache
def statement(stage: str, name: str) -> sql.SQL:
    """The text of veraz/<stage>/sql/<name>.sql. It is part of the program, hence trusted like a literal."""
    text = resources.files("veraz").joinpath(f"{stage}/sql/{name}.sql").read_text(encoding="utf-8")
    return sql.SQL(cast("LiteralString", text))  # type: ignore[redundant-cast]


def space_statement(stage: str, name: str, space_id: int, **slots: sql.Composable) -> sql.Composed:
    """A statement over one embedding space's table, `{embedding}` in the file: tables cannot be bound as parameters. `slots`: of
    a filter expression, composed by veraz.filters."""
    return statement(stage, name).format(embedding=embedding_table(space_id), **slots)


def embedding_table(space_id: int) -> sql.Identifier:
    return sql.Identifier("veraz", f"embedding_{int(space_id)}")
