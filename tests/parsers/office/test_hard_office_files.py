"""The office files of the collection of hard ones: what is found in each, and that none is lost silently."""

from __future__ import annotations

import re
import time
from collections import Counter
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from lxml import etree
from tests.support.office import headings, parse

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument

# Headings, tables, cells of tables: what the parsers found when their text was read over. Mammoth finds the same cells, but for
# the table in a cell (docx-tables), and the same headings, but for those of style Title.
FOUND = {
    "docling/Strict.docx": (0, 0, 0),
    "docling/docx_code_blocks.docx": (9, 0, 0),
    "docling/docx_list_resumed_numbering.docx": (1, 0, 0),
    "docling/docx_lists.docx": (10, 0, 0),
    "docling/tablecell.docx": (0, 1, 9),
    "docling/unit_test_headers_numbered.docx": (9, 0, 0),
    "docling/word_sample.docx": (3, 1, 12),
    "docling/greek_heading_styles.doc": (4, 0, 0),
    "docling/legacy_sample.doc": (3, 1, 12),
    "docling/csv-inconsistent-header.csv": (0, 1, 20),
    "docling/csv-too-many-columns.csv": (0, 1, 25),
    "markitdown/equations.docx": (0, 0, 0),
    "markitdown/test.docx": (4, 1, 30),
    "markitdown/test_mskanji.csv": (0, 1, 12),
    "python-mammoth/comments.docx": (0, 0, 0),
    "python-mammoth/endnotes.docx": (0, 0, 0),
    "python-mammoth/footnotes.docx": (0, 0, 0),
    "python-mammoth/strict-format.docx": (0, 0, 0),
    "python-mammoth/text-box.docx": (0, 0, 0),
    "unstructured/docx-tables.docx": (0, 4, 26),
    "unstructured/fake_table.docx": (0, 1, 4),
    "unstructured/handbook-872p.docx": (294, 2, 12),
    "unstructured/more-than-1k-cells.xlsx": (1, 1, 1040),
    "unstructured/page-breaks.docx": (0, 0, 0),
    "unstructured/tables-with-incomplete-rows.docx": (0, 6, 60),
}
# The first holds its text three times, for older readers; the second writes its words in formulas.
WRITTEN_OTHERWISE = ("python-mammoth/text-box.docx", "markitdown/equations.docx")
SHOWN = {"tab": " ", "br": " ", "cr": " ", "rPr": "", "instrText": "", "delText": ""}
REFUSED = {
    "markitdown/random.bin": "UTF-8",
    "python-mammoth/empty.docx": "no content",
    "unstructured/empty.xlsx": "no content",
}


def read(shared: Path, name: str) -> ParsedDocument:
    return parse((shared / "data/hard_ingest" / name).read_bytes(), name.replace(".bin", ".txt"))


def cells(doc: ParsedDocument) -> int:
    lines = [line for b in doc.blocks if b.kind == "table" for line in doc.text[b.start : b.end].split("\n")]
    return sum(
        line.replace("\\|", "").count("|") - 1 for line in lines if not re.fullmatch(r"\|(?:---\|)+", line)
    )


@pytest.mark.parametrize("name", FOUND)
def test_headings_tables_and_cells(shared: Path, name: str) -> None:
    started = time.perf_counter()
    doc = read(shared, name)
    assert (len(headings(doc)), sum(b.kind == "table" for b in doc.blocks), cells(doc)) == FOUND[name]
    assert time.perf_counter() - started < 30


@pytest.mark.parametrize("name", REFUSED)
def test_what_holds_nothing_is_refused_with_a_reason(shared: Path, name: str) -> None:
    with pytest.raises(ItemError, match=REFUSED[name]) as caught:
        read(shared, name)
    assert caught.value.fix


def test_every_office_file_is_in_one_of_the_lists(shared: Path) -> None:
    folder = shared / "data/hard_ingest"
    kinds = {".docx", ".doc", ".xlsx", ".xls", ".pptx", ".ppt", ".csv", ".tsv", ".epub", ".eml", ".bin"}
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in kinds}
    assert found == FOUND.keys() | REFUSED.keys()


@pytest.mark.parametrize(
    "name", [name for name in FOUND if name.endswith(".docx") and name not in WRITTEN_OTHERWISE]
)
def test_no_word_of_the_body_is_lost(shared: Path, name: str) -> None:
    """Against the text elements of the file, read without any of the parser."""
    payload = (shared / "data/hard_ingest" / name).read_bytes()
    with ZipFile(BytesIO(payload)) as archive:
        root = etree.fromstring(archive.read("word/document.xml"))
    wanted: Counter[str] = Counter()
    for paragraph in root.iter("{*}p"):
        runs = [node for node in paragraph.iter("{*}r") if next(node.iterancestors("{*}p")) is paragraph]
        text = "".join(
            "".join(SHOWN.get(etree.QName(part).localname, part.text) or "" for part in run) for run in runs
        )
        wanted.update(re.findall(r"[^\W\d_]+", text))
    got = Counter(re.findall(r"[^\W\d_]+", read(shared, name).text))
    missing = wanted - got
    assert missing.total() <= wanted.total() // 1000


def test_merged_cells_of_a_real_file(shared: Path) -> None:
    text = read(shared, "unstructured/docx-tables.docx").text
    assert "| a | b | b |\n| a | c | d |\n| e | e | d |" in text


def test_numbers_of_a_resumed_list(shared: Path) -> None:
    text = read(shared, "docling/docx_list_resumed_numbering.docx").text
    assert text.endswith("2. Second ordered item\n- bullet one\n- bullet two\n3. Third ordered item")


def test_numbers_of_headings(shared: Path) -> None:
    found = headings(read(shared, "docling/unit_test_headers_numbered.docx"))
    assert (2, "1.2. Section 1.2") in found
    assert (3, "1.2.1. Section 1.2.3") in found


def test_powers_of_an_equation(shared: Path) -> None:
    assert "2.2×10⁻⁴" in read(shared, "markitdown/equations.docx").text


def test_other_readers_find_the_same_cells(shared: Path) -> None:
    calamine = pytest.importorskip("python_calamine")
    name = "unstructured/more-than-1k-cells.xlsx"
    book = calamine.load_workbook(BytesIO((shared / "data/hard_ingest" / name).read_bytes()))
    theirs = [cell for row in book.get_sheet_by_index(0).to_python() for cell in row]
    assert len(theirs) == cells(read(shared, name))
    assert set(theirs) == {"x"}


@pytest.mark.parametrize("name", FOUND)
def test_places_fit_the_text(shared: Path, name: str) -> None:
    doc = read(shared, name)
    ends = [0, *(section.end for section in doc.sections)]
    assert [section.start for section in doc.sections] == ends[:-1]
    assert ends[-1] == len(doc.text)
    for block in doc.blocks:
        section = doc.sections[block.section]
        assert section.start <= block.start < block.end <= section.end
    for section in doc.sections[1:]:
        written = " ".join(doc.text[section.start : section.end].split())
        assert written.startswith(section.heading)
