"""Running heads of texts exported page by page, and menus shown twice: kept in the text, in no passage, with the reason."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.support.chunking import by_words, whole

from veraz.ingest.chunkers import ChunkContext, stated_chunker
from veraz.ingest.chunkers.dropped import dropped
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for

HEAD = "Zolmidine 10 mg tablets"
BODY = (
    "Take one tablet a day with water.",
    "Do not take it together with alcohol.",
    "Tell your doctor if you are pregnant.",
    "Store it below 25 degrees.",
)


def plain(text: str) -> ParsedDocument:
    item = RawItem("a.txt", "a.txt", "text", payload=text.encode())
    return parser_for(item).parse(item)


def html(body: str) -> ParsedDocument:
    item = RawItem("a.html", "a.html", "html", payload=body.encode())
    return parser_for(item).parse(item)


def repeated(doc: ParsedDocument) -> list[str]:
    return [doc.text[span.start : span.end] for span in doc.repeated]


def blocks(doc: ParsedDocument) -> list[str]:
    return [doc.text[block.start : block.end] for block in doc.blocks]


def export(pages: Sequence[str], *, end: str = "\f", head: str = HEAD, foot: str = "Page {}") -> str:
    """As a program writes it that prints into a file."""
    return end.join(f"{head}\n\n{page}\n\n{foot.format(n)}\n" for n, page in enumerate(pages, 1))


def test_heads_and_feet_of_pages_are_said_once() -> None:
    doc = plain(export(BODY))
    assert blocks(doc) == [HEAD, BODY[0], "Page 1", *BODY[1:]]
    assert repeated(doc) == [HEAD, "Page 2", HEAD, "Page 3", HEAD, "Page 4"]
    assert doc.warnings == (
        "6 lines that repeat the head or foot of an earlier page left out of the passages",
    )


@pytest.mark.parametrize("foot", ["Page {} of 4", "- {} -", "{}/4", "Página {} de 4", "Seite {}"])
def test_numbers_of_pages_that_count_up_end_pages_too(foot: str) -> None:
    doc = plain(export(BODY, end="", foot=foot))
    assert blocks(doc) == [HEAD, BODY[0], foot.format(1), *BODY[1:]]
    assert repeated(doc)[:3] == [HEAD, foot.format(2), HEAD]


def test_form_feeds_number_pages() -> None:
    doc = plain(export(BODY) + "\f\n")
    assert [doc.text[start:].split("\n", 1)[0] for start in doc.page_starts] == [HEAD] * 4
    assert plain("No pages.\n\nHere.").page_starts == ()


def test_a_number_that_is_not_the_pages_is_part_of_what_is_said() -> None:
    doses = [f"Dose for week {n}: {n * 5} mg\n\n{line}" for n, line in enumerate(BODY, 1)]
    doc = plain("\f".join(doses))
    assert repeated(doc) == []
    assert all(f"{n * 5} mg" in " ".join(blocks(doc)) for n in range(1, 5))


def test_a_number_set_off_by_a_gap_is_the_pages_where_it_goes_up_with_them() -> None:
    rising = plain("\f".join(f"Leaflet          {n + 6}\n\n{line}" for n, line in enumerate(BODY)))
    assert repeated(rising) == ["Leaflet          7", "Leaflet          8", "Leaflet          9"]
    table = plain(
        "\f".join(f"Adults          {n}\n\n{line}" for n, line in zip((5, 20, 7, 90), BODY, strict=True))
    )
    assert repeated(table) == []


@pytest.mark.parametrize(
    "text",
    [
        "\f".join(["Take one a day."] * 4),  # nothing else is on these pages
        export(BODY[:2]),  # two pages
        "\n\n".join([*BODY, *BODY, *BODY]),  # no pages
        "\n\n".join(f"{line}\n\nPage {n}" for n, line in zip((3, 9, 4, 1), BODY, strict=True)),  # no order
    ],
)
def test_what_is_no_running_head_stays(text: str) -> None:
    doc = plain(text)
    assert repeated(doc) == []
    assert sum(map(len, blocks(doc))) >= 0.9 * len("".join(text.split("\f")).strip()) - 20


def test_a_warning_inside_pages_stays_however_often_it_is_said() -> None:
    warning = "Not for children under two."
    pages = [
        f"{line}\n\n{warning}\n\nMore on part {name} of this."
        for line, name in zip(BODY, "abcd", strict=True)
    ]
    doc = plain(export(pages))
    assert blocks(doc).count(warning) == 4


MENU = '<div class="m"><a href="/">Home</a> | <a href="/a">Medicines</a> | <a href="/b">Contact us</a></div>'
TOP = '<p><a href="#top">Back to the top</a></p>'


def test_menus_that_come_again_are_said_once() -> None:
    doc = html(
        f"<body>{MENU}<h1>Zolmidine</h1><p>{BODY[0]}</p>{TOP}<h2>2</h2><p>{BODY[1]}</p>{TOP}<h2>3</h2><p>{BODY[2]}</p>{TOP}"
        '<ul><li><a href="/">Home</a><li><a href="/a">Medicines</a><li><a href="/b">Contact us</a></ul></body>'
    )
    assert blocks(doc) == ["Home | Medicines | Contact us", BODY[0], "Back to the top", BODY[1], BODY[2]]
    assert repeated(doc) == ["Back to the top", "Back to the top", "Home Medicines Contact us"]
    assert doc.warnings == ("3 menus left out of the passages: an earlier one says the same",)


@pytest.mark.parametrize(
    "body",
    [
        f"{MENU}<p>{BODY[0]}</p>",
        f'<p>{BODY[0]} <a href="#s">See section 2</a></p><p>{BODY[1]} <a href="#s">See section 2</a></p>' * 2,
        f'<p>{BODY[0]}<sup><a href="#1">[1]</a></sup></p>' * 4,
        f"{TOP}<p>{BODY[0]}</p>{TOP}",  # twice says little of a single link
        f"<p>{BODY[0]}</p>" * 5,
    ],
)
def test_text_that_holds_links_is_no_menu(body: str) -> None:
    assert repeated(html(f"<body>{body}</body>")) == []


@pytest.mark.parametrize("chunker", ["structure", "parent-child"])
@pytest.mark.parametrize(
    "doc",
    [
        plain(export(BODY)),
        html(f"<body>{MENU}<h1>Z</h1><p>{BODY[0]}</p>{MENU}<h2>Y</h2><p>{BODY[1]}</p>{MENU}</body>"),
    ],
    ids=["text", "html"],
)
def test_what_is_repeated_is_in_no_chunk_and_listed(chunker: str, doc: ParsedDocument) -> None:
    context = ChunkContext("S", 64, by_words, "en")
    chunks = stated_chunker(chunker).chunk(doc, context)
    left = dropped(doc, chunks)
    assert [doc.text[d.start : d.end] for d in left if d.why == "repeated"] == repeated(doc)
    assert whole(doc, chunks, left) == doc.text
    for chunk in chunks:
        assert chunk.body == "".join(doc.text[span.start : span.end] for span in chunk.spans)
        assert not any(said in chunk.display for said in ("Page 2", "Page 3"))
