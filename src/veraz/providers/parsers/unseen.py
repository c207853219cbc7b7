"""Whether an element of a page can be seen, as far as the page itself says so in place.

Two ways are told apart. `set_aside`: the page says openly that something is not shown now, as menus and dialogs are.
`disguised`: it is shown where or how nobody reads it (no size, no opacity, off the screen, in the colour of its ground); such
text is written for machines, and whoever ingests it is told that it was there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from selectolax.lexbor import LexborNode

Unseen = Literal["", "set_aside", "disguised"]
Colour = tuple[int, int, int]

_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*(px|pt|em|rem|ex|ch|%|vw|vh|in|cm|mm|pc)?")
_PIXELS = {
    "pt": 4 / 3, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "vw": 12.0, "vh": 8.0, "in": 96.0, "cm": 38.0, "mm": 3.8,
    "pc": 16.0, "%": 5.0,
}  # fmt: skip
"""Of each unit, roughly; a share is that of a narrow page."""
_CLIPPED = re.compile(
    r"rect\(\s*[01](?:px)?[\s,]|inset\(\s*(?:50|100)%|circle\(\s*0|polygon\(\s*0(?:px|%)?\s+0(?:px|%)?\s*\)"
)
_NAMES: Mapping[str, Colour] = {
    "white": (255, 255, 255), "black": (0, 0, 0), "red": (255, 0, 0), "lime": (0, 255, 0), "green": (0, 128, 0),
    "blue": (0, 0, 255), "yellow": (255, 255, 0), "gray": (128, 128, 128), "grey": (128, 128, 128), "silver": (192, 192, 192),
    "snow": (255, 250, 250), "ivory": (255, 255, 240), "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255),
    "lightgray": (211, 211, 211), "lightgrey": (211, 211, 211), "navy": (0, 0, 128), "maroon": (128, 0, 0),
}  # fmt: skip
_NEAR = 16
"""Channels that differ by no more are one colour to the eye."""
_CLIMB = 50
_OFF_SCREEN = 500
_SMALLEST = 2.0
"""Pixels: a size below which nothing can be read."""


def unseen(node: LexborNode, *, plain: bool) -> Unseen:
    """`plain`: the page has no style sheet, so that its ground is white where nothing else is said."""
    attributes = node.attributes
    if not attributes or node.tag == "body":
        return ""  # a page that hides its body shows it by a script
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return "set_aside"
    if attributes.get("aria-hidden") == "true":
        return "set_aside"
    style = declarations(attributes.get("style") or "")
    if style.get("display") == "none" or style.get("mso-hide") == "all":
        return "set_aside"
    if style.get("visibility") in ("hidden", "collapse") and not _shown_again(node, "visib"):
        return "set_aside"
    if _disguised(node, style) or _same_colour(node, style, attributes.get("color"), plain):
        return "disguised"
    return ""


def declarations(style: str) -> dict[str, str]:
    """The properties of a style attribute, in lower case."""
    found: dict[str, str] = {}
    for part in style.lower().split(";"):
        name, colon, value = part.partition(":")
        if colon:
            found[name.strip()] = value.replace("!important", "").strip()
    return found


def _disguised(node: LexborNode, style: Mapping[str, str]) -> bool:
    if not style:
        return False
    size = _pixels(style.get("font-size", ""))
    tiny = size is not None and size < _SMALLEST and not style["font-size"].endswith("%")
    return (
        _zero(style.get("opacity", ""))
        or (tiny and not _shown_again(node, "font"))
        or style.get("transform", "").replace(" ", "") in ("scale(0)", "scale(0,0)")
        or _away(style)
        or bool(_CLIPPED.search(f"{style.get('clip', '')} {style.get('clip-path', '')}"))
        or _folded(style)
    )


def _shown_again(node: LexborNode, word: str) -> bool:
    """Whether something inside states the property anew: such a container only closes the gaps between its parts."""
    return any(inner.mem_id != node.mem_id for inner in node.css(f"[style*={word}]"))


def _zero(value: str) -> bool:
    found = _LENGTH.fullmatch(value)
    return found is not None and float(found[1]) == 0


def _pixels(value: str) -> float | None:
    found = _LENGTH.fullmatch(value)
    if found is None:
        return None
    return float(found[1]) * _PIXELS.get(found[2] or "px", 1.0)


def _away(style: Mapping[str, str]) -> bool:
    """Off the screen."""
    moved = [style.get("text-indent", "")]
    if style.get("position") in ("absolute", "fixed"):
        moved += [style.get(side, "") for side in ("left", "top", "right", "bottom")]
    moved += [style.get("margin-left", ""), style.get("margin-top", "")]
    return any((size := _pixels(value)) is not None and size <= -_OFF_SCREEN for value in moved)


def _folded(style: Mapping[str, str]) -> bool:
    """In a box of no size that cuts off what is larger."""
    if style.get("overflow") not in ("hidden", "clip"):
        return False
    sizes = [_pixels(style.get(side, "")) for side in ("height", "width", "max-height", "max-width")]
    return any(size is not None and 0 <= size <= 1 for size in sizes)


# Colours


def _same_colour(node: LexborNode, style: Mapping[str, str], attribute: str | None, plain: bool) -> bool:
    stated = style.get("color") or (attribute or "").strip().lower()
    if not stated:
        return False
    if stated == "transparent" or re.fullmatch(r"rgba\(.*[,\s/]0?\.?0+%?\s*\)", stated):
        return True
    colour = _colour(stated)
    ground = _ground(node, plain) if colour else None
    return bool(colour and ground and all(abs(a - b) <= _NEAR for a, b in zip(colour, ground, strict=True)))


def _colour(value: str) -> Colour | None:
    if value in _NAMES:
        return _NAMES[value]
    if re.fullmatch(r"#[0-9a-f]{3}|#[0-9a-f]{6}", value):
        digits = value[1:] if len(value) == 7 else "".join(char * 2 for char in value[1:])
        return (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16))
    if value.startswith("rgb"):
        numbers = re.findall(r"\d+", value)[:3]
        return (int(numbers[0]), int(numbers[1]), int(numbers[2])) if len(numbers) == 3 else None
    return None


def _ground(node: LexborNode, plain: bool) -> Colour | None:
    """The nearest background stated in place; None where it cannot be told."""
    at: LexborNode | None = node
    for _ in range(_CLIMB):
        if at is None or not at.is_element_node:
            return _NAMES["white"] if plain else None
        attributes = at.attributes
        style = declarations(attributes.get("style") or "")
        stated = style.get("background-color") or style.get("background") or attributes.get("bgcolor")
        if stated and stated.strip().lower() not in ("none", "transparent", "inherit"):
            return _colour(stated.strip().lower())
        at = at.parent
    return None
