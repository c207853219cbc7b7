"""A filter expression, parsed and typed: what travels from who asked to the statements that apply it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

FieldType = Literal["text", "number", "date", "boolean", "list"]
Operator = Literal["=", "<", "<=", ">", ">=", "~", "in", "between", "any", "all", "is null"]
Value = str | Decimal | date | bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison. `field` is a name of the catalogue, or "meta" with the `path` of a key; `values` has one value, two for
    between, any number for in, any and all, none for is null. `start` and `end` are where it stands in the expression."""

    field: str
    path: tuple[str, ...]
    type: FieldType
    operator: Operator
    values: tuple[Value, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition


@dataclass(frozen=True, slots=True)
class Joint:
    """Two or more conditions of which every one must hold ("and"), or one ("or")."""

    word: Literal["and", "or"]
    parts: tuple[Condition, ...]


Condition = Comparison | Not | Joint


def comparisons_of(condition: Condition) -> Iterator[Comparison]:
    if isinstance(condition, Comparison):
        yield condition
    elif isinstance(condition, Not):
        yield from comparisons_of(condition.part)
    else:
        for part in condition.parts:
            yield from comparisons_of(part)


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """The conditions that must all hold."""
    if isinstance(condition, Joint) and condition.word == "and":
        return tuple(each for part in condition.parts for each in conjuncts(part))
    return (condition,)


def extent(condition: Condition) -> tuple[int, int]:
    """Where it stands in the expression, from its first comparison to its last."""
    found = list(comparisons_of(condition))
    return min(t.start for t in found), max(t.end for t in found)
