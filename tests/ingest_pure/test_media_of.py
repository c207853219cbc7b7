"""Contents win over names."""

from __future__ import annotations

import pytest

from veraz.ingest.formats import media_of


@pytest.mark.parametrize(
    ("name", "payload", "media"),
    [
        ("a.md", b"# T", "markdown"),
        ("a.txt", b"%PDF-1.4", "pdf"),
        ("a.pdf", b"PK\x03\x04", "package"),
        ("notes.txt", b"PK\x03\x04", "package"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
        ("a.docx", b"plain", "package"),
        ("a.xml", b"\xef\xbb\xbf<?xml version='1.0'?><x/>", "xml"),
        ("a", b"<?xml version='1.0'?><x/>", "xml"),
        ("a.txt", b"<?xml version='1.0'?><x/>", "text"),
        ("a.html", b"<?xml version='1.0'?><html><body/></html>", "html"),
        ("a.xhtml", b"<?xml version='1.0'?><!DOCTYPE html><html/>", "html"),
        ("a.xml", b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>", "html"),
        ("a.xml", "\ufeff<?xml version='1.0'?><x/>".encode("utf-16-le"), "xml"),
        ("a.nxml", b"<article/>", "xml"),
        ("a.csv", b"a,b", "csv"),
        ("a.TSV", b"a\tb", "csv"),
        ("a.eml", b"Subject: x", "mail"),
        ("README", b"words", "text"),
        ("a.bin", b"\x00\x01", None),
        ("a.bin", b"xx%PDF-1.7", "pdf"),
        ("a.zip", b"PK\x05\x06", "package"),
        ("a.parquet", b"PAR1", None),
    ],
)
def test_media(name: str, payload: bytes, media: str | None) -> None:
    assert media_of(name, payload) == media
