"""A section in another language is analysed by that language's rules."""

from __future__ import annotations

from pathlib import Path

from tests.support.corpus import rows

from veraz.engine import AsyncVeraz

SPANISH = (
    "Los pacientes con insuficiencia renal no deben tomar este medicamento sin consultar a su médico. Las contraindicaciones "
    "se describen en el prospecto, y la dosis se ajusta cada semana según los análisis de sangre del paciente."
)
ENGLISH = (
    "Patients with kidney failure should not take this medicine before they have talked to their doctor. The contraindications "
    "are described in the leaflet, and the dose is adjusted every week by what the blood tests say about the patient."
)


async def test_each_section_has_its_own_analyser(engine: AsyncVeraz, tmp_path: Path) -> None:
    page = tmp_path / "leaflet.html"
    page.write_text(
        f"<html lang=en><body><h1>Leaflet</h1><p>{ENGLISH}<h1>Prospecto</h1><p>{SPANISH}<h1>Notas</h1><p>No."
    )
    await engine.ingest([page], source="s")
    langs = await rows(
        engine,
        "select c.ord, c.lang, l.analyser from veraz.chunk c join veraz.chunk_lexical l using (chunk_id) order by 1",
    )
    assert langs == [(0, "en", "en"), (1, "es", "es"), (2, "en", "en")]
    for question, lang, section in (
        ("medicamentos y pacientes renales", "es", 1),
        ("adjusting doses", "en", 0),
    ):
        found = await engine.search(question, lang=lang, mode="lexical")
        assert found.hits[0].ord == section
    await engine.ingest([page], source="said", lang="en")
    said = "from veraz.chunk c join veraz.document using (document_id) join veraz.source s using (source_id)"
    assert await rows(engine, f"select distinct c.lang {said} where slug = 'said'") == [("en",)]
