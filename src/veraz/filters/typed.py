"""Types: every field known, every operator one that its field has, every value of the field's type. Pure."""

from __future__ import annotations

import difflib
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date, timedelta
from decimal import Decimal
from typing import cast

from veraz.errors import UsageError
from veraz.filters.fields import EXAMPLES, FIELDS, OPERATORS, known_fields
from veraz.filters.grammar import (
    Unit,
    Written,
    WrittenJoint,
    WrittenNot,
    WrittenPart,
    WrittenTest,
    parse,
)
from veraz.filters.words import wrong
from veraz.nouns.filter import Comparison, Condition, FieldType, Joint, Not, Operator, Value
from veraz.nouns.question import Filters
from veraz.text.decode import storable

Declared = Mapping[str, FieldType]
LARGEST = Decimal(10) ** 30
"""Numbers from here on are taken for a mistake."""


@dataclass(frozen=True, slots=True)
class Resolved(Filters):
    """Filters whose expression was read: `condition` is what `where` says on the day on which it was asked."""

    condition: Condition | None = None


def resolve(filters: Filters, declared: Declared, today: date) -> Filters:
    """Raises UsageError for an expression that cannot be used. Filters without one stay plain."""
    stated = {f.name: getattr(filters, f.name) for f in fields(Filters)}
    if filters.where is None:
        return Filters(**stated)
    return Resolved(**stated, condition=read(filters.where, declared, today))


def read(expression: str, declared: Declared, today: date) -> Condition:
    """The condition that an expression states. `declared`: types of keys of the metadata. Raises UsageError, which points at the
    place and says what would do."""
    return _Typing(expression, declared, today).part(parse(expression))


def both(first: str | None, second: str | None) -> str | None:
    """The expression that both hold. Raises UsageError where one of them is none: joined, two halves could be."""
    if first is None or second is None:
        return second if first is None else first
    parse(first)
    parse(second)
    return f"({first}) and ({second})"


class _Typing:
    def __init__(self, expression: str, declared: Declared, today: date) -> None:
        self._expression = expression
        self._declared = declared
        self._today = today

    def part(self, written: WrittenPart) -> Condition:
        if isinstance(written, WrittenNot):
            return Not(self.part(written.part))
        if isinstance(written, WrittenJoint):
            return Joint(written.word, tuple(self.part(p) for p in written.parts))
        found = self._test(written)
        return Not(found) if written.opposite else found

    def _test(self, test: WrittenTest) -> Comparison:
        kind, is_declared = self._type(test)
        operator = self._operator(test, kind, is_declared)
        if operator in ("any", "all") and kind == "text":
            kind = "list"  # an undeclared key: the operator says how its value is read
        values = tuple(self._value(test, written, kind, is_declared) for written in test.values)
        if operator == "between" and values[0] > values[1]:  # type: ignore[operator]
            low, high = test.values
            raise self._wrong(
                low.start, high.end, "nothing lies between these: the first is the larger", "exchange them"
            )
        return Comparison(test.field, test.path, kind, operator, values, test.start, test.end)

    def _type(self, test: WrittenTest) -> tuple[FieldType, bool]:
        """The type, and whether it is certain: a key of the metadata that nobody declared is read as text."""
        if test.field == "meta":
            return self._type_of_key(test)
        name = ".".join((test.field, *test.path))
        if test.field not in FIELDS or test.path:
            near = difflib.get_close_matches(test.field, [*FIELDS, "meta"], n=1)
            meant = f"did you mean {near[0]!r}? " if near and name not in FIELDS and not test.path else ""
            raise self._wrong(
                test.start,
                test.field_end,
                f"there is no field {_short(name)!r}",
                f"{meant}fields: {known_fields(self._declared)}",
            )
        return FIELDS[test.field].type, True

    def _type_of_key(self, test: WrittenTest) -> tuple[FieldType, bool]:
        if not test.path:
            raise self._wrong(
                test.start,
                test.field_end,
                "meta holds keys",
                "write meta.category, with a key of the metadata",
            )
        for key in test.path:
            self._storable(key, test.start, test.field_end)
        # a point in a declaration means one key inside another, never a key that holds a point
        nested = not any("." in key for key in test.path)
        found = self._declared.get(".".join(test.path)) if nested else None
        return ("text", False) if found is None else (found, True)

    def _operator(self, test: WrittenTest, kind: FieldType, is_declared: bool) -> Operator:
        name = test.operator
        if name in OPERATORS[kind] or (not is_declared and name in ("any", "all")):
            return cast("Operator", name)
        said = _named(test)
        fix = f"use {EXAMPLES[kind]}"
        if not is_declared:
            fix = f'declare it in the configuration: [filters.meta] {_toml(test.path)} = "number" or "date"; else {fix}'
            said = f"{said} has no declared type, hence is text, and"
        else:
            said = f"{said} is {_a(kind)} and"
        raise self._wrong(test.operator_start, test.operator_end, f"{said} has no {name}", self._listed(fix))

    def _value(self, test: WrittenTest, written: Written, kind: FieldType, is_declared: bool) -> Value:
        if kind in ("text", "list") and written.kind == "text":
            return self._storable(written.text, written.start, written.end)
        if kind == "number" and written.kind == "number":
            return self._number(written)
        if kind == "boolean" and written.kind == "boolean":
            return written.text == "true"
        if kind == "date" and written.kind in ("date", "today", "text"):
            return self._date(written)
        said = f"{_named(test)} is {_a(kind)}, and this is {_a(written.kind)}"
        fix = f"write {_named(test)} {EXAMPLES[kind]}"
        if not is_declared:
            said = f"{_named(test)} has no declared type, hence is text, and this is {_a(written.kind)}"
            wanted = {"today": "date"}.get(written.kind, written.kind)
            fix = f"declare it in the configuration: [filters.meta] {_toml(test.path)} = \"{wanted}\"; or compare text: '…'"
        raise self._wrong(written.start, written.end, said, self._listed(fix))

    def _listed(self, fix: str) -> str:
        """With the fields: who mistook a type may have meant another one."""
        return f"{fix}; fields: {known_fields(self._declared)}"

    def _storable(self, text: str, start: int, end: int) -> str:
        if "\x00" in text or storable(text)[0] != text:
            raise self._wrong(start, end, "a character that no document can hold", "leave it out")
        return text

    def _number(self, written: Written) -> Decimal:
        number = Decimal(written.text)
        if abs(number) >= LARGEST or len(written.text) > 60:
            raise self._wrong(
                written.start,
                written.end,
                "a number that is too large or too long",
                f"stay below {LARGEST:.0e}",
            )
        return number

    def _date(self, written: Written) -> date:
        try:
            if written.kind == "today":
                return moved(self._today, int(written.text), written.unit)
            year, month, day = (int(part) for part in written.text.split("-"))
            return date(year, month, day)
        except (ValueError, OverflowError) as error:
            relative = written.kind == "today"
            what = (
                "a day outside the years 1 to 9999"
                if relative
                else f"{_short(written.text)!r} is no day of the calendar"
            )
            raise self._wrong(
                written.start, written.end, what, "write YYYY-MM-DD, or today - 2 years"
            ) from error

    def _wrong(self, start: int, end: int, what: str, fix: str) -> UsageError:
        return wrong(self._expression, start, end, what, fix)


def moved(day: date, count: int, unit: Unit) -> date:
    """A day so many units later; of months and years the same day of the month, or its last. Raises ValueError or OverflowError
    outside the calendar."""
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    if not 1 <= year <= 9999:
        raise ValueError("outside the calendar")
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _named(test: WrittenTest) -> str:
    return _short(".".join((test.field, *test.path)))


def _toml(path: tuple[str, ...]) -> str:
    name = ".".join(path)
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isascii() and bare.isalnum() else f'"{_short(name)}"'


def _a(kind: str) -> str:
    return {
        "list": "a list",
        "date": "a date",
        "number": "a number",
        "boolean": "true or false",
        "today": "a date",
    }.get(kind, "text")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
