from __future__ import annotations

import pytest
from tests.support.office import S, blocks, headings, parse, relations, rows, xlsx

from veraz.errors import ItemError
from veraz.providers.parsers import xlsx as module

STYLES = (
    '<numFmts><numFmt numFmtId="164" formatCode="0&quot; mg&quot;"/></numFmts><fonts><font/><font><b/></font></fonts>'
    '<cellXfs><xf numFmtId="0" fontId="0"/><xf numFmtId="14" fontId="0"/><xf numFmtId="164" fontId="0"/>'
    '<xf numFmtId="10" fontId="0"/></cellXfs>'
)


def data(*lines: tuple[object, ...], first: int = 1) -> str:
    return f"<sheetData>{rows(*lines, first=first)}</sheetData>"


def texts(sheet: str, **rest: object) -> list[str]:
    return [text for _, text in blocks(parse(xlsx({"Doses": sheet}, formats=STYLES, **rest), "a.xlsx"))]  # type: ignore[arg-type]


def test_values_as_the_sheet_shows_them() -> None:
    sheet = data(("Drug", "Since", "Dose", "Share"), ("Sorbex", (45000, 1), (5, 2), (0.125, 3)))
    assert texts(sheet) == [
        "| Drug | Since | Dose | Share |\n|---|---|---|---|\n| Sorbex | 2023-03-15 | 5 mg | 12.50% |"
    ]


def test_a_sheet_is_a_section() -> None:
    book = xlsx({"Doses": data(("a", "b"), ("c", 1)), "Limits": data(("x",), ("y",))})
    doc = parse(book, "a.xlsx")
    assert headings(doc) == [(1, "Doses"), (1, "Limits")]
    assert blocks(doc)[1] == ("paragraph", "x\ny")
    assert (doc.media, doc.parser) == ("xlsx", "xlsx/1")


def test_blank_rows_and_columns_part_tables_and_a_line_above_is_the_caption() -> None:
    sheet = data(
        ("Table 1. Doses",),
        ("Drug", "mg", None, "Site", "Limit"),
        ("Sorbex", 5, None, "North", 17),
        (),
        ("Remark: see the guide",),
    )
    doc = parse(xlsx({"Doses": sheet}), "a.xlsx")
    assert [text for _, text in blocks(doc)] == [
        "Table 1. Doses",
        "| Drug | mg |\n|---|---|\n| Sorbex | 5 |",
        "| Site | Limit |\n|---|---|\n| North | 17 |",
        "Remark: see the guide",
    ]


def test_rows_after_a_gap_go_on_with_the_table_that_names_them() -> None:
    sheet = data(("Drug", "mg"), ("Sorbex", 5), ("Calm", 6), (), ("Other", 7), ("Last", 8))
    assert texts(sheet) == [
        "| Drug | mg |\n|---|---|\n| Sorbex | 5 |\n| Calm | 6 |\n| Other | 7 |\n| Last | 8 |"
    ]


def test_a_narrow_gap_does_not_part_rows_from_their_names() -> None:
    sheet = data(("Drug", None, "mg", "times"), ("Sorbex", None, 5, 2))
    assert texts(sheet) == ["| Drug | mg | times |\n|---|---|---|\n| Sorbex | 5 | 2 |"]


def test_merged_cells_and_a_header_of_two_rows() -> None:
    merged = (
        '<mergeCells><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/><mergeCell ref="A3:A4"/></mergeCells>'
    )
    sheet = data(("Age", "Dose", None), (None, "mg", "times"), ("6–11", 5, 1), (None, 10, 2)) + merged
    assert texts(sheet) == [
        "| Age | Dose | Dose |\n| Age | mg | times |\n|---|---|---|\n| 6–11 | 5 | 1 |\n| 6–11 | 10 | 2 |"
    ]


def test_rows_that_stay_in_view_are_the_header() -> None:
    frozen = (
        '<sheetViews><sheetView><pane ySplit="2" topLeftCell="A3" state="frozen"/></sheetView></sheetViews>'
    )
    sheet = frozen + data((2023, 2024), ("mg", "mg"), (5, 6), (7, 8))
    assert texts(sheet) == ["| 2023 | 2024 |\n| mg | mg |\n|---|---|\n| 5 | 6 |\n| 7 | 8 |"]


def test_a_table_that_the_file_names_is_one() -> None:
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": relations(("table", "../tables/table1.xml")),
        "xl/tables/table1.xml": f'<table {S} ref="A1:B4" headerRowCount="1"/>',
    }
    sheet = data((2023, 2024), (1, 2), (), (3, 4))
    assert texts(sheet, parts=parts) == ["| 2023 | 2024 |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"]


def test_hidden_sheets_rows_and_columns_are_left_out_and_said_to_be() -> None:
    hidden_row = '<row r="2" hidden="1"><c r="A2"><v>666</v></c></row>'
    columns = '<cols><col min="2" max="2" hidden="1"/></cols>'
    line = rows(("Drug", "secret", "mg")) + hidden_row + rows(("Sorbex", "secret", 5), first=3)
    book = xlsx(
        {"Doses": f"{columns}<sheetData>{line}</sheetData>", "Old": data(("gone",))},
        states={"Old": "veryHidden"},
    )
    doc = parse(book, "a.xlsx")
    assert [text for _, text in blocks(doc)] == ["| Drug | mg |\n|---|---|\n| Sorbex | 5 |"]
    assert doc.warnings == (
        "hidden sheet “Old” left out",
        "1 hidden row left out",
        "1 hidden column left out",
    )


def test_strings_errors_truth_values_and_formulas() -> None:
    shared = (
        f'<sst {S}><si><t>m</t></si><si><r><t>10</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>5</t></r>'
        "<rPh><t>reading</t></rPh></si></sst>"
    )
    line = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="b"><v>1</v></c>'
        '<c r="D1" t="e"><v>#N/A</v></c><c r="E1"><f>1+1</f><v>2</v></c><c r="F1"><f>A9</f></c>'
        '<c r="G1" t="str"><f>A1</f><v>so</v></c></row>'
    )
    doc = parse(xlsx({"S": f"<sheetData>{line}</sheetData>"}, {"xl/sharedStrings.xml": shared}), "a.xlsx")
    assert blocks(doc) == [("table", "| m | 10⁵ | TRUE | #N/A | 2 | so |")]
    assert doc.warnings == ("1 formula without a computed value left out",)


def test_a_huge_sheet_is_bounded_and_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CELLS", 10)
    doc = parse(xlsx({"S": data(*((f"n{n}", n) for n in range(20)))}), "a.xlsx")
    assert blocks(doc)[0][1].splitlines()[-1] == "| n4 | 4 |"
    assert doc.warnings == ("sheet “S”: everything from row 6 on left out (more than 10 cells)",)


def test_a_cell_far_away_costs_nothing() -> None:
    far = '<sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData>'
    doc = parse(xlsx({"S": far}), "a.xlsx")
    assert doc.text == "S\n\n1"
    assert doc.warnings == ("1 cell beyond column 1,000 left out",)


def test_what_is_left_out_is_counted_in_plain_words() -> None:
    far = "".join(f'<c r="{column}1"><v>2</v></c>' for column in ("XFC", "XFD"))
    asked = '<c r="A1"><f>A9</f></c><c r="B1"><f>B9</f></c><c r="C1"><v>1</v></c>'
    doc = parse(xlsx({"S": f'<sheetData><row r="1">{asked}{far}</row></sheetData>'}), "a.xlsx")
    assert doc.warnings == (
        "2 formulas without a computed value left out",
        "2 cells beyond column 1,000 left out",
    )


def test_a_font_that_is_stated_not_to_be_bold_is_not() -> None:
    fonts = '<fonts><font/><font><b val="0"/></font><font><b/></font></fonts>'
    styles = f'{fonts}<cellXfs><xf/><xf fontId="1"/><xf fontId="2"/></cellXfs>'
    cells = [
        f'<row r="{row}"><c r="A{row}" t="str" s="{style}"><v>x</v></c><c r="B{row}" t="str" s="{style}"><v>x</v></c></row>'
        for row, style in ((1, 1), (2, 0), (3, 0))
    ]
    for style, header in ((1, False), (2, True)):
        sheet = "".join(cells).replace('s="1"', f's="{style}"')
        text = parse(xlsx({"S": f"<sheetData>{sheet}</sheetData>"}, formats=styles), "a.xlsx").text
        assert ("|---|---|" in text) == header


def test_an_empty_workbook_is_no_content() -> None:
    with pytest.raises(ItemError, match="no content"):
        parse(xlsx({"S": data()}), "a.xlsx")
