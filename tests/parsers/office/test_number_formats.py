from __future__ import annotations

import pytest

from veraz.providers.parsers.number_format import is_date, shown


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (0.1 + 0.2, "", "0.3"),
        (3.0, "General", "3"),
        (0.00001, "", "0.00001"),
        (12345678901.0, "General", "12345678901"),
        (2.5, "0.00", "2.50"),
        (2.5, "0", "3"),
        (0.125, "0%", "13%"),
        (0.5, "0.0%", "50.0%"),
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (1500000.0, '0.0,,"M"', "1.5M"),
        (5.0, '0" mg"', "5 mg"),
        (5.0, 'General" mg"', "5 mg"),
        (5.0, "[$€-407] #,##0.00", "€ 5.00"),
        (-3.0, "0;(0)", "(3)"),
        (-3.0, "0.0", "-3.0"),
        (0.0, '0;-0;"none"', "none"),
        (7.0, "000", "007"),
        (1.5, "0.0##", "1.5"),
        (2.0, "0.##", "2"),
        (0.25, "# ?/?", "1/4"),
        (-2.5, "# ?/?", "-2 1/2"),
        (12345678.0, "0.00E+00", "1.23E+07"),
        (12.0, "[Red]0.0", "12.0"),
    ],
)
def test_numbers(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == expected


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        (45000, "m/d/yy", "2023-03-15"),
        (45000, "dd\\.mm\\.yyyy", "2023-03-15"),
        (45000, "[$-409]d-mmm-yyyy;@", "2023-03-15"),
        (45000, "mmm-yy", "2023-03"),
        (45000, "yyyy", "2023"),
        (45000.75, "m/d/yy h:mm AM/PM", "2023-03-15 18:00"),
        (0.5, "h:mm AM/PM", "12:00"),
        (45000.5 + 7 / 86_400, "hh:mm:ss", "12:00:07"),
        (1.5, "[h]:mm", "36:00"),
        (59, "yyyy-mm-dd", "1900-02-28"),
        (61, "yyyy-mm-dd", "1900-03-01"),
        (-5, "yyyy-mm-dd", "-5"),
    ],
)
def test_dates_and_times(value: float, code: str, expected: str) -> None:
    assert shown(value, code) == expected


def test_days_since_1904() -> None:
    assert shown(43538, "yyyy-mm-dd", since_1904=True) == "2023-03-15"


def test_words_in_a_format_do_not_make_a_date() -> None:
    assert not is_date('0" days"')
    assert not is_date("0.00E+00")
    assert not is_date("[Red]0")
    assert not is_date("General")
    assert is_date("d.m.")
