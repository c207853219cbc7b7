"""Several lines of a collection with one id are versions of one document: by date, or else the later line counts."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.support.corpus import record, rows

from veraz.engine import AsyncVeraz
from veraz.ingest import pipeline, versions
from veraz.nouns.corpus import IngestReport


async def ingest(engine: AsyncVeraz, folder: Path, *lines: dict[str, Any], **stated: Any) -> IngestReport:
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    report = await engine.ingest(str(path), source="s", **stated)
    assert report.errors == ()
    return report


def undated(*texts: str) -> list[dict[str, Any]]:
    return [record("label", f"The dose is {text} units.") for text in texts]


def filler(count: int) -> list[dict[str, Any]]:
    return [record(f"other{n}", f"Document {n} is about number{n}.") for n in range(count)]


def counts(report: IngestReport) -> tuple[int, int, int]:
    return report.new, report.changed, report.unchanged


async def current(engine: AsyncVeraz) -> list[str]:
    found = await engine.search("dose units", lang="en", k=5)
    return [h.body for h in found.hits if h.document.external_id == "label"]


async def revisions(engine: AsyncVeraz) -> int:
    return len((await engine.show("label")).revisions)


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("between", [0, 100, 500])
async def test_the_latest_date_counts_wherever_it_stands(
    engine: AsyncVeraz, tmp_path: Path, newest_first: bool, between: int
) -> None:
    old = record("label", "The dose is 5 mg.", valid_from="2024-01-01")
    new = record("label", "The dose is 9 mg.", valid_from="2025-01-01")
    lines = [new, *filler(between), old] if newest_first else [old, *filler(between), new]
    assert counts(await ingest(engine, tmp_path, *lines)) == (1 + between, 1, 0)
    for day, text in ((None, "The dose is 9 mg."), (date(2024, 6, 1), "The dose is 5 mg.")):
        found = await engine.search("dose", lang="en", as_of=day, k=1)
        assert [h.body for h in found.hits] == [text]
    assert counts(await ingest(engine, tmp_path, *lines)) == (0, 0, 2 + between)


@pytest.mark.parametrize("between", [0, 100, 500])
async def test_without_dates_the_later_line_counts(engine: AsyncVeraz, tmp_path: Path, between: int) -> None:
    first, last = undated("ten", "twenty")
    lines = [first, *filler(between), last]
    assert counts(await ingest(engine, tmp_path, *lines)) == (1 + between, 1, 0)
    assert await current(engine) == ["The dose is twenty units."]


@pytest.mark.parametrize(
    "texts", [["ten", "twenty"], ["ten", "twenty", "thirty"], ["ten", "twenty", "ten"], ["ten", "ten"]]
)
async def test_the_same_collection_again_changes_nothing(
    engine: AsyncVeraz, tmp_path: Path, texts: list[str]
) -> None:
    await ingest(engine, tmp_path, *undated(*texts))
    kept = await revisions(engine)
    for _ in range(2):
        report = await ingest(engine, tmp_path, *undated(*texts))
        assert (counts(report), report.embedded) == ((0, 0, len(texts)), 0)
        assert await current(engine) == [f"The dose is {texts[-1]} units."]
        assert await revisions(engine) == kept


async def test_a_new_line_before_the_stored_one_is_not_the_last_word(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    """What was looked up before the first line was written says that the second is stored already."""
    await ingest(engine, tmp_path, *undated("ten"))
    report = await ingest(engine, tmp_path, *undated("twenty", "ten"))
    assert counts(report) == (0, 2, 0)
    assert await current(engine) == ["The dose is ten units."]


async def test_an_earlier_text_returns_when_nothing_later_is_said(engine: AsyncVeraz, tmp_path: Path) -> None:
    await ingest(engine, tmp_path, *undated("ten", "twenty"))
    assert counts(await ingest(engine, tmp_path, *undated("ten"))) == (0, 1, 0)
    assert await current(engine) == ["The dose is ten units."]


async def test_the_labels_of_the_last_of_equal_lines_count(engine: AsyncVeraz, tmp_path: Path) -> None:
    def labelled(*labels: str) -> list[dict[str, Any]]:
        return [record("label", "The dose is ten units.", acl=[label]) for label in labels]

    for labels in (["public"], ["secret", "public"], ["public", "secret"]):
        await ingest(engine, tmp_path, *labelled(*labels))
        assert await rows(engine, "select acl from veraz.document") == [([labels[-1]],)]


async def test_what_a_run_remembers_of_itself_is_bounded() -> None:
    remembered = versions.Versions()
    for n in range(3 * versions.REMEMBERED):
        remembered.begin(f"d{n}")
    assert len(remembered._under_way) == versions.REMEMBERED
    assert remembered.under_way(f"d{3 * versions.REMEMBERED - 1}")
    assert not remembered.under_way("d0")
    under_way = 3 * (pipeline.WINDOW_CHUNKS + pipeline.WINDOW_ITEMS) + 256
    assert 2 * under_way < versions.REMEMBERED
