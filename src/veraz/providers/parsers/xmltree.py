"""XML read safely, and its elements asked for what they hold.

Nothing outside the file is ever read, and nothing in it is expanded: a document that declares entities of its own is refused.
Names such as &nbsp;, which a DTD elsewhere would declare, are read as HTML does.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from html.entities import html5

from lxml import etree

from veraz.errors import ItemError
from veraz.text.decode import XML_ENCODING, NotText, decode, is_character_set, storable

Element = etree._Element

_DECLARATION = re.compile(r"\A\s*<\?xml\s[^>]*\?>")
_ELEMENT = re.compile(r"<[A-Za-z_]")
_TOKEN = re.compile(
    r"<!\[CDATA\[(?:.*?\]\]>|.*)|<!--(?:.*?-->|.*)|&(?:#(?:(\d+)|x([0-9a-fA-F]+));|([A-Za-z][A-Za-z0-9]*);)"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]",
    re.S,
)
_OWN = frozenset({"amp", "lt", "gt", "quot", "apos"})


class Refused(ItemError):
    """What makes a file unreadable, before it is known which file it is."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason, stage="parse", fix=fix)


def parse_xml(payload: bytes) -> tuple[Element, tuple[str, ...]]:
    """The root and warnings. Raises Refused for what is not well-formed, not text, or not safe."""
    text, warnings = _text(payload)
    _refuse_entities(text)
    text, more = _plain_references(_DECLARATION.sub("", text, count=1))
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise _malformed(error) from None
    _refuse_declared(root)
    return root, (*warnings, *more)


def _text(payload: bytes) -> tuple[str, tuple[str, ...]]:
    """By the byte order mark, else by the declaration, else as text files are decoded."""
    if encoding := _declared(payload):
        try:
            text, warnings = storable(payload.decode(encoding))
        except UnicodeDecodeError as error:
            raise Refused(
                f"not valid {encoding}, which it declares, at byte {error.start}", "save the file as UTF-8"
            ) from None
        return text, (*warnings, f"decoded as {encoding}")
    try:
        found = decode(payload)
    except NotText as error:
        raise Refused(str(error), "save the file as UTF-8, or leave it out") from None
    return found.text, found.warnings


def _declared(payload: bytes) -> str:
    """The declared encoding where it is to be followed: "" for UTF-8, and for what a mark at the start tells."""
    if payload.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ""
    if payload[:4] in (b"<\x00?\x00", b"\x00<\x00?"):
        return "utf-16-le" if payload[0] else "utf-16-be"
    found = XML_ENCODING.match(payload)
    if not found:
        return ""
    try:
        codec = codecs.lookup(found[1].decode("ascii"))
    except LookupError:
        raise Refused(f"unknown encoding {found[1].decode('ascii')}", "save the file as UTF-8") from None
    name = codec.name.replace("-", "_")
    if not is_character_set(codec):
        raise Refused(f"encoding {codec.name} is not read, for security", "save the file as UTF-8")
    if name.startswith(("utf_8", "ascii", "utf_16", "utf_32")):
        return ""  # the bytes begin as ASCII does, so two of these cannot be
    return {"iso8859_1": "cp1252"}.get(name, codec.name) if _fits(payload, name) else codec.name


def _fits(payload: bytes, name: str) -> bool:
    """Declared Latin-1 is mostly Windows-1252, which five bytes do not fit."""
    return name == "iso8859_1" and not any(byte in payload for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D))


def _refuse_entities(text: str) -> None:
    """Those that are declared before the first element; what hides from this is found once it is parsed."""
    begin = text.find("<!DOCTYPE")
    if begin >= 0:
        element = _ELEMENT.search(text, begin)
        if text.find("<!ENTITY", begin, element.start() if element else len(text)) >= 0:
            raise _entities()


def _refuse_declared(root: Element) -> None:
    """Looks again at what the parser understood, however it was written."""
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and next(dtd.iterentities(), None) is not None:  # type: ignore[attr-defined]
        raise _entities()


def _entities() -> Refused:
    return Refused(
        "declares entities, which can expand without limit or read other files: refused for security",
        "export it without a DTD of its own, if you trust it",
    )


def _plain_references(text: str) -> tuple[str, tuple[str, ...]]:
    """Named references as characters; those that no one knows, as they are written; and no character that XML forbids."""
    unknown: set[str] = set()
    forbidden = 0

    def plain(found: re.Match[str]) -> str:
        nonlocal forbidden
        decimal, hexadecimal, name = found.groups()
        if name:
            if name in _OWN:
                return found[0]
            if f"{name};" in html5:
                return "".join(f"&#{ord(char)};" for char in html5[f"{name};"])
            unknown.add(name)
            return f"&amp;{name};"
        if decimal or hexadecimal:
            code = int(decimal) if decimal else int(hexadecimal, 16)
            if _allowed(code):
                return found[0]
        elif found[0][0] == "<":
            return found[0]
        forbidden += 1
        return ""

    text = _TOKEN.sub(plain, text)
    warnings = [f"unknown entity &{name}; kept as written" for name in sorted(unknown)[:5]]
    if forbidden:
        warnings.append(f"{forbidden} control character{'s' * (forbidden > 1)} removed")
    return text, tuple(warnings)


def _allowed(code: int) -> bool:
    return (
        code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
    )


def _malformed(error: etree.XMLSyntaxError) -> Refused:
    line, reason = error.lineno, str(error.msg or "").partition(", line ")[0]
    if "ntity" in reason and ("loop" in reason or "amplification" in reason):
        return _entities()
    if "huge" in reason.lower() or "depth" in reason.lower():
        return Refused(
            f"too deep, or a text in it too long, to be read safely (line {line}: {reason})", "split the file"
        )
    return Refused(
        f"not well-formed XML: line {line}: {reason}",
        "correct the file, or export it again: it may be cut off",
    )


# Elements


def name_of(element: Element) -> str:
    """The local name; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def space_of(element: Element) -> str:
    tag = element.tag
    return tag[1:].partition("}")[0] if isinstance(tag, str) and tag[:1] == "{" else ""


def children(element: Element, *names: str) -> Iterator[Element]:
    """Child elements of these local names, or all."""
    return (
        child for child in element if isinstance(child.tag, str) and (not names or name_of(child) in names)
    )


def child(element: Element | None, *path: str) -> Element | None:
    """The first element down a path of local names."""
    for name in path:
        if element is None:
            return None
        element = next(children(element, name), None)
    return element


def descendants(element: Element, *names: str) -> Iterator[Element]:
    return (found for found in element.iter(*(f"{{*}}{name}" for name in names)))


def words(element: Element | None) -> str:
    """All the text inside, on one line."""
    return "" if element is None else " ".join("".join(map(str, element.itertext())).split())


def attribute(element: Element | None, name: str) -> str:
    """By its local name."""
    if element is None:
        return ""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value).strip()
    return ""
