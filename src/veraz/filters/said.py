"""A condition as an expression again: the same condition, however it was written. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal

from veraz.nouns.filter import Comparison, Condition, Joint, Not, Value

_BARE = re.compile(r"[^\W\d]\w*")


def said(condition: Condition) -> str:
    if isinstance(condition, Comparison):
        return _test(condition)
    if isinstance(condition, Not):
        inner = said(condition.part)
        return f"not ({inner})" if isinstance(condition.part, Joint) else f"not {inner}"
    return f" {condition.word} ".join(
        f"({said(p)})" if isinstance(p, Joint) else said(p) for p in condition.parts
    )


def all_of(conditions: Iterable[Condition]) -> str:
    """The expression that all of them hold; empty for none."""
    parts = tuple(conditions)
    return said(Joint("and", parts)) if len(parts) > 1 else "".join(map(said, parts))


def name_of(test: Comparison) -> str:
    return ".".join((test.field, *(key if _BARE.fullmatch(key) else _quoted(key) for key in test.path)))


def _quoted(key: str) -> str:
    return '"' + key.replace('"', '""') + '"'


def _test(test: Comparison) -> str:
    field, values = name_of(test), [_value(v) for v in test.values]
    if test.operator == "is null":
        return f"{field} is null"
    if test.operator == "between":
        return f"{field} between {values[0]} and {values[1]}"
    if test.operator in ("in", "any", "all"):
        return f"{field} {test.operator} ({', '.join(values)})"
    return f"{field} {test.operator} {values[0]}"


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return "'" + value.replace("'", "''") + "'"
