"""Bytes to text, and text that PostgreSQL can store.

`decode` never guesses silently: a file is UTF-8, or it carries a byte order mark, or it declares its
character set, or it is plausible Windows-1252; anything else is refused with the offset of the first
byte that does not fit.
"""

from __future__ import annotations

import codecs
import math
import re
from dataclasses import dataclass
from typing import Any

from veraz.errors import UsageError

# UTF-32 before UTF-16: the little-endian mark of the first begins with that of the second.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.I)
XML_ENCODING = re.compile(rb"""\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{2,40})["']""")
_UNSAFE = frozenset(
    {"utf-7", "punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"}
)
"""Codecs of Python in which plain characters spell others, or that no document is written in."""
_UNICODE = ("utf-16", "utf-32")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# Control characters that no text file carries: what remains of a binary file read as Latin text.
_JUNK = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")


class NotText(ValueError):
    """The bytes are not text that can be decoded with certainty; the message says why."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """`text` holds no NUL, no lone surrogate and does not begin with U+FEFF; `warnings` counts what was
    removed."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(payload: bytes, *, html: bool = False) -> Decoded:
    """Text of a file. Raises NotText when the encoding cannot be told. `html` also reads `<meta charset>`."""
    encoding, body = _by_mark(payload)
    if encoding is None:
        encoding = _without_mark(payload, html)
    try:
        raw = body.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotText(f"not valid {encoding} at byte {error.start + len(payload) - len(body)}") from None
    _refuse_binary(raw)
    text, warnings = storable(raw)
    if encoding not in ("utf-8", "ascii"):
        warnings = (*warnings, f"decoded as {encoding}")
    return Decoded(text, encoding, warnings)


def storable(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without what PostgreSQL refuses (NUL, lone surrogates) and without a leading mark, plus
    counted warnings.

    Surrogate pairs, as JSON escapes write them, become the character that they mean; a lone one becomes
    U+FFFD.
    """
    warnings: list[str] = []
    text = text.lstrip("\ufeff")
    if nuls := text.count("\x00"):
        text = text.replace("\x00", "")
        warnings.append(f"{_counted(nuls, 'NUL character')} removed")
    if _SURROGATE.search(text):
        text, lone = _SURROGATE.subn("\ufffd", _PAIR.sub(_join_pair, text))
        if lone:
            warnings.append(f"{_counted(lone, 'lone surrogate')} replaced")
    return text.lstrip("\ufeff"), tuple(warnings)


def require_storable(what: str, *values: str | None) -> None:
    """Raises UsageError for a name that PostgreSQL refuses: cleaned it would be another name, perhaps of something else."""
    for value in values:
        if value is not None and ("\x00" in value or _SURROGATE.search(value)):
            raise UsageError(
                f"{what} {value[:80]!r} holds a character that cannot be stored",
                fix="leave out NUL and what is no UTF-8",
            )


def storable_json(value: Any) -> Any:
    """A JSON value whose strings and keys are storable. Raises ValueError for numbers that JSON cannot
    write."""
    if isinstance(value, str):
        return storable(value)[0]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is not finite")
    if isinstance(value, dict):
        return {storable(str(key))[0]: storable_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(item) for item in value]
    return value


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _join_pair(match: re.Match[str]) -> str:
    return match.group().encode("utf-16", "surrogatepass").decode("utf-16")


def _by_mark(payload: bytes) -> tuple[str | None, bytes]:
    for mark, encoding in _MARKS:
        if payload.startswith(mark):
            return encoding, payload[len(mark) :]
    return None, payload


def _without_mark(payload: bytes, html: bool) -> str:
    try:
        payload.decode("utf-8")
    except UnicodeDecodeError as error:
        return _declared(payload) if html and _declared(payload) else _single_byte(payload, error.start)
    return "utf-8"


def is_character_set(codec: codecs.CodecInfo) -> bool:
    """Whether documents may be in it: not what turns bytes to bytes ("zlib"), nor what spells characters by others ("utf-7")."""
    name = codec.name.replace("_", "-")
    return name not in _UNSAFE and bool(getattr(codec, "_is_text_encoding", True))


def declared(name: str, payload: bytes) -> str:
    """The codec of the character set that a document says it is in; "" where that is none, or surely not this one: bytes that
    can be read as UTF-8, without a NUL, are no UTF-16."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    if not is_character_set(codec):
        return ""
    found = codec.name.replace("_", "-")
    if found.startswith(_UNICODE) and b"\x00" not in payload and _is_utf8(payload):
        return ""
    # The web reads a declared Latin-1 as Windows-1252.
    return {"iso8859-1": "cp1252"}.get(found, codec.name)


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _declared(payload: bytes) -> str:
    """What a page says in words that are ASCII, so that it is neither UTF-16 nor UTF-32; and UTF-8 has just been tried."""
    found = XML_ENCODING.match(payload) or _META_CHARSET.search(payload[:4096])
    name = declared(found[1].decode("ascii"), payload) if found else ""
    return "" if name.startswith(("utf", "ascii")) else name


def _single_byte(payload: bytes, bad: int) -> str:
    """Windows-1252 when that is plausible; otherwise NotText naming the byte that broke UTF-8."""
    where = f"invalid UTF-8 at byte {bad}"
    if _multibyte_sequences(payload):
        raise NotText(f"{where}, although the rest is UTF-8")
    try:
        text = payload.decode("cp1252")
    except UnicodeDecodeError:
        raise NotText(f"not text (binary?): {where}") from None
    high = [char for char in text if ord(char) > 127]
    # In real Windows-1252 text accented letters and typographic signs stand among ASCII letters.
    letters = sum(map(str.isalpha, text))
    plausible = (
        "\x00" not in text and letters * 2 > len(text) and sum(map(_latin, high)) * 10 >= len(high) * 9
    )
    if not plausible or len(high) * 3 > len(text):
        raise NotText(f"not text (binary?): {where}")
    return "cp1252"


def _latin(char: str) -> bool:
    return char.isalpha() or char in "‘’“”„–—…•€°±²³µ·»«½¼¾¿¡§©®™\xa0"


def _multibyte_sequences(payload: bytes) -> bool:
    """Whether the file holds sequences that are valid multi-byte UTF-8: then a stray byte is damage, not
    an encoding. Two letters such as Ã© side by side are rare in Windows-1252 and the norm in UTF-8."""
    valid = payload.decode("utf-8", "ignore")
    return any(ord(char) > 127 for char in valid)


def _refuse_binary(text: str) -> None:
    junk = sum(1 for _ in _JUNK.finditer(text))
    nuls = text.count("\x00")
    if junk * 20 > len(text) or nuls * 10 > len(text) > 20:
        raise NotText("not text (binary?)")
