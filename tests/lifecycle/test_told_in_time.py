"""What does not hold yet, and what was replaced by something that cannot be shown, is said so: in hits, answers and ingests."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.corpus import put, record

from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Identity

TODAY = datetime.now(UTC).date()
AHEAD = TODAY + timedelta(days=400)
QUESTION = "How many Nm are the flange bolts tightened to?"


def version(name: str, torque: int, **fields: str) -> dict[str, object]:
    return record(name, f"The flange bolts are tightened to {torque} Nm.", **fields)


async def test_a_version_from_a_later_day_names_the_one_that_holds_today(engine: AsyncVeraz) -> None:
    await put(engine, version("bolts", 60, valid_from="2021-01-01"))
    report = await put(engine, version("bolts", 45, valid_from=AHEAD.isoformat()))
    assert [w for w in report.warnings if f"holds from {AHEAD}" in w]
    found = await engine.search(QUESTION)
    document = found.hits[0].document
    assert (document.revision, document.holds_from) == (2, AHEAD)
    assert document.in_force is not None
    assert (document.in_force.external_id, document.in_force.revision) == ("bolts", 1)
    assert f"s/bolts: revision 2 holds from {AHEAD}; until then revision 1 does" in found.notes
    answer = await engine.ask(QUESTION)
    assert "45 Nm" in answer.answer
    assert (
        f"bolts (s/bolts): revision 2, quoted here, holds from {AHEAD}. Until then revision 1 of bolts (s/bolts) holds."
        in answer.notes
    )


async def test_as_of_today_the_version_that_holds_is_said_to_change(engine: AsyncVeraz) -> None:
    await put(engine, version("bolts", 60, valid_from="2021-01-01"))
    await put(engine, version("bolts", 45, valid_from=AHEAD.isoformat()))
    answer = await engine.ask(QUESTION, as_of=TODAY)
    assert "60 Nm" in answer.answer
    assert answer.notes == (
        f"bolts (s/bolts) changes on {AHEAD}: revision 1, quoted here, holds until then; revision 2 follows.",
    )


@pytest.mark.parametrize("how", ["named", "edition"])
async def test_a_successor_from_a_later_day_names_what_holds_until_then(engine: AsyncVeraz, how: str) -> None:
    later = {"valid_from": AHEAD.isoformat()}
    if how == "named":
        old, new = {}, {"supersedes": "old"}
    else:
        old, new = {"item": "flange", "edition": "3"}, {"item": "flange", "edition": "4"}
    await put(engine, version("old", 60, valid_from="2021-01-01", **old), version("new", 45, **new, **later))
    found = await engine.search(QUESTION)
    assert found.notes == (f"s/new: revision 1 holds from {AHEAD}; until then revision 1 of s/old does",)
    answer = await engine.ask(QUESTION)
    assert (
        f"new (s/new): revision 1, quoted here, holds from {AHEAD}. Until then revision 1 of old (s/old) holds."
        in answer.notes
    )
    before = await engine.ask(QUESTION, as_of=TODAY)
    assert before.notes == (f"old (s/old) will be superseded on {AHEAD} by new (new).",)


async def test_what_may_not_be_read_is_not_named_as_holding(engine: AsyncVeraz) -> None:
    await put(
        engine,
        version("old", 60, valid_from="2021-01-01", acl="hr"),  # type: ignore[arg-type]
        version("new", 45, supersedes="old", valid_from=AHEAD.isoformat()),
    )
    assert (await engine.search(QUESTION)).notes == (f"s/new: revision 1 holds from {AHEAD}",)


async def test_what_holds_today_is_not_remarked_upon(engine: AsyncVeraz) -> None:
    report = await put(engine, version("bolts", 60, valid_from=TODAY.isoformat()))
    assert report.warnings == ()
    assert (await engine.ask(QUESTION)).notes == ()


async def replaced(engine: AsyncVeraz) -> None:
    await put(
        engine,
        version("rev3", 60, valid_from="2021-01-01"),
        version("rev4", 45, valid_from="2024-01-01", supersedes="rev3"),
    )


GONE = "rev3 (s/rev3) was superseded on 2024-01-01 by a document that was deleted or that you may not read."


async def test_a_deleted_successor_is_said_to_have_superseded(engine: AsyncVeraz) -> None:
    await replaced(engine)
    await engine.delete("rev4", source="s")
    answer = await engine.ask(QUESTION, as_of=date(2023, 12, 31))
    assert "60 Nm" in answer.answer
    assert answer.notes == (GONE,)
    found = await engine.search(QUESTION, as_of=date(2023, 12, 31))
    document = found.hits[0].document
    assert (document.superseded_by, document.superseded_since) == (None, date(2024, 1, 1))


async def test_an_unreadable_successor_is_said_to_have_superseded_and_not_named(engine: AsyncVeraz) -> None:
    await replaced(engine)
    await put(
        engine,
        version("rev4", 45, valid_from="2024-01-01", supersedes="rev3", acl="hr"),  # type: ignore[arg-type]
    )
    answer = await engine.ask(QUESTION, as_of=date(2023, 12, 31))
    assert answer.notes == (GONE,)
    tenant = await engine.identity()
    reader = engine.acting_as(Identity(tenant.tenant_id, tenant.tenant, ("hr", "public")))
    assert (await reader.ask(QUESTION, as_of=date(2023, 12, 31))).notes == (
        "rev3 (s/rev3) was superseded by rev4 (rev4).",
    )


async def test_a_file_from_a_later_day_is_warned_of(engine: AsyncVeraz, tmp_path: Path) -> None:
    file = tmp_path / "bolts.md"
    file.write_text("---\nvalid_from: 2099-01-01\n---\n\nThe flange bolts are tightened to 45 Nm.\n", "utf-8")
    report = await engine.ingest(str(file), source="s")
    assert report.warnings == (
        f"{file}: holds from 2099-01-01, and is the current revision from now on; answers say so",
    )
