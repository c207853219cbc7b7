"""What the caller of an ingest states beside the bytes stays when the same files are met again without it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from tests.ingest.test_supersession import found
from tests.support.corpus import rows

from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import IngestReport


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("old.txt", "new.txt"):
        (tmp_path / name).write_text(f"The fever rule of {name}.")
    return tmp_path


async def say(engine: AsyncVeraz, path: Path, **stated: object) -> IngestReport:
    report = await engine.ingest(path, source="s", **stated)  # type: ignore[arg-type]
    assert report.errors == ()
    return report


def links(report: IngestReport) -> tuple[int, int]:
    return report.superseded, report.unsuperseded


async def test_a_stated_supersession_stays_when_the_folder_is_ingested_again(
    engine: AsyncVeraz, folder: Path
) -> None:
    await say(engine, folder)
    assert links(await say(engine, folder / "new.txt", supersedes="old.txt")) == (1, 0)
    again = await say(engine, folder)
    assert (again.unchanged, again.changed, *links(again)) == (2, 0, 0, 0)
    assert await found(engine) == {"new.txt"}
    assert (await engine.show("old.txt")).supersession_pinned


async def test_it_stays_when_either_text_changes(engine: AsyncVeraz, folder: Path) -> None:
    await say(engine, folder)
    await say(engine, folder / "new.txt", supersedes="old.txt", revised_at=date(2020, 1, 1))
    (folder / "new.txt").write_text("The fever rule of new.txt, reworded.")
    (folder / "old.txt").write_text("The fever rule of old.txt, reworded.")
    changed = await say(engine, folder)
    assert (changed.changed, *links(changed)) == (2, 0, 0)
    assert await found(engine) == {"new.txt"}
    assert (await engine.show("old.txt")).superseded_from == date(2020, 1, 1)


@pytest.mark.parametrize("reworded", [False, True])
async def test_it_waits_for_the_document_that_it_replaces(
    engine: AsyncVeraz, folder: Path, reworded: bool
) -> None:
    new = folder / "new.txt"
    assert links(await say(engine, new, supersedes="old.txt", revised_at=date(2020, 1, 1))) == (0, 0)
    if reworded:
        new.write_text("The fever rule of new.txt, reworded.")
        await say(engine, new)
    assert links(await say(engine, folder / "old.txt")) == (1, 0)
    assert await found(engine) == {"new.txt"}
    shown = await engine.show("old.txt")
    assert (shown.supersession_pinned, shown.superseded_from) == (True, date(2020, 1, 1))


async def test_a_misspelt_statement_that_was_corrected_waits_for_nothing(
    engine: AsyncVeraz, folder: Path
) -> None:
    await say(engine, folder / "new.txt", supersedes="olt.txt")
    await say(engine, folder, supersedes=None)
    await say(engine, folder / "new.txt", supersedes="old.txt")
    (folder / "olt.txt").write_text("The fever rule of olt.txt.")
    await say(engine, folder)
    assert await found(engine) == {"new.txt", "olt.txt"}


async def test_the_operator_s_latest_word_counts(engine: AsyncVeraz, folder: Path) -> None:
    new = folder / "new.txt"
    (folder / "newest.txt").write_text("The fever rule of newest.txt.")
    await say(engine, folder)
    await say(engine, new, supersedes="old.txt", revised_at=date(2024, 1, 1))
    await engine.supersede("old.txt", undo=True, source="s")
    await say(engine, folder)
    assert await found(engine) == {"old.txt", "new.txt", "newest.txt"}
    stated_again = await say(engine, new, supersedes="old.txt")
    assert (stated_again.changed, *links(stated_again)) == (1, 1, 0)
    assert await found(engine) == {"new.txt", "newest.txt"}
    await say(engine, folder / "newest.txt", supersedes="old.txt")
    assert (await engine.show("old.txt")).superseded_by == "newest.txt"


async def test_date_and_language_stay_while_the_bytes_do(engine: AsyncVeraz, folder: Path) -> None:
    stated = {"revised_at": date(2020, 2, 2), "lang": "es"}
    await say(engine, folder, **stated)
    again = await say(engine, folder)
    assert (again.unchanged, again.documents) == (2, 0)
    assert (await say(engine, folder, **stated)).unchanged == 2
    one_more = await say(engine, folder / "new.txt", lang="fr")
    assert one_more.changed == 1
    revisions = await rows(engine, "select lang, revised_at from veraz.revision order by number desc limit 1")
    assert revisions == [("fr", date(2020, 2, 2))]
    (folder / "new.txt").write_text("The fever rule of new.txt, of another day.")
    assert (await say(engine, folder)).changed == 1
    assert (await engine.show("new.txt")).revisions[0].revised_at is None


async def test_they_stay_when_another_parser_reads_the_same_bytes(
    engine: AsyncVeraz, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(engine, folder / "new.txt", revised_at=date(2020, 2, 2), lang="es")
    monkeypatch.setattr("veraz.ingest.pipeline.PARSERS_VERSION", "another")
    assert (await say(engine, folder / "new.txt")).changed == 1
    newest = (await engine.show("new.txt")).revisions[0]
    assert (newest.number, newest.revised_at, newest.lang) == (2, date(2020, 2, 2), "es")


async def test_a_stated_cycle_is_refused_and_named(engine: AsyncVeraz, folder: Path) -> None:
    await say(engine, folder)
    await say(engine, folder / "new.txt", supersedes="old.txt")
    for _ in range(2):
        report = await engine.ingest(folder / "old.txt", source="s", supersedes="new.txt")
        assert "would form a cycle" in report.errors[0].reason
    assert await found(engine) == {"new.txt"}


async def test_links_that_go_are_counted_apart(engine: AsyncVeraz, tmp_path: Path) -> None:
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text("The fever rule of old.")
    new.write_text("---\nsupersedes: old.md\n---\n\nThe fever rule of new.")
    assert links(await say(engine, tmp_path)) == (1, 0)
    new.write_text("The fever rule of new.")
    assert links(await say(engine, tmp_path)) == (0, 1)
