"""Whatever an attribute holds, a file is read or refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from zipfile import ZipFile

import pytest
from tests.support.office import (
    A,
    S,
    cell,
    docx,
    para,
    parse,
    pptx,
    relations,
    rows,
    shape,
    table,
    xlsx,
    zipped,
)

from veraz.errors import ItemError

VALUE = re.compile(rb'(?<=[a-zA-Z]=")[^"]*(?=")')
NUMBERING = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="lowerRoman"/>'
    '<w:lvlText w:val="%1."/><w:lvlRestart w:val="0"/></w:lvl></w:abstractNum><w:num w:numId="1">'
    '<w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="2"/></w:lvlOverride></w:num>'
)
STYLES = (
    '<w:style w:type="paragraph" w:styleId="a"><w:name w:val="x"/><w:basedOn w:val="b"/><w:pPr><w:outlineLvl w:val="1"/>'
    '</w:pPr></w:style><w:style w:type="paragraph" w:styleId="b"><w:name w:val="y"/><w:basedOn w:val="a"/></w:style>'
)
MERGED = cell("a", '<w:vMerge w:val="restart"/>')
WORD = docx(
    para("x", '<w:pStyle w:val="a"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>')
    + table(
        f'<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>{MERGED}</w:tr>',
        cell("b", '<w:gridSpan w:val="2"/>') + cell("c", "<w:vMerge/>"),
        properties='<w:tblLook w:val="04A0"/>',
    )
    + '<w:p><w:r><w:sym w:font="Symbol" w:char="F0B3"/><w:footnoteReference w:id="1"/></w:r></w:p>',
    styles=STYLES,
    numbering=NUMBERING,
)
POINT = '<a:pPr lvl="1"><a:buAutoNum type="arabicPeriod" startAt="2"/></a:pPr>'
SLIDES = pptx(
    shape(f'<a:p>{POINT}<a:r><a:rPr baseline="3"/><a:t>x</a:t></a:r></a:p>')
    + f'<p:graphicFrame><a:tbl {A}><a:tblPr firstRow="1"/><a:tr><a:tc rowSpan="2" gridSpan="2"/><a:tc/></a:tr></a:tbl>'
    "</p:graphicFrame>"
)
SHEET = (
    '<sheetViews><sheetView><pane ySplit="1" state="frozen"/></sheetView></sheetViews><cols>'
    f'<col min="3" max="3" hidden="1"/></cols><sheetData>{rows(("a", "b"), (1, (2, 0)))}</sheetData>'
    '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>'
)
BOOK = xlsx(
    {"S": SHEET},
    {
        "xl/worksheets/_rels/sheet1.xml.rels": relations(("table", "../tables/t.xml")),
        "xl/tables/t.xml": f'<table {S} ref="A1:B2" headerRowCount="1"/>',
    },
    formats='<fonts><font/></fonts><cellXfs><xf numFmtId="14" fontId="0"/></cellXfs>',
)


def hurt(payload: bytes) -> Iterator[bytes]:
    """The file with one attribute after the other replaced."""
    with ZipFile(BytesIO(payload)) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    for name, data in parts.items():
        assert isinstance(data, bytes)
        for found in VALUE.finditer(data):
            for value in (b"", b"x", b"-7", b"99999999", b"1e400", b"A1:ZZZ9999999"):
                yield zipped({**parts, name: data[: found.start()] + value + data[found.end() :]})


@pytest.mark.parametrize(("payload", "name"), [(WORD, "a.docx"), (SLIDES, "a.pptx"), (BOOK, "a.xlsx")])
def test_any_value_is_read_or_refused(payload: bytes, name: str) -> None:
    parse(payload, name)
    read = refused = 0
    for candidate in hurt(payload):
        try:
            assert parse(candidate, name).text
            read += 1
        except ItemError:
            refused += 1
    assert read > 20
    assert refused > 10
