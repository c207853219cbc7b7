"""Every test that the table of public cases names exists."""

from __future__ import annotations

import re

from tests.project.repository import ROOT

TABLE = (ROOT / "docs/reference/public-cases.md").read_text(encoding="utf-8")


def test_every_test_that_the_table_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TABLE)
    assert len(named) >= 20
    for path, function in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^(async )?def {function}\(", text, re.MULTILINE), f"{path}::{function}"


def test_every_case_of_search_is_in_the_table() -> None:
    rows = re.findall(r"^\| (H\d\d) \|.*\| (.+) \|$", TABLE, re.MULTILINE)
    wanted = [1, *range(5, 14), *range(39, 43), 52, 53, 54]
    assert [int(case[1:]) for case, _ in rows] == wanted
