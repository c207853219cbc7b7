"""A word is found in every usual spelling: with accents or without, joined, hyphenated or apart, a figure by its unit or not."""

from __future__ import annotations

import pytest
from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz

SAME = [
    ("en", "2.5 mg", "2,5 mg", "2.5mg", "2,5mg"),
    ("en", "500 mg", "500mg"),
    ("en", "10 µg", "10µg", "10 \u03bcg", "10\u03bcg"),
    ("en", "5 mL", "5ml", "5 ml"),
    ("en", "E-4021", "E4021", "E 4021", "E‑4021"),
    ("en", "CVE-2024-12345", "CVE 2024 12345", "cve-2024-12345", "CVE‐2024‐12345"),
    ("en", "COVID-19", "COVID19", "COVID 19"),
    ("en", "SARS-CoV-2", "SARS CoV 2"),
    ("en", "SARS-CoV-2", "SARSCoV2"),
    ("en", "IL-6", "IL6", "IL 6"),
    ("en", "E11.9", "E119", "E11-9"),
    ("en", "amoxicillin/clavulanate", "amoxicillin clavulanate", "amoxicillin-clavulanate"),
    ("en", "mg.per.litre", "mg per litre"),
    ("en", "beta-blockers", "betablocker"),
    ("en", "beta-blockers", "beta blocker"),
    ("en", "X-ray", "xray"),
    ("en", "follow-up", "followup"),
    ("en", "10⁵ units", "10^5 units"),
    ("en", "70 kg/m²", "70 kg/m2", "70 kg/m^2"),
    ("en", "½ tablet", "1/2 tablet"),
    ("en", "CO₂", "CO2"),
    ("en", "Ménière", "Meniere"),
    ("en", "naïve", "naive"),
    ("es", "medicación", "medicacion", "medicaciones"),
    ("es", "presión", "presion", "presiones"),
    ("es", "niños", "ninos"),
    ("fr", "œdème", "oedeme"),
    ("pt", "medicação", "medicacao", "medicações"),
    ("de", "Überwachung", "Uberwachung"),
]


@pytest.mark.parametrize(("lang", "spellings"), [(lang, spellings) for lang, *spellings in SAME])
async def test_every_spelling_finds_every_other(engine: AsyncVeraz, lang: str, spellings: list[str]) -> None:
    await put(
        engine,
        *(record(f"d{n}", f"{text}.", title="t", lang=lang) for n, text in enumerate(spellings)),
        record("other", "zzz.", title="t", lang=lang),
    )
    for asked in spellings:
        found = await engine.search(asked, lang=lang, mode="lexical", trace=False)
        assert {h.document.external_id for h in found.hits} == {f"d{n}" for n in range(len(spellings))}, asked


DIFFERENT = [
    ("en", "2.5mg", "25mg of it"),
    ("en", "0.5mg", "05mg of it"),
    ("en", "105", "10⁵ units"),
    ("en", "10⁵", "105 units"),
    ("en", "E-4021", "E-4102"),
    ("en", "B12mg", "12 mg"),
]


async def lexemes(engine: AsyncVeraz, lang: str, text: str) -> set[str]:
    found = await rows(engine, "select lexeme from unnest(veraz.analyse(%s, %s))", lang, text)
    return {row[0] for row in found}


@pytest.mark.parametrize(("lang", "asked", "written"), DIFFERENT)
async def test_what_differs_stays_apart(engine: AsyncVeraz, lang: str, asked: str, written: str) -> None:
    units = {"mg", "unit", "e", "it"}
    assert not await lexemes(engine, lang, asked) & await lexemes(engine, lang, written) - units


async def test_a_compound_of_stop_words_is_no_word(engine: AsyncVeraz) -> None:
    assert await lexemes(engine, "fr", "Est-ce la fièvre") == {"fievr"}
    assert await lexemes(engine, "en", "over-the-counter") == {"counter", "overthecount"}


async def test_the_exact_dose_stands_above_its_parts(engine: AsyncVeraz) -> None:
    await put(
        engine,
        record("apart", "Give 500 tablets of 2 mg, and 500 more: 500 or 2 mg.", title="t"),
        record("dose", "One tablet of 500mg, which is given with a glass of water.", title="t"),
    )
    for asked in ("500 mg", "500mg"):
        found = await engine.search(asked, lang="en", mode="lexical", trace=False)
        assert found.hits[0].document.external_id == "dose", asked


WEIGHTS = {
    "5mg tablets": {"5": 0.5, "mg": 0.5, "5mg": 1, "tablet": 1},
    "5 mg tablets": {"5": 0.5, "mg": 0.5, "5mg": 1, "tablet": 1},
    "5 tablets": {"5": 1, "tablet": 1},
    "2 tablets of 5 mg": {"2": 1, "5": 0.5, "mg": 0.5, "5mg": 1, "tablet": 1},
    "x-ray": {"x": 1, "ray": 1, "xray": 0.2},
    "E-4021": {"e": 1, "4021": 1, "e4021": 1},
}


@pytest.mark.parametrize("question", WEIGHTS)
async def test_what_stands_beside_words_weighs_little_or_they_do(engine: AsyncVeraz, question: str) -> None:
    await put(engine, record("a", "Something.", title="t"))
    found = await rows(engine, "select lexeme, weight from veraz.query_terms(%s, 'en')", question)
    assert {lexeme: float(weight) for lexeme, weight in found} == WEIGHTS[question]
