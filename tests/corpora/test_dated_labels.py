"""Real labels in dated versions, ingested in any order: every day has its revision, and an old answer says that it is old."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import put, shuffled
from tests.support.labels import changes, labels

from veraz.config import AnswerConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.shown import Shown

DAY = date(2024, 12, 10)


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    found = shared / "data" / "aemps_epi_es"
    if not found.is_dir():
        pytest.skip(f"the labels are not at {found}")
    return found


@dataclass(frozen=True)
class Extent:
    """`registrations`: whose labels are read; none: everybody's."""

    registrations: tuple[str, ...]
    authorised: int
    changed_sections: int

    def holds(self, registration: str) -> bool:
        return not self.registrations or registration in self.registrations


SOME = Extent(
    (
        "103256013",
        "103256017",
        "103256021",
        "34565",
        "60853",
        "60151",
        "106380007",
        "04298002",
        "39681",
        "66706",
    ),
    authorised=10,
    changed_sections=39,
)
ALL = Extent((), authorised=34, changed_sections=82)


@pytest.fixture(
    scope="module", params=[pytest.param(SOME, id="ten"), pytest.param(ALL, id="all", marks=pytest.mark.slow)]
)
def extent(request: pytest.FixtureRequest) -> Extent:
    found: Extent = request.param
    return found


@pytest.fixture(scope="module")
def records(folder: Path, extent: Extent) -> list[dict[str, Any]]:
    return [record for record in labels(folder) if extent.holds(record["id"].split("-")[0])]


@pytest.fixture(scope="module")
def filled(server: str, template: str, records: list[dict[str, Any]]) -> Iterator[str]:
    """Everything, the versions of a label in a random order and in runs of their own."""

    async def fill(url: str) -> None:
        mixed = shuffled(11, records)
        async with await databases.open_engine(url) as engine:
            for part in range(0, len(mixed), 30):
                await put(engine, *mixed[part : part + 30], source="aemps", authority=5)

    with databases.fresh(server, template) as url:
        asyncio.run(fill(url))
        yield url


@pytest.mark.parametrize("order", ["oldest first", "newest first"])
async def test_one_collection_of_all_versions(
    database: str, records: list[dict[str, Any]], tmp_path: Path, order: str
) -> None:
    """As a user has it: one file, one line a dated version, many of one document close together."""
    chosen = [
        r for r in records if r["id"] in {name for name, _ in zip(dates(records), range(6), strict=False)}
    ]
    lines = chosen if order == "oldest first" else chosen[::-1]
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    async with await databases.open_engine(database) as engine:
        report = await engine.ingest(str(path), source="aemps", authority=5)
        assert (report.new, report.changed, report.failed) == (6, len(lines) - 6, 0)
        for name, days in dates(chosen).items():
            shown = await engine.show(name)
            assert sorted(r.valid_from for r in shown.revisions if r.valid_from) == sorted(days)
            current = next(r for r in shown.revisions if r.number == shown.current_revision)
            assert current.valid_from == max(days)
        again = await engine.ingest(str(path), source="aemps", authority=5)
        assert (again.unchanged, again.documents, again.embedded) == (len(lines), 0, 0)


@pytest.fixture
async def engine(filled: str) -> AsyncIterator[AsyncVeraz]:
    async with await databases.open_engine(filled, answer=AnswerConfig(threshold=0)) as opened:
        yield opened


def dates(records: list[dict[str, Any]]) -> dict[str, list[date]]:
    found: dict[str, list[date]] = {}
    for record in records:
        found.setdefault(record["id"], []).append(date.fromisoformat(record["valid_from"]))
    return found


def section(shown: Shown, title: str) -> list[str]:
    """The text of the sections that bear a title."""
    ords = [s.ord for s in shown.sections if s.heading == title]
    return ["\n".join(c.display for c in shown.chunks if c.section == ord_) for ord_ in ords]


async def test_every_version_is_a_revision_and_the_latest_is_current(
    engine: AsyncVeraz, records: list[dict[str, Any]], extent: Extent
) -> None:
    expected = dates(records)
    assert len({name.split("-")[0] for name in expected}) == extent.authorised
    assert len(expected) == 2 * extent.authorised
    for name, days in expected.items():
        shown = await engine.show(name)
        assert sorted(r.valid_from for r in shown.revisions if r.valid_from) == sorted(days)
        current = next(r for r in shown.revisions if r.number == shown.current_revision)
        assert current.valid_from == max(days), name
        assert all(chunk.is_current for chunk in shown.chunks), name


async def test_ingesting_them_again_stores_nothing(engine: AsyncVeraz, records: list[dict[str, Any]]) -> None:
    report = await put(engine, *shuffled(5, records), source="aemps")
    assert (report.unchanged, report.documents, report.embedded) == (len(records), 0, 0)


async def test_a_changed_section_differs_between_the_right_revisions(
    engine: AsyncVeraz, folder: Path, extent: Extent
) -> None:
    differing = 0
    for change in filter(lambda change: extent.holds(change["registration"]), changes(folder)):
        name = f"{change['registration']}-{change['doc_type']}"
        before, after = [
            await engine.show(name, as_of=date.fromisoformat(change[end])) for end in ("from", "to")
        ]
        for shown, end in ((before, "from"), (after, "to")):
            revision = next(r for r in shown.revisions if r.number == shown.shown)
            assert str(revision.valid_from) == change[end], (name, end)
        assert section(before, change["section"]) != section(after, change["section"]), (
            name,
            change["section"],
        )
        differing += 1
    assert differing == extent.changed_sections


async def test_a_day_between_two_versions_has_the_earlier_one(
    engine: AsyncVeraz, records: list[dict[str, Any]]
) -> None:
    """The day before any version has none at all."""
    for name, days in dates(records).items():
        held = [d for d in days if d <= DAY]
        if held:
            shown = await engine.show(name, as_of=DAY)
            assert next(r for r in shown.revisions if r.number == shown.shown).valid_from == max(held)
    nothing = await engine.search("posología", lang="es", as_of=date(2024, 12, 2))
    assert nothing.hits == ()


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
async def test_search_of_a_day_finds_the_text_of_that_day(
    engine: AsyncVeraz, records: list[dict[str, Any]], mode: Any
) -> None:
    expected = dates(records)
    result = await engine.search("posología y forma de administración", lang="es", k=50, mode=mode, as_of=DAY)
    assert len(result.hits) == 50
    assert result.as_of == DAY
    for hit in result.hits:
        held = max(d for d in expected[hit.document.external_id] if d <= DAY)
        assert hit.document.valid_from == held
        newest = max(expected[hit.document.external_id])
        assert hit.document.is_current is (held == newest)
        assert (hit.document.current_since == newest) is True


async def test_an_answer_from_a_label_that_changed_since_says_so(
    engine: AsyncVeraz, records: list[dict[str, Any]]
) -> None:
    expected = dates(records)
    answer = await engine.ask("¿Cómo se administra Humira?", lang="es", as_of=DAY)
    assert answer.as_of == DAY
    assert answer.citations
    stale = [c for c in answer.citations if max(expected[c.external_id]) > DAY]
    assert stale
    for citation in stale:
        assert not citation.is_current
        assert citation.current_since == max(expected[citation.external_id])
        assert any(
            citation.external_id in note
            and f"la revisión {citation.revision};" in note
            and str(citation.current_since) in note
            for note in answer.notes
        ), answer.notes
    today = await engine.ask("¿Cómo se administra Humira?", lang="es")
    assert today.citations
    assert all(c.is_current for c in today.citations)
    assert not [n for n in today.notes if "ha cambiado" in n]


async def test_a_quote_of_an_old_answer_is_read_from_the_old_revision(engine: AsyncVeraz) -> None:
    answer = await engine.ask("¿Cómo se administra Humira?", lang="es", as_of=DAY)
    explained = await engine.explain_trace(str(answer.trace_id))
    assert explained["as_of"] == DAY.isoformat()
    assert [c["quote"] for c in explained["citations"]] == [c.quote for c in answer.citations]
    assert all(
        c["is_current"] is False for c in explained["citations"] if c["current_revision"] != c["revision"]
    )
