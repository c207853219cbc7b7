"""Numerals as languages write them, brought to one spelling. Pure.

"1.000" is a thousand in Spanish and one in English. Where the language is not known, neither is assumed: such a numeral keeps a
mark in place of its separator, so that it equals nothing but itself. Conventions: Unicode CLDR, number symbols.
"""

from __future__ import annotations

import re
from functools import lru_cache

_COMMA = frozenset(
    (
        "es",
        "fr",
        "de",
        "it",
        "pt",
        "nl",
        "sv",
        "da",
        "no",
        "nb",
        "nn",
        "fi",
        "ro",
        "hu",
        "ru",
        "tr",
        "pl",
        "cs",
        "ca",
        "gl",
        "eu",
    )
)
"""Languages whose decimal sign is a comma, and whose thousands are grouped by a dot or a space."""
_DOT = frozenset({"en"})
_HARD = "\u00a0\u2007\u2008\u2009\u202f'’"
_MARKS = {".": "~", ",": "¬", " ": "¦"}
MARKS = "".join(_MARKS.values())
_UNMARKED = str.maketrans({mark: sign for sign, mark in _MARKS.items()})

_DIGIT = re.compile(r"\d")
_HARD_GROUPS = re.compile(rf"(?<![\w.,])[1-9]\d{{0,2}}(?:([{_HARD}])\d{{3}})(?:\1\d{{3}})*(?!\d)")
_SPACED_GROUPS = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?: \d{3})+(?!\d)")
_PUNCTUATED = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)+")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")


@lru_cache(maxsize=4096)
def spelled(text: str, lang: str = "") -> str:
    """The text with its numerals written plainly, "1000" and "2.5", as far as `lang` (empty: not known) decides how they are
    read. What is no single number, such as 12.03.2024, stays. Text that was spelled already reads the same as English."""
    if _DIGIT.search(text) is None:
        return text
    language = lang.lower().partition("-")[0]
    text = _HARD_GROUPS.sub(lambda m: re.sub(r"\D", "", m.group()), text)
    text = _SPACED_GROUPS.sub(lambda m: _spaced(m.group(), language), text)
    return _PUNCTUATED.sub(lambda m: _punctuated(m.group(), language), text)


def as_written(numeral: str) -> str:
    """A spelled numeral for a reader: marks become separators again."""
    return numeral.translate(_UNMARKED)


def _spaced(numeral: str, language: str) -> str:
    """In English "take 2 500 mg tablets" is two numbers; "10 000" is one in any language."""
    if language in _COMMA or " 0" in numeral:
        return numeral.replace(" ", "")
    return numeral if language in _DOT else numeral.replace(" ", _MARKS[" "])


def _punctuated(numeral: str, language: str) -> str:
    signs = re.sub(r"\d", "", numeral)
    if len(signs) > 1:
        return _several(numeral) if _GROUPED.fullmatch(numeral) else numeral
    if not _GROUPED.fullmatch(numeral):
        return _decimal(numeral.replace(",", "."))
    if language not in _COMMA | _DOT:
        return numeral.replace(signs, _MARKS[signs])
    groups = "." if language in _COMMA else ","
    return numeral.replace(signs, "") if signs == groups else _decimal(numeral.replace(",", "."))


def _several(numeral: str) -> str:
    """1.234.567 and 1,234.5: the shape alone says which sign groups, the first."""
    grouping = re.sub(r"\d", "", numeral)[0]
    return _decimal(numeral.replace(grouping, "").replace(",", "."))


def _decimal(numeral: str) -> str:
    return numeral.rstrip("0").rstrip(".") if "." in numeral else numeral
