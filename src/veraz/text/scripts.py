"""Raised and lowered text in one line of plain text, so that it keeps its value: 10⁵ is not 105, and CO₂ is not CO2 of a list.

Unicode's own characters are used where it has them all; else the exponent is written 10^1.5 and the index x_1.5. What nobody
reads as a number or a mark is left as it is typed everywhere: the letters of 1st, of Cmax and of a phrase.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

Script = Literal["", "super", "sub"]
"""How a piece of text stands on its line."""

RAISED = dict(zip("0123456789+−-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ", strict=True))
LOWERED = dict(zip("0123456789+−-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎", strict=True))
_LETTERS = dict(zip("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True))
_NEUTRAL = frozenset(",;*†‡§¶#‖®™℠©°ºª′″'’")
"""Marks that are the same on the line: what they stand between still shows that it is raised."""
_ORDINALS = frozenset(
    {"st", "nd", "rd", "th", "er", "re", "ère", "ers", "res", "ème", "e", "os", "as", "do", "ta", "to"}
)
_SIGNS = {"tm": "™", "sm": "℠", "r": "®"}
_LONGEST = 16


def superscript(text: str) -> str:
    """`text` as it is to be written where it stood raised; its outer white space is not kept."""
    text = " ".join(text.split()).replace("∘", "°")
    if text in ("TM", "SM"):
        return _SIGNS[text.lower()]
    if _ordinary(text) or text.lower() in _ORDINALS:
        return text
    if len(text) == 1 and text in _LETTERS:
        return _LETTERS[text]
    return _mapped(text, RAISED) or _marked("^", text)


def subscript(text: str) -> str:
    """`text` as it is to be written where it stood lowered; its outer white space is not kept."""
    text = " ".join(text.split())
    if _ordinary(text) or text.isalpha():
        return text
    return _mapped(text, LOWERED) or _marked("_", text)


_WRITE: Mapping[Script, Callable[[str], str]] = {"": str, "super": superscript, "sub": subscript}


def joined(parts: Iterable[tuple[str, Script]]) -> str:
    """The parts of a line as one text; neighbours of one script are one power or index. White space around them is kept."""
    found: list[str] = []
    for script, run in itertools.groupby((part for part in parts if part[0]), key=lambda part: part[1]):
        text = "".join(words for words, _ in run)
        inner = text.strip()
        written = "\n".join(map(_WRITE[script], inner.split("\n")))
        found.append(text.replace(inner, written, 1) if inner else text)
    return "".join(found)


def _ordinary(text: str) -> bool:
    """A phrase, what brackets already set apart, or nothing that could be taken for a part of what stands before it."""
    if text[:1] == "[" and text[-1:] == "]":
        return True
    phrase = len(text) > _LONGEST or (" " in text and any(map(str.isalpha, text)))
    return phrase or not any(map(str.isalnum, text.translate(_WITHOUT_SIGNS)))


_WITHOUT_SIGNS = {ord(sign): "x" for sign in "+−-=–"}


def _mapped(text: str, table: dict[str, str]) -> str:
    """ "" when Unicode lacks a character. A range (3–5) keeps its dash; a leading dash is a minus."""
    signed = "-" + text[1:] if text[:1] == "–" else text
    found: list[str] = []
    for at, char in enumerate(signed):
        between = char in "-–/ " and 0 < at < len(signed) - 1
        if char in table and not (between and char == "-" and signed[at - 1].isdigit()):
            found.append(table[char])
        elif char in _NEUTRAL or between:
            found.append(char)
        else:
            return ""
    return "".join(found)


def _marked(sign: str, text: str) -> str:
    plain = all(char.isalnum() or char in ".,+-−–/" for char in text)
    return f"{sign}{text}" if plain else f"{sign}({text})"
