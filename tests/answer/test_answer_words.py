from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.answer.words import Terms, content_terms, content_words, identifiers, mentions, stem, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The child's fever", ["the", "child", "fever"]),
        ("l’eau de Javel", ["eau", "de", "javel"]),
        ("Überwachung: 2,5 mg", ["uberwachung", "2", "5", "mg"]),
        ("", []),
    ],
)
def test_words_are_folded(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_content_words_leave_out_what_only_joins() -> None:
    assert content_words("What is the maximum dose of paracetamol?", "en") == [
        "maximum",
        "dose",
        "paracetamol",
    ]
    assert content_words("¿Cuál es la dosis máxima?", "es") == ["dosis", "maxima"]
    assert content_words("Quelle est la dose ?", "fr") == ["dose"]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("diagnosed", "diagnoses"),
        ("child", "childs"),
        ("therapies", "therapy"),
        ("revisar", "revise"),
        ("pies", "pie"),
        ("medicines", "medicine"),
        ("cooled", "cooling"),
        ("élevée", "élevé"),
    ],
)
def test_inflections_share_a_stem(a: str, b: str) -> None:
    assert stem(words(a)[0]) == stem(words(b)[0])


@pytest.mark.parametrize(
    ("a", "b"), [("ibuprofen", "insulin"), ("30", "300"), ("fever", "never"), ("asthma", "asleep")]
)
def test_other_words_do_not(a: str, b: str) -> None:
    assert stem(a) != stem(b)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Which relay is replaced for fault E-9999?", ["E-9999"]),
        ("Is vitamin B12 safe?", ["B12"]),
        ("CVE-2024-3094 and CYP2D6", ["CVE-2024-3094", "CYP2D6"]),
        ("Take 500mg for the 2nd time, my 3-year-old weighs 12kg", []),
        ("What is eGFR 40?", []),
        ("In 2010s and at 24h", []),
    ],
)
def test_identifiers_are_names_and_not_quantities(text: str, names: list[str]) -> None:
    assert identifiers(text) == names


@pytest.mark.parametrize(
    ("name", "text", "there"),
    [
        ("E-4021", "Fault E 4021 stops", True),
        ("E4021", "fault e-4021.", True),
        ("E-4021", "Fault E-40210 stops", False),
        ("E-9999", "Fault E-4021", False),
        ("B12", "vitamin B-12", True),
        ("B12", "vitamin B1", False),
    ],
)
def test_an_identifier_is_found_in_its_usual_spellings(name: str, text: str, there: bool) -> None:
    assert mentions(name, text) is there


def test_terms_accept_words_and_snowball_lexemes() -> None:
    terms = Terms({"diagnos": 2.0, "therapi": 1.0, "blood": 1.0, "nitrogen": 4.0})
    found = terms.found("High BLOOD pressure is diagnosed; therapy follows.")
    assert found == {"diagnos", "therapi", "blood"}
    assert terms.share(found) == pytest.approx(0.5)


def test_a_short_lexeme_is_no_prefix_of_anything() -> None:
    assert Terms({"ill": 1.0}).found("illness and illumination") == frozenset()


def test_fallback_weights_identifiers_twice() -> None:
    weights = content_terms("Which relay is replaced for fault E-9999?", "en")
    assert weights["relay"] == 1.0
    assert weights["9999"] == 2.0


@given(st.text(max_size=200), st.dictionaries(st.text(min_size=1, max_size=8), st.floats(0.1, 9), max_size=5))
def test_share_stays_between_nothing_and_everything(text: str, weights: dict[str, float]) -> None:
    terms = Terms(weights)
    found = terms.found(text)
    assert found <= set(weights)
    assert 0 <= terms.share(found) <= 1 + 1e-9
