"""Office files of before 2007, and those that a password locks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.compound import (
    DELETED,
    HEADER,
    HIDDEN,
    IN_TABLE,
    ITEM,
    ROW_END,
    SUPER,
    Par,
    cells,
    ole,
    word,
    workbook,
)
from tests.support.office import blocks, headings, parse

from veraz.errors import ItemError


def par(text: str, style: int = 0, properties: bytes = b"") -> Par:
    return Par([(text, b"")], "\r", style, properties)


def row(
    texts: tuple[str, ...], edges: tuple[int, ...], merges: tuple[int, ...] = (), header: bytes = b""
) -> list[Par]:
    places = cells(edges, merges or (0,) * len(texts))
    end = Par([], "\x07", 0, IN_TABLE + ROW_END + header + places)
    return [*(Par([(text, b"")], "\x07", 0, IN_TABLE) for text in texts), end]


def test_headings_lists_and_the_title() -> None:
    doc = parse(
        word(
            [
                par("Guide", 11),
                par("One", 1),
                par("text"),
                par("Own", 10),
                par("a", 0, ITEM),
                par("b", 0, ITEM),
            ]
        ),
        "a.doc",
    )
    assert headings(doc) == [(1, "Guide"), (1, "One"), (2, "Own")]
    assert blocks(doc) == [("paragraph", "text"), ("list", "- a\n- b")]
    assert (doc.title, doc.media) == ("Guide", "doc")
    assert doc.warnings == ("the numbers of 2 list items are not kept",)


def test_powers_fields_hidden_and_deleted_text() -> None:
    runs = [
        ("10", b""),
        ("5", SUPER),
        (" CFU ", b""),
        ("no", HIDDEN),
        ("50", DELETED),
        ("\x13 SEQ T \x144\x15", b""),
        (" mg\x1e½ ", b""),
        ("\uf0b3 2", b""),
    ]
    doc = parse(word([Par(runs)]), "a.doc")
    assert doc.text == "10⁵ CFU 4 mg\u2011½ ≥ 2"
    assert doc.warnings == ("1 tracked deletion left out", "1 piece of hidden text left out")


def test_tables_with_merged_cells_and_header_rows() -> None:
    doc = parse(
        word(
            [
                par("before"),
                *row(("Age", "Dose"), (0, 1000, 3000), (3, 0), HEADER),
                *row(("", "mg", "times"), (0, 1000, 2000, 3000), (1, 0, 0), HEADER),
                *row(("6–11", "5", "1"), (0, 1000, 2005, 3000), (3, 0, 0)),
                *row(("", "10", "2"), (0, 1000, 2000, 3000), (1, 0, 0)),
                par("after"),
            ]
        ),
        "a.doc",
    )
    assert [text for _, text in blocks(doc)] == [
        "before",
        "| Age | Dose | Dose |\n| Age | mg | times |\n|---|---|---|\n| 6–11 | 5 | 1 |\n| 6–11 | 10 | 2 |",
        "after",
    ]


def test_notes_stand_below_with_their_number() -> None:
    doc = parse(word([par("5 mg\x02 daily")], [par("\x02 not for children")]), "a.doc")
    assert doc.text == "5 mg[1] daily\n\n[1] not for children"


def test_the_two_real_files(shared: Path) -> None:
    folder = shared / "data/hard_ingest/docling"
    duck = parse((folder / "legacy_sample.doc").read_bytes(), "a.doc")
    assert headings(duck) == [(1, "Swimming in the lake"), (1, "Let’s swim!"), (2, "Let’s eat")]
    assert "| Berries | Blueberry, Strawberry, Cranberry | 150 |" in duck.text
    assert "Figure 1: This is a cute duckling" in duck.text
    greek = parse((folder / "greek_heading_styles.doc").read_bytes(), "a.doc")
    assert [heading for _, heading in headings(greek)] == [
        "Überschriften in nicht‑englischer Sprache",
        "Problem mit lokalisierten Dokumenten",
        "Vorgeschlagene Änderung",
        "Verifizierung",
    ]


def test_old_workbooks() -> None:
    doc = parse(
        workbook(
            {"Doses": ([("Drug", "mg"), ("Sorbex", 2.5), ("Calm", 5.0)], False), "Old": ([("gone",)], True)}
        ),
        "a.xls",
    )
    assert blocks(doc) == [("table", "| Drug | mg |\n|---|---|\n| Sorbex | 2.5 |\n| Calm | 5 |")]
    assert headings(doc) == [(1, "Doses")]
    assert doc.warnings == ("hidden sheet “Old” left out",)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (ole({"EncryptionInfo": b"x", "EncryptedPackage": b"x"}), "encrypted: it needs a password"),
        (word([par("x")], flags=0x0100), "encrypted: it needs a password"),
        (word([par("x")], version=0x0065), "before 1997"),
        (ole({"PowerPoint Document": b"x"}), r"presentation of before 2007 \(\.ppt\)"),
        (ole({"Something": b"x"}), "an OLE file that is no document"),
        (ole({"WordDocument": b"\xec\xa5\xd9\x00"}), "do not fit together"),
        (word([par("text")])[:3000], "cannot be read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "cannot be read"),
        (
            ole({"Workbook": workbook({"a": ([("x",)], False)})[2048:2100] + b"\xff" * 4000}),
            "a workbook that cannot be read",
        ),
        (ole({"Workbook": b""}), "no content"),
    ],
)
def test_what_cannot_be_read_is_refused(payload: bytes, reason: str) -> None:
    with pytest.raises(ItemError, match=reason) as caught:
        parse(payload, "a.docx")
    assert caught.value.fix


def test_damage_anywhere_is_a_refusal_or_text_and_never_a_crash(shared: Path) -> None:
    payload = (shared / "data/hard_ingest/docling/legacy_sample.doc").read_bytes()
    refused = 0
    for at in range(0, len(payload), 997):
        hurt = bytearray(payload)
        hurt[at : at + 16] = b"\xff" * 16
        try:
            parse(bytes(hurt), "a.doc")
        except ItemError:
            refused += 1
    assert 0 < refused < len(payload) // 997
