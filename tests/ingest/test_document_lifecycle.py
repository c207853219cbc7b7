"""Edited, identical and shared documents over time (public cases H30, H31, H33)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.corpus import rows

from veraz.engine import AsyncVeraz


async def external_ids(engine: AsyncVeraz, question: str, mode: Any = "hybrid") -> list[str]:
    found = await engine.search(question, lang="en", mode=mode, k=50)
    return [d.external_id for h in found.hits for d in (h.document, *h.also)]


async def test_after_an_edit_the_old_text_answers_nowhere(
    engine: AsyncVeraz, cases: Path, tmp_path: Path
) -> None:
    file = tmp_path / "policy.md"
    for name in ("h_policy_v1.md", "h_policy_v2.md"):
        file.write_bytes((cases / name).read_bytes())
        assert (await engine.ingest([str(file)], source="s", lang="en")).documents == 1
    for mode in ("lexical", "semantic", "hybrid"):
        found = await engine.search("speed limit 40 km/h", lang="en", mode=mode, k=50)
        assert found.hits
        assert not [h for h in found.hits if "40 km/h" in h.body]
        assert any("30 km/h" in h.body for h in found.hits)
        assert {h.document.revision for h in found.hits} == {2}
    answer = await engine.ask("What is the speed limit inside the yard?", lang="en")
    assert all("40" not in c.quote and c.revision == 2 for c in answer.citations)
    current = "select count(*) from veraz.chunk where is_current"
    before = await rows(engine, current)
    again = await engine.ingest([str(file)], source="s", lang="en")
    assert (again.unchanged, again.documents, again.embedded) == (1, 0, 0)
    assert await rows(engine, current) == before
    assert await rows(engine, "select count(*) from veraz.revision") == [(2,)]


async def test_of_two_identical_documents_each_lives_its_own_life(engine: AsyncVeraz, cases: Path) -> None:
    twins = [str(cases / "h_twin_a.txt"), str(cases / "h_twin_b.txt")]
    await engine.ingest(twins, source="s", lang="en")
    assert sorted(await external_ids(engine, "yellow badge")) == ["h_twin_a.txt", "h_twin_b.txt"]
    await engine.delete("h_twin_a.txt", source="s")
    for mode in ("lexical", "semantic"):
        assert await external_ids(engine, "yellow badge", mode) == ["h_twin_b.txt"]
    await engine.delete("h_twin_b.txt", source="s")
    for mode in ("lexical", "semantic"):
        assert await external_ids(engine, "yellow badge", mode) == []


async def test_of_two_identical_files_the_one_that_is_gone_is_pruned(
    engine: AsyncVeraz, cases: Path, tmp_path: Path
) -> None:
    """Public case H31, by bringing a folder up to date."""
    for name in ("h_twin_a.txt", "h_twin_b.txt"):
        (tmp_path / name).write_bytes((cases / name).read_bytes())
    await engine.ingest([tmp_path], source="s", lang="en")
    (tmp_path / "h_twin_a.txt").unlink()
    report = await engine.ingest([tmp_path], source="s", lang="en", prune=True)
    assert (report.deleted, report.unchanged, report.renamed) == (1, 1, 0)
    for mode in ("lexical", "semantic"):
        assert await external_ids(engine, "yellow badge", mode) == ["h_twin_b.txt"]
    (tmp_path / "h_twin_b.txt").unlink()
    (tmp_path / "other.txt").write_text("Gate 4 opens at half past six.", encoding="utf-8")
    await engine.ingest([tmp_path], source="s", lang="en", prune=True, confirmed=True)
    assert await external_ids(engine, "yellow badge", "lexical") == []
    assert await external_ids(engine, "yellow badge", "semantic") == ["other.txt"]


async def test_a_shared_section_belongs_to_each_of_its_documents(engine: AsyncVeraz, cases: Path) -> None:
    a, b = (str(cases / f"h_shared_{x}.md") for x in "ab")
    await engine.ingest([a, b], source="s", lang="en")
    question = "goggles of class OD6 beam path"

    async def warned() -> set[str]:
        """The warning is shown once, with every document that holds it."""
        found = await engine.search(question, lang="en", k=50)
        [warning] = [h for h in found.hits if "OD6" in h.body]
        return {d.external_id for d in (warning.document, *warning.also)}

    assert await warned() == {"h_shared_a.md", "h_shared_b.md"}
    await engine.delete("h_shared_a.md", source="s")
    assert await warned() == {"h_shared_b.md"}
    report = await engine.ingest([a], source="s", lang="en")
    assert (report.changed, report.embedded) == (1, 0), "its vectors are still known"
    await engine.delete("h_shared_b.md", source="s")
    assert await warned() == {"h_shared_a.md"}


@pytest.mark.parametrize("suffix", ["md", "txt"])
async def test_offsets_are_places_in_the_stored_text(engine: AsyncVeraz, cases: Path, suffix: str) -> None:
    """Public cases H14 and H20 and every other file: what a chunk says stands where its spans point."""
    files = sorted(str(p) for p in cases.glob(f"h_*.{suffix}"))
    report = await engine.ingest(files, source="s")
    assert report.documents > 5
    for body, spans, text in await rows(
        engine,
        "select c.body, c.spans, r.text from veraz.chunk c join veraz.revision r using (tenant_id, revision_id)",
    ):
        pieces = [text[a:b] for a, b in zip(spans[::2], spans[1::2], strict=True)]
        assert all(piece in body for piece in pieces)
        assert sum(map(len, pieces)) <= len(body)
    for text, parts in await rows(
        engine,
        "select r.text, array_agg(substr(r.text, s.start_at + 1, s.end_at - s.start_at) order by s.ord)"
        " from veraz.section s join veraz.revision r using (tenant_id, revision_id) group by r.revision_id, r.text",
    ):
        assert "".join(parts) == text, "the sections of a document partition its text"
