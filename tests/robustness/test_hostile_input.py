"""What nobody types on purpose, and what every long-lived corpus and command line holds some day."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.query.clean import QUESTION_CHARACTERS, clean_question

GOOD = {"id": "good", "text": "A kettle is descaled with citric acid twice a year."}


def collection(folder: Path, *lines: str) -> Path:
    path = folder / "lines.jsonl"
    path.write_text("\n".join([*lines, json.dumps(GOOD)]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "line",
    [
        r'{"id": "odd", "text": "a pot \ud800 is scrubbed"}',
        r'{"id": "odd", "text": "a pot is scrubbed", "note": "\ud800"}',
        r'{"id": "odd", "text": "a pot is scrubbed", "\ud800": 1}',
    ],
)
async def test_a_record_with_lone_surrogates_is_taken_and_known_again(
    engine: AsyncVeraz, tmp_path: Path, line: str
) -> None:
    path = collection(tmp_path, line)
    first, second = await engine.ingest(path, source="s"), await engine.ingest(path, source="s")
    assert (first.new, first.errors, second.unchanged) == (2, (), 2)


@pytest.mark.parametrize("field", ["id", "supersedes"])
async def test_an_id_that_no_index_can_hold_is_named_and_the_rest_is_kept(
    engine: AsyncVeraz, tmp_path: Path, field: str
) -> None:
    unpackable = "".join(chr(0x4E00 + byte * 7 % 20_000) for byte in os.urandom(990))
    line = json.dumps({"id": "odd", "text": "A pot is scrubbed.", field: unpackable})
    report = await engine.ingest(collection(tmp_path, line), source="s")
    assert (report.new, report.failed) == (1, 1)
    assert "990 characters long; ids hold at most" in report.errors[0].reason
    assert report.errors[0].stage == "parse"


async def test_a_server_limit_costs_one_document_and_not_the_run(
    engine: AsyncVeraz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veraz.ingest.plan.ID_CHARACTERS", 1_000_000)
    monkeypatch.setattr("veraz.ingest.plan.ID_BYTES", 1_000_000)
    line = json.dumps({"id": "odd", "text": "A pot is scrubbed.", "supersedes": os.urandom(4000).hex()})
    report = await engine.ingest(collection(tmp_path, line), source="s")
    assert (report.new, report.failed) == (1, 1)
    assert "exceeds btree" in report.errors[0].reason
    assert report.errors[0].stage == "store"


async def test_a_document_whose_id_looks_like_an_escape_can_be_found_and_explained(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    await engine.ingest(
        collection(tmp_path, r'{"id": "pot\\u0000", "text": "A copper pot is scrubbed with sand."}'),
        source="s",
    )
    found = await engine.search("copper pot")
    assert found.hits[0].document.external_id == r"pot\u0000"
    explained = await engine.explain_trace(str(found.trace_id))
    assert explained["hits"][0]["external_id"] == r"pot\u0000"


async def test_a_question_with_bytes_that_are_no_utf8_is_answered(engine: AsyncVeraz, tmp_path: Path) -> None:
    await engine.ingest(collection(tmp_path), source="s")
    question = os.fsdecode(b"descale a kettle \xff\x00 citric")
    found = await engine.search(question)
    assert found.hits[0].document.external_id == "good"
    assert (await engine.ask(question)).question == found.question == "descale a kettle \ufffd  citric"


def test_a_question_as_long_as_a_book_is_refused_with_the_limit() -> None:
    assert clean_question("a" * QUESTION_CHARACTERS)
    with pytest.raises(UsageError, match=r"32,001 characters\n  fix: ask in at most 32,000"):
        clean_question("a" * (QUESTION_CHARACTERS + 1))


async def test_an_answer_by_the_lexical_arm_alone_quotes_the_same_sentence(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    others = [json.dumps({"id": f"o{n}", "text": f"Lawn number {n} is mown on Fridays."}) for n in range(30)]
    await engine.ingest(collection(tmp_path, *others), source="s")
    answer = await engine.ask("How often is a kettle descaled with citric acid?", mode="lexical")
    assert (answer.outcome, answer.citations[0].quote) == ("answered", GOOD["text"])


async def test_a_trace_is_found_by_any_unique_beginning_of_its_id(engine: AsyncVeraz) -> None:
    trace_id = str((await engine.search("kettle")).trace_id)
    for given in (trace_id, trace_id[:8], trace_id[:11], trace_id.upper(), f" {trace_id} "):
        assert str((await engine.trace(given)).trace_id) == trace_id
    for wrong in ("", "-", "zz", trace_id + "0", trace_id[:8] + "g", "%"):
        with pytest.raises(UsageError, match="no trace"):
            await engine.trace(wrong)


async def test_progress_is_told_on_the_callers_thread_also_of_failures(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    threads: set[int] = set()
    report = await engine.ingest(
        collection(tmp_path, '{"id": "blank", "text": " "}'),
        source="s",
        progress=lambda _tally: threads.add(threading.get_ident()),
    )
    assert (report.failed, threads) == (1, {threading.get_ident()})


async def test_a_deletion_during_an_ingest_of_other_labels_stands(
    engine: AsyncVeraz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from veraz.ingest import store

    path = collection(tmp_path)
    await engine.ingest(path, source="s")
    original = store.update_access

    async def deleted_meanwhile(connection: object, document_id: object, acl: object) -> None:
        await engine.delete("good", source="s")
        await original(connection, document_id, acl)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "update_access", deleted_meanwhile)
    await engine.ingest(path, source="s", acl=["public", "staff"])
    assert (await engine.search("kettle")).hits == ()


async def test_a_document_of_more_chunks_than_a_page_holds_postings_is_found_to_its_end_and_hidden_whole(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    """Every chunk holds the words of the title: 1,400 postings of one term are more than a row of a page."""
    parts = "".join(
        f"## Part {n}\n\nRule{n} says where insulin number {n} is kept.\n\n" for n in range(1_400)
    )
    book = tmp_path / "book.md"
    book.write_text(f"# Handbook\n\n{parts}", encoding="utf-8")
    report = await engine.ingest(book, source="s", lang="en")
    assert (report.errors, report.chunks > 1_360) == ((), True)
    for _ in range(2):
        found = await engine.search("rule1399", mode="lexical", lang="en", explain=True)
        assert "Rule1399" in found.hits[0].body
        handbook = await engine.search("handbook", mode="lexical", lang="en", explain=True)
        assert handbook.hits[0].explain is not None
        assert handbook.hits[0].explain["terms"][0]["chunks"] == report.chunks
        await engine.merge_index()
    book.write_text("# Leaflet\n\nA pot is scrubbed with sand.", encoding="utf-8")
    await engine.ingest(book, source="s", lang="en")
    assert (await engine.search("handbook", mode="lexical", lang="en")).hits == ()
