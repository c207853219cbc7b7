"""What the database refuses is reported with its place and with what helps."""

from __future__ import annotations

import psycopg
import pytest

from veraz.ingest.failures import refused
from veraz.nouns.corpus import RawItem


@pytest.mark.parametrize(
    ("error", "reason", "fix"),
    [
        (
            psycopg.errors.ProgramLimitExceeded("string is too long for tsvector\nCONTEXT: x"),
            "string is too long for tsvector",
            "split the document",
        ),
        (psycopg.errors.UntranslatableCharacter("\nbad \\u0000"), "bad \\u0000", "mend the text"),
        (psycopg.errors.UniqueViolation("duplicate key"), "duplicate key", "ingest it again"),
        (psycopg.DataError(), "DataError", "mend the text"),
    ],
)
def test_each_kind_of_refusal_says_what_to_do(error: psycopg.Error, reason: str, fix: str) -> None:
    found = refused(RawItem("in/rows.jsonl", "r2", "record", record={"id": "r2"}, line=2), error)
    assert found.reason == f"the database does not take it: {reason}"
    assert (found.path, found.external_id, found.stage) == ("in/rows.jsonl:2", "r2", "store")
    assert (found.fix or "").startswith(fix)
