from __future__ import annotations

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.support.office import W, blocks, cell, docx, headings, para, parse, table, zipped

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument

HEADINGS = (
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Section head"/><w:basedOn w:val="berschrift1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="T2"><w:name w:val="Titre 2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Out"><w:name w:val="Clause"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/></w:style>'
)
LIST = (
    '<w:abstractNum w:abstractNumId="0">'
    '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>'
    '<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl></w:abstractNum>'
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="&#xF0B7;"/></w:lvl>'
    "</w:abstractNum>"
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="0"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
)


def read(body: str, **rest: str) -> ParsedDocument:
    return parse(docx(body, **rest), "a.docx")  # type: ignore[arg-type]


def style(name: str) -> str:
    return f'<w:pStyle w:val="{name}"/>'


def numbered(number: int, level: int = 0) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def raised(text: str) -> str:
    return run(text, '<w:vertAlign w:val="superscript"/>')


def lowered(text: str) -> str:
    return run(text, '<w:vertAlign w:val="subscript"/>')


def test_headings_by_style_in_any_language_and_by_what_a_style_is_based_on() -> None:
    doc = read(
        para("The guide", style("Title"))
        + para("One", style("berschrift1"))
        + para("Two", style("T2"))
        + para("text")
        + para("Three", style("Out"))
        + para("Four", style("Own"))
        + para("Five", '<w:outlineLvl w:val="1"/>'),
        styles=HEADINGS,
    )
    assert headings(doc) == [(1, "The guide"), (1, "One"), (2, "Two"), (3, "Three"), (1, "Four"), (2, "Five")]
    assert doc.title == "The guide"
    assert (doc.parser, doc.media, doc.page_starts) == ("docx/1", "docx", ())


def test_the_title_of_a_person_counts_and_that_of_a_program_does_not() -> None:
    assert read(para("x"), title="Dosing guide").title == "Dosing guide"
    assert read(para("x"), title="Microsoft Word - draft3.doc").title == "a"


def test_the_only_heading_of_the_highest_level_is_the_title_where_a_document_begins_with_it() -> None:
    one, two, text = para("Guide", style("berschrift1")), para("Part", style("T2")), para("text")
    assert read(one + text + two, styles=HEADINGS).title == "Guide"
    assert read(one + text + one, styles=HEADINGS).title == "a"
    assert read(text + one, styles=HEADINGS).title == "a"


def test_numbers_of_lists_headings_and_resumed_lists() -> None:
    doc = read(
        para("Scope", style("berschrift1") + numbered(1))
        + para("Use", style("T2") + numbered(1, 1))
        + para("shall a", numbered(1, 2))
        + para("shall b", numbered(1, 2))
        + para("point", numbered(2))
        + para("Dose", style("berschrift1") + numbered(1))
        + para("item", numbered(1, 1))
        + para("between")
        + para("again", numbered(1, 1))
        + para("anew", numbered(3)),
        styles=HEADINGS,
        numbering=LIST,
    )
    assert headings(doc) == [(1, "1. Scope"), (2, "1.1 Use"), (1, "2. Dose")]
    assert blocks(doc) == [
        ("list", "(a) shall a\n    (b) shall b\n- point"),
        ("list", "2.1 item"),
        ("paragraph", "between"),
        ("list", "2.2 again\n1. anew"),
    ]


def test_powers_and_indices_stay_apart() -> None:
    doc = read(
        f"<w:p>{run('10')}{raised('-')}{raised('5')}{run(' CFU/mL, H')}{lowered('2')}{run('O, 5 m')}{raised('2')}"
        f"{run(', 1')}{raised('st')}{run(' dose, 2½, 12.5')}{raised('a')}</w:p>"
    )
    assert doc.text == "10⁻⁵ CFU/mL, H₂O, 5 m², 1st dose, 2½, 12.5ᵃ"


def test_insertions_are_kept_and_deletions_dropped() -> None:
    doc = read(
        f"<w:p>{run('take ')}<w:del><w:r><w:delText>50</w:delText></w:r></w:del><w:ins>{run('5')}</w:ins>{run(' mg')}</w:p>"
        + table(
            cell("a") + cell("b"),
            f"<w:tr><w:trPr><w:del/></w:trPr>{cell('old')}{cell('row')}</w:tr>",
            cell("c") + cell("d"),
        )
    )
    assert doc.text == "take 5 mg\n\n| a | b |\n| c | d |"
    assert doc.warnings == ("1 tracked deletion left out",)


def test_hidden_text_is_dropped_and_said_to_be() -> None:
    hidden = (
        '<w:style w:type="character" w:styleId="H"><w:name w:val="h"/><w:rPr><w:vanish/></w:rPr></w:style>'
    )
    doc = read(
        "<w:p>"
        + run("a")
        + run("b", "<w:vanish/>")
        + run("c", '<w:rStyle w:val="H"/>')
        + run("d", '<w:vanish w:val="0"/>')
        + "</w:p>",
        styles=hidden,
    )
    assert (doc.text, doc.warnings) == ("ad", ("2 pieces of hidden text left out",))


def test_fields_show_their_result_and_symbols_their_sign() -> None:
    doc = read(
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>SEQ T</w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run("4")}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
        '<w:r><w:t xml:space="preserve"> mg </w:t><w:sym w:font="Symbol" w:char="F0B3"/></w:r>'
        + run(" 5 ")
        + run("m", '<w:rFonts w:ascii="Symbol"/>')
        + run("g")
        + "<w:r><w:noBreakHyphen/><w:t>x</w:t><w:softHyphen/><w:t>y</w:t><w:br/><w:t>z</w:t></w:r></w:p>"
    )
    assert doc.text == "4 mg ≥ 5 μg\u2011xy\nz"


def test_an_equation_is_written_on_one_line() -> None:
    def m(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    power = f"<m:sSup><m:e>{m('x')}</m:e><m:sup>{m('2')}</m:sup></m:sSup>"
    fraction = f"<m:f><m:num>{m('a+b')}</m:num><m:den>{m('c')}</m:den></m:f>"
    root = f"<m:rad><m:deg/><m:e>{m('a+1')}</m:e></m:rad>"
    doc = read(f"<w:p>{run('so ')}<m:oMath>{power}{m('=')}{fraction}{m('+')}{root}</m:oMath></w:p>")
    assert doc.text == "so x²=(a+b)/c+√(a+1)"


def test_notes_stand_below_what_they_explain_and_comments_are_left_out() -> None:
    notes = f'<w:footnotes {W}><w:footnote w:id="2">{para("not for children")}</w:footnote></w:footnotes>'
    comments = f'<w:comments {W}><w:comment w:id="0">{para("check this")}</w:comment></w:comments>'
    body = f'<w:p>{run("5 mg")}<w:r><w:footnoteReference w:id="2"/></w:r>{run(" daily")}</w:p>' + para("next")
    doc = parse(docx(body, {"word/footnotes.xml": notes, "word/comments.xml": comments}), "a.docx")
    assert doc.text == "5 mg[1] daily\n\n[1] not for children\n\nnext"
    assert doc.warnings == ("1 comment left out",)


def test_a_text_box_is_read_once() -> None:
    box = f"<w:txbxContent>{para('in the box')}</w:txbxContent>"
    body = (
        "<w:p><w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing>"
        f"{box}</w:drawing></mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>{run('anchor')}</w:p>"
    )
    assert read(body).text == "anchor\n\nin the box"
    old = f"<w:p><w:r><w:pict>{box}</w:pict></w:r></w:p>"
    assert read(old).text == "in the box"


def test_images_by_their_description() -> None:
    def image(words: str) -> str:
        return f'<w:r><w:drawing><wp:inline><wp:docPr id="1" name="p" descr="{words}"/><pic:pic/></wp:inline></w:drawing></w:r>'

    doc = read(f"<w:p>{image('Dose curve')}</w:p><w:p>{image('')}{run('x')}</w:p>")
    assert doc.text == "[Image: Dose curve]\n\nx"
    assert doc.warnings == ("1 image without a description left out",)


def test_code_keeps_its_lines_and_their_indentation() -> None:
    courier = '<w:rFonts w:ascii="Courier New"/>'
    doc = read(para("x") + para("def f():", run=courier) + para("    return 1", run=courier) + para("y"))
    assert blocks(doc) == [("paragraph", "x"), ("code", "def f():\n    return 1"), ("paragraph", "y")]


# Tables


def test_merged_cells_stand_in_each_of_their_places() -> None:
    span, down, on_ = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    header = "<w:trPr><w:tblHeader/></w:trPr>"
    doc = read(
        para("Table 2. Doses")
        + table(
            f"<w:tr>{header}{cell('Age', down)}{cell('Dose', span)}</w:tr>",
            f"<w:tr>{header}{cell('', on_)}{cell('mg')}{cell('times')}</w:tr>",
            cell("Children", span) + cell("x"),
            cell("6–11", down) + cell("5") + cell("1"),
            cell("", on_) + cell("10") + cell("2"),
            cell("For adults see below", '<w:gridSpan w:val="3"/>'),
        )
    )
    assert blocks(doc)[1] == (
        "table",
        "| Age | Dose | Dose |\n| Age | mg | times |\n|---|---|---|\n| Children | Children | x |\n| 6–11 | 5 | 1 |\n"
        "| 6–11 | 10 | 2 |\n| For adults see below |  |  |",
    )
    caption = doc.blocks[1].caption
    assert caption is not None
    assert doc.text[caption.start : caption.end] == "Table 2. Doses"


def test_a_first_row_in_bold_is_the_header_and_one_like_the_rest_is_none() -> None:
    bold = [cell(para(text, run="<w:b/>")) for text in ("Drug", "Limit")]
    assert "|---|---|" in read(table("".join(bold), cell("Sorbex") + cell("17"))).text
    assert "---" not in read(table(cell("Drug") + cell("Limit"), cell("Sorbex") + cell("17"))).text
    assert "---" not in read(table("".join(bold), "".join(bold))).text


def test_rows_that_begin_late_or_end_early() -> None:
    late = f'<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>{cell("c")}{cell("d")}</w:tr>'
    assert read(table(cell("a") + cell("b"), late)).text == "| a | b |  |\n|  | c | d |"


def test_a_table_in_a_cell_is_written_below_and_a_frame_around_text_is_none() -> None:
    inner = table(cell("e") + cell("f"), cell("g") + cell("h"))
    doc = read(table(cell("a") + cell(para("b") + inner), cell("c") + cell("d")))
    assert doc.text == "| a | b [inner table 1] |\n| c | d |\n\n[inner table 1]\n\n| e | f |\n| g | h |"
    assert read(table(cell(para("Warning") + para("Not for children")))).text == "Warning\n\nNot for children"


def test_the_table_case(cases: Path) -> None:
    doc = parse((cases / "h_table.docx").read_bytes(), "h_table.docx")
    kinds = [kind for kind, _ in blocks(doc)]
    assert kinds == ["paragraph", "table", "paragraph"]
    assert "| Sorbex | 17 ppm |" in doc.text


def test_a_table_too_wide_to_read_is_refused() -> None:
    wide = "".join(cell("x", '<w:gridSpan w:val="200"/>') for _ in range(6))
    with pytest.raises(ItemError, match="1,200 columns"):
        read(table(wide, cell("a") + cell("b")))


def test_strict_files_are_read() -> None:
    strict = docx(para("Head", style("berschrift1")) + para("text"), styles=HEADINGS)
    with ZipFile(BytesIO(strict)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name, data in parts.items():
        for word in (b"wordprocessingml/2006/main", b"officeDocument/2006/relationships"):
            first, _, last = word.partition(b"/2006")
            data = data.replace(
                b"http://schemas.openxmlformats.org/" + word, b"http://purl.oclc.org/ooxml/" + first + last
            )
        parts[name] = data
    assert headings(parse(zipped(parts), "a.docx")) == [(1, "Head")]
