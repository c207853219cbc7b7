"""An operator's word about what replaces what, over what documents declare."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from tests.ingest.test_supersession import edition, found
from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz
from veraz.errors import ItemError, UsageError


async def test_the_word_hides_and_is_taken_back(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"), edition("new"))
    after = await engine.supersede("old", by="new", source="s")
    assert (after.superseded_by, after.pinned, after.superseded_from) == (
        "new",
        True,
        datetime.now(UTC).date(),
    )
    assert await found(engine) == {"new"}
    shown = await engine.show("old", source="s")
    assert (shown.superseded_by, shown.supersession_pinned) == ("new", True)
    undone = await engine.supersede("old", undo=True, source="s")
    assert (undone.superseded_by, undone.pinned) == (None, False)
    assert await found(engine) == {"old", "new"}


async def test_it_survives_new_revisions_and_declarations(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"), edition("new"), edition("third"))
    await engine.supersede("old", by="new", source="s")
    await put(engine, edition("old", says="Reworded."), edition("third", replaces="old"))
    assert (await engine.show("old", source="s")).superseded_by == "new"
    assert await found(engine) == {"new", "third"}
    declared = await engine.supersede("old", as_declared=True, source="s")
    assert (declared.superseded_by, declared.pinned) == ("third", False)
    assert await found(engine) == {"new", "third"}


async def test_undo_counts_against_what_is_declared(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"), edition("new", replaces="old"))
    undone = await engine.supersede("old", undo=True, source="s")
    assert (undone.superseded_by, undone.pinned) == (None, True)
    assert await found(engine) == {"old", "new"}
    await put(engine, edition("new", replaces="old", says="Reworded."))
    assert await found(engine) == {"old", "new"}
    assert (await engine.supersede("old", as_declared=True, source="s")).superseded_by == "new"
    assert await found(engine) == {"new"}


@pytest.mark.parametrize("gone", ["delete", "erase"])
async def test_undo_is_the_way_back_from_a_successor_that_is_gone(engine: AsyncVeraz, gone: str) -> None:
    await put(engine, edition("old"), edition("new", replaces="old"))
    await engine.delete("new", source="s", erase=gone == "erase")
    assert await found(engine) == set()
    await engine.supersede("old", undo=True, source="s")
    assert await found(engine) == {"old"}
    await put(engine, edition("old", says="Reworded."))
    assert await found(engine) == {"old"}


async def test_since_decides_what_a_day_shows(engine: AsyncVeraz) -> None:
    dated = {"valid_from": "2020-01-01"}
    await put(
        engine,
        record("old", "The fever rule of before.", **dated),
        record("new", "The fever rule of now.", **dated),
    )
    await engine.supersede("old", by="new", source="s", since=date(2022, 1, 1))
    seen = {
        day: {h.document.external_id for h in (await engine.search("fever rule", lang="en", as_of=day)).hits}
        for day in (date(2021, 12, 31), date(2022, 1, 1))
    }
    assert seen == {date(2021, 12, 31): {"old", "new"}, date(2022, 1, 1): {"new"}}


async def test_a_cycle_is_refused_and_names_its_documents(engine: AsyncVeraz) -> None:
    await put(engine, edition("a"), edition("b"), edition("c", replaces="b"))
    await engine.supersede("a", by="b", source="s")
    before = await rows(
        engine, "select external_id, superseded_by, supersession_pinned from veraz.document order by 1"
    )
    with pytest.raises(UsageError, match="cycle: c → a → b → c "):
        await engine.supersede("c", by="a", source="s")
    report = await put(engine, edition("a", replaces="c"), clean=False)
    assert [e.reason for e in report.errors] == [
        "supersession would form a cycle: c → a → b → c (each replaced by the next); "
        "mend what one of these documents says that it replaces"
    ]
    assert (
        await rows(
            engine, "select external_id, superseded_by, supersession_pinned from veraz.document order by 1"
        )
        == before
    )
    assert await found(engine) == {"c"}


async def test_what_cannot_be_meant_is_refused(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"), edition("new"))
    await put(engine, edition("elsewhere"), source="other")
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    with pytest.raises(UsageError, match="still to come"):
        await engine.supersede("old", by="new", source="s", since=tomorrow)
    with pytest.raises(UsageError, match="cannot replace itself"):
        await engine.supersede("old", by="old", source="s")
    with pytest.raises(UsageError, match="exactly one"):
        await engine.supersede("old", source="s")
    with pytest.raises(UsageError, match="exactly one"):
        await engine.supersede("old", by="new", undo=True, source="s")
    for old, new in (("old", "elsewhere"), ("absent", "new")):
        with pytest.raises(ItemError, match="no such document"):
            await engine.supersede(old, by=new, source="s")
    await engine.delete("new", source="s")
    with pytest.raises(UsageError, match="'new' is deleted"):
        await engine.supersede("old", by="new", source="s")
    assert await found(engine) == {"old", "elsewhere"}
