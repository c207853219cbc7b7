"""HTML and SVG elements as values. Whatever is not made here is text, and is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

# C0 and C1 controls, and bidirectional overrides, which would show a text in another order than it was written.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class Markup(str):
    """Markup that was made by `element`: not escaped again."""

    __slots__ = ()


Child = str | int | Iterable["Child"] | None
Attribute = str | int | float | bool | None
VOID = frozenset({"meta", "br"})


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """`element("td", text, class_="number")`. A trailing underscore is dropped, others become hyphens (`aria_label`); None and
    False leave an attribute out. Numbers are written with at most four digits behind the point."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Markup:
    """Children one after the other; what is no markup is escaped."""
    return Markup("".join(_content(child) for child in children))


def text(value: object) -> Markup:
    """Foreign text: escaped, without what a browser would obey, and apart from the direction of what stands around it."""
    return element("bdi", str(value))


def number(value: float) -> str:
    """A coordinate, short."""
    return f"{value:.4f}".rstrip("0").rstrip(".") or "0"


def percent(share: float) -> str:
    """0.25 as `25%`."""
    return f"{number(100 * share)}%"


def _content(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str | int):
        return html.escape(_UNSAFE.sub("\ufffd", str(child)), quote=True)
    return "".join(_content(one) for one in child)


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {name}"
    shown = number(value) if isinstance(value, float) else _content(str(value))
    return f' {name}="{shown}"'
