"""What a package may do to its reader, and what it is told instead."""

from __future__ import annotations

import time
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest
from tests.support.office import docx, para, parse, zipped

from veraz.errors import ItemError
from veraz.providers.parsers import zipped as module

ENTITIES = '<!DOCTYPE d [<!ENTITY a "0123456789"><!ENTITY b "&a;&a;&a;">]>'
BODY = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p/></w:body></w:document>'


def refusal(payload: bytes, name: str = "a.docx") -> ItemError:
    with pytest.raises(ItemError) as caught:
        parse(payload, name)
    assert caught.value.stage == "parse"
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize("name", ["a.docx", "a.txt", "a.xlsx", "a.html", "a"])
def test_the_entity_case_is_refused_whatever_its_name(cases: Path, name: str) -> None:
    started = time.perf_counter()
    error = refusal((cases / "h_entities.docx").read_bytes(), name)
    assert "security" in error.reason
    assert "word/document.xml" in error.reason
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_a_dtd_is_found_in_every_encoding(encoding: str) -> None:
    declared = encoding if encoding != "utf-8-sig" else "utf-8"
    part = f'<?xml version="1.0" encoding="{declared[:6] if "16" in declared else declared}"?><!-- x -->{ENTITIES}{BODY}'
    error = refusal(docx("", {"word/document.xml": part.encode(encoding)}))
    assert "security" in error.reason


@pytest.mark.parametrize("part", ["customXml/item1.xml", "word/_rels/header1.xml.rels", "docProps/app.xml"])
def test_a_dtd_is_found_in_parts_that_are_not_read(part: str) -> None:
    error = refusal(docx(para("text"), {part: f"{ENTITIES}<a>&b;</a>"}))
    assert part in error.reason


def test_a_dtd_that_only_names_an_outer_file_is_refused_too() -> None:
    outer = '<!DOCTYPE a SYSTEM "file:///etc/hostname"><a/>'
    assert "security" in refusal(docx(para("text"), {"customXml/item1.xml": outer})).reason


def test_a_word_that_looks_like_a_declaration_is_text() -> None:
    assert (
        parse(docx(para("write &lt;!DOCTYPE html&gt; first")), "a.docx").text == "write <!DOCTYPE html> first"
    )


def test_a_part_that_unpacks_too_far() -> None:
    bomb = docx(para("text"), {"word/media/image1.bin": bytes(20 * 1024 * 1024)})
    assert len(bomb) < 100_000
    assert "zip bomb (the part word/media/image1.bin is packed" in refusal(bomb).reason


def test_parts_that_unpack_too_far_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 100_000)
    parts = {f"word/media/{n}.bin": bytes(30_000) for n in range(4)}
    assert "zip bomb" in refusal(docx(para("text"), parts)).reason


def test_too_many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_MEMBERS", 20)
    assert "zip bomb (27 parts)" in refusal(docx(para("text"), {f"x/{n}": b"" for n in range(20)})).reason


def test_a_part_that_says_it_is_smaller_than_it_is() -> None:
    """Both headers of the part claim 10 bytes."""
    stream = BytesIO()
    body = b"<a>" + b"x" * 5000 + b"</a>"
    with ZipFile(stream, "w", ZIP_STORED) as archive:
        archive.writestr("word/document.xml", body)
    size = len(body).to_bytes(4, "little")
    payload = stream.getvalue()
    assert payload.count(size * 2) == 2
    lied = payload.replace(size * 2, size + (10).to_bytes(4, "little"))
    assert "cannot be read" in refusal(lied).reason


@pytest.mark.parametrize("name", ["../../etc/cron.d/x", "/etc/passwd", "word/../../x", "C:/x", "..\\x"])
def test_names_outside_the_package(name: str) -> None:
    assert "names a place outside the package" in refusal(docx(para("text"), {name: "x"})).reason


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_part_that_appears_twice() -> None:
    stream = BytesIO(docx(para("shown to one reader")))
    with ZipFile(stream, "a", ZIP_DEFLATED) as archive:
        archive.writestr("WORD/document.xml", BODY)
    assert "appears twice" in refusal(stream.getvalue()).reason


def test_a_part_that_needs_a_password() -> None:
    payload = bytearray(docx(para("text")))
    at = 0
    while (at := payload.find(b"PK\x01\x02", at)) >= 0:
        payload[at + 8] |= 1
        at += 4
    assert refusal(bytes(payload)).reason.startswith("encrypted")


@pytest.mark.parametrize("cut", [30, 200, 700])
def test_a_truncated_package(cut: int) -> None:
    assert "damaged zip package" in refusal(docx(para("text"))[:cut]).reason


def test_a_damaged_part() -> None:
    payload = bytearray(docx(para("text " * 500)))
    at = payload.find(b"word/document.xml") + len("word/document.xml") + 10
    payload[at : at + 20] = bytes(20)
    assert "word/document.xml cannot be read" in refusal(bytes(payload)).reason


def test_a_part_that_is_no_xml() -> None:
    assert "not well-formed" in refusal(docx("", {"word/document.xml": "<w:document"})).reason


def test_an_archive_that_is_no_document() -> None:
    error = refusal(zipped({"a.txt": "x", "b.png": "y", "c": "z", "d": "z"}), "a.zip.docx")
    assert error.reason == "a zip archive that is no document: 4 files (a.txt, b.png, c, …)"
    assert error.fix == "unpack it and ingest the files in it"
    assert "it is empty" in refusal(zipped({})).reason


def test_packages_of_other_programs_name_what_to_do() -> None:
    odt = zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<a/>"})
    error = refusal(odt)
    assert (error.reason, error.fix) == ("an OpenDocument text, which is not read", "save it as .docx")


@pytest.mark.parametrize("shift", [-5000, -2, 7, 1 << 31])
def test_a_directory_that_names_wrong_places_is_a_damaged_package(shift: int) -> None:
    payload = bytearray(docx(para("text")))
    end = payload.rindex(b"PK\x05\x06")
    stated = int.from_bytes(payload[end + 16 : end + 20], "little")
    payload[end + 16 : end + 20] = ((stated - shift) % (1 << 32)).to_bytes(4, "little")
    error = refusal(bytes(payload))
    assert "cannot be read" in error.reason or "damaged" in error.reason
    assert error.fix == "export or download it again"
