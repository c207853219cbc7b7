"""Pages and articles that other readers stumbled over: what is found in each, and that nothing of the text is outside of it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from lxml import html

from veraz.ingest.formats import media_of
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for

FILES = {
    # headings, tables, tables with a header
    "docling/html_nested_block_in_list_item.html": (3, 0, 0),
    "docling/html_rich_table_cells.html": (1, 4, 4),
    "docling/kvp_data_example.html": (1, 1, 1),
    "docling/wiki_duck.html": (20, 2, 0),
    "docling/pntd.0008301.nxml": (16, 2, 2),
    "ema_aemps_pdfs/wegovy.html": (60, 1, 1),
    "markitdown/test_rss.xml": (34, 0, 0),
    "unstructured/example-10k-1p.html": (0, 4, 0),
    "unstructured/example-steelJIS-datasheet-utf-16.html": (2, 4, 3),
    "unstructured/example-with-scripts.html": (2, 0, 0),
    "unstructured/fake-html-pre.htm": (0, 0, 0),
}


def parse(folder: Path, name: str) -> ParsedDocument:
    payload = (folder / name).read_bytes()
    media = media_of(name, payload)
    assert media in ("html", "xml")
    item = RawItem(name, name, media, payload=payload)
    return parser_for(item).parse(item)


@pytest.fixture
def folder(shared: Path) -> Path:
    found = shared / "data" / "hard_ingest"
    if not found.is_dir():
        pytest.skip(f"the hard files are not at {found}")
    return found


@pytest.mark.parametrize("name", FILES)
def test_what_is_found(folder: Path, name: str) -> None:
    doc = parse(folder, name)
    tables = [doc.text[block.start : block.end] for block in doc.blocks if block.kind == "table"]
    headed = sum("|---" in table for table in tables)
    assert (len(doc.sections) - 1, len(tables), headed) == FILES[name]


@pytest.mark.parametrize("name", FILES)
def test_sections_and_blocks_hold_the_text_once(folder: Path, name: str) -> None:
    doc = parse(folder, name)
    assert [s.start for s in doc.sections[1:]] == [s.end for s in doc.sections[:-1]]
    assert (doc.sections[0].start, doc.sections[-1].end) == (0, len(doc.text))
    at = 0
    outside: list[str] = []
    for block in doc.blocks:
        section = doc.sections[block.section]
        assert at <= block.start < block.end
        assert section.start <= block.start
        assert block.end <= section.end
        outside.append(doc.text[at : block.start])
        at = block.end
    outside.append(doc.text[at:])
    assert "".join("".join(outside).split()) == "".join("".join(s.heading.split()) for s in doc.sections)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith((".html", ".htm"))])
def test_words_are_those_of_another_reader(folder: Path, name: str) -> None:
    """lxml's own reader of HTML, without what a page does not show; navigation counts as lost there."""
    payload = (folder / name).read_bytes()
    tree = html.fromstring(payload)
    for hidden in tree.xpath(
        "//script|//style|//head|//nav|//noscript|//template|//aside|//footer|//svg|//button|//select|//textarea|//form"
        "|//*[@hidden or @aria-hidden='true' or contains(translate(@style, ' ', ''), 'display:none')]|//comment()"
        "|//header[not(ancestor::main or ancestor::article)]|//iframe|//dialog|//input|//label"
    ):
        if hidden.getparent() is not None:
            hidden.drop_tree()
    theirs = words(" ".join(tree.itertext()))
    ours = words(parse(folder, name).text)
    assert theirs.total() > 10
    assert (theirs & ours).total() / theirs.total() > 0.99


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W\d_]{2,}", text.lower()))
