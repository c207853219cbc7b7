"""A number is found in every usual spelling, and never mistaken for another."""

from __future__ import annotations

import pytest
from tests.support.corpus import put, record

from veraz.engine import AsyncVeraz

THOUSAND = ("1.000 mg", "1000 mg", "1 000 mg", "1\u202f000 mg", "1'000 mg")


@pytest.mark.parametrize("asked", THOUSAND)
async def test_a_thousand_is_found_however_it_is_written(engine: AsyncVeraz, asked: str) -> None:
    await put(engine, *(record(f"d{n}", f"Dosis de {dose}.", lang="es") for n, dose in enumerate(THOUSAND)))
    await put(
        engine, record("one", "Dosis de 1 UI.", lang="es"), record("half", "Dosis de 2,5 UI.", lang="es")
    )
    found = await engine.search(asked.removesuffix(" mg"), lang="es", mode="lexical")
    named = {h.document.external_id for h in found.hits}
    assert named >= {f"d{n}" for n in range(len(THOUSAND))}
    assert "half" not in named
    if asked in ("1.000 mg", "1000 mg"):
        assert "one" not in named


@pytest.mark.parametrize("asked", ["2,5", "2.5"])
async def test_a_decimal_is_found_with_either_sign(engine: AsyncVeraz, asked: str) -> None:
    await put(engine, record("a", "Dosis de 2,5 UI.", lang="es"), record("b", "Dosis de 2.5 UI.", lang="es"))
    await put(engine, record("c", "Dosis de 10.000,5 UI y 0,125 UI.", lang="es"))
    found = await engine.search(asked, lang="es", mode="lexical")
    assert {h.document.external_id for h in found.hits[:2]} == {"a", "b"}
    if asked == "2.5":
        assert len(found.hits) == 2


@pytest.mark.parametrize(("other", "outcome"), [("2 g", "answered"), ("2 mg", "conflicting")])
async def test_an_answer_compares_doses_as_its_sources_write_them(
    eager_engine: AsyncVeraz, other: str, outcome: str
) -> None:
    text = "La dosis máxima diaria de metformina es {}."
    await put(eager_engine, record("a", text.format("2.000 mg"), lang="es"))
    await put(eager_engine, record("b", text.format(other), lang="es"))
    answer = await eager_engine.ask("¿Cuál es la dosis máxima diaria de metformina?", lang="es")
    assert answer.outcome == outcome


@pytest.mark.parametrize("asked", ["1.000 mg", "1000 mg", "1\u202f000 mg"])
@pytest.mark.parametrize("stated", ["1.000 mg", "1000 mg", "1 000 mg"])
async def test_a_question_may_write_a_number_otherwise_than_its_answer(
    eager_engine: AsyncVeraz, asked: str, stated: str
) -> None:
    await put(eager_engine, record("a", f"El comprimido grande contiene {stated} de metformina.", lang="es"))
    answer = await eager_engine.ask(f"¿Qué comprimido contiene {asked} de metformina?", lang="es")
    assert [c.text for c in answer.claims] == [f"El comprimido grande contiene {stated} de metformina."]
    found = await eager_engine.search(f"¿Qué comprimido contiene {asked}?", lang="es", mode="lexical")
    plain = await eager_engine.search("¿Qué comprimido contiene 1000 mg?", lang="es", mode="lexical")
    assert found.sufficiency == plain.sufficiency
