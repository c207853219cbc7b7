"""Zip packages (Office Open XML, EPUB), opened with care.

Nothing is unpacked to a disk. Before any part is parsed, every part that is XML has been read once, within limits, and none of
them declares a document type of its own: entities are how a small file becomes a large one, or reads another.
"""

from __future__ import annotations

import posixpath
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from lxml import etree

from veraz.errors import ItemError
from veraz.nouns.corpus import RawItem
from veraz.providers.parsers.file import refused

MAX_MEMBERS = 10_000
MAX_BYTES = 256 * 1024 * 1024
"""Of all parts, unpacked."""
MAX_RATIO = 200
_RATIO_FROM = 16 * 1024 * 1024
"""Smaller parts may repeat themselves as they like."""

_XML_NAMES = (".xml", ".rels", ".vml", ".opf", ".ncx", ".xhtml", ".html", ".htm", ".svg")
_DOCTYPE = re.compile(rb"(?>\s+|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE(?P<rest>[^>\[]*+\[?)", re.S)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
# Strict and transitional Office Open XML differ in these names only.
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/([A-Za-z]+)/([A-Za-z]+)")
_SECURITY = "refused for security"


@dataclass(frozen=True, slots=True)
class Relation:
    """`kind` is the last word of the relationship's type; `target` a part's name, or an address where `external`."""

    kind: str
    target: str
    external: bool


class Package:
    """The parts of one file. Raises ItemError, naming what is wrong, on opening and on reading."""

    def __init__(self, item: RawItem) -> None:
        self.item = item
        try:
            self._zip = ZipFile(BytesIO(item.payload or b""))
            infos = self._zip.infolist()
        except (BadZipFile, ValueError, EOFError, OSError, NotImplementedError) as error:
            raise refused(item, f"a damaged zip package: {error}", "export or download it again") from None
        _check(item, infos)
        self._infos = {info.filename.lower(): info for info in infos if not info.is_dir()}
        self._left = MAX_BYTES
        self._refuse_declarations()

    @property
    def names(self) -> list[str]:
        return [info.filename for info in self._infos.values()]

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._infos

    def read(self, name: str) -> bytes:
        """The bytes of a part; its name is compared without case, as packages do."""
        info = self._infos.get(name.lower())
        if info is None:
            raise refused(self.item, f"the part {name} is missing", "export or download it again")
        try:
            with self._zip.open(info) as stream:
                data = stream.read(min(info.file_size, MAX_BYTES) + 1)
        except (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
            raise refused(
                self.item, f"the part {name} cannot be read: {error}", "export or download it again"
            ) from None
        if len(data) > info.file_size:
            raise self._bomb(f"the part {name} is larger than it says")
        return data

    def xml(self, name: str) -> etree._Element:
        """The root of an XML part, strict names turned into transitional ones."""
        try:
            root = etree.fromstring(self.xml_bytes(name), parser())
        except etree.XMLSyntaxError as error:
            raise self.malformed(name, error) from None
        if root.getroottree().docinfo.internalDTD is not None and self._declares(name):
            raise self._declared(name)
        return root

    def xml_bytes(self, name: str) -> bytes:
        return _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2", _utf8(self.read(name)))

    def malformed(self, name: str, error: etree.XMLSyntaxError) -> ItemError:
        reason = f"the part {name} is not well-formed XML: {error.msg}"
        return refused(self.item, reason, "open it in the program that made it and save it again")

    def relations(self, part: str) -> dict[str, Relation]:
        """By id, what the part points to. "" is the package itself."""
        folder, base = posixpath.split(part)
        name = posixpath.join(folder, "_rels", f"{base}.rels")
        if name not in self:
            return {}
        found: dict[str, Relation] = {}
        for node in self.xml(name).iterfind("{*}Relationship"):
            target, external = node.get("Target", ""), node.get("TargetMode") == "External"
            place = (
                target if external else posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            )
            found[node.get("Id", "")] = Relation(node.get("Type", "").rsplit("/", 1)[-1], place, external)
        return found

    def related(self, part: str, kind: str) -> str | None:
        """The first existing part of that kind which `part` points to."""
        found = (r.target for r in self.relations(part).values() if r.kind == kind and not r.external)
        return next((target for target in found if target in self), None)

    # Safety

    def _refuse_declarations(self) -> None:
        for name in self.names:
            if name.lower().endswith(_XML_NAMES) or name == "mimetype":
                self._left -= self._infos[name.lower()].file_size
                if self._declares(name):
                    raise self._declared(name)
                if self._left < 0:
                    raise self._bomb("its parts")

    def _declares(self, name: str) -> bool:
        """Whether an XML part declares a document type: any in an Office file, which may have none; elsewhere one with
        declarations of its own."""
        found = _DOCTYPE.match(_utf8(self.read(name)).replace(b"\x00", b"").removeprefix(b"\xef\xbb\xbf"))
        return found is not None and (found["rest"].endswith(b"[") or "[content_types].xml" in self._infos)

    def _declared(self, name: str) -> ItemError:
        reason = f"{_SECURITY}: the part {name} declares a document type (DTD), through which entities expand or read other files"
        return refused(self.item, reason, "do not open it; ask its sender for a file without a DTD")

    def _bomb(self, what: str) -> ItemError:
        return _bomb(self.item, what)


def parser() -> etree.XMLParser:
    """Expands nothing, fetches nothing; depth and node size are bounded by libxml2."""
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )


def _check(item: RawItem, infos: Sequence[ZipInfo]) -> None:
    if len(infos) > MAX_MEMBERS:
        raise _bomb(item, f"{len(infos):,} parts")
    if any(info.flag_bits & 1 for info in infos):
        raise refused(item, "encrypted: its parts need a password", "save it without a password")
    if (total := sum(info.file_size for info in infos)) > MAX_BYTES:
        raise _bomb(item, f"{total:,} bytes unpacked")
    seen: set[str] = set()
    for info in infos:
        if info.file_size > _RATIO_FROM and info.file_size > MAX_RATIO * info.compress_size:
            raise _bomb(item, f"the part {info.filename} is packed {MAX_RATIO} times over")
        if (name := info.filename.lower()) in seen or _outside(name):
            what = "appears twice" if name in seen else "names a place outside the package"
            raise refused(
                item, f"{_SECURITY}: the part {info.filename!r} {what}", "ask its sender for a sound file"
            )
        seen.add(name)


def _outside(name: str) -> bool:
    return name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or name[1:2] == ":"


def _bomb(item: RawItem, what: str) -> ItemError:
    reason = f"{_SECURITY}: a zip bomb ({what})"
    return refused(
        item, reason, f"a package may unpack to {MAX_BYTES // 2**20} MiB: split the file, or leave it out"
    )


def _utf8(data: bytes) -> bytes:
    """XML in UTF-16 as UTF-8, so that what is searched for in the bytes is found."""
    if data[:2] not in (b"\xff\xfe", b"\xfe\xff") and b"\x00" not in data[:4]:
        return data
    try:
        encoding = (
            "utf-16"
            if data[:1] in (b"\xff", b"\xfe")
            else "utf-16-be"
            if data[:1] == b"\x00"
            else "utf-16-le"
        )
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return data
    return _DECLARATION.sub("", text, count=1).encode("utf-8", "replace")
