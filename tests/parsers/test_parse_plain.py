from __future__ import annotations

from pathlib import Path

import pytest

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for


def parse(text: str | bytes) -> ParsedDocument:
    payload = text.encode() if isinstance(text, str) else text
    item = RawItem("a.txt", "a.txt", "text", payload=payload)
    return parser_for(item).parse(item)


def blocks(doc: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, doc.text[block.start : block.end]) for block in doc.blocks]


def headings(text: str) -> list[tuple[int, str]]:
    return [(section.level, section.heading) for section in parse(text).sections[1:]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_paragraphs_end_at_blank_lines(end: str) -> None:
    doc = parse(end.join(["One", "two.", " ", "Three.", "", "", "Four."]))
    assert blocks(doc) == [("paragraph", f"One{end}two."), ("paragraph", "Three."), ("paragraph", "Four.")]


def test_lists_by_their_bullets() -> None:
    doc = parse(
        "Do not take it if you\n- are pregnant\n  or may be\n- have gout\n"
        "Ask your doctor about all this first.\n\n1) One\n2) Two\n"
    )
    assert blocks(doc) == [
        ("paragraph", "Do not take it if you"),
        ("list", "- are pregnant\n  or may be\n- have gout"),
        ("paragraph", "Ask your doctor about all this first."),
        ("list", "1) One\n2) Two"),
    ]


def test_bullets_that_lost_their_lines() -> None:
    doc = parse(
        "Risks include the following:         - Being old.    - Smoking.         Other text "
        "follows.    - New list"
    )
    assert blocks(doc) == [
        ("paragraph", "Risks include the following:"),
        ("list", "- Being old.    - Smoking."),
        ("paragraph", "Other text follows."),
        ("list", "- New list"),
    ]


def test_headings_that_can_hardly_be_anything_else() -> None:
    text = (
        "WARNINGS AND PRECAUTIONS\n\nText.\n\n4. CLINICAL PARTICULARS\n\n"
        "4.1 Therapeutic indications\n\nText.\n\n"
        "Storage\n=======\n\nText.\n\nDisposal\n-------\nText."
    )
    assert headings(text) == [
        (1, "WARNINGS AND PRECAUTIONS"),
        (1, "4. CLINICAL PARTICULARS"),
        (2, "4.1 Therapeutic indications"),
        (1, "Storage"),
        (2, "Disposal"),
    ]
    assert parse(text).sections[3].heading_path == ("4. CLINICAL PARTICULARS", "4.1 Therapeutic indications")


@pytest.mark.parametrize(
    "text",
    [
        "Text.\n\nDO NOT EXCEED 4 G A DAY",  # nothing follows: it would be in no chunk
        "1. Wash hands\n\n2. Dry hands\n\n3. Go home\n\nThat is all.",
        "2.5 million people have it\n\nText.",
        "1.5 L of water\n\nText.",
        "NSAID\nmeans a drug.\n\nText.",
        "STOP.\n\nText.",
        "HIV/AIDS\n\nText.",
        "E-4021 K3\n\nText.",
        "Drug    Dose\n-----------\nA       5",
        "A title alone\n\nText.",
        "- ITEM\n------\n\nText.",
    ],
)
def test_doubtful_headings_are_text(text: str) -> None:
    assert headings(text) == []


def test_rulers_and_pipe_tables() -> None:
    doc = parse("One.\n-----\n* * *\nTwo.\n\n| a | b |\n| 1 | 2 |\n")
    assert [kind for kind, _ in blocks(doc)][-1] == "table"
    assert "* * *" not in "".join(part for _, part in blocks(doc))


def test_the_first_line_alone_is_the_title(shared: Path) -> None:
    assert parse((shared / "cases/files/h_dutch.txt").read_bytes()).title == "Stallingsregels"
    assert parse((shared / "cases/files/h_crlf.txt").read_bytes()).title == "Site rules"
    assert parse("This is a sentence.\n\nText.").title == "a"
