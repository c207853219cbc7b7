"""A change of access holds for the very next query: both arms, hits, evidence, show, why, and the note of what was replaced."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz
from veraz.errors import ItemError, UsageError
from veraz.nouns.corpus import Access

HR = Access(("hr",))


@pytest.fixture
async def filled(eager_engine: AsyncVeraz) -> AsyncVeraz:
    await put(
        eager_engine,
        record(
            "pay", "# Pay\n\nThe salary band of nurses is four.", format="markdown", supersedes="pay-2019"
        ),
        record("pay-2019", "# Pay\n\nThe salary band of nurses is three.", format="markdown"),
        record("open", "# Shifts\n\nThe shift of nurses begins at seven.", format="markdown"),
    )
    return eager_engine


async def acting(engine: AsyncVeraz, *roles: str) -> AsyncVeraz:
    return engine.acting_as(replace(await engine.identity(), roles=roles))


async def ids(engine: AsyncVeraz, question: str = "salary band of nurses") -> dict[str, set[str]]:
    return {
        mode: {h.document.external_id for h in (await engine.search(question, lang="en", mode=mode)).hits}
        for mode in ("lexical", "semantic", "hybrid")
    }


async def test_a_narrowed_document_is_gone_everywhere_at_once(filled: AsyncVeraz) -> None:
    answer = await filled.ask("What is the salary band of nurses?", lang="en")
    assert {c.external_id for c in answer.citations} >= {"pay"}
    assert [s.external_id for s in answer.superseded] == ["pay-2019"]
    before = await filled.set_access("pay", source="s", access=HR)
    assert before == Access(("public",))
    assert all("pay" not in found and "open" in found for found in (await ids(filled)).values())
    again = await filled.ask("What is the salary band of nurses?", lang="en")
    assert "pay" not in {c.external_id for c in again.citations}
    assert again.superseded == ()
    with pytest.raises(UsageError, match="no document 'pay'"):
        await filled.show("pay", source="s")
    explained = await filled.explain_trace(str(answer.trace_id))
    assert [c["quote"] for c in explained["citations"] if c["external_id"] == "pay"] == [None]
    hr = await acting(filled, "public", "hr")
    assert all("pay" in found for found in (await ids(hr)).values())
    assert (await hr.show("pay", source="s")).access == HR
    await filled.set_access("pay", source="s", access=before)
    assert all("pay" in found for found in (await ids(filled)).values())


async def test_the_note_of_what_was_replaced_follows_the_access_of_that(filled: AsyncVeraz) -> None:
    await filled.set_access("pay-2019", source="s", access=HR)
    answer = await filled.ask("What is the salary band of nurses?", lang="en")
    assert {c.external_id for c in answer.citations} >= {"pay"}
    assert answer.superseded == ()
    assert (await filled.show("pay", source="s")).supersedes == ()


async def test_an_unreadable_successor_goes_on_hiding_what_it_replaced(filled: AsyncVeraz) -> None:
    await filled.set_access("pay", source="s", access=HR)
    assert all("pay-2019" not in found for found in (await ids(filled)).values())
    shown = await filled.show("pay-2019", source="s")
    assert (shown.superseded_by, shown.superseded_at is None) == (None, False), (
        "superseded, and not said by what"
    )


@pytest.mark.parametrize(
    ("access", "readers"),
    [
        (Access(("hr", "board")), {"hr", "board", "both"}),
        (Access(("hr", "board"), "all"), {"both"}),
        (Access(("boss",), "owner", "boss"), {"boss"}),
        (Access(("hr",), "any", "boss"), {"hr", "both", "boss"}),
        (Access(("hr",), "any", None, datetime.now(UTC) + timedelta(hours=1)), set()),
        (Access(("hr",), "any", "boss", None, datetime.now(UTC) - timedelta(hours=1)), {"boss"}),
        (
            Access(("hr",), "any", None, datetime(2020, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)),
            {"hr", "both"},
        ),
    ],
)
async def test_every_rule_and_window_decides_as_it_says(
    filled: AsyncVeraz, access: Access, readers: set[str]
) -> None:
    await filled.set_access("pay", source="s", access=access)
    roles = {"nobody": (), "hr": ("hr",), "board": ("board",), "both": ("hr", "board"), "boss": ("boss",)}
    for name, held in roles.items():
        found = await ids(await acting(filled, *held))
        assert {mode: "pay" in ids for mode, ids in found.items()} == dict.fromkeys(found, name in readers), (
            name
        )


async def test_a_later_ingest_keeps_the_access_unless_it_states_another(filled: AsyncVeraz) -> None:
    await filled.set_access("open", source="s", access=HR)
    await put(filled, record("open", "# Shifts\n\nThe shift of nurses begins at eight.", format="markdown"))
    assert await rows(filled, "select acl from veraz.document where external_id = 'open'") == [(["hr"],)]
    stated = record(
        "open", "# Shifts\n\nThe shift of nurses begins at eight.", format="markdown", acl=["public"]
    )
    await put(filled, stated)
    assert await rows(filled, "select acl from veraz.document where external_id = 'open'") == [(["public"],)]


@pytest.mark.parametrize(
    "wrong", [Access(("",)), Access(("a",), "any", ""), Access(("boss",), "owner"), Access(("a" * 201,))]
)
async def test_what_nobody_could_read_by_is_refused(filled: AsyncVeraz, wrong: Access) -> None:
    with pytest.raises(UsageError):
        await filled.set_access("pay", source="s", access=wrong)
    assert (await filled.standing("pay", source="s")).access == Access(("public",))


async def test_a_document_that_there_is_not_is_named(filled: AsyncVeraz) -> None:
    with pytest.raises(ItemError, match="no such document") as error:
        await filled.set_access("absent", source="s", access=HR)
    assert error.value.external_id == "absent"
