"""Small Office, EPUB and mail files, made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

from veraz.ingest.formats import media_of
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for

_OOXML = "http://schemas.openxmlformats.org"
W = f'xmlns:w="{_OOXML}/wordprocessingml/2006/main"'
_M = f'xmlns:m="{_OOXML}/officeDocument/2006/math"'
_MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
_WP = f'xmlns:wp="{_OOXML}/drawingml/2006/wordprocessingDrawing" xmlns:pic="{_OOXML}/drawingml/2006/picture"'
A = f'xmlns:a="{_OOXML}/drawingml/2006/main"'
P = f'xmlns:p="{_OOXML}/presentationml/2006/main"'
R = f'xmlns:r="{_OOXML}/officeDocument/2006/relationships"'
S = f'xmlns="{_OOXML}/spreadsheetml/2006/main"'
Parts = Mapping[str, str | bytes]


def parse(payload: bytes, name: str) -> ParsedDocument:
    """By the parser that the bytes and the name lead to."""
    media = media_of(name, payload)
    assert media is not None
    item = RawItem(name, name, media, payload=payload)
    return parser_for(item).parse(item)


def blocks(doc: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, doc.text[block.start : block.end]) for block in doc.blocks]


def headings(doc: ParsedDocument) -> list[tuple[int, str]]:
    return [(section.level, section.heading) for section in doc.sections[1:]]


def zipped(parts: Parts) -> bytes:
    stream = BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def relations(*entries: tuple[str, str]) -> str:
    """Kinds and targets, with the ids rId1, rId2, …"""
    nodes = "".join(
        f'<Relationship Id="rId{n}" Type="{_OOXML}/officeDocument/2006/relationships/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(entries, 1)
    )
    return f'<Relationships xmlns="{_OOXML}/package/2006/relationships">{nodes}</Relationships>'


def _types(main: str, content: str) -> str:
    kind = f"application/vnd.openxmlformats-officedocument.{content}.main+xml"
    return (
        f'<Types xmlns="{_OOXML}/package/2006/content-types">'
        f'<Override PartName="/{main}" ContentType="{kind}"/></Types>'
    )


def docx(
    body: str, parts: Parts | None = None, *, styles: str = "", numbering: str = "", title: str = ""
) -> bytes:
    """A Word file with that body; `styles` and `numbering` are the insides of those parts; `parts` adds or replaces."""
    made: dict[str, str | bytes] = {
        "[Content_Types].xml": _types("word/document.xml", "wordprocessingml.document"),
        "_rels/.rels": relations(
            ("officeDocument", "word/document.xml"), ("core-properties", "docProps/core.xml")
        ),
        "docProps/core.xml": f'<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></c>',
        "word/_rels/document.xml.rels": relations(
            ("styles", "styles.xml"),
            ("numbering", "numbering.xml"),
            ("footnotes", "footnotes.xml"),
            ("comments", "/word/comments.xml"),
        ),
        "word/document.xml": f"<w:document {W} {_M} {_MC} {_WP}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {W}>{styles}</w:styles>",
        "word/numbering.xml": f"<w:numbering {W}>{numbering}</w:numbering>",
    }
    return zipped({**made, **(parts or {})})


def para(text: str, properties: str = "", run: str = "") -> str:
    return f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def cell(content: str, properties: str = "") -> str:
    inner = content if content.startswith("<") else para(content)
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


def table(*rows: str, properties: str = "") -> str:
    """Rows are cells, or a whole `<w:tr>`."""
    lines = (row if row.startswith("<w:tr>") else f"<w:tr>{row}</w:tr>" for row in rows)
    return f"<w:tbl><w:tblPr>{properties}</w:tblPr>{''.join(lines)}</w:tbl>"


def pptx(*slides: str, parts: Parts | None = None) -> bytes:
    """Slides are the insides of their shape trees, or whole parts."""
    names = [f"ppt/slides/slide{n}.xml" for n in range(1, len(slides) + 1)]
    ids = "".join(f'<p:sldId id="{n}" r:id="rId{n}"/>' for n in range(1, len(slides) + 1))
    made: dict[str, str | bytes] = {
        "[Content_Types].xml": _types("ppt/presentation.xml", "presentationml.presentation"),
        "_rels/.rels": relations(("officeDocument", "ppt/presentation.xml")),
        "ppt/_rels/presentation.xml.rels": relations(
            *(("slide", name.removeprefix("ppt/")) for name in names)
        ),
        "ppt/presentation.xml": f"<p:presentation {P} {R}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
    }
    for name, slide in zip(names, slides, strict=True):
        tree = f"<p:sld {P} {A} {R}><p:cSld><p:spTree>{slide}</p:spTree></p:cSld></p:sld>"
        made[name] = slide if slide.startswith("<p:sld ") else tree
    return zipped({**made, **(parts or {})})


def shape(*paragraphs: str, place: str = "") -> str:
    """A shape whose paragraphs are texts, or whole `<a:p>`; `place` is the type of its placeholder."""
    holder = f'<p:ph type="{place}"/>' if place else ""
    inner = "".join(
        p if p.startswith("<a:p>") else f"<a:p><a:r><a:t>{p}</a:t></a:r></a:p>" for p in paragraphs
    )
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"/><p:cNvSpPr/><p:nvPr>{holder}</p:nvPr></p:nvSpPr>'
        f"<p:txBody>{inner}</p:txBody></p:sp>"
    )


def xlsx(
    sheets: Mapping[str, str],
    parts: Parts | None = None,
    *,
    formats: str = "",
    states: Mapping[str, str] | None = None,
) -> bytes:
    """Sheets are the insides of their parts; `formats` of the style sheet."""
    names = [f"xl/worksheets/sheet{n}.xml" for n in range(1, len(sheets) + 1)]
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}" state="{(states or {}).get(name, "visible")}"/>'
        for n, name in enumerate(sheets, 1)
    )
    made: dict[str, str | bytes] = {
        "[Content_Types].xml": _types("xl/workbook.xml", "spreadsheetml.sheet"),
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/_rels/workbook.xml.rels": relations(
            *(("worksheet", name.removeprefix("xl/")) for name in names),
            ("styles", "styles.xml"),
            ("sharedStrings", "sharedStrings.xml"),
        ),
        "xl/workbook.xml": f"<workbook {S} {R}><sheets>{listed}</sheets></workbook>",
        "xl/styles.xml": f"<styleSheet {S}>{formats}</styleSheet>",
        "xl/sharedStrings.xml": f"<sst {S}/>",
    }
    made.update(
        {
            name: f"<worksheet {S}>{inner}</worksheet>"
            for name, inner in zip(names, sheets.values(), strict=True)
        }
    )
    return zipped({**made, **(parts or {})})


def rows(*lines: tuple[object, ...], first: int = 1) -> str:
    """Sheet data: a string is a text, a number itself, None a blank, a pair (number, style)."""
    return "".join(_line(n, line) for n, line in enumerate(lines, first) if line)


def _line(number: int, values: tuple[object, ...]) -> str:
    cells = "".join(
        _value(f"{chr(65 + at)}{number}", value) for at, value in enumerate(values) if value is not None
    )
    return f'<row r="{number}">{cells}</row>'


def _value(place: str, value: object) -> str:
    if isinstance(value, tuple):
        number, style = value
        return f'<c r="{place}" s="{style}"><v>{number}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'
