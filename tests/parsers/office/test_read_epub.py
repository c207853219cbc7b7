from __future__ import annotations

from datetime import date

import pytest
from tests.support.office import blocks, headings, parse, zipped

from veraz.errors import ItemError

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'


def book(
    chapters: dict[str, str], extra: dict[str, str] | None = None, *, spine: str = "", metadata: str = ""
) -> bytes:
    items = "".join(f'<item id="{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in chapters)
    order = spine or "".join(f'<itemref idref="{n}"/>' for n in chapters)
    opf = (
        f'<package xmlns="http://www.idpf.org/2007/opf" {DC}><metadata>{metadata}</metadata><manifest>{items}'
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        f"</manifest><spine>{order}</spine></package>"
    )
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER, "OEBPS/book.opf": opf}
    return zipped({**parts, **{f"OEBPS/{name}": text for name, text in chapters.items()}, **(extra or {})})


def page(body: str) -> str:
    doctype = (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'
    )
    return f'<?xml version="1.0"?>{doctype}<html><head><title/></head><body>{body}</body></html>'


def test_chapters_in_the_order_of_the_spine() -> None:
    spine = '<itemref idref="nav"/><itemref idref="b.xhtml"/><itemref idref="a.xhtml"/>'
    stated = (
        "<dc:title>The book</dc:title><dc:language>pt-BR</dc:language><dc:date>2020-05-01T00:00:00Z</dc:date>"
    )
    chapters = {
        "a.xhtml": page("<h1>Last</h1><p>end</p>"),
        "b.xhtml": page("<h1>First</h1><h2>Deep</h2><p>start</p>"),
    }
    doc = parse(
        book(chapters, {"OEBPS/nav.xhtml": page("<p>contents</p>")}, spine=spine, metadata=stated), "a.epub"
    )
    assert doc.text == "First\n\nDeep\n\nstart\n\nLast\n\nend"
    assert headings(doc) == [(1, "First"), (2, "Deep"), (1, "Last")]
    assert doc.sections[3].heading_path == ("Last",)
    assert (doc.title, doc.lang, doc.published_at, doc.media) == ("The book", "pt", date(2020, 5, 1), "epub")


def test_notes_and_chapter_heads_are_content_in_a_book() -> None:
    doc = parse(
        book({"a.xhtml": page("<header><h1>One</h1></header><p>text</p><aside><p>note</p></aside>")}),
        "a.epub",
    )
    assert doc.text == "One\n\ntext\n\nnote"


def test_tables_keep_their_cells() -> None:
    table = "<table><tr><th>Drug</th><th>mg</th></tr><tr><td>Sorbex</td><td>5</td></tr></table>"
    doc = parse(book({"a.xhtml": page("<p>x</p>"), "b.xhtml": page(table)}), "a.epub")
    assert blocks(doc)[1] == ("table", "| Drug | mg |\n|---|---|\n| Sorbex | 5 |")


def test_parts_without_text_are_named() -> None:
    doc = parse(book({"cover.xhtml": page("<img src='x.png'/>"), "b.xhtml": page("<p>x</p>")}), "a.epub")
    assert doc.warnings == ("1 part of the book without text left out (cover.xhtml)",)


def test_declarations_of_a_chapter_are_refused() -> None:
    hostile = '<!DOCTYPE html [<!ENTITY a "b">]><html><body>&a;</body></html>'
    with pytest.raises(ItemError, match=r"security.*OEBPS/a\.xhtml"):
        parse(book({"a.xhtml": hostile}), "a.epub")


def test_protected_books_are_refused_and_hidden_fonts_are_not() -> None:
    def encryption(target: str) -> dict[str, str]:
        return {
            "META-INF/encryption.xml": f'<e><CipherData><CipherReference URI="{target}"/></CipherData></e>'
        }

    chapters = {"a.xhtml": page("<p>x</p>")}
    assert parse(book(chapters, encryption("OEBPS/font.otf")), "a.epub").text == "x"
    with pytest.raises(ItemError, match="encrypted"):
        parse(book(chapters, encryption("OEBPS/a.xhtml")), "a.epub")
