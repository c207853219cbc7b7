"""The chunker of a source, from the flag to what a reader is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.corpus import rows
from tests.support.databases import open_engine

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.ingest.chunkers import CHUNKERS

PAGE = """# Pumps

The intake valve closes at five bar. It opens again at two bar. The pump then rests for a minute.

## Care

Clean the zebra filter every week. Replace it after a year. Never wash it with solvent.
"""


@pytest.mark.parametrize("name", [name for name in CHUNKERS if name != "late"])
async def test_every_chunker_goes_all_the_way(engine: AsyncVeraz, tmp_path: Path, name: str) -> None:
    file = tmp_path / "pump.md"
    file.write_text(PAGE)
    report = await engine.ingest([file], source="s", chunker=name, lang="en")
    assert (report.new, report.failed) == (1, 0)
    hit = (await engine.search("zebra filter", lang="en")).hits[0]
    assert "zebra filter" in hit.body
    (text,) = (await rows(engine, "select text from veraz.revision"))[0]
    assert hit.body == text[hit.start : hit.end]
    (version,) = (await rows(engine, "select chunker from veraz.revision"))[0]
    assert version.startswith(f"{name}/")
    again = await engine.ingest([file], source="s", lang="en")
    assert again.unchanged == 1  # the source remembers its chunker
    answer = await engine.ask("How often is the zebra filter cleaned?", lang="en")
    assert answer.citations[0].quote == text[answer.citations[0].start : answer.citations[0].end]


async def test_a_window_is_shown_once_however_many_of_its_parts_are_found(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    file = tmp_path / "pump.md"
    file.write_text(PAGE)
    await engine.ingest([file], source="s", chunker="sentence-window:sentences=1", lang="en")
    assert await rows(engine, "select count(*) from veraz.chunk") == [(6,)]
    found = await engine.search("clean replace wash filter", lang="en", k=10, mode="lexical")
    care = "Clean the zebra filter every week. Replace it after a year."
    assert any(hit.body.startswith(care) for hit in found.hits)  # a sentence with its neighbour
    assert len({(h.start, h.end) for h in found.hits}) == len(found.hits)
    assert all(h.spans[0].start == h.start and h.spans[-1].end == h.end for h in found.hits)


async def test_another_chunker_cuts_a_source_again(engine: AsyncVeraz, tmp_path: Path) -> None:
    file = tmp_path / "pump.md"
    file.write_text(PAGE)
    await engine.ingest([file], source="s", lang="en")
    report = await engine.ingest([file], source="s", chunker="fixed:size=30,overlap=5", lang="en")
    assert report.changed == 1
    assert await rows(engine, "select number, chunker like 'fixed/2%' from veraz.revision order by 1") == [
        (1, False),
        (2, True),
    ]
    dry = await engine.ingest([file], source="s", chunker="recursive", dry_run=True, lang="en")
    assert [change.kind for change in dry.changes] == ["changed"]
    assert (await engine.ingest([file], source="s", dry_run=True, lang="en")).unchanged == 1


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("none", "no chunker is called 'none'.*\n.*structure, parent-child"),
        ("fixed:size=10,overlap=10", "overlap"),
        ("fixed:size", "'size' has no value"),
        ("structure:size=3", "it takes no options"),
        ("late", "token vectors"),
    ],
)
async def test_a_chunker_that_cannot_be_used_is_refused_before_any_work(
    database: str, tmp_path: Path, stated: str, message: str
) -> None:
    engine = await open_engine(database)
    async with engine:
        with pytest.raises(UsageError, match=message):
            await engine.ingest([tmp_path / "missing.md"], source="s", chunker=stated)
        assert await rows(engine, "select count(*) from veraz.source") == [(0,)]


async def test_engines_that_act_for_others_share_the_parsers(engine: AsyncVeraz) -> None:
    """Whoever ingests through an open engine, its processes end with it."""
    other = engine.acting_as(await engine.ensure_tenant("other"))
    assert other._parsers is engine._parsers
