"""`veraz index lexical`: what it takes, and what it shows."""

from __future__ import annotations

from tests.cli.conftest import FakeEngine, Run, document

from veraz.errors import ConfigError
from veraz.nouns.lexical import LexicalIndexBuilt

BUILT = LexicalIndexBuilt(
    "pg_search", ("chunk_pg_search",), 3 * 2**20, 12.5, ("its statistics are those of all tenants",)
)


def test_what_was_built_is_shown(run: Run, fake: FakeEngine) -> None:
    fake.answers["build_lexical_index"] = BUILT
    result = run("index", "lexical", "pg_search", "--shared-statistics")
    assert result.exit_code == 0
    for shown in ("built chunk_pg_search", "its statistics are those of all tenants", "done in 12 s: 3.0 MB"):
        assert shown in result.stdout, shown
    assert document(run("index", "lexical", "pg_search", "--json"))["indexes"] == ["chunk_pg_search"]


def test_what_was_dropped_is_shown(run: Run, fake: FakeEngine) -> None:
    fake.answers["build_lexical_index"] = LexicalIndexBuilt(
        "pg_textsearch", ("chunk_textsearch_1_en",), 0, 0.1
    )
    assert "dropped chunk_textsearch_1_en" in run("index", "lexical", "pg_textsearch", "--drop").stdout
    fake.answers["build_lexical_index"] = LexicalIndexBuilt("pg_textsearch", (), 0, 0.1)
    assert "nothing to drop" in run("index", "lexical", "pg_textsearch", "--drop").stdout


def test_a_refusal_says_what_to_do(run: Run, fake: FakeEngine) -> None:
    fake.answers["build_lexical_index"] = ConfigError("not installed", fix="create extension pg_search")
    result = run("index", "lexical", "pg_search")
    assert result.exit_code == 2
    assert "create extension pg_search" in result.stderr
    assert run("index", "lexical", "lucene").exit_code == 2
