"""Tables of real labels: no part of one is without its header, and every cell is found with its labels."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from tests.support.chunking import by_words

from veraz.ingest.chunkers import ChunkContext, dropped, stated_chunker
from veraz.nouns.corpus import Block, ParsedDocument, RawItem
from veraz.providers.parsers import parser_for
from veraz.text.tables import read_table


@pytest.fixture(scope="module")
def documents(shared: Path) -> list[ParsedDocument]:
    files = sorted((shared / "data" / "aemps_epi_es" / "xml_2025-06-04").glob("*.xml.gz"))
    if not files:
        pytest.skip("the labels' XML is not there")
    items = [RawItem(f.name, f.name, "xml", payload=gzip.decompress(f.read_bytes())) for f in files]
    return [parser_for(item).parse(item) for item in items]


def tables(document: ParsedDocument) -> list[Block]:
    return [block for block in document.blocks if block.kind == "table"]


def test_all_tables_are_found(documents: list[ParsedDocument]) -> None:
    """The folder's figure of 976 counts those of all dated versions; the XML of one export states 359, of which 23 have a
    single column once empty ones are gone, or hold another table."""
    assert len(documents) == 33
    assert sum(map(len, map(tables, documents))) == 336


@pytest.mark.parametrize("limit", [160, 256, 512])
def test_no_part_of_a_table_is_without_its_header(documents: list[ParsedDocument], limit: int) -> None:
    parts = 0
    for document in documents:
        chunks = stated_chunker("structure").chunk(document, ChunkContext("AEMPS", limit, by_words, "es"))
        dropped(document, chunks)
        for block in tables(document):
            table = read_table(document.text, block.start, block.end)
            data = [row for row in table.rows if any(cell.start < cell.end for cell in row.cells[1:])]
            headers = [_words(document.text[row.start : row.end]) for row in table.header]
            for chunk in chunks:
                rows = [
                    row for row in data if any(s.start < row.end and row.start < s.end for s in chunk.spans)
                ]
                if not rows or not headers:
                    continue
                parts += 1
                shown = set(_words(chunk.display))
                # only of a row that is too long for a chunk some cells stand alone, under their own columns' headers
                if len(rows) > 1:
                    assert [word for header in headers for word in header if word not in shown] == []
                assert any(word in shown for header in headers for word in header)
    assert parts > 298


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
