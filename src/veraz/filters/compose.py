"""Conditions as SQL: pieces of predicates.sql, composed, with every value a parameter. Nothing that a caller wrote becomes
text of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, LiteralString, cast

from psycopg import sql

from veraz.filters.fields import of_chunk
from veraz.filters.typed import Resolved
from veraz.nouns.filter import Comparison, Condition, Not, comparisons_of, conjuncts
from veraz.nouns.question import Filters

NOTHING = sql.SQL("")
SLOTS = ("conditions", "documents", "revisions", "chunks")
MARK = "\n-- piece: "
JOINTS = {"and": sql.SQL(" and "), "or": sql.SQL(" or ")}


@cache
def pieces() -> Mapping[str, sql.SQL]:
    """The pieces of predicates.sql by name. The file is part of the program, hence trusted like a literal."""
    text = resources.files("veraz").joinpath("filters/predicates.sql").read_text(encoding="utf-8")
    found = {}
    for part in text.split(MARK)[1:]:
        name, _, body = part.partition("\n")
        found[name] = sql.SQL(cast("LiteralString", body.strip()))  # type: ignore[redundant-cast]
    return found


@dataclass(frozen=True, slots=True)
class Composed:
    """What stands in the slots of a statement, with the parameters that it needs. `conditions`: all of it, where the statement
    looks up one document after the other. Where it finds documents first: `documents` holds what can be said of them
    (`revisions`: of one revision each, under the alias v), `chunks` the rest."""

    conditions: sql.Composable
    documents: sql.Composable
    revisions: sql.Composable
    chunks: sql.Composable
    parameters: Mapping[str, Any]

    def slots(self) -> dict[str, sql.Composable]:
        return {name: getattr(self, name) for name in SLOTS}


UNFILTERED = Composed(NOTHING, NOTHING, NOTHING, NOTHING, {})


def composed(filters: Filters, chunk: str = "e") -> Composed:
    """`chunk`: the alias under which the statement knows a chunk's id."""
    if filters.where is None:
        return UNFILTERED
    if not isinstance(filters, Resolved) or filters.condition is None:
        raise TypeError("a filter expression that nobody resolved")
    parts = conjuncts(filters.condition)
    own = [p for p in parts if not _of_chunks(p)]
    other = [p for p in parts if _of_chunks(p)]
    making = _Making(sql.Identifier(chunk, "chunk_id"))
    return Composed(
        conditions=making.slot(parts, "condition of a chunk" if other else "condition"),
        documents=making.slot(own, "condition"),
        revisions=making.slot(own, "condition of a revision"),
        chunks=making.slot(
            other,
            "condition of a chunk and its document"
            if any(map(_of_documents, other))
            else "condition of a chunk",
        ),
        parameters=making.parameters,
    )


def parts_of(filters: Filters) -> tuple[tuple[Condition, ...], sql.Composable, Mapping[str, Any]]:
    """The conditions that must all hold; the same as a list of boolean expressions over p and c, for who asks which of them does
    not; and their parameters."""
    if not isinstance(filters, Resolved) or filters.condition is None:
        return (), sql.SQL("true"), {}
    parts, making = conjuncts(filters.condition), _Making(sql.Identifier("c", "chunk_id"))
    return parts, sql.SQL(", ").join(map(making.condition, parts)), making.parameters


def _of_chunks(condition: Condition) -> bool:
    return any(of_chunk(test.field) for test in comparisons_of(condition))


def _of_documents(condition: Condition) -> bool:
    return any(not of_chunk(test.field) for test in comparisons_of(condition))


class _Making:
    def __init__(self, chunk: sql.Composable) -> None:
        self._chunk = chunk
        self._names: dict[Comparison, str] = {}
        self.parameters: dict[str, Any] = {}

    def slot(self, parts: Sequence[Condition], piece: str) -> sql.Composable:
        if not parts:
            return NOTHING
        return pieces()[piece].format(
            condition=self._joined("and", parts),
            chunk=self._chunk,
            revision=sql.Identifier("v", "revision_id"),
        )

    def condition(self, condition: Condition) -> sql.Composable:
        if isinstance(condition, Comparison):
            return self._test(condition)
        if isinstance(condition, Not):
            return pieces()["not"].format(part=self.condition(condition.part))
        return self._joined(condition.word, condition.parts)

    def _joined(self, word: str, parts: Sequence[Condition]) -> sql.Composable:
        return sql.SQL("({})").format(JOINTS[word].join(map(self.condition, parts)))

    def _test(self, test: Comparison) -> sql.Composable:
        name = self._names.setdefault(test, f"filter_{len(self._names)}")
        field = self._field(test, name)
        own = pieces().get(f"{test.field} {test.operator}") if not test.path else None
        piece = own or pieces()[f"{test.type} {test.operator}"]
        if test.operator in ("in", "any", "all"):
            self.parameters[name] = list(test.values)
        else:
            for parameter, value in zip((name, f"{name}_second"), test.values, strict=False):
                self.parameters[parameter] = value
        return piece.format(
            field=field, value=sql.Placeholder(name), second=sql.Placeholder(f"{name}_second")
        )

    def _field(self, test: Comparison, name: str) -> sql.Composable:
        if test.field != "meta":
            return pieces()[f"field {test.field}"]
        self.parameters[f"{name}_path"] = list(test.path)
        return pieces()[f"meta {test.type}"].format(path=sql.Placeholder(f"{name}_path"))
