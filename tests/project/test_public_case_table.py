"""Every test that the table of public cases names exists."""

from __future__ import annotations

import re

from tests.project.repository import ROOT

TABLE = (ROOT / "docs/reference/public-cases.md").read_text(encoding="utf-8")


def test_every_test_that_the_table_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(?:\w+::)?(\w+)`", TABLE)
    assert len(named) == TABLE.count("::test_") >= 100
    for path, function in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^ *(async )?def {function}\(", text, re.MULTILINE), f"{path}::{function}"


def test_every_case_but_those_that_are_said_not_to_be_is_in_the_table() -> None:
    listed = TABLE[TABLE.index("| case |") :]
    rows = re.findall(r"^\| (H\d\d) \|.*\| (.+) \|$", listed, re.MULTILINE)
    wanted = [n for n in range(1, 60) if n not in {22, *range(43, 48), 49, 50}]
    assert [int(case[1:]) for case, _ in rows] == wanted
