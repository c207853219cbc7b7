"""Equations of Office files (OMML) on one line: (a+b)/c, x², √(x), ∑_(i=1)^(n) x."""

from __future__ import annotations

from collections.abc import Callable

from lxml import etree

from veraz.text.scripts import subscript, superscript

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
# Function application, invisible times, separator and plus.
_INVISIBLE = {0x2061: " ", 0x2062: None, 0x2063: None, 0x2064: None}
_W_TEXT = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}t"


def linear(node: etree._Element) -> str:
    """An equation or a part of one."""
    if not isinstance(node.tag, str):
        return ""
    if node.tag in (f"{M}t", _W_TEXT):
        return (node.text or "").translate(_INVISIBLE)
    if node.tag.endswith("Pr"):
        return ""
    form = _FORMS.get(node.tag.removeprefix(M))
    return form(node) if form else "".join(map(linear, node))


def _part(node: etree._Element, name: str) -> str:
    child = node.find(f"{M}{name}")
    return linear(child).strip() if child is not None else ""


def _sign(node: etree._Element, path: str, default: str) -> str:
    found = node.find("/".join(f"{M}{name}" for name in path.split("/")))
    return default if found is None else found.get(f"{M}val", "")


def _wrapped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _power(text: str) -> str:
    written = superscript(text)
    return written if written != text or text == "°" else f"^{_wrapped(text)}" if text else ""


def _index(text: str) -> str:
    written = subscript(text)
    return written if written != text else f"_{_wrapped(text)}" if text else ""


def _fraction(node: etree._Element) -> str:
    return f"{_wrapped(_part(node, 'num'))}/{_wrapped(_part(node, 'den'))}"


def _root(node: etree._Element) -> str:
    degree = _part(node, "deg")
    return f"{_power(degree) if degree else ''}√{_wrapped(_part(node, 'e'))}"


def _scripts(node: etree._Element) -> str:
    return f"{_part(node, 'e')}{_index(_part(node, 'sub'))}{_power(_part(node, 'sup'))}"


def _before(node: etree._Element) -> str:
    return f"{_index(_part(node, 'sub'))}{_power(_part(node, 'sup'))}{_part(node, 'e')}"


def _nary(node: etree._Element) -> str:
    sign = _sign(node, "naryPr/chr", "∫")
    return f"{sign}{_index(_part(node, 'sub'))}{_power(_part(node, 'sup'))} {_part(node, 'e')}"


def _delimited(node: etree._Element) -> str:
    between = _sign(node, "dPr/sepChr", "|")
    inner = between.join(linear(part).strip() for part in node.iterfind(f"{M}e"))
    return f"{_sign(node, 'dPr/begChr', '(')}{inner}{_sign(node, 'dPr/endChr', ')')}"


def _function(node: etree._Element) -> str:
    return f"{_part(node, 'fName')} {_wrapped(_part(node, 'e'))}"


def _limit(node: etree._Element) -> str:
    return f"{_part(node, 'e')}_{_wrapped(_part(node, 'lim'))}"


def _matrix(node: etree._Element) -> str:
    rows = (", ".join(linear(e).strip() for e in row.iterfind(f"{M}e")) for row in node.iterfind(f"{M}mr"))
    return f"[{'; '.join(rows)}]"


def _lines(node: etree._Element) -> str:
    return "; ".join(linear(line).strip() for line in node.iterfind(f"{M}e"))


_FORMS: dict[str, Callable[[etree._Element], str]] = {
    "f": _fraction,
    "rad": _root,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _before,
    "nary": _nary,
    "d": _delimited,
    "func": _function,
    "limLow": _limit,
    "limUpp": _limit,
    "m": _matrix,
    "eqArr": _lines,
}
