"""The words of a filter expression, with where they stand. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from veraz.errors import UsageError

LONGEST = 10_000
"""Characters of an expression."""

Kind = Literal["text", "date", "number", "name", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Word:
    """`text` as written; of a text its content, of a name between quotation marks that between `"`. `start` to `end` is where it
    stands."""

    kind: Kind
    text: str
    start: int
    end: int


_WORD = re.compile(
    r"""(?P<blank>\s+)
      | '(?P<text>(?:[^']|'')*)'
      | "(?P<quoted>(?:[^"]|"")*)"
      | (?P<date>[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?![\w.-]))
      | (?P<number>[0-9]+(?:\.[0-9]+)?(?![\w.]))
      | (?P<name>[^\W\d]\w*(?:-\w+)*)
      | (?P<sign><=|>=|!=|<>|!~|[=<>~(),.+-])
    """,
    re.VERBOSE,
)


def words_of(expression: str) -> list[Word]:
    """Raises UsageError, with the place, for what is no word."""
    if len(expression) > LONGEST:
        raise UsageError(
            f"the filter has {len(expression):,} characters",
            fix=f"write it in at most {LONGEST:,}; name many values in several searches",
        )
    found: list[Word] = []
    at = 0
    while at < len(expression):
        match = _WORD.match(expression, at)
        if match is None:
            raise _no_word(expression, at)
        kind = str(match.lastgroup)
        if kind == "text":
            found.append(Word("text", match["text"].replace("''", "'"), at, match.end()))
        elif kind == "quoted":
            name = match["quoted"].replace('""', '"')
            found.append(Word("name", f'"{name}"', at, match.end()))
        elif kind != "blank":
            found.append(Word(kind, match[0], at, match.end()))  # type: ignore[arg-type]
        at = match.end()
    found.append(Word("end", "", len(expression), len(expression)))
    return found


def _no_word(expression: str, at: int) -> UsageError:
    if expression[at] == "'":
        return wrong(
            expression,
            at,
            len(expression),
            "a text begins here and does not end",
            "end it with ' (write '' for one inside)",
        )
    if expression[at] in "‘’“”":
        return wrong(
            expression, at, at + 1, "typographic quotation marks", "write text between straight ones: 'cc0'"
        )
    number = re.match(r"[0-9][\w.-]*", expression[at:])
    if number:
        return wrong(
            expression,
            at,
            at + number.end(),
            f"{_short(number[0])!r} is no number and no date",
            "write 4, 2.5 or 2024-01-31, and text between single quotation marks",
        )
    return wrong(
        expression,
        at,
        at + 1,
        f"{expression[at]!r} means nothing here",
        "write text between single quotation marks: source = 'nih'",
    )


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


AROUND = 60
"""Characters of the expression that a message shows on either side of the place."""


def wrong(expression: str, start: int, end: int, what: str, fix: str) -> UsageError:
    """The error to raise, with the line of the expression and a mark below the place."""
    return UsageError(f"the filter cannot be used: {what}\n{pointed(expression, start, end)}", fix=fix)


def pointed(expression: str, start: int, end: int) -> str:
    """The part of the expression around a place, and a line that marks it."""
    first, last = max(0, start - AROUND), min(len(expression), max(end, start) + AROUND)
    line = "".join(c if c.isprintable() else " " for c in expression[first:last])
    before = f"  at character {start + 1}: {'…' if first else ''}"
    after = "…" if last < len(expression) else ""
    mark = " " * (len(before) + start - first) + "^" * max(1, min(end, last) - start)
    return f"{before}{line}{after}\n{mark}"
