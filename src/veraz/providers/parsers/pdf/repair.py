"""A second chance for files that lost their end, or whose tables of objects are wrong: PDFium finds objects by itself, but not
where to begin when no trailer tells."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OBJECT = re.compile(rb"(?<!\d)(\d{1,9})\s+(\d{1,5})\s+obj\b")
_CATALOG = re.compile(rb"/Type\s*/Catalog\b")
_PAGE = re.compile(rb"/Type\s*/Page\b")
_HEAD = 4_000  # bytes of an object in which its type stands
_MAX_OBJECTS = 200_000
_NUMBER = 8_000_000  # of the object that is added; PDFium accepts none above 8,388,607


def repairs(payload: bytes) -> Iterator[bytes]:
    """The file with a trailer that names its catalog; then one with a tree made of the pages it has."""
    catalog = 0
    pages: list[bytes] = []
    found = list(_OBJECT.finditer(payload))[:_MAX_OBJECTS]
    ends = [*(each.start() for each in found[1:]), len(payload)]
    for each, end in zip(found, ends, strict=False):
        head = payload[each.end() : min(end, each.end() + _HEAD)]
        if _CATALOG.search(head):
            catalog = int(each[1])
        elif _PAGE.search(head):
            pages.append(b"%d %d R" % (int(each[1]), int(each[2])))
    if catalog:
        yield payload + _trailer(catalog)
    if pages:
        yield payload + _tree(pages) + _trailer(_NUMBER)


def _tree(pages: list[bytes]) -> bytes:
    kids = b" ".join(dict.fromkeys(pages))
    count = len(set(pages))
    root = b"\nendobj\n%d 0 obj\n<< /Type /Catalog /Pages %d 0 R >>\nendobj\n" % (_NUMBER, _NUMBER + 1)
    return root + b"%d 0 obj\n<< /Type /Pages /Count %d /Kids [%s] >>\nendobj\n" % (_NUMBER + 1, count, kids)


def _trailer(root: int) -> bytes:
    return b"\nendobj\ntrailer\n<< /Root %d 0 R >>\nstartxref\n0\n%%%%EOF\n" % root
