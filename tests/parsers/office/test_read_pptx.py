from __future__ import annotations

import pytest
from tests.support.office import A, P, R, blocks, headings, parse, pptx, relations, shape

from veraz.errors import ItemError


def point(text: str, properties: str) -> str:
    return f"<a:p>{properties}<a:r><a:t>{text}</a:t></a:r></a:p>"


def test_a_slide_is_a_section_and_a_page_with_its_title_first() -> None:
    doc = parse(
        pptx(
            shape("Page number", place="sldNum") + shape("Below") + shape("Dosing", place="title"),
            shape("Only text"),
            shape("Risks", place="ctrTitle"),
        ),
        "a.pptx",
    )
    assert headings(doc) == [(1, "Dosing"), (1, "Slide 2"), (1, "Risks")]
    assert doc.text == "Dosing\n\nBelow\n\nSlide 2\n\nOnly text\n\nRisks"
    assert [doc.text[start:].partition("\n")[0] for start in doc.page_starts] == [
        "Dosing",
        "Slide 2",
        "Risks",
    ]
    assert (doc.title, doc.media) == ("Dosing", "pptx")


def test_hidden_slides_are_left_out_and_keep_their_number() -> None:
    hidden = f'<p:sld {P} {A} {R} show="0"><p:cSld><p:spTree>{shape("secret")}</p:spTree></p:cSld></p:sld>'
    doc = parse(pptx(shape("One", place="title"), hidden, shape("Three", place="title")), "a.pptx")
    assert "secret" not in doc.text
    assert doc.warnings == ("hidden slide 2 left out",)
    assert [doc.text[start:].partition("\n")[0] for start in doc.page_starts] == ["One", "Three", "Three"]


def test_points_levels_and_numbers() -> None:
    body = shape(
        "first",
        point("deeper", '<a:pPr lvl="1"/>'),
        point("step", '<a:pPr><a:buAutoNum type="arabicPeriod" startAt="3"/></a:pPr>'),
        point("step", '<a:pPr><a:buAutoNum type="arabicPeriod" startAt="3"/></a:pPr>'),
        point("letter", '<a:pPr><a:buAutoNum type="alphaLcParenR"/></a:pPr>'),
        point("plain", "<a:pPr><a:buNone/></a:pPr>"),
        place="body",
    )
    doc = parse(pptx(shape("T", place="title") + body), "a.pptx")
    assert blocks(doc) == [
        ("list", "- first\n  - deeper\n3. step\n4. step\ne) letter"),
        ("paragraph", "plain"),
    ]


def test_groups_scripts_and_pictures() -> None:
    power = '<a:p><a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>5</a:t></a:r></a:p>'
    picture = '<p:pic><p:nvPicPr><p:cNvPr id="3" name="x" descr="{}"/></p:nvPicPr></p:pic>'
    group = f"<p:grpSp><p:nvGrpSpPr/>{shape('before')}<p:grpSp>{shape(power)}</p:grpSp></p:grpSp>"
    doc = parse(pptx(group + picture.format("A curve") + picture.format("") + shape("after")), "a.pptx")
    assert [text for _, text in blocks(doc)] == ["before", "10⁵", "[Image: A curve]", "after"]
    assert doc.warnings == ("1 image without a description left out",)


def test_tables_with_merged_cells() -> None:
    def tc(text: str, attributes: str = "") -> str:
        return f"<a:tc {attributes}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"

    rows = (
        tc("Age", 'rowSpan="2"') + tc("Dose", 'gridSpan="2"') + tc("", 'hMerge="1"'),
        tc("", 'vMerge="1"') + tc("mg") + tc("times"),
        tc("6–11") + tc("5") + tc("1"),
    )
    body = "".join(f"<a:tr>{row}</a:tr>" for row in rows)
    frame = f'<p:graphicFrame><a:graphic><a:tbl><a:tblPr firstRow="1"/>{body}</a:tbl></a:graphic></p:graphicFrame>'
    doc = parse(pptx(frame), "a.pptx")
    assert blocks(doc) == [
        ("table", "| Age | Dose | Dose |\n| Age | mg | times |\n|---|---|---|\n| 6–11 | 5 | 1 |"),
    ]


def test_notes_and_charts() -> None:
    shapes = shape("7", place="sldNum") + shape("say this", place="body")
    notes = f"<p:notes {P} {A}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:notes>"
    links = relations(("notesSlide", "../notesSlides/n1.xml"), ("chart", "../charts/c.xml"))
    parts = {"ppt/slides/_rels/slide1.xml.rels": links, "ppt/notesSlides/n1.xml": notes}
    doc = parse(pptx(shape("T", place="title"), parts=parts), "a.pptx")
    assert blocks(doc) == [("paragraph", "Notes: say this")]
    assert doc.warnings == ("1 chart left out",)


def test_slides_without_a_word_are_no_content() -> None:
    with pytest.raises(ItemError, match="no content"):
        parse(pptx("", ""), "a.pptx")
