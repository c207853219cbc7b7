from __future__ import annotations

import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from lxml import etree

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.xml import XmlParser

SPL = "{urn:hl7-org:v3}"


def parse(source: str | bytes) -> ParsedDocument:
    payload = source.encode() if isinstance(source, str) else source
    return XmlParser().parse(RawItem("a.xml", "a.xml", "xml", payload=payload))


def section(code: str, title: str, text: str, *inner: str, name: str = "") -> str:
    named = f"<title>{title}</title>" if title else ""
    nested = "".join(f"<component>{part}</component>" for part in inner)
    body = f"<text>{text}</text>" if text else ""
    return f'<section><code code="{code}" displayName="{name}"/>{named}{body}{nested}</section>'


def label(*sections: str, title: str = "Zentrapril tablets") -> str:
    body = "".join(f"<component>{part}</component>" for part in sections)
    return (
        '<document xmlns="urn:hl7-org:v3"><id root="d1"/><code code="34391-3" displayName="HUMAN PRESCRIPTION DRUG LABEL"/>'
        f'<title>{title}</title><effectiveTime value="20240131"/><setId root="set-1"/><versionNumber value="7"/>'
        "<author><assignedEntity><representedOrganization><name>Acme</name></representedOrganization></assignedEntity></author>"
        f"<component><structuredBody>{body}</structuredBody></component></document>"
    )


def test_what_the_label_states() -> None:
    doc = parse(label(section("34067-9", "1 INDICATIONS", "<paragraph>x</paragraph>")))
    assert (doc.item, doc.edition, doc.revised_at) == ("set-1", "7", date(2024, 1, 31))
    assert (doc.title, doc.publisher, doc.document_type) == (
        "Zentrapril tablets",
        "Acme",
        "HUMAN PRESCRIPTION DRUG LABEL",
    )
    assert doc.media == "spl"


def test_codes_name_sections_that_have_no_title() -> None:
    doc = parse(
        label(
            section("34070-3", "", "<paragraph>None.</paragraph>"),
            section("99999-9", "", "<paragraph>y</paragraph>", name="SPL STORAGE SECTION"),
            section("43685-7", "5 WARNINGS", "", section("42229-5", "5.1 Liver", "<paragraph>z</paragraph>")),
        )
    )
    assert [(s.level, s.heading) for s in doc.sections[1:]] == [
        (1, "Contraindications"), (1, "Spl storage"), (1, "5 WARNINGS"), (2, "5.1 Liver"),
    ]  # fmt: skip
    assert doc.meta["section_codes"] == {"1": "34070-3", "2": "99999-9", "3": "43685-7", "4": "42229-5"}


def test_a_part_without_a_name_never_falls_under_its_sibling() -> None:
    bare = section("42229-5", "", "<paragraph>general</paragraph>")
    doc = parse(
        label(
            section(
                "34069-5",
                "16 SUPPLY",
                "",
                bare,
                section("42229-5", "16.1 Store", "<paragraph>cold</paragraph>"),
                bare,
            )
        )
    )
    found = [
        (
            s.heading_path,
            doc.text[s.start : s.end].split("\n\n")[-2 if doc.text[s.start : s.end].endswith("\n\n") else -1],
        )
        for s in doc.sections[1:]
    ]
    assert found == [
        (("16 SUPPLY",), "general"), (("16 SUPPLY", "16.1 Store"), "cold"), (("16 SUPPLY",), "general"),
    ]  # fmt: skip


def test_what_follows_a_part_without_a_name_stands_where_it_stood_before() -> None:
    bare = section("42229-5", "", "<paragraph>general</paragraph>")
    named = section("42229-5", "Store", "<paragraph>cold</paragraph>")
    doc = parse(label(section("42229-5", "A", "", section("42229-5", "B", "", named, bare, named), named)))
    assert [s.heading_path for s in doc.sections[1:]] == [
        ("A",), ("A", "B"), ("A", "B", "Store"), ("A", "B"), ("A", "B", "Store"), ("A", "Store"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "wanted"),
    [
        (
            "These highlights do not include all the information needed to use ZENTRA safely and effectively. "
            "See full prescribing information for ZENTRA.<br/>ZENTRA (zentrapril) tablets<br/>Initial U.S. Approval: 1996",
            "ZENTRA (zentrapril) tablets",
        ),
        ("ZENTRA tablets Initial US Approval 1996", "ZENTRA tablets"),
        ("These highlights do not include all the information needed.", ""),
    ],
)
def test_the_notice_of_every_label_is_no_title(title: str, wanted: str) -> None:
    doc = parse(label(section("34067-9", "1 USE", "<paragraph>x</paragraph>"), title=title))
    assert doc.title == (wanted or "These highlights do not include all the information needed.")


def test_lists_notes_scripts_and_pictures() -> None:
    text = (
        '<paragraph>Below 10<sup>5</sup><footnote ID="f1">Per mL</footnote>'
        ' in H<sub>2</sub>O<footnoteRef IDREF="f1"/>.</paragraph>'
        '<list listType="ordered"><caption>Steps</caption><item>one</item><item>two</item></list>'
        '<renderMultiMedia referencedObject="M1"/><renderMultiMedia referencedObject="M2"/>'
    )
    media = '<section><component><observationMedia ID="M1"><text>Carton</text></observationMedia></component></section>'
    doc = parse(label(section("34067-9", "1 USE", text), media))
    assert doc.text.split("\n\n")[2:] == [
        "Below 10⁵[1] in H₂O[1].",
        "[1] Per mL",
        "Steps",
        "1. one\n2. two",
        "[Carton]",
    ]
    assert doc.warnings == ("1 image without a description left out",)


def test_tables_with_merged_cells_and_a_header() -> None:
    table = (
        '<table><caption>Table 1: Doses</caption><thead><tr><th rowspan="2">Age</th><th colspan="2">Dose</th></tr>'
        "<tr><th>start</th><th>most</th></tr></thead>"
        "<tbody><tr><td>6<sup>a</sup></td><td>5</td><td>10</td></tr></tbody>"
        '<tfoot><tr><td colspan="3">a: years</td></tr></tfoot></table>'
    )
    doc = parse(label(section("34068-7", "2 DOSE", table)))
    block = next(block for block in doc.blocks if block.kind == "table")
    assert doc.text[block.start : block.end] == (
        "| Age | Dose | Dose |\n| Age | start | most |\n|---|---|---|\n| 6ᵃ | 5 | 10 |\n| a: years |  |  |"
    )
    assert block.caption is not None
    assert doc.text[block.caption.start : block.caption.end] == "Table 1: Doses"


def test_highlights_stand_under_their_section() -> None:
    excerpt = "<excerpt><highlight><text><paragraph>Do not use in children.</paragraph></text></highlight></excerpt>"
    source = label(section("34070-3", "4 CONTRAINDICATIONS", "<paragraph>Full.</paragraph>")).replace(
        "</section>", f"{excerpt}</section>"
    )
    doc = parse(source)
    assert doc.sections[-1].heading_path == ("4 CONTRAINDICATIONS", "Highlights")
    assert doc.text.endswith("Full.\n\nHighlights\n\nDo not use in children.")


def test_products_are_told_with_their_strength() -> None:
    product = (
        '<section><code code="48780-1"/><subject><manufacturedProduct><manufacturedProduct>'
        "<name>Dolorex<suffix> XR</suffix></name>"
        '<formCode displayName="TABLET"/><asEntityWithGeneric><genericMedicine>'
        "<name>dolorin</name></genericMedicine></asEntityWithGeneric>"
        '<ingredient classCode="ACTIB"><quantity><numerator value="5" unit="mg"/><denominator value="1" unit="1"/></quantity>'
        "<ingredientSubstance><name>DOLORIN</name></ingredientSubstance></ingredient></manufacturedProduct></manufacturedProduct></subject></section>"
    )
    doc = parse(label(product, title="Drug Facts"))
    assert doc.title == "Dolorex XR (dolorin): Drug Facts"
    assert doc.text.endswith("Product data\n\nDolorex XR (dolorin), tablet\nActive ingredients: DOLORIN 5 mg")
    assert doc.meta["products"] == ["Dolorex XR (dolorin)"]


# Real labels


@pytest.fixture(scope="module")
def labels(shared: Path) -> dict[str, bytes]:
    folder = shared / "data" / "us_labels" / "spl_xml"
    if not folder.is_dir():
        pytest.skip(f"the labels are not at {folder}")
    return {file.stem: file.read_bytes() for file in sorted(folder.glob("*.xml"))}


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W\d_]{3,}", text.lower()))


def test_no_word_of_a_narrative_is_lost(labels: dict[str, bytes]) -> None:
    assert len(labels) == 6
    for name, payload in labels.items():
        theirs: Counter[str] = Counter()
        for text in etree.fromstring(payload).iter(f"{SPL}text"):
            theirs += words(" ".join(map(str, text.itertext())))
        ours = words(parse(payload).text)
        assert (theirs & ours).total() / theirs.total() > 0.997, name


def test_known_facts_of_real_labels(labels: dict[str, bytes]) -> None:
    humira = parse(labels["humira"])
    assert (humira.edition, humira.revised_at) == ("1560", date(2013, 9, 30))
    assert humira.title == "HUMIRA (adalimumab) injection, for subcutaneous use"
    paths = {s.heading_path for s in humira.sections}
    assert ("5 WARNINGS AND PRECAUTIONS", "5.8 Heart Failure") in paths
    headed = [b for b in humira.blocks if b.kind == "table" and "|---" in humira.text[b.start : b.end]]
    assert len(headed) >= 15
    assert "Cmax" in humira.text
    assert all(parse(payload).title for payload in labels.values())


# Other documents of HL7 version 3


def test_a_clinical_document_has_the_same_sections() -> None:
    body = section(
        "10160-0",
        "Medications",
        "<table><tbody><tr><th>Drug</th><th>Dose</th></tr><tr><td>A</td><td>5 mg</td></tr></tbody></table>",
    )
    doc = parse(
        '<ClinicalDocument xmlns="urn:hl7-org:v3"><title>Summary</title>'
        '<effectiveTime value="202401311530+0100"/><languageCode code="fr-FR"/>'
        f"<component><structuredBody><component>{body}</component></structuredBody></component></ClinicalDocument>"
    )
    assert doc.text == "Summary\n\nMedications\n\n| Drug | Dose |\n|---|---|\n| A | 5 mg |"
    assert (doc.title, doc.lang, doc.revised_at, doc.media) == ("Summary", "fr", date(2024, 1, 31), "cda")


def test_a_body_that_is_a_file_is_told() -> None:
    carried = (
        '<component><nonXMLBody><text mediaType="{}" representation="B64">{}</text></nonXMLBody></component>'
    )
    source = '<ClinicalDocument xmlns="urn:hl7-org:v3"><title>Scan</title>{}</ClinicalDocument>'
    doc = parse(source.format(carried.format("application/pdf", "JVBERi0x")))
    assert (doc.text, doc.warnings) == ("Scan", ("it has no body of sections: what it carries was left out",))
    assert parse(source.format(carried.format("text/plain", "as text"))).text == "Scan\n\nas text"
