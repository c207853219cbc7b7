"""Every chunk of real files of every format stands where it says, and with what was dropped they hold each character once."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.chunking import by_words, whole

from veraz.errors import ItemError
from veraz.ingest.chunkers import ChunkContext, dropped, stated_chunker
from veraz.ingest.discover import discover
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for

CHUNKS = 10_000


@pytest.fixture(scope="module")
def documents(shared: Path) -> list[tuple[str, ParsedDocument]]:
    """Each with its media."""
    return list(parsed(shared))


def parsed(shared: Path) -> Iterator[tuple[str, ParsedDocument]]:
    data = shared / "data"
    folders = [data / "hard_ingest", data / "aemps_epi_es" / "xml_2025-06-04"]
    for folder in folders:
        if not folder.is_dir():
            pytest.skip(f"real files are not at {folder}")
        for item in discover([str(folder)], exclude=["MANIFEST.jsonl"]):
            if isinstance(item, RawItem):
                try:
                    document = parser_for(item).parse(item)
                except ItemError:  # refused with a reason, which other tests look at
                    continue
                yield document.media, document


@pytest.mark.parametrize("chunker", ["structure", "recursive"])
def test_every_span_is_where_it_says(documents: list[tuple[str, ParsedDocument]], chunker: str) -> None:
    seen: Counter[str] = Counter()
    for media, document in documents:
        made = stated_chunker(chunker).chunk(document, ChunkContext("S", 64, by_words, document.lang or "en"))
        for chunk in made:
            assert [document.text[span.start : span.end] for span in chunk.spans] == [chunk.body]
        assert whole(document, made, dropped(document, made)) == document.text
        seen[media] += len(made)
    assert seen.total() >= CHUNKS, seen
    assert len(seen) >= 8, seen


def test_compressed_files_are_the_files_in_them(shared: Path) -> None:
    file = next((shared / "data" / "aemps_epi_es" / "xml_2025-06-04").glob("*.xml.gz"), None)
    if file is None:
        pytest.skip("the labels' XML is not there")
    (item,) = discover([str(file)])
    assert isinstance(item, RawItem)
    assert item.payload == gzip.decompress(file.read_bytes())
    assert item.media == "xml"
