from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from veraz.errors import ItemError
from veraz.ingest.tables import read_table
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.xml import XmlParser

FHIR = 'xmlns="http://hl7.org/fhir"'


def parse(source: str | bytes) -> ParsedDocument:
    payload = source.encode() if isinstance(source, str) else source
    return XmlParser().parse(RawItem("a.xml", "a.xml", "xml", payload=payload))


def div(inner: str) -> str:
    return f'<text><status value="generated"/><div xmlns="http://www.w3.org/1999/xhtml">{inner}</div></text>'


def section(title: str, code: str, inner: str, *nested: str) -> str:
    coded = f'<code><coding><code value="{code}"/></coding></code>'
    return f'<section><title value="{title}"/>{coded}{div(inner)}{"".join(nested)}</section>'


def composition(title: str, *sections: str, more: str = "") -> str:
    return (
        f'<Composition {FHIR}><language value="es-ES"/>{more}{div("generated index")}<status value="final"/>'
        f'<date value="2025-06-04T10:00:00+02:00"/><title value="{title}"/>{"".join(sections)}</Composition>'
    )


def bundle(*resources: str) -> str:
    entries = "".join(f"<entry><resource>{resource}</resource></entry>" for resource in resources)
    return f'<Bundle {FHIR}><id value="b1"/><type value="document"/>{entries}</Bundle>'


def test_sections_are_headings_by_depth_with_their_codes() -> None:
    dose = section("4.2 Posología", "2", "<p>Dosis de 10<sup>5</sup>&#160;UI</p>")
    doc = parse(
        composition(
            "Ficha técnica",
            section("4. Datos", "1", "<p>&#160;</p>", dose),
            section("5. Otros", "3", "<p>x</p>"),
        )
    )
    assert [(s.level, s.heading) for s in doc.sections[1:]] == [
        (1, "Ficha técnica"), (2, "4. Datos"), (3, "4.2 Posología"), (2, "5. Otros"),
    ]  # fmt: skip
    assert doc.meta["section_codes"] == {"2": "1", "3": "2", "4": "3"}
    assert doc.text.endswith("4.2 Posología\n\nDosis de 10⁵\xa0UI\n\n5. Otros\n\nx")
    assert (doc.title, doc.lang, doc.revised_at, doc.media) == (
        "Ficha técnica",
        "es",
        date(2025, 6, 4),
        "fhir",
    )
    assert "generated index" not in doc.text


def test_a_section_that_repeats_the_title_is_the_title() -> None:
    doc = parse(
        composition("Prospecto", section("Prospecto", "0", "", section("1. Qué es", "1", "<p>x</p>")))
    )
    assert [(s.level, s.heading) for s in doc.sections[1:]] == [(1, "Prospecto"), (2, "1. Qué es")]


def test_identifier_and_version_say_which_document_this_is_a_version_of() -> None:
    more = '<identifier><value value="epi-1"/></identifier><version value="3"/>'
    doc = parse(composition("T", section("A", "1", "<p>x</p>"), more=more))
    assert (doc.item, doc.edition) == ("epi-1", "3")
    month = composition("T", section("A", "1", "<p>x</p>")).replace("2025-06-04T10:00:00+02:00", "2025-06")
    assert parse(month).revised_at is None


def test_the_medicine_is_in_the_title() -> None:
    name = section("1. Nombre", "200000029792", "<p> </p><p>Zentrapril 5 mg comprimidos</p>")
    smpc = composition("Ficha técnica", name)
    assert parse(smpc).title == "Zentrapril 5 mg comprimidos: Ficha técnica"
    both = parse(
        bundle(bundle(smpc), bundle(composition("Prospecto", section("1. Qué es", "9", "<p>x</p>"))))
    )
    assert both.title == "Zentrapril 5 mg comprimidos"
    assert [s.heading for s in both.sections if s.level == 1] == ["Ficha técnica", "Prospecto"]
    product = f'<MedicinalProductDefinition {FHIR}><name><productName value="Dolorex"/></name></MedicinalProductDefinition>'
    assert (
        parse(bundle(composition("Leaflet", section("A", "1", "<p>x</p>")), product)).title
        == "Dolorex: Leaflet"
    )


def test_tables_and_headings_of_a_narrative() -> None:
    header = "<tr><td><strong>Edad</strong></td><td><strong>Dosis</strong></td></tr>"
    table = f"<table>{header}<tr><td>6</td><td>5 mg</td></tr></table>"
    doc = parse(
        composition("T", section("A", "1", f"<h2>Niños</h2>{table}<p>a<img src='data:x' alt=''/></p>"))
    )
    assert "| Edad | Dosis |\n|---|---|\n| 6 | 5 mg |" in doc.text
    assert doc.sections[-1].heading_path == ("T", "A", "Niños")
    assert doc.warnings == ("1 image without a description left out",)


def test_words_that_markup_runs_together_are_two() -> None:
    inner = (
        "<p><span>Neumonía por</span><em>Pneumocystis <b>jirovecii</b></em> con m<b>RNA</b>, e<span>GFR</span>, "
        "p<i>Ka</i>, anti<b>TNF</b>, Dex<b>ametasona</b>, <i>Álvarez</i><b>DOSIS</b> y <b>10</b><i>Comprimidos</i></p>"
    )
    text = parse(composition("T", section("A", "1", inner))).text
    assert text.endswith(
        "Neumonía por Pneumocystis jirovecii con mRNA, eGFR, pKa, antiTNF, Dexametasona, ÁlvarezDOSIS y 10Comprimidos"
    )


def test_a_withdrawn_composition_is_told() -> None:
    doc = parse(composition("T", section("A", "1", "<p>x</p>")).replace("final", "entered-in-error"))
    assert doc.warnings == ("T has the status entered-in-error",)


def test_other_resources_give_their_narrative_or_are_refused() -> None:
    patient = f'<Patient {FHIR}><id value="7"/>{div("<p>Ana, 64 years</p>")}</Patient>'
    observation = f'<Observation {FHIR}><id value="8"/><valueInteger value="3"/></Observation>'
    doc = parse(bundle(patient, observation, observation))
    assert doc.text == "Patient 7\n\nAna, 64 years"
    assert doc.warnings == ("resources without a narrative left out: 2 Observation",)
    assert parse(patient).text == "Patient 7\n\nAna, 64 years"
    with pytest.raises(ItemError, match="FHIR resources without a narrative: 2 Observation"):
        parse(bundle(observation, observation))
    with pytest.raises(ItemError, match="an empty Bundle"):
        parse(bundle())


# Real product information


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    found = shared / "data" / "aemps_epi_es"
    if not found.is_dir():
        pytest.skip(f"the product information is not at {found}")
    return found


@pytest.fixture(scope="module")
def parsed(folder: Path) -> dict[str, ParsedDocument]:
    files = sorted((folder / "xml_2025-06-04").glob("*.xml.gz"))
    return {file.name.removesuffix(".xml.gz"): parse(gzip.decompress(file.read_bytes())) for file in files}


_RUN_TOGETHER = re.compile(r"(?<=[^\W\d_A-ZÁÉÍÓÚÑÜ]{2})(?=[A-ZÁÉÍÓÚÑÜΜΕ][^\W\d_A-ZÁÉÍÓÚÑÜ]{2})")


def words(text: str) -> Counter[str]:
    """Words, those that the other reader runs together as two."""
    return Counter(re.findall(r"\w+", _RUN_TOGETHER.sub(" ", text).lower()))


def test_the_text_is_that_of_another_reader(folder: Path, parsed: dict[str, ParsedDocument]) -> None:
    wanted = found = 0
    with gzip.open(folder / "labels.jsonl.gz", "rt") as lines:
        labels: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for name, doc in parsed.items():
        sections = [
            s for label in labels if (label["registration"], label["revision_date"]) == (name, "2025-06-04")
            for s in label["sections"]
        ]  # fmt: skip
        assert sections, name
        headings = {s.heading for s in doc.sections}
        assert [s["title"] for s in sections if " ".join(s["title"].split()) not in headings] == []
        theirs = sum((words(s["text"]) for s in sections), Counter[str]())
        wanted += theirs.total()
        found += (theirs & words(doc.text)).total()
    assert wanted > 400_000
    assert found / wanted > 0.9999


def test_every_file_states_what_it_is(parsed: dict[str, ParsedDocument]) -> None:
    assert len(parsed) == 33
    for name, doc in parsed.items():
        assert (doc.lang, doc.revised_at, doc.media) == ("es", date(2025, 6, 4), "fhir"), name
        assert len([s for s in doc.sections if s.level == 1]) == 2, name
        assert not doc.title.lower().startswith(("ficha", "prospecto")), name
        assert len(doc.meta["section_codes"]) >= 40, name


def test_tables_have_equal_rows_and_most_a_header(parsed: dict[str, ParsedDocument]) -> None:
    tables = [
        doc.text[block.start : block.end]
        for doc in parsed.values()
        for block in doc.blocks
        if block.kind == "table"
    ]
    headed = 0
    for text in tables:
        table = read_table(text, 0, len(text))
        assert len({len(row.cells) for row in (*table.header, *table.rows)}) == 1, text[:200]
        headed += table.separator is not None
    assert len(tables) >= 300
    assert headed / len(tables) > 0.85
