"""SQL files. One statement a file, beside the stage that runs it, with a header comment of purpose and index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import LiteralString, cast

from psycopg import sql

from veraz.nouns.distance import Distance


@cache
def statement(stage: str, name: str) -> sql.SQL:
    """The text of veraz/<stage>/sql/<name>.sql. It is part of the program, hence trusted like a literal."""
    text = resources.files("veraz").joinpath(f"{stage}/sql/{name}.sql").read_text(encoding="utf-8")
    return sql.SQL(cast("LiteralString", text))  # type: ignore[redundant-cast]


def space_statement(stage: str, name: str, space_id: int, **slots: sql.Composable) -> sql.Composed:
    """A statement over one embedding space's table, `{embedding}` in the file: tables cannot be bound as parameters. `slots`: of
    a filter expression, composed by veraz.filters, and of a comparison."""
    return statement(stage, name).format(embedding=embedding_table(space_id), **slots)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How vectors are compared by a distance: pgvector's operator, by which less is nearer, the operator class of indexes that
    answer it, and the score of a column `distance` that the operator made, as nouns/distance.py defines it."""

    operator: sql.SQL
    operators: sql.Identifier
    score: sql.SQL

    def slots(self) -> dict[str, sql.Composable]:
        """What it puts into a statement: operators cannot be bound as parameters."""
        return {"operator": self.operator, "score": self.score}


COMPARISONS: Mapping[Distance, Comparison] = {
    "cosine": Comparison(sql.SQL("<=>"), sql.Identifier("halfvec_cosine_ops"), sql.SQL("1 - distance")),
    # Its operator gives the product with the other sign; 0 - keeps 0 from becoming -0.
    "inner_product": Comparison(sql.SQL("<#>"), sql.Identifier("halfvec_ip_ops"), sql.SQL("0 - distance")),
    # Of vectors of length 1 the cosine: |a - b|² = 2 - 2 a·b.
    "l2": Comparison(
        sql.SQL("<->"), sql.Identifier("halfvec_l2_ops"), sql.SQL("1 - distance * distance / 2")
    ),
}


def embedding_table(space_id: int) -> sql.Identifier:
    return sql.Identifier("veraz", f"embedding_{int(space_id)}")
