from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.text.scripts import Script, joined, subscript, superscript


@pytest.mark.parametrize(
    ("raised", "written"),
    [
        ("5", "⁵"), ("-3", "⁻³"), ("−3", "⁻³"), ("–3", "⁻³"), ("2+", "²⁺"), ("1,2", "¹,²"), ("3–5", "³–⁵"), ("3-5", "³-⁵"),
        ("a", "ᵃ"), ("n", "ⁿ"), ("q", "^q"), ("1.5", "^1.5"), ("a,b", "^a,b"), ("x=1", "^(x=1)"),
        ("th", "th"), ("TM", "™"), ("®", "®"), ("*", "*"), ("[12]", "[12]"), ("a note in words", "a note in words"),
        (" 5\n", "⁵"), ("", ""), ("∘", "°"),
    ],
)  # fmt: skip
def test_what_stands_raised(raised: str, written: str) -> None:
    assert superscript(raised) == written


@pytest.mark.parametrize(
    ("lowered", "written"),
    [
        ("2", "₂"),
        ("0-24", "₀-₂₄"),
        ("1/2", "₁/₂"),
        ("max", "max"),
        ("0-inf", "_0-inf"),
        ("10", "₁₀"),
        ("", ""),
    ],
)
def test_what_stands_lowered(lowered: str, written: str) -> None:
    assert subscript(lowered) == written


@given(st.text("0123456789.,-+ ", min_size=1, max_size=8).filter(lambda text: any(map(str.isdigit, text))))
def test_a_raised_number_is_never_read_as_digits_of_the_line(text: str) -> None:
    """After whatever digit it stands, what it begins with is no digit of the same number; and it can be read back."""
    for written in (superscript(text), subscript(text)):
        assert written[0] not in "0123456789."
        read = unicodedata.normalize("NFKC", written).replace("−", "-").strip("^_()")
        assert read == " ".join(text.split())


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        ([("10", ""), ("-", "super"), ("5", "super"), (" CFU", "")], "10⁻⁵ CFU"),
        ([("H", ""), ("2", "sub"), ("", "super"), ("O", "")], "H₂O"),
        ([("dose", ""), (" a ", "super"), ("of", "")], "dose ᵃ of"),
        ([("m", ""), ("2\n3", "super"), ("x", "")], "m²\n³x"),
        ([("x", ""), (" ", "super"), ("y", "")], "x y"),
        ([], ""),
    ],
)
def test_a_line_is_joined_of_its_parts(parts: list[tuple[str, Script]], written: str) -> None:
    assert joined(parts) == written
