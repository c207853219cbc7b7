"""The reference of filter expressions says what the program does."""

from __future__ import annotations

import re

from tests.project.repository import ROOT

from veraz.filters.compose import pieces
from veraz.filters.fields import FIELDS, OPERATORS

PAGE = (ROOT / "docs/reference/filters.md").read_text(encoding="utf-8")


def test_every_field_is_in_the_reference_with_its_type() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert rows == [(name, field.type, field.says) for name, field in FIELDS.items()]


def test_every_operator_is_in_the_reference_and_has_its_piece() -> None:
    table = dict(re.findall(r"^\| (text|date|number|boolean|list) \| ([^|]+) \|", PAGE, re.MULTILINE))
    for kind, operators in OPERATORS.items():
        said = table["number" if kind == "date" else kind].replace("…", "")
        assert all(f"`{operator}" in said for operator in operators), kind
        assert all(f"{kind} {operator}" in pieces() for operator in operators), kind
    assert all(f"field {name}" in pieces() for name in FIELDS)


def test_no_piece_is_without_use() -> None:
    used = {f"{kind} {operator}" for kind, operators in OPERATORS.items() for operator in operators}
    used |= {f"field {name}" for name in FIELDS} | {f"meta {kind}" for kind in OPERATORS}
    used |= {"lang is null", "not", "condition", "condition of a revision", "condition of a chunk"}
    assert set(pieces()) == used | {"condition of a chunk and its document"}
