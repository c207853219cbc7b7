"""Zip packages: which kind of document one is, by its parts and never by its name."""

from __future__ import annotations

from importlib import import_module

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.file import refused
from veraz.providers.parsers.zipped import Package

_FORMATS = {"wordprocessingml": "docx", "presentationml": "pptx", "spreadsheetml": "xlsx"}
_OTHERS = {
    "vnd.oasis.opendocument.text": ("an OpenDocument text", ".docx"),
    "vnd.oasis.opendocument.spreadsheet": ("an OpenDocument spreadsheet", ".xlsx"),
    "vnd.oasis.opendocument.presentation": ("an OpenDocument presentation", ".pptx"),
    "vnd.ms-excel.sheet.binary": ("a binary workbook (.xlsb)", ".xlsx"),
    "vnd.visio": ("a Visio drawing", ".pdf"),
    "vnd.ms-package.xps": ("an XPS document", ".pdf"),
}
_MACROS = {"vnd.ms-word": "docx", "vnd.ms-excel": "xlsx", "vnd.ms-powerpoint": "pptx"}


class PackageParser:
    """DOCX, PPTX, XLSX and EPUB."""

    def parse(self, item: RawItem) -> ParsedDocument:
        package = Package(item)
        kind = _mimetype(package)
        if "epub" in kind or "META-INF/container.xml" in package:
            return _read("epub", package, "")
        main, content = _main_part(package)
        kind = content or kind
        for sign, (name, suffix) in _OTHERS.items():
            if sign in kind:
                raise refused(item, f"{name}, which is not read", f"save it as {suffix}")
        found = next((f for sign, f in {**_FORMATS, **_MACROS}.items() if sign in kind), None)
        if found is None or not main:
            raise refused(item, f"a zip archive that is no document: {_holds(package)}", _fix(package))
        return _read(found, package, main)


def _read(kind: str, package: Package, main: str) -> ParsedDocument:
    module = import_module(f"veraz.providers.parsers.{kind}")
    document: ParsedDocument = module.read(package, main)
    return document


def _mimetype(package: Package) -> str:
    return package.read("mimetype")[:200].decode("ascii", "replace") if "mimetype" in package else ""


def _main_part(package: Package) -> tuple[str, str]:
    """The document's own part and its content type; ("", "") for what is no Office package."""
    if "[Content_Types].xml" not in package:
        return "", ""
    main = package.related("", "officeDocument") or next(
        (f for f in ("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml") if f in package), ""
    )
    for node in package.xml("[Content_Types].xml").iterfind("{*}Override"):
        if node.get("PartName", "").lstrip("/").lower() == main.lower():
            return main, node.get("ContentType", "")
    return main, _FOLDERS.get(main.partition("/")[0], "")


_FOLDERS = {"word": "wordprocessingml", "ppt": "presentationml", "xl": "spreadsheetml"}


def _holds(package: Package) -> str:
    names = package.names
    if not names:
        return "it is empty"
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"{len(names)} file{'s' * (len(names) != 1)} ({shown})"


def _fix(package: Package) -> str:
    return "unpack it and ingest the files in it" if package.names else "leave it out"
