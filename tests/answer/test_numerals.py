"""How a numeral is read is the language's to say; without one it is not guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.answer.conflict import Statement, conflicts
from veraz.answer.numerals import as_written, spelled
from veraz.answer.quantities import asked_numbers, compatible, numbers, quantities


@pytest.mark.parametrize("lang", ["es", "fr", "de", "it", "pt", "nl", "da", "de-CH"])
@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("1.000", "1000"),
        ("1 000", "1000"),
        ("1\u202f000", "1000"),
        ("1\u00a0000", "1000"),
        ("1'000", "1000"),
        ("10.000.000", "10000000"),
        ("1.234,5", "1234.5"),
        ("2,5", "2.5"),
        ("2,500", "2.5"),
        ("0,125", "0.125"),
        ("0.125", "0.125"),
        ("1.5", "1.5"),
        ("1.000-2.000", "1000-2000"),
        ("1/10.000", "1/10000"),
        ("12.03.2024", "12.03.2024"),
    ],
)
def test_the_comma_is_the_decimal_sign(lang: str, written: str, plain: str) -> None:
    assert spelled(f"de {written} mg.", lang) == f"de {plain} mg."


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("1.000", "1"),
        ("1,000", "1000"),
        ("1,234.5", "1234.5"),
        ("1,234,567", "1234567"),
        ("0.125", "0.125"),
        ("2,5", "2.5"),
        ("10 000", "10000"),
        ("1\u202f500", "1500"),
        ("2 500", "2 500"),  # "take 2 500 mg tablets"
    ],
)
def test_in_english_the_dot_is(written: str, plain: str) -> None:
    assert spelled(f"of {written} mg.", "en") == f"of {plain} mg."


@pytest.mark.parametrize("written", ["1.000", "1,000", "2 500"])
def test_without_a_language_it_equals_itself_alone(written: str) -> None:
    assert as_written(spelled(written)) == written
    assert numbers(written) == numbers(f"so {written}!")
    others = {"1.000", "1,000", "2 500", "1", "1000", "2500", "2.5"} - {written}
    assert not any(numbers(written) & numbers(other) for other in others)
    [own] = [q for q in quantities(f"{written} mg") if q.unit]
    for other in others:
        assert all(compatible(own, q) for q in quantities(f"{other} mg"))


@pytest.mark.parametrize(
    ("text", "values"),
    [("0.125 mg", (0.125,)), ("2,5 mg", (2.5,)), ("1.234,5 mg", (1234.5,)), ("10.000.000 mg", (1e7,))],
)
def test_what_can_be_read_one_way_only_is(text: str, values: tuple[float, ...]) -> None:
    assert [q.values for q in quantities(text)] == [values]


def test_a_question_is_read_in_its_language() -> None:
    assert asked_numbers("¿Puedo tomar 1.000 mg o 2,5 g?", "es") == [1000.0, 2.5]
    assert asked_numbers("eGFR of 40, or 1,000?", "en") == [40.0, 1000.0]
    assert asked_numbers("1.000 or 12?", "xx") == [12.0]


@pytest.mark.parametrize(
    ("a", "b", "lang", "disagree"),
    [
        ("2.000 mg", "2 g", "es", False),
        ("2.000 mg", "2 mg", "es", True),
        ("2.000 mg", "2 mg", "en", False),
        ("2.000 mg", "2 g", "en", True),
        ("2.000 mg", "2 g", "", False),
        ("2.000 mg", "2 mg", "", False),
        ("2,5 mg", "2.5 mg", "es", False),
        ("1 000 mg", "1 g", "fr", False),
        ("10.000.000 UI", "10000000 UI", "es", False),
    ],
)
def test_doses_disagree_by_what_they_say(a: str, b: str, lang: str, disagree: bool) -> None:
    said = [
        Statement(f"La dosis máxima diaria de metformina es {dose}.", "", (n,), ("s", str(n)), lang=lang)
        for n, dose in enumerate((a, b), 1)
    ]
    assert bool(conflicts(said)) is disagree


@given(st.text(alphabet="0123456789., '\u202f-/abc", max_size=40), st.sampled_from(["", "en", "es"]))
def test_spelling_twice_is_spelling_once(text: str, lang: str) -> None:
    assert numbers(spelled(text, lang), "en") == numbers(text, lang)
