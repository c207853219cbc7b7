"""From the words of an expression to a tree, without types: what was written, and where. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veraz.errors import UsageError
from veraz.filters.words import Word, words_of, wrong

DEEPEST = 50
"""Levels of parentheses and `not`."""
MOST_TESTS = 200
MOST_VALUES = 1000

Unit = Literal["day", "week", "month", "year"]
UNITS: dict[str, Unit] = {name + s: name for name in ("day", "week", "month", "year") for s in ("", "s")}
RESERVED = frozenset(
    {"and", "or", "not", "in", "is", "null", "between", "any", "all", "true", "false", "today"}
)


@dataclass(frozen=True, slots=True)
class Written:
    """A value as it is written. Kind "today": `text` days, weeks, months or years (`unit`) from today, signed."""

    kind: Literal["text", "number", "date", "boolean", "today"]
    text: str
    start: int
    end: int
    unit: Unit = "day"


@dataclass(frozen=True, slots=True)
class WrittenTest:
    """`operator` is never negated: `opposite` is."""

    field: str
    path: tuple[str, ...]
    operator: str
    opposite: bool
    values: tuple[Written, ...]
    start: int
    field_end: int
    operator_start: int
    operator_end: int
    end: int


@dataclass(frozen=True, slots=True)
class WrittenNot:
    part: WrittenPart


@dataclass(frozen=True, slots=True)
class WrittenJoint:
    word: Literal["and", "or"]
    parts: tuple[WrittenPart, ...]


WrittenPart = WrittenTest | WrittenNot | WrittenJoint


def parse(expression: str) -> WrittenPart:
    """Raises UsageError, which points at the place, for what is no expression."""
    return _Parser(expression).whole()


def bare(name: Word) -> str:
    """A name without its quotation marks."""
    return name.text[1:-1] if name.text.startswith('"') else name.text


_OPPOSITE = {"!=": "=", "<>": "=", "!~": "~"}
_SIGNS = ("=", "!=", "<>", "<", "<=", ">", ">=", "~", "!~")
_FORM = "write FIELD OPERATOR VALUE, as in source = 'nih' and authority >= 4"


class _Parser:
    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._words = words_of(expression)
        self._at = 0
        self._tests = 0
        self._values = 0

    def whole(self) -> WrittenPart:
        if self._ended:
            raise self._wrong(self._word, "it is empty", _FORM)
        found = self._any_of(0)
        if not self._ended:
            closing = self._word.text == ")" and self._word.kind == "sign"
            what = (
                "a parenthesis that was never opened"
                if closing
                else "the expression should end here, or go on"
            )
            raise self._wrong(self._word, what, "leave it out" if closing else "join conditions with and, or")
        return found

    # --- and, or, not, parentheses

    def _any_of(self, depth: int) -> WrittenPart:
        return self._joined("or", depth)

    def _joined(self, word: Literal["and", "or"], depth: int) -> WrittenPart:
        inner = self._all_of if word == "or" else self._opposite
        parts = [inner(depth)]
        while self._takes(word):
            parts.append(inner(depth))
        return parts[0] if len(parts) == 1 else WrittenJoint(word, tuple(parts))

    def _all_of(self, depth: int) -> WrittenPart:
        return self._joined("and", depth)

    def _opposite(self, depth: int) -> WrittenPart:
        if depth > DEEPEST:
            raise self._wrong(
                self._word, f"more than {DEEPEST} levels of parentheses and not", "write it flatter"
            )
        if self._takes("not"):
            return WrittenNot(self._opposite(depth + 1))
        if self._takes_sign("("):
            opened = self._words[self._at - 1]
            found = self._any_of(depth + 1)
            if not self._takes_sign(")"):
                what = "a parenthesis that is not closed" if self._word.kind == "end" else "a ) is missing"
                raise self._wrong(opened if self._word.kind == "end" else self._word, what, "close it with )")
            return found
        return self._test()

    # --- one comparison

    def _test(self) -> WrittenTest:
        self._tests += 1
        if self._tests > MOST_TESTS:
            raise self._wrong(
                self._word, f"more than {MOST_TESTS} conditions", "use in ('a', 'b', …), or several searches"
            )
        first = self._word
        field, path = self._field()
        field_end = self._words[self._at - 1].end
        operator_word = self._word
        operator, opposite = self._operator()
        operator_end = self._words[self._at - 1].end
        values = self._operands(operator)
        return WrittenTest(
            field,
            path,
            operator,
            opposite,
            values,
            first.start,
            field_end,
            operator_word.start,
            operator_end,
            self._words[self._at - 1].end,
        )

    def _field(self) -> tuple[str, tuple[str, ...]]:
        word = self._word
        if word.kind == "text":
            raise self._wrong(word, "a text stands where the name of a field is expected", _FORM)
        if word.kind != "name" or word.text.lower() in RESERVED or word.text.startswith('"'):
            what = (
                "it ends where a condition is expected"
                if word.kind == "end"
                else "the name of a field is expected here"
            )
            raise self._wrong(word, what, _FORM)
        self._at += 1
        path: list[str] = []
        while self._takes_sign("."):
            key = self._word
            if key.kind not in ("name", "number"):
                raise self._wrong(
                    key,
                    "a key of the metadata is expected after the point",
                    'write meta.category, or meta."two words"',
                )
            path.append(bare(key))
            self._at += 1
        return word.text.lower(), tuple(path)

    def _operator(self) -> tuple[str, bool]:
        word = self._word
        if word.kind == "sign" and word.text in _SIGNS:
            self._at += 1
            return _OPPOSITE.get(word.text, word.text), word.text in _OPPOSITE
        if self._takes("is"):
            opposite = self._takes("not")
            if not self._takes("null"):
                raise self._wrong(
                    self._word, "is asks only whether something is stated", "write is null, or is not null"
                )
            return "is null", opposite
        opposite = self._takes("not")
        for operator in ("in", "between", "any", "all"):
            if self._takes(operator):
                return operator, opposite
        what = (
            "it ends where an operator is expected" if word.kind == "end" else "an operator is expected here"
        )
        raise self._wrong(
            self._word, what, "use =, !=, <, <=, >, >=, ~, !~, in, between, any, all or is null"
        )

    def _operands(self, operator: str) -> tuple[Written, ...]:
        if operator == "is null":
            return ()
        if operator == "between":
            low = self._value()
            if not self._takes("and"):
                raise self._wrong(self._word, "between needs two values", "write between LOW and HIGH")
            return low, self._value()
        if operator in ("in", "any", "all"):
            return self._list(operator)
        return (self._value(),)

    def _list(self, operator: str) -> tuple[Written, ...]:
        if not self._takes_sign("("):
            raise self._wrong(self._word, f"{operator} takes a list", f"write {operator} ('a', 'b')")
        values = [self._value()]
        while self._takes_sign(","):
            values.append(self._value())
        if not self._takes_sign(")"):
            raise self._wrong(
                self._word, "a list goes on with a comma, or ends with )", f"write {operator} ('a', 'b')"
            )
        return tuple(values)

    def _value(self) -> Written:
        self._values += 1
        word = self._word
        if self._values > MOST_VALUES:
            raise self._wrong(word, f"more than {MOST_VALUES:,} values", "ask in several searches")
        if word.kind in ("text", "date", "number"):
            self._at += 1
            return Written(word.kind, word.text, word.start, word.end)
        if word.kind == "sign" and word.text in "+-":
            return self._signed(word)
        if self._takes("true") or self._takes("false"):
            return Written("boolean", word.text.lower(), word.start, word.end)
        if self._takes("today"):
            return self._day(word)
        if self._is("null"):
            raise self._wrong(word, "nothing equals null", "write is null, or is not null")
        if word.kind == "name":
            raise self._wrong(
                word, "text stands between single quotation marks", f"write '{bare(word)[:40]}'"
            )
        raise self._wrong(
            word,
            "it ends where a value is expected" if word.kind == "end" else "a value is expected here",
            "write 'text', 4, 2024-01-31, true, or today - 2 years",
        )

    def _signed(self, sign: Word) -> Written:
        self._at += 1
        number = self._word
        if number.kind != "number":
            raise self._wrong(number, "a number is expected after the sign", "write -2.5")
        self._at += 1
        text = number.text if sign.text == "+" else f"-{number.text}"
        return Written("number", text, sign.start, number.end)

    def _day(self, today: Word) -> Written:
        sign = self._word
        if sign.kind != "sign" or sign.text not in "+-":
            return Written("today", "0", today.start, today.end)
        self._at += 1
        number, unit = self._word, self._words[min(self._at + 1, len(self._words) - 1)]
        if number.kind != "number" or "." in number.text:
            raise self._wrong(
                number, "a whole number of days, weeks, months or years is expected", "write today - 2 years"
            )
        if unit.kind != "name" or unit.text.lower() not in UNITS:
            raise self._wrong(unit, "days, weeks, months or years are expected", "write today - 2 years")
        self._at += 2
        text = number.text if sign.text == "+" else f"-{number.text}"
        return Written("today", text, today.start, unit.end, UNITS[unit.text.lower()])

    # --- words

    @property
    def _word(self) -> Word:
        return self._words[self._at]

    @property
    def _ended(self) -> bool:
        return self._word.kind == "end"

    def _is(self, name: str) -> bool:
        return self._word.kind == "name" and self._word.text.lower() == name

    def _takes(self, name: str) -> bool:
        taken = self._is(name)
        self._at += taken
        return taken

    def _takes_sign(self, sign: str) -> bool:
        taken = self._word.kind == "sign" and self._word.text == sign
        self._at += taken
        return taken

    def _wrong(self, word: Word, what: str, fix: str) -> UsageError:
        return wrong(self._expression, word.start, word.end, what, fix)
