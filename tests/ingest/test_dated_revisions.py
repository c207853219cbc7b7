"""Revisions with dates: whatever the order of arrival, each day has its own, and the newest is current."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import put, record, rows
from tests.support.hashing import HashingEmbedder

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.nouns.corpus import EmbeddingBatch, TextKind
from veraz.nouns.lifecycle import Retention

VERSIONS = [
    record("dose", "The dose is ten units.", valid_from="2021-01-01"),
    record("dose", "The dose is twenty units.", valid_from="2022-01-01"),
    record("dose", "The dose is thirty units.", valid_from="2023-01-01"),
]


async def says(engine: AsyncVeraz, day: date | None, mode: Any = "hybrid") -> list[str]:
    found = await engine.search("dose units", lang="en", mode=mode, as_of=day)
    return [h.body for h in found.hits]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("runs", ["one run", "a run each"])
async def test_any_order_of_arrival_gives_the_same_days(
    engine: AsyncVeraz, order: tuple[int, ...], runs: str
) -> None:
    arriving = [VERSIONS[n] for n in order]
    if runs == "one run":
        await put(engine, *arriving)
    else:
        for version in arriving:
            await put(engine, version)
    shown = await engine.show("dose")
    assert len(shown.revisions) == 3
    current = next(r for r in shown.revisions if r.number == shown.current_revision)
    assert current.valid_from == date(2023, 1, 1)
    for day, words in (
        (None, ["thirty"]),
        (date(2020, 12, 31), []),
        (date(2021, 1, 1), ["ten"]),
        (date(2021, 12, 31), ["ten"]),
        (date(2022, 6, 1), ["twenty"]),
        (date(2025, 1, 1), ["thirty"]),
    ):
        for mode in ("lexical", "semantic", "hybrid"):
            assert await says(engine, day, mode) == [f"The dose is {w} units." for w in words], (day, mode)
    again = await put(engine, *arriving)
    assert (again.unchanged, again.documents) == (3, 0)


async def test_what_ended_holds_until_its_last_day(engine: AsyncVeraz) -> None:
    await put(engine, record("a", "The dose is ten units.", valid_from="2021-01-01", valid_to="2021-06-30"))
    assert await says(engine, date(2021, 6, 30)) == ["The dose is ten units."]
    assert await says(engine, date(2021, 7, 1)) == []
    [hit] = (await engine.search("dose units", lang="en")).hits
    assert hit.document.valid_to == date(2021, 6, 30)
    with pytest.raises(UsageError, match="no revision of 'a' held on 2021-07-01"):
        await engine.show("a", as_of=date(2021, 7, 1))


async def test_a_beginning_that_nobody_stated(engine: AsyncVeraz) -> None:
    """Only an end: it held before. No date at all: it holds from the day on which it was taken in."""
    await put(engine, record("ended", "The dose is ten units.", valid_to="2021-06-30"))
    await put(engine, record("undated", "The dose is twenty units."))
    assert await says(engine, date(1990, 1, 1)) == ["The dose is ten units."]
    [(today,)] = await rows(engine, "select (now() at time zone 'UTC')::date")
    assert await says(engine, today) == ["The dose is twenty units."]
    assert (await engine.show("ended", as_of=date(1990, 1, 1))).shown == 1


async def test_a_version_without_a_date_is_the_newest(engine: AsyncVeraz) -> None:
    await put(engine, VERSIONS[0])
    await put(engine, record("dose", "The dose is forty units."))
    assert await says(engine, None) == ["The dose is forty units."]
    assert await says(engine, date(2021, 5, 5)) == ["The dose is ten units."]


async def test_an_old_text_that_comes_back_without_a_date_is_a_new_revision(engine: AsyncVeraz) -> None:
    for text in ("The dose is ten units.", "The dose is twenty units.", "The dose is ten units."):
        await put(engine, record("dose", text))
    assert (await engine.show("dose")).current_revision == 3
    assert await says(engine, None) == ["The dose is ten units."]


@pytest.mark.parametrize("date", ["2024-01-01", None])
async def test_an_old_text_that_comes_back_from_the_same_day_is_a_new_revision(
    engine: AsyncVeraz, date: str | None
) -> None:
    """No date says that what replaced it is newer, so the last to arrive is. A line of a collection is a file's like here."""
    texts = ("The limit is five.", "The limit is six.")
    for text in (*texts, texts[0]):
        report = await put(engine, record("a", text, date=date))
        assert report.documents == 1
    assert (await engine.search("limit", lang="en")).hits[0].body == texts[0]
    assert (await put(engine, record("a", texts[0], date=date))).unchanged == 1
    both = [record("a", text, date=date) for text in texts]
    await put(engine, *both)
    again = await put(engine, *both)
    assert (again.documents, again.unchanged) == (0, 2), "the same collection again changes nothing"
    assert (await engine.search("limit", lang="en")).hits[0].body == texts[1]


async def test_a_day_is_searched_under_todays_permissions(engine: AsyncVeraz) -> None:
    await put(engine, *VERSIONS)
    await put(engine, {**VERSIONS[2], "acl": ["hr"]})
    assert await says(engine, date(2021, 5, 5)) == []
    await put(engine, {**VERSIONS[2], "acl": ["public"]})
    assert await says(engine, date(2021, 5, 5)) == ["The dose is ten units."]
    await engine.delete("dose", source="s")
    assert await says(engine, date(2021, 5, 5)) == []


async def test_an_older_version_brings_no_labels(engine: AsyncVeraz) -> None:
    """Neither when it arrives after the newer one, nor when it is met again."""
    newer, older = {**VERSIONS[1], "acl": ["hr"]}, {**VERSIONS[0], "acl": ["public"]}
    await put(engine, newer)
    for _ in range(2):
        await put(engine, older)
        assert await says(engine, None) == []
        assert await says(engine, date(2021, 5, 5)) == []


async def test_what_was_replaced_holds_until_its_successor_did(engine: AsyncVeraz) -> None:
    await put(
        engine,
        record("old", "The dose is ten units.", valid_from="2020-01-01"),
        record(
            "new", "The dose is twenty units.", valid_from="2022-01-01", supersedes="old", url="https://new"
        ),
    )
    assert await says(engine, None) == ["The dose is twenty units."]
    assert await says(engine, date(2022, 1, 1)) == ["The dose is twenty units."]
    [hit] = (await engine.search("dose units", lang="en", as_of=date(2021, 12, 31))).hits
    assert hit.body == "The dose is ten units."
    assert (hit.document.is_current, hit.document.superseded_by) == (False, "new")
    assert hit.document.successor is not None
    assert (hit.document.successor.external_id, hit.document.successor.url) == ("new", "https://new")


OLD = record("old", "The dose is ten units.", valid_from="2015-01-01")
SUCCESSOR = [
    record("new", f"The dose is {words} units.", valid_from=f"{year}-01-01", **fields)
    for year, words, fields in (
        (2020, "twenty", {"supersedes": "old"}),
        (2024, "thirty", {"supersedes": "old"}),
        (2018, "fifteen", {}),  # did not say yet that it replaces anything
    )
]


async def named_on(engine: AsyncVeraz, day: date) -> list[str]:
    found = await engine.search("dose units", lang="en", as_of=day)
    return sorted(h.document.external_id for h in found.hits)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
async def test_later_versions_of_a_successor_do_not_bring_back_what_it_replaced(
    engine: AsyncVeraz, order: tuple[int, ...]
) -> None:
    for n in order:
        await put(engine, [OLD, *SUCCESSOR][n])
    assert (await engine.show("old")).superseded_from == date(2020, 1, 1)
    for day, names in (
        (date(2016, 1, 1), ["old"]),
        (date(2019, 1, 1), ["new", "old"]),
        (date(2020, 1, 1), ["new"]),
        (date(2022, 1, 1), ["new"]),
        (date(2024, 6, 1), ["new"]),
    ):
        assert await named_on(engine, day) == names, day


async def test_nor_do_later_versions_of_an_edition(engine: AsyncVeraz) -> None:
    edition = {"item": "dose", "edition": "4"}
    old = record("old", "The dose is ten units.", valid_from="2015-01-01", item="dose", edition="3")
    await put(engine, old)
    for year in ("2024", "2020"):
        await put(engine, record("new", f"The dose of {year}.", valid_from=f"{year}-01-01", **edition))
        assert (await engine.show("old")).superseded_from == date(int(year), 1, 1)
    await put(engine, record("new", "The dose of 2026.", valid_from="2026-01-01", **edition))
    assert (await engine.show("old")).superseded_from == date(2020, 1, 1)


async def test_nor_does_an_undated_successor_that_is_reworded_another_day(engine: AsyncVeraz) -> None:
    await put(engine, OLD, record("new", "The dose is twenty units.", supersedes="old"))
    async with engine._database.maintenance() as connection:  # as if that had been long ago
        await connection.execute("update veraz.revision set ingested_at = '2020-05-05 12:00+00'")
    await put(engine, record("new", "The dose is thirty units.", supersedes="old"))
    assert (await engine.show("old")).superseded_from == date(2020, 5, 5)
    assert await named_on(engine, date(2022, 1, 1)) == ["new"]


async def test_a_successor_that_only_ends_replaces_from_the_beginning(engine: AsyncVeraz) -> None:
    await put(engine, OLD, record("new", "The dose.", valid_to="2021-06-30", supersedes="old"))
    assert (await engine.show("old")).superseded_from == date.min
    assert await named_on(engine, date(2016, 1, 1)) == ["new"]


async def test_nor_does_the_purge_of_the_version_that_first_replaced_it(engine: AsyncVeraz) -> None:
    await put(engine, OLD, *SUCCESSOR)
    await engine.set_retention(Retention(history_revisions=0))
    assert (await engine.run_retention()).revisions == 2
    await put(engine, record("new", "The dose is forty units.", valid_from="2026-01-01", supersedes="old"))
    assert (await engine.run_retention()).revisions == 1
    await put(engine, OLD | {"text": "The dose is ten whole units."})
    assert (await engine.show("old")).superseded_from == date(2020, 1, 1)
    assert await named_on(engine, date(2022, 1, 1)) == []
    await put(engine, record("new", "The dose is forty units.", valid_from="2026-02-01"))  # withdrawn
    assert (await engine.show("old")).superseded_from is None


class Slow(HashingEmbedder):
    """Waits before it answers, once."""

    def __init__(self) -> None:
        super().__init__()
        self.started, self.go = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Any, kind: TextKind) -> EmbeddingBatch:
        self.started.set()
        await self.go.wait()
        return await super().embed(texts, kind)


async def overtaken(database: str, old: Any, new: Any) -> Any:
    """The older version is read first and embedded last. Returns its report."""
    slow = Slow()
    async with (
        await databases.open_engine(database, slow) as late,
        await databases.open_engine(database) as quick,
    ):
        first = asyncio.create_task(put(late, old, clean=False))
        await slow.started.wait()
        await put(quick, new)
        slow.go.set()
        return await first


async def test_an_older_slower_ingest_does_not_overwrite_a_newer_one(
    database: str, engine: AsyncVeraz
) -> None:
    report = await overtaken(
        database, record("dose", "The dose is ten units."), record("dose", "The dose is twenty units.")
    )
    assert await says(engine, None) == ["The dose is twenty units."]
    assert [e.external_id for e in report.errors] == ["dose"]
    assert "already written by another ingest" in report.errors[0].reason
    assert (await engine.show("dose")).current_revision == 1


async def test_the_same_text_that_was_overtaken_still_brings_its_labels(
    database: str, engine: AsyncVeraz
) -> None:
    text = "The dose is ten units."
    report = await overtaken(database, record("dose", text, acl=["hr"]), record("dose", text))
    assert (report.errors, report.unchanged) == ((), 1)
    assert (await says(engine, None)) == []
    identity = replace(await engine.identity(), roles=("hr",))
    assert (await engine.acting_as(identity).show("dose")).acl == ("hr",)


async def test_with_dates_the_older_slower_one_goes_into_the_history(
    database: str, engine: AsyncVeraz
) -> None:
    report = await overtaken(database, VERSIONS[0], VERSIONS[1])
    assert report.errors == ()
    assert await says(engine, None) == ["The dose is twenty units."]
    assert await says(engine, date(2021, 5, 5)) == ["The dose is ten units."]


async def test_with_dates_the_newer_slower_one_is_current(database: str, engine: AsyncVeraz) -> None:
    report = await overtaken(database, VERSIONS[1], VERSIONS[0])
    assert report.errors == ()
    assert await says(engine, None) == ["The dose is twenty units."]


async def test_a_file_that_was_overtaken_is_read_again(
    database: str, engine: AsyncVeraz, tmp_path: Path
) -> None:
    file = tmp_path / "dose.md"
    file.write_text("The dose is ten units.")
    slow = Slow()
    async with (
        await databases.open_engine(database, slow) as late,
        await databases.open_engine(database) as quick,
    ):
        first = asyncio.create_task(late.ingest(file, source="s", lang="en"))
        await slow.started.wait()
        file.write_text("The dose is twenty units.")
        await quick.ingest(file, source="s", lang="en")
        slow.go.set()
        report = await first
    assert report.errors == ()
    assert await says(engine, None) == ["The dose is twenty units."]


async def test_a_delete_during_an_ingest_is_not_undone_by_it(database: str, engine: AsyncVeraz) -> None:
    await put(engine, record("dose", "The dose is ten units."))
    slow = Slow()
    async with await databases.open_engine(database, slow) as late:
        first = asyncio.create_task(put(late, record("dose", "The dose is twenty units."), clean=False))
        await slow.started.wait()
        assert await engine.delete("dose", source="s")
        slow.go.set()
        await first
    assert await says(engine, None) == []


# Editions: documents of their own that are versions of one item (public case H48)


async def test_of_two_editions_the_later_supersedes_the_earlier(engine: AsyncVeraz, cases: Path) -> None:
    for name in ("h_torque_rev4.md", "h_torque_rev3.md"):
        await engine.ingest(cases / name, source="manuals", lang="en")
    now = await engine.search("torque of the flange bolts", lang="en")
    assert ["45 Nm" in h.body for h in now.hits] == [True]
    assert (await engine.show("h_torque_rev3.md")).superseded_by == "h_torque_rev4.md"
    then = await engine.search("torque of the flange bolts", lang="en", as_of=date(2023, 6, 1))
    assert ["60 Nm" in h.body for h in then.hits] == [True]
    assert then.hits[0].document.superseded_by == "h_torque_rev4.md"


async def test_the_answer_is_that_of_the_edition_in_force(eager_engine: AsyncVeraz, cases: Path) -> None:
    for name in ("h_torque_rev3.md", "h_torque_rev4.md"):
        await eager_engine.ingest(cases / name, source="manuals", lang="en")
    question = "How should I tighten the flange bolts?"
    now = await eager_engine.ask(question, lang="en")
    assert {c.external_id for c in now.citations} == {"h_torque_rev4.md"}
    assert "45 Nm" in now.answer
    assert "60 Nm" not in now.answer
    then = await eager_engine.ask(question, lang="en", as_of=date(2023, 6, 1))
    assert {c.external_id for c in then.citations} == {"h_torque_rev3.md"}
    assert "60 Nm" in then.answer
    assert any("superseded" in note and "h_torque_rev4.md" in note for note in then.notes)


async def test_without_metadata_both_editions_are_shown_as_a_conflict(
    eager_engine: AsyncVeraz, cases: Path, tmp_path: Path
) -> None:
    for number in (3, 4):
        body = (cases / f"h_torque_rev{number}.md").read_text(encoding="utf-8").split("---\n", 2)[2]
        (tmp_path / f"rev{number}.md").write_text(body, encoding="utf-8")
    await eager_engine.ingest(tmp_path, source="manuals", lang="en")
    answer = await eager_engine.ask("How should I tighten the flange bolts?", lang="en")
    assert answer.outcome == "conflicting"
    assert {c.external_id for c in answer.citations} == {"rev3.md", "rev4.md"}
    assert "60 Nm" in answer.answer
    assert "45 Nm" in answer.answer


async def test_editions_without_dates_go_by_their_numbers(engine: AsyncVeraz) -> None:
    numbers = {"a": "9", "b": "10", "c": "100", "d": "draft"}
    for name, number in numbers.items():
        await put(engine, record(name, f"The dose of {name} is ten units.", item="dose", edition=number))
    assert {n: (await engine.show(n)).superseded_by for n in numbers} == {
        "a": "b",
        "b": "c",
        "c": None,
        "d": None,
    }
    await put(engine, record("b", "The dose of b is ten units.", item="another"))
    assert (await engine.show("a")).superseded_by == "c"
