"""Real PDF files: what each of them says, read from its printed pages."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from veraz.errors import ItemError
from veraz.ingest.chunkers.structure import page_of
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for

REFUSED = {
    "docling/ocr_test.pdf": "no text layer: the pages are pictures; needs OCR",
    "markitdown/MEDRPT-2024-PAT-3847_medical_report_scan.pdf": "no text layer: the pages are pictures; needs OCR",
    "markitdown/pdf_scanned_minimal.pdf": "no text layer: the pages are pictures; needs OCR",
    "pdfplumber/empty.pdf": "no content",
    "sample-files/libreoffice-writer-password.pdf": "the file is locked with a password",
    "unstructured/loremipsum-flat.pdf": "no text layer: the pages are pictures; needs OCR",
    "unstructured/table-multi-row-column-cells.pdf": "no text layer: the pages are pictures; needs OCR",
}


@pytest.fixture
def hard(shared: Path) -> Path:
    folder = shared / "data" / "hard_ingest"
    if not folder.is_dir():
        pytest.skip(f"no hard files at {folder}")
    return folder


def parse(path: Path) -> ParsedDocument:
    item = RawItem(str(path), path.name, "pdf", payload=path.read_bytes())
    return parser_for(item).parse(item)


def tables(doc: ParsedDocument) -> list[list[str]]:
    return [doc.text[block.start : block.end].split("\n") for block in doc.blocks if block.kind == "table"]


def captions(doc: ParsedDocument) -> list[str]:
    return [doc.text[block.caption.start : block.caption.end] for block in doc.blocks if block.caption]


def headings(doc: ParsedDocument) -> list[tuple[int, str]]:
    return [(section.level, section.heading) for section in doc.sections if section.level]


def test_every_file_is_parsed_or_refused_with_a_reason(hard: Path) -> None:
    refused = {}
    for path in sorted(hard.glob("*/*.pdf")):
        began = time.process_time()
        try:
            doc = parse(path)
            assert doc.text.strip()
            assert doc.page_starts
            assert doc.sections[-1].end == len(doc.text)
            assert "\0" not in doc.text
        except ItemError as error:
            refused[f"{path.parent.name}/{path.name}"] = error.reason if error.fix else "no fix is named"
        assert time.process_time() - began < 10, path
    assert refused == REFUSED


# The public failure reports


def test_a_scan_is_refused(cases: Path) -> None:
    with pytest.raises(ItemError, match="no text layer") as caught:
        parse(cases / "h_no_text_layer.pdf")
    assert "OCR" in caught.value.reason


def test_an_unreadable_page_is_named_and_pages_stay_right(cases: Path) -> None:
    doc = parse(cases / "h_partial_text.pdf")
    assert doc.warnings == ("page 2 holds no text; needs OCR: set [ingest] ocr = true",)
    assert page_of(doc, doc.text.index("HB-9")) == 3
    assert page_of(doc, doc.text.index("crane")) == 1


# Tables


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "camelot/column_span_2.pdf",
            {
                0: "| Investigations | No. of HHs | Age/Sex/Physiological Group | Prevalence | C.I* | Relative Precision "
                "| Sample size per State |",
                1: "|---|---|---|---|---|---|---|",
                2: "| Anthropometry | 2400 |" + " All the available individuals |" * 5,
                6: "| Blood Pressure # | 2400 | Men (≥ 18yrs) | 10% | 95% | 20% | 1728 |",
                7: "| Blood Pressure # | 2400 | Women (≥ 18 yrs) | 10% | 95% | 20% | 1728 |",
            },
        ),
        (
            "camelot/anticlockwise_table_1.pdf",
            {
                0: "| State |"
                + " Nutritional Assessment (No. of individuals) |" * 4
                + " IYCF Practices (No. of mothers: 2011-12) |"
                + " Blood Pressure (No. of adults: 2011-12) |" * 2
                + " Fasting Blood Sugar (No. of adults: 2011-12) |" * 2,
                1: "| State | 1975-79 | 1988-90 | 1996-97 | 2011-12 | IYCF Practices (No. of mothers: 2011-12) "
                "| Men | Women | Men | Women |",
                3: "| Kerala | 5738 | 6633 | 8864 | 8297 | 245 | 2161 | 3195 | 1645 | 2391 |",
                13: "| Pooled | 38742 | 53618 | 60601 | 86898 | 4459 | 21918 | 27041 | 14312 | 18519 |",
            },
        ),
        (
            "camelot/row_span_1.pdf",
            {
                0: "| Plan Type | County | Plan Name | Totals |",
                2: "| GMC | Sacramento | Anthem Blue Cross | 164,380 |",
                11: "| GMC | Total GMC Enrollment | Total GMC Enrollment | 1,091,255 |",
                12: "| COHS | Marin | Partnership Health Plan of CA | 36,006 |",
            },
        ),
        (
            "camelot/medicine.pdf",
            {
                1: "| Med No | Item Sr. No | Drug name | Category | Specification | Packing | Sub centre | PHC | Hospital "
                "| Tertiary Hospital |",
                10: "| 2 | 1 | Inj Bupivacaine Hydrochloride | Anaesthetics | Inj Bupivacaine Hydrochloride 50mg/10ml | 20 ml "
                "|  |  | Y | Y |",
            },
        ),
        (
            "camelot/missing_values.pdf",
            {
                1: "| Indicators | TOTAL | RURAL | TOTAL | RURAL |",
                2: "| Reported Prevalence of Morbidity |  |  |  |  |",
                4: "| Any Injury | 1.9 | 2.1 |  |  |",
            },
        ),
        (
            "camelot/population_growth.pdf",
            {
                0: "| States/Union Territories | 1951-1961 | 1961-1971 | 1971-1981 | 1981-1991 | 1991-2001 | 2001-2011 |",
                4: "| Arunachal Pradesh | - | 38.91 | 35.15 | 36.83 | 27.00 | 25.92 |",
            },
        ),
        (
            "fda_label_pdfs/fda_warfarin_label_2025.pdf",
            {
                0: "| VKORC1 |" + " CYP2C9 |" * 6,
                1: "| VKORC1 | *1/*1 | *1/*2 | *1/*3 | *2/*2 | *2/*3 | *3/*3 |",
                3: "| GG | 5-7 mg | 5-7 mg | 3-4 mg | 3-4 mg | 3-4 mg | 0.5-2 mg |",
            },
        ),
    ],
)
def test_first_tables_by_their_rows(hard: Path, name: str, lines: dict[int, str]) -> None:
    table = tables(parse(hard / name))[0]
    assert {number: table[number] for number in lines} == lines


def test_numbers_of_tables(hard: Path) -> None:
    counts = {
        "camelot/diesel_engines.pdf": 12,
        "camelot/twotables_2.pdf": 2,
        "pdfplumber/pr-138-example.pdf": 4,
        "ema_aemps_pdfs/xenical-epar-product-information_es.pdf": 2,
        "ema_aemps_pdfs/karvea-epar-product-information_en.pdf": 0,
        "unstructured/korean-text-with-tables.pdf": 2,
        "unstructured/list-item-example.pdf": 0,
        "unstructured/multi-column-2p.pdf": 0,
    }
    assert {name: len(tables(parse(hard / name))) for name in counts} == counts


def test_a_table_over_two_pages_is_one(hard: Path) -> None:
    doc = parse(hard / "camelot" / "hybrid_multipage.pdf")
    assert tables(doc) == [
        [
            "| Hello | Goodbye | World |",
            "|---|---|---|",
            *["| 1 | Abc | Foo |", "| 2 | Bar | Baz |", "| 3 | Quux | Argh |", "| 4 | Chonk | Bonk |"] * 2,
        ]
    ]
    assert page_of(doc, doc.text.rindex("Abc")) == 2
    assert page_of(doc, doc.text.index("Chonk")) == 1


def test_captions_with_their_units(hard: Path) -> None:
    assert captions(parse(hard / "camelot" / "population_growth.pdf")) == [
        "TABLE 4: STATE-WISE DECADAL GROWTH RATE OF POPULATION (Per cent)"
    ]
    diesel = captions(parse(hard / "camelot" / "diesel_engines.pdf"))
    assert diesel[0] == "Table 1 : Document to be submitted for information, as applicable"


def test_tables_that_read_from_the_right(hard: Path) -> None:
    doc = parse(hard / "docling" / "right_to_left_03.pdf")
    assert "| تاريخ پذيرش | 1403/10/04 |" in tables(doc)[1]


# Text and structure


def test_a_drug_label_by_its_sections(hard: Path) -> None:
    doc = parse(hard / "ema_aemps_pdfs" / "karvea-epar-product-information_en.pdf")
    assert len(doc.page_starts) == 138
    found = [heading for _, heading in headings(doc)]
    start = found.index("4. CLINICAL PARTICULARS")
    assert found[start + 1 : start + 5] == [
        "4.1 Therapeutic indications",
        "4.2 Posology and method of administration",
        "4.3 Contraindications",
        "4.4 Special warnings and precautions for use",
    ]
    section = next(s for s in doc.sections if s.heading == "4.3 Contraindications")
    assert section.heading_path[-2:] == ("4. CLINICAL PARTICULARS", "4.3 Contraindications")
    assert "aliskiren-containing products is contraindicated" in doc.text[section.start : section.end]
    assert "(GFR) <60 ml/min/1.73m²)" in doc.text
    assert doc.warnings[-1].endswith("running headers, footers and page numbers were left out")
    assert page_of(doc, section.start) == 3


@pytest.mark.parametrize(
    ("name", "items"),
    [
        (
            "ibuprofen_label_2024",
            "• headache\n• temporarily reduces fever\n• minor pain of arthritis\n• backache\n",
        ),
        (
            "warfarin_label_2025",
            "• Bleeding tendencies associated with:\n  • Active ulceration or overt bleeding",
        ),
        (
            "ciprofloxacin_highlights_2025",
            "nausea or vomiting\nstomach pain\nfever\nweakness\nabdominal pain or tend",
        ),
    ],
)
def test_lists_whose_bullets_are_drawn_or_missing(hard: Path, name: str, items: str) -> None:
    assert items in parse(hard / f"fda_label_pdfs/fda_{name}.pdf").text


def test_a_patient_leaflet_in_spanish(hard: Path) -> None:
    doc = parse(hard / "ema_aemps_pdfs" / "P_68290.pdf")
    assert (doc.lang, doc.title) == ("es", "Prospecto: información para el usuario")
    assert "1. Qué es Calcio/Vitamina D₃ ROVI y para qué se utiliza" in [
        heading for _, heading in headings(doc)
    ]
    assert "- Conserve este prospecto, ya que puede tener que volver a leerlo.\n- Si tiene" in doc.text


def test_two_columns_with_a_gutter_no_wider_than_a_letter(hard: Path) -> None:
    doc = parse(hard / "unstructured" / "list-item-example.pdf")
    assert [heading for _, heading in headings(doc)] == [
        "Module One - Introduction to Product Development and Quality Assurance",
        "Module Two: Initial Planning and Step 1: Concept Development",
        "Module Three: Step 2: Design and Prototyping",
    ]
    assert (
        "introduces the learner to the importance and principles of product development and quality"
        in doc.text
    )


def test_a_paper_in_two_columns(hard: Path) -> None:
    doc = parse(hard / "unstructured" / "multi-column-2p.pdf")
    assert doc.title == "Dense Passage Retrieval for Open-Domain Question Answering"
    assert "using dense representations alone, where embeddings are learned" in doc.text
    assert doc.text.index("1 Introduction") < doc.text.index(
        "Retrieval in open-domain QA is usually implemented"
    )
    assert "arXiv:2004.04906v3 [cs.CL] 30 Sep 2020" in doc.text


def test_numbered_titles_in_the_weight_of_the_text(hard: Path) -> None:
    found = headings(parse(hard / "fda_label_pdfs" / "fda_ciprofloxacin_highlights_2025.pdf"))
    assert {"1.7 Inhalational Anthrax (Post-Exposure)", "8.4 Pediatric Use", "14.3 Plague"} <= {
        name for _, name in found
    }


def test_the_ligatures_of_tex(hard: Path) -> None:
    assert parse(hard / "sample-files" / "pdflatex-outline.pdf").text.count("difference") == 12


def test_letters_printed_twice(hard: Path) -> None:
    text = parse(hard / "pdfplumber" / "issue-71-duplicate-chars.pdf").text
    assert "项目描述：负责四川省甘孜州" in text
    assert "项项" not in text


def test_unknown_letters_and_nuls_are_counted(hard: Path) -> None:
    assert (
        "3 NUL characters on page 2 removed" in parse(hard / "unstructured" / "copy-protected.pdf").warnings
    )
    thuluth = parse(hard / "pdf.js" / "ThuluthFeatures.pdf").warnings
    assert thuluth == ("389 characters on page 1 left out: the font does not say what is meant",)


def test_a_file_whose_tree_of_pages_is_broken(hard: Path) -> None:
    doc = parse(hard / "sample-files" / "unreadablemetadata.pdf")
    assert doc.warnings[0] == "the file is damaged: what could be read was read"
    assert "RoHS compliant" in doc.text


def test_pages_turned_by_the_file(hard: Path) -> None:
    doc = parse(hard / "sample-files" / "habibi-rotated.pdf")
    assert doc.text.count("habibi") == 4
    assert len(doc.page_starts) == 4
