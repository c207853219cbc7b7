"""Which part of a chunk is shown, and which words in it are set off."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from veraz.cli.render.snippet import alike, folded, matches, terms, window


def test_terms_are_the_words_worth_showing() -> None:
    assert terms("How long should a Burn be cooled, and why?") == ("long", "burn", "cooled")
    assert terms("¿Qué medicación para la presión?") == ("medicacion", "presion")
    assert terms("eGFR 4 or 40 mg?") == ("egfr", "4", "40", "mg")


def test_words_with_one_stem_are_alike() -> None:
    assert alike("burning", "burns")
    assert alike("medicaciones", folded("medicación"))
    assert alike("4", "4")
    assert not alike("40", "4")
    assert not alike("cat", "car")
    assert not alike("water", "watermelon")


def test_matches_are_places_in_the_text() -> None:
    text = "Cooling burns: cool the burn."
    assert [text[a:b] for a, b in matches(text, ("burn", "cool"))] == ["Cooling", "burns", "cool", "burn"]


def test_the_window_opens_at_the_sentence_that_answers() -> None:
    text = (
        "Nothing of note here at all. " * 20
        + "Cool a burn for 20 minutes. "
        + "More of the same follows. " * 20
    )
    shown = window(text, ("burn", "minutes"), 80)
    assert shown.startswith("… Cool a burn for 20 minutes.")
    assert shown.endswith(" …")
    assert len(shown) <= 80


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    assert window("Cool\n\n the burn.", ("burn",), 80) == "Cool the burn."


@given(
    st.text(max_size=600), st.lists(st.sampled_from(["burn", "cool", "4"]), max_size=3), st.integers(20, 120)
)
def test_a_window_is_a_piece_of_the_text_no_longer_than_asked(
    text: str, wanted: list[str], width: int
) -> None:
    shown = window(text, wanted, width)
    assert len(shown) <= width
    piece = shown.removeprefix("… ")
    piece = piece.removesuffix(" …")
    assert piece in " ".join(text.split())
