"""What an expression means, and what is said of one that means nothing. Without a database."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import UsageError
from veraz.filters.said import said
from veraz.filters.typed import both, moved, read, resolve
from veraz.nouns.filter import Comparison, Condition, FieldType, Joint, Not, conjuncts, extent
from veraz.nouns.question import Filters

TODAY = date(2024, 2, 29)
DECLARED: dict[str, FieldType] = {
    "year": "number",
    "seen": "date",
    "open": "boolean",
    "tags": "list",
    "a.b": "number",
}


def reading(expression: str) -> Condition:
    return read(expression, DECLARED, TODAY)


def one(expression: str) -> Comparison:
    found = reading(expression)
    assert isinstance(found, Comparison)
    return found


def refused(expression: str) -> UsageError:
    with pytest.raises(UsageError) as raised:
        reading(expression)
    assert raised.value.exit_code == 2
    assert raised.value.fix
    return raised.value


def marked(error: UsageError, expression: str) -> str:
    """What the message marks of the expression."""
    _, line, mark = str(error.what).splitlines()
    start = mark.index("^")
    assert line.startswith(f"  at character {expression.index(line[start : start + mark.count('^')]) + 1}: ")
    return line[start : start + mark.count("^")]


def test_the_example_of_the_contract() -> None:
    found = reading(
        "source = 'nih' and revised_at >= 2024-01-01 and (authority >= 4 or license in ('cc0','cc-by'))"
        " and not lang = 'fr' and heading ~ 'Contraindications' and meta.category = 'security'"
    )
    assert said(found) == (
        "source = 'nih' and revised_at >= 2024-01-01 and (authority >= 4 or license in ('cc0', 'cc-by'))"
        " and not lang = 'fr' and heading ~ 'Contraindications' and meta.category = 'security'"
    )
    assert len(conjuncts(found)) == 6


def test_and_binds_more_than_or_and_not_most() -> None:
    found = reading("lang = 'a' or not lang = 'b' and lang = 'c'")
    assert isinstance(found, Joint)
    assert found.word == "or"
    second = found.parts[1]
    assert isinstance(second, Joint)
    assert isinstance(second.parts[0], Not)
    assert said(found) == "lang = 'a' or (not lang = 'b' and lang = 'c')"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("authority = 4", Decimal(4)),
        ("meta.year >= -2.50", Decimal("-2.50")),
        ("meta.a.b = 3", Decimal(3)),
        ("revised_at > 2024-2-1", date(2024, 2, 1)),
        ("revised_at > '2024-02-01'", date(2024, 2, 1)),
        ("meta.seen = today", TODAY),
        ("revised_at >= today - 2 years", date(2022, 2, 28)),
        ("revised_at >= today + 4 years", date(2028, 2, 29)),
        ("revised_at >= TODAY - 1 Month", date(2024, 1, 29)),
        ("revised_at >= today - 3 weeks", date(2024, 2, 8)),
        ("revised_at >= today - 60 days", date(2023, 12, 31)),
        ("meta.open = True", True),
        ("title = 'it''s'", "it's"),
        ("title = ''", ""),
        ("title ~ '%_\\'", "%_\\"),
        ("meta.anything = '4'", "4"),
        ("title = 'naïve 漢字 👩‍⚕️'", "naïve 漢字 👩‍⚕️"),
    ],
)
def test_a_value_has_the_type_of_its_field(expression: str, value: object) -> None:
    found = one(expression).values[0]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("lang != 'fr'", "not lang = 'fr'"),
        ("lang <> 'fr'", "not lang = 'fr'"),
        ("title !~ 'x'", "not title ~ 'x'"),
        ("lang not in ('fr')", "not lang in ('fr')"),
        ("authority not between 1 and 2", "not authority between 1 and 2"),
        ("license is not null", "not license is null"),
        ("labels not any ('a')", "not labels any ('a')"),
        ("meta.tags not all ('a')", "not meta.tags all ('a')"),
    ],
)
def test_an_opposite_is_the_opposite(expression: str, written: str) -> None:
    assert said(reading(expression)) == written


def test_a_key_that_nobody_declared_is_text_or_a_list_of_text() -> None:
    assert one("meta.x = 'a'").type == "text"
    assert one("meta.x any ('a')").type == "list"
    assert one("meta.\"two words\".b ~ 'a'").path == ("two words", "b")


@pytest.mark.parametrize("key", ['say "yes"', '"', '""', "a.b", "it's", " ", "漢字"])
def test_any_key_can_be_written_between_quotation_marks(key: str) -> None:
    written = 'meta."' + key.replace('"', '""') + "\" = 'a'"
    found = one(written)
    assert found.path == (key,)
    assert one(said(found)).path == (key,)


@pytest.mark.parametrize(
    ("expression", "place", "words"),
    [
        (
            "sorce = 'nih'",
            "sorce",
            ["sorce", "did you mean 'source'", "revised_at", "heading", "meta.year", "meta.KEY"],
        ),
        ("authority >= 4 and colour = 'red'", "colour", ["colour", "fields: source"]),
        ("authority >= 'high'", "'high'", ["a number", "text", "fields: source"]),
        ("revised_at = 4", "4", ["a date", "a number", "fields:"]),
        ("lang = 4", "4", ["lang is text", "fields:"]),
        ("lang < 'fr'", "<", ["lang is text", "no <", "fields:"]),
        ("heading = 'Dosage'", "=", ["heading is a list", "any ('a', 'b')"]),
        ("meta.year = 'x'", "'x'", ["meta.year is a number"]),
        ("meta.other > 4", ">", ["no declared type", "[filters.meta] other"]),
        ("meta.other = 4", "4", ["no declared type", 'other = "number"']),
        ("meta.other = today", "today", ["no declared type", 'other = "date"']),
        ("meta = 'x'", "meta", ["meta holds keys"]),
        ("source.x = 'y'", "source.x", ["no field 'source.x'"]),
        ("revised_at > 2024-02-30", "2024-02-30", ["no day of the calendar"]),
        ("revised_at > 0000-01-01", "0000-01-01", ["no day of the calendar"]),
        ("revised_at > 'yesterday'", "'yesterday'", ["no day of the calendar"]),
        ("revised_at > today - 99999999999999 years", "today - 99999999999999 years", ["years 1 to 9999"]),
        ("revised_at > today - 1.5 years", "1.5", ["whole number"]),
        ("revised_at > today - 2 parsecs", "parsecs", ["days, weeks, months or years"]),
        ("authority = " + "9" * 40, "9" * 40, ["too large"]),
        ("authority between 4 and 2", "4 and 2", ["exchange"]),
        ("lang = fr", "fr", ["single quotation marks", "write 'fr'"]),
        ("lang = null", "null", ["is null"]),
        ("lang in 'fr'", "'fr'", ["takes a list"]),
        ("lang in ('fr' 'de')", "'de'", ["comma"]),
        ("(lang = 'fr'", "(", ["not closed"]),
        ("lang = 'fr')", ")", ["never opened"]),
        ("lang = 'fr", "'fr", ["does not end"]),
        ("lang = 'fr' authority = 4", "authority", ["should end here"]),
        ("lang = 'fr'; drop table veraz.document", ";", ["means nothing"]),
        ("lang = ‘fr’", "‘", ["typographic"]),
        ("{conditions} = 'x'", "{", ["means nothing"]),
        ("lang = %(pool)s", "%", ["means nothing"]),
        ("authority = 4e5", "4e5", ["no number"]),
        ("not", None, ["ends where a condition"]),
        ("lang", None, ["ends where an operator"]),
        ("lang =", None, ["ends where a value"]),
    ],
)
def test_a_mistake_is_named_with_its_place_and_what_would_do(
    expression: str, place: str | None, words: list[str]
) -> None:
    error = refused(expression)
    if place is not None:
        assert marked(error, expression) == place
    for word in words:
        assert word in str(error)


def test_what_is_too_large_is_refused_before_it_costs_anything() -> None:
    assert "characters" in refused("lang = 'x' or " * 10_000 + "lang = 'x'").what
    assert "levels" in refused("(" * 1000 + "lang = 'a'" + ")" * 1000).what
    assert "levels" in refused("not " * 1000 + "lang = 'a'").what
    assert "conditions" in refused(" or ".join(["lang='a'"] * 300)).what
    many = ", ".join(["'a'"] * 1200)
    assert "values" in refused(f"lang in ({many})").what
    deep = "(" * 49 + "lang = 'a'" + ")" * 49
    assert said(reading(deep)) == "lang = 'a'"


@pytest.mark.parametrize("value", ["a\x00b", "\ud800", "a\udcffb"])
def test_characters_that_cannot_be_stored_are_refused(value: str) -> None:
    assert "no document can hold" in refused(f"title = '{value}'").what
    assert "no document can hold" in refused(f"meta.\"{value}\" = 'x'").what


def test_a_long_expression_is_shown_around_its_place() -> None:
    expression = " and ".join(f"lang = 'x{n}'" for n in range(100)) + " and colour = 'red'"
    error = refused(expression)
    line = error.what.splitlines()[1]
    assert len(line) < 200
    assert "colour = 'red'" in line


@given(st.text(max_size=60))
def test_whatever_is_written_is_read_or_refused(expression: str) -> None:
    found = read_or_refused(expression)
    if found is not None:
        assert without_places(reading(said(found))) == without_places(found)


WORDS = [
    "lang",
    "authority",
    "meta.year",
    "'x'",
    "4",
    "today",
    "(",
    ")",
    "and",
    "or",
    "not",
    "in",
    "between",
    "any",
    "=",
    ">",
    "~",
    ",",
    "is",
    "null",
]


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_words_in_any_order_are_read_or_refused(words: list[str]) -> None:
    expression = " ".join(words)
    found = read_or_refused(expression)
    if found is not None:
        assert without_places(reading(said(found))) == without_places(found)
        assert 0 <= extent(found)[0] < extent(found)[1] <= len(expression)


def read_or_refused(expression: str) -> Condition | None:
    with suppress(UsageError):
        return reading(expression)
    return None


def without_places(condition: Condition) -> object:
    if isinstance(condition, Comparison):
        return condition.field, condition.path, condition.type, condition.operator, condition.values
    if isinstance(condition, Not):
        return "not", without_places(condition.part)
    return condition.word, tuple(without_places(part) for part in condition.parts)


def test_two_expressions_hold_together_and_neither_opens_the_other() -> None:
    joined = both("lang = 'a' or lang = 'b'", "authority = 4")
    assert said(reading(joined or "")) == "(lang = 'a' or lang = 'b') and authority = 4"
    assert both(None, "lang = 'a'") == "lang = 'a'"
    assert both(None, None) is None
    with pytest.raises(UsageError, match="never opened"):
        both("lang = 'a') or (lang = 'b'", "authority = 4")


def test_months_end_where_they_end() -> None:
    assert moved(date(2024, 3, 31), -1, "month") == date(2024, 2, 29)
    assert moved(date(2024, 2, 29), -1, "year") == date(2023, 2, 28)
    assert moved(date(2023, 12, 31), 2, "month") == date(2024, 2, 29)
    with pytest.raises((ValueError, OverflowError)):
        moved(date(1, 1, 1), -1, "month")


def test_filters_without_an_expression_stay_what_they_are() -> None:
    assert resolve(Filters(sources=("a",)), {}, TODAY) == Filters(sources=("a",))
    asked = resolve(Filters(where="lang = 'a'"), {}, TODAY)
    assert asked != Filters(where="lang = 'a'")
    assert asked.where == "lang = 'a'"
