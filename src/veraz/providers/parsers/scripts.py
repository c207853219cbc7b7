"""Raised and lowered text, kept apart from what it is attached to: 10⁵ is not 105, and H₂O is found as such."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Script = Literal["", "super", "sub"]

_PLAIN = "0123456789+-=()"
_SUPER = dict(zip(f"{_PLAIN}−–ni∘°", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾⁻⁻ⁿⁱ°°", strict=True))
_SUB = dict(zip(f"{_PLAIN}−–", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎₋₋", strict=True))


def joined(parts: Iterable[tuple[str, Script]]) -> str:
    """The parts as one text; neighbours of the same script are one power or index."""
    out: list[str] = []
    held, script = "", ""
    for text, now in [*((text, script) for text, script in parts if text), ("", "")]:
        if now != script or not text:
            out.append(_written(held, script, "".join(out[-1:])[-1:]))
            held, script = "", now
        held += text
    return "".join(out)


def _written(text: str, script: str, before: str) -> str:
    if script == "super":
        return superscript(text, before)
    return subscript(text) if script == "sub" else text


def superscript(text: str, before: str = "") -> str:
    """`before` is the character it is attached to."""
    inner = text.strip()
    if inner and all(char in _SUPER for char in inner):
        return text.replace(inner, "".join(_SUPER[char] for char in inner))
    # Ordinals (1st, 5.º) read well as they stand; a lone letter after a figure is the mark of a note.
    marked = any(map(str.isdigit, inner)) or (len(inner) == 1 and inner.isalpha() and before.isdigit())
    return f"^{inner}" if marked and len(inner) == 1 else f"^({inner})" if marked else text


def subscript(text: str) -> str:
    inner = text.strip()
    if inner and all(char in _SUB for char in inner):
        return text.replace(inner, "".join(_SUB[char] for char in inner))
    return f"_({inner})" if any(map(str.isdigit, inner)) else text
