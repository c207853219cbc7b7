"""Values that are well-formed and name nothing, on a real server: said with exit code 2, not taken for something else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, document
from tests.db.server_fixture import test_home
from tests.support import databases
from tests.support.corpus import put, record, rows
from tests.support.hashing import HashingEmbedder

from veraz.cli import session
from veraz.engine import AsyncVeraz
from veraz.errors import UsageError


@pytest.fixture
def veraz(run: Run, database: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run`, on a fresh database with a document of the source `s`."""

    async def opened(config: Any, bars: Any) -> AsyncVeraz:
        return await AsyncVeraz.open(config=config, report=bars.say, embedder=HashingEmbedder())

    async def fill() -> None:
        async with await databases.open_engine(database) as engine:
            await put(engine, record("a", "The pump is red."))

    monkeypatch.setattr(session, "open_engine", opened)
    monkeypatch.setenv("VERAZ_HOME", str(test_home()))
    monkeypatch.setenv("VERAZ_DATABASE_URL", database)
    asyncio.run(fill())
    return run


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A folder to evaluate, with one query and no corpus."""
    folder = tmp_path / "judged"
    folder.mkdir()
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "red pump"}) + "\n")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    return folder


@pytest.mark.parametrize("corpus", [False, True])
def test_an_unknown_source_cannot_be_evaluated(veraz: Run, judged: Path, corpus: bool) -> None:
    if corpus:
        (judged / "corpus.jsonl").write_text(json.dumps({"_id": "a", "text": "The pump is red."}) + "\n")
    wrong = veraz("eval", "run", str(judged), "--source", "nope", "--mode", "lexical")
    assert wrong.exit_code == 2
    assert "has no source 'nope'" in wrong.stderr
    assert "fix: known: s" in wrong.stderr
    right = veraz("eval", "run", str(judged), "--source", "s", "--mode", "lexical", "--json")
    assert document(right)["metrics"]["ndcg@10"] == 1


async def test_sources_of_other_tenants_are_unknown(database: str, judged: Path) -> None:
    async with await databases.open_engine(database) as engine:
        await put(engine, record("a", "The pump is red."))
        await engine.add_tenant("other")
    async with await databases.open_engine(database, tenant="other") as other:
        with pytest.raises(UsageError, match="ingest it first"):
            await other.evaluate(judged, source="s", modes=("lexical",))


@pytest.mark.parametrize(
    "lang", ["x'", "zz", "english", "any", "e", "en,es", "en\x00", "\N{CYRILLIC SMALL LETTER IE}s"]
)
async def test_documents_are_ingested_in_a_language_that_exists(
    engine: AsyncVeraz, tmp_path: Path, lang: str
) -> None:
    (tmp_path / "a.md").write_text("The pump is red.")
    with pytest.raises(UsageError, match=r"is no language\n  fix: --lang takes auto, or .* en, es, fr, de"):
        await engine.ingest(tmp_path / "a.md", source="s", lang=lang)
    assert await rows(engine, "select from veraz.document") == []


@pytest.mark.parametrize(
    ("lang", "stored"),
    [("auto", "en"), (None, "en"), ("es", "es"), ("EN", "en"), ("pt-BR", "pt"), ("eu", "eu"), ("xx", "und")],
)
async def test_the_language_of_a_run_is_stored(
    engine: AsyncVeraz, tmp_path: Path, lang: str | None, stored: str
) -> None:
    (tmp_path / "a.md").write_text("The pump is red, and it is the one that was in the cellar.")
    await engine.ingest(tmp_path / "a.md", source="s", lang=lang)
    assert await rows(engine, "select lang from veraz.revision") == [(stored,)]


@pytest.mark.parametrize("lang", ["x'", "zz", "english", "", "all"])
def test_a_question_is_asked_in_a_language_that_exists(veraz: Run, lang: str) -> None:
    for verb in ("search", "ask"):
        wrong = veraz(verb, "red pump", "--lang", lang)
        assert wrong.exit_code == 2
        assert "is no language" in wrong.stderr or lang == ""


@pytest.mark.parametrize("lang", ["auto", "any", "xx", "en", "EN", "en-GB"])
def test_a_question_may_be_asked_in_every_language(veraz: Run, lang: str) -> None:
    found = document(veraz("search", "red pump", "--lang", lang, "--mode", "lexical", "--json"))
    assert [hit["document"]["external_id"] for hit in found["hits"]] == ["a"]
    assert veraz("ask", "red pump", "--lang", lang).exit_code == 0


def test_ingest_exits_2_for_an_unknown_language(veraz: Run, tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("The pump is blue.")
    wrong = veraz("ingest", str(tmp_path / "b.md"), "--source", "s", "--lang", "zz")
    assert (wrong.exit_code, "'zz' is no language" in wrong.stderr) == (2, True)
