"""Decoding: right, or refused with the place of the trouble; never mojibake."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.text.dates import parse_date
from veraz.text.decode import NotText, decode, storable, storable_json

WORDS = "Dosierung: 2,5 mg — Überwachung nötig, täglich prüfen."


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_with_and_without_mark(encoding: str) -> None:
    assert decode(WORDS.encode(encoding)).text == WORDS


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(b"\xfe\xff", "utf-16-be"), (b"\x00\x00\xfe\xff", "utf-32-be"), (b"\xff\xfe", "utf-16-le")],
)
def test_byte_order(mark: bytes, encoding: str) -> None:
    assert decode(mark + WORDS.encode(encoding)).text == WORDS


def test_the_utf16_case_reads_as_words(shared: Path) -> None:
    text = decode((shared / "cases/files/h_utf16le.txt").read_bytes()).text
    assert text.startswith("Merkblatt\n")
    assert "Dosierung: 2,5 mg — Überwachung" in text


def test_windows_1252_with_its_signs() -> None:
    found = decode("Prüfen Sie die “Dosis” täglich – 5 µg für Ärzte.".encode("cp1252"))
    assert found.text == "Prüfen Sie die “Dosis” täglich – 5 µg für Ärzte."
    assert found.warnings == ("decoded as cp1252",)


def test_a_declared_charset_is_used_for_html_only() -> None:
    page = '<meta charset="iso-8859-2"><p>Dawkowanie: 5 mg dziennie, należy</p>'.encode("iso-8859-2")
    assert "należy" in decode(page, html=True).text
    assert decode("<meta charset=latin1><p>Größe “x”</p>".encode("cp1252"), html=True).encoding == "cp1252"


def test_a_page_in_xml_says_its_charset_in_the_declaration() -> None:
    page = '<?xml version="1.0" encoding="iso-8859-2"?><html><p>Źródło: 5 mg dziennie</p></html>'
    assert decode(page.encode("iso-8859-2"), html=True).text == page


@pytest.mark.parametrize(
    "name",
    ["hex", "rot13", "utf-7", "unicode_escape", "undefined", "utf-16-le", "utf-32", "utf-8-sig", "nonsense"],
)
def test_a_charset_that_a_page_cannot_be_in_is_not_believed(name: str) -> None:
    page = f"<meta charset={name}><p>Überwachung nötig, \\u0041 +ADw-b+AD4- täglich. </p>"
    found = decode(page.encode("cp1252"), html=True)
    assert (found.text, found.encoding) == (page, "cp1252")
    assert decode(page.encode(), html=True).text == page


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ("größer ".encode() * 5 + b"\xff\xfe broken", "byte 45"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "binary"),
        (bytes(range(128, 256)) * 8, "binary|UTF-8"),
        (b"\x00\x01\x02\x03\x04\x05\x06\x07" * 20, "binary"),
        (b"abc def \x81\x8d ghi", "byte 8"),
        (b"\xff\xfea\x00b", "byte 4"),
        (b"PK\x03\x04" + bytes([7, 8, 14, 15, 200, 201]) * 50, "binary"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(payload: bytes, why: str) -> None:
    with pytest.raises(NotText, match=why):
        decode(payload)


def test_nul_is_removed_and_counted(shared: Path) -> None:
    found = decode((shared / "cases/files/h_nul.txt").read_bytes())
    assert "The specic gravity of solution B" in found.text
    assert "\x00" not in found.text
    assert found.warnings == ("2 NUL characters removed",)


def test_surrogates_become_characters_or_are_replaced() -> None:
    assert storable("a\ud83d\ude00b") == ("a😀b", ())
    assert storable("a\ud83db\udc00") == ("a\ufffdb\ufffd", ("2 lone surrogates replaced",))


def test_superscripts_keep_their_value(shared: Path) -> None:
    text = decode((shared / "cases/files/h_superscript.txt").read_bytes()).text
    assert "10⁵ CFU/mL" in text
    assert "2½ tablets" in text


@given(st.text(st.characters(codec=None), max_size=80))
def test_storable_text_can_be_stored(text: str) -> None:
    clean, _ = storable(text)
    clean.encode("utf-8")
    assert "\x00" not in clean
    assert not clean.startswith("\ufeff")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=80))
def test_utf8_comes_back_as_it_was(text: str) -> None:
    assert decode(text.encode("utf-8")).text == text.lstrip("\ufeff")


def test_json_values_are_made_storable() -> None:
    assert storable_json({"a\x00": ["b\x00", {"c": 1}], "n": None, "t": True}) == {
        "a": ["b", {"c": 1}],
        "n": None,
        "t": True,
    }
    with pytest.raises(ValueError, match="finite"):
        storable_json({"a": [math.inf]})


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2024-03-01", "2024-03-01"),
        ("20170111", "2017-01-11"),
        (" 2024-03-01T23:59:00Z ", "2024-03-01"),
        (20170111, "2017-01-11"),
    ],
)
def test_dates(written: object, iso: str) -> None:
    assert parse_date(written).isoformat() == iso


@pytest.mark.parametrize("written", ["2024-03", "2024", "March 2024", "01/02/2024", "2024-02-30", ""])
def test_dates_are_not_guessed(written: str) -> None:
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        parse_date(written)
