"""What is read as a mark and what as text. Pure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.search.syntax import Alternative, Reading, read

NATURAL = (
    "drug-drug interactions",
    "What's the dose of over-the-counter ibuprofen?",
    "aspirin or ibuprofen?",
    "ASPIRIN OR IBUPROFEN FOR FEVER",
    "What is the OR for smoking?",
    "metformin OR insulin",
    "fever - when to worry",
    "fever -- when to worry",
    "pre- and post-operative care",
    "COVID -19 vaccine",
    "vitamin -D deficiency",
    "kept at -20 °C",
    "-4021",
    "E -4021",
    "metformin −insulin",
    "metformin –insulin",
    "symptoms:\n-fever\n-cough",
    "-insulin",
    "-insulin -metformin",
    "drug -drug interaction",
    "a boy of 5'10\" and a girl of 5'2\"",
    'a 10" pipe and a 12" pipe',
    '"unbalanced relay',
    'relay "',
    '""',
    '"?!"',
    "the children's ward’s rules",
    "'single quotes' around words",
    "!relay | <-> & (code",
    "relay:*",
)


@pytest.mark.parametrize("question", NATURAL)
def test_an_ordinary_question_is_left_as_it_is(question: str) -> None:
    assert read(question) == Reading(question)
    assert read(question).condition is None


def quoted(*phrases: str, without: tuple[str, ...] = ()) -> Alternative:
    return Alternative(phrases, without)


MARKED = {
    'sudden "heart attack" in women': ("sudden heart attack in women", quoted("heart attack")),
    "“restless legs”?": ("restless legs ?", quoted("restless legs")),
    "¿Qué es «la gota»?": ("¿Qué es la gota ?", quoted("la gota")),
    "« la goutte » chez l'adulte": ("la goutte chez l'adulte", quoted("la goutte")),
    "Was ist „hoher Blutdruck“?": ("Was ist hoher Blutdruck ?", quoted("hoher Blutdruck")),
    '("night sweats")': ("( night sweats )", quoted("night sweats")),
    "metformin -insulin": ("metformin", quoted(without=("insulin",))),
    "metformin -insulin, please": ("metformin please", quoted(without=("insulin",))),
    "-insulin metformin": ("metformin", quoted(without=("insulin",))),
    'metformin -"kidney failure"': ("metformin", quoted(without=("kidney failure",))),
    "metformin -E4021": ("metformin -E4021", None),  # one letter: no word that a reader would exclude
    "metformin -drug-drug": ("metformin", quoted(without=("drug-drug",))),
    'gout "uric acid" -diet -beer': ("gout uric acid", quoted("uric acid", without=("diet", "beer"))),
    '"uric acid" "joint pain"': ("uric acid joint pain", quoted("uric acid", "joint pain")),
}


@pytest.mark.parametrize("question", MARKED)
def test_marks_are_read(question: str) -> None:
    text, one = MARKED[question]
    assert read(question) == Reading(text, (one,) if one else ())


def test_or_stands_between_alternatives() -> None:
    found = read('"heart attack" OR stroke of women OR gout -beer')
    assert found.text == "heart attack stroke of women gout"
    assert found.alternatives == (
        quoted("heart attack"),
        Alternative(words="stroke of women"),
        quoted(without=("beer",)),
    )
    assert not found.is_selective
    assert read('"heart attack" OR stroke').is_selective
    assert not read("gout -beer").is_selective


@given(st.text(max_size=80))
def test_nothing_is_an_error_and_something_is_left_to_search_for(question: str) -> None:
    found = read(question)
    assert found.alternatives or found.text == question
    assert any(c.isalnum() for c in found.text) or not found.alternatives


@given(
    st.lists(
        st.sampled_from(('"', "“", "”", "«", "»", "-", "OR", " ", "ab", "c", "12", "\n", "'")), max_size=14
    )
)
def test_marks_in_any_order_keep_every_word_that_is_not_excluded(parts: list[str]) -> None:
    found = read("".join(parts))
    if found.alternatives:
        kept = "".join(found.text.split()) + "".join("".join(w.split()) for w in found.without)
        assert kept.count("ab") >= 1 or "ab" not in "".join(parts)
