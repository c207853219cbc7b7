from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.answer.quantities import ages, compatible, covers, numbers, quantities


def one(text: str) -> tuple[tuple[float, ...], str, str]:
    (quantity,) = [q for q in quantities(text, "en") if q.unit]
    return quantity.values, quantity.unit, quantity.bound


@pytest.mark.parametrize(
    ("text", "values", "unit", "bound"),
    [
        ("for 20 minutes.", (20,), "minute", ""),
        ("lasts for 5 days or more", (7200,), "minute", ">="),
        ("at least 20 seconds", (20 / 60,), "minute", ">="),
        ("up to 1 g", (1000,), "mg", "<="),
        ("4,000 mg in all", (4000,), "mg", ""),
        ("2,5 mg", (2.5,), "mg", ""),
        ("500 mg to 1000 mg", (500, 1000), "mg", ""),
        ("between 7 and 9 hours", (420, 540), "minute", ""),
        ("every 3 to 6 months", (3, 6), "month", ""),
        ("10–15 minutos", (10, 15), "minute", ""),
        ("de 3 à 7 jours", (4320, 10080), "minute", ""),
        ("two or three days", (2880, 4320), "minute", ""),
        ("135/85 mmHg or higher", (135, 85), "mmHg", ">="),
        ("38 °C or higher", (38,), "°C", ">="),
        ("at 2 to 8 °C", (2, 8), "°C", ""),
        ("menos de 40 °C", (40,), "°C", "<="),
        ("60% alcohol", (60,), "%", ""),
        ("tres veces", (3,), "time", ""),
        ("60 Nm", (60,), "Nm", ""),
    ],
)
def test_a_quantity_is_read_with_its_unit(
    text: str, values: tuple[float, ...], unit: str, bound: str
) -> None:
    found_values, found_unit, found_bound = one(text)
    assert found_values == pytest.approx(values)
    assert (found_unit, found_bound) == (unit, bound)


@pytest.mark.parametrize(
    "text", ["one of them", "E-4021", "see section 4.1", "in 2019", "no number", "10/12/2020"]
)
def test_what_is_no_measure_has_no_unit(text: str) -> None:
    assert [q for q in quantities(text) if q.unit] == []


def test_ages_are_no_quantities() -> None:
    text = "Children under 12 years and a 3-month-old; adults older than 65 years take 5 ml"
    assert ages(text) == {"12y", "3m", "65y"}
    assert [(q.values, q.unit) for q in quantities(text)] == [((5.0,), "ml")]


@pytest.mark.parametrize(
    ("a", "b", "agree"),
    [
        ("3 days or more", "5 days or more", False),
        ("24 hours", "1 day", True),
        ("1 g", "1000 mg", True),
        ("3 to 5 days", "4 days", True),
        ("3 to 5 days", "5 to 7 days", True),
        ("3 to 5 days", "6 to 7 days", False),
        ("135/85 mmHg", "130/80 mmHg", False),
        ("135/85 mmHg", "135/85 mmHg", True),
        ("at least 3 days", "up to 7 days", True),
        ("at least 7 days", "up to 3 days", False),
        ("5 mg", "5 ml", True),
        ("10 minutes", "20 minutes", False),
    ],
)
def test_quantities_agree_when_both_can_be_true(a: str, b: str, agree: bool) -> None:
    (left,), (right,) = quantities(a), quantities(b)
    assert compatible(left, right) is agree
    assert compatible(right, left) is agree


@pytest.mark.parametrize(
    ("text", "within"), [("30 to 44", True), ("45 to 59", False), ("40", True), ("Below 30", False)]
)
def test_a_number_lies_in_a_range(text: str, within: bool) -> None:
    (quantity,) = quantities(text)
    assert covers(quantity, 40) is within


def test_numbers_are_written_one_way() -> None:
    assert numbers("4,000 and 4000 and 4000.0", "en") == {"4000"}
    assert numbers("10⁵ CFU/mL") == {"10^5"}
    assert "105" not in numbers("10⁵ CFU/mL")
    assert numbers("2,5 mg") == {"2.5"}


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    for quantity in quantities(text):
        assert all(value >= 0 for value in quantity.values)
        assert compatible(quantity, quantity)
    numbers(text)
    ages(text)
