"""A revision keeps which of its pages were recognised, and what rests on them says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.support import databases
from tests.support.corpus import rows
from tests.support.hashing import HashingEmbedder
from tests.support.scans import Picture, scan

from veraz.config import AnswerConfig, IngestConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.scan import SeenLine, SeenWord
from veraz.providers import ocr

READ = "Zolmidine is taken once a day with water before breakfast."
SEEN = "Zolmidine must not be taken together with grapefruit juice."


class Engine:
    version = "given/1"

    def read(self, picture: Picture) -> Sequence[SeenLine]:
        scale, words, at = picture.shape[1] / 600, [], 0
        for word in SEEN.split():
            words.append(SeenWord(word, at / len(SEEN), (at + len(word)) / len(SEEN)))
            at += len(word) + 1
        x0, x1, y0, y1 = 60 * scale, 400 * scale, 90 * scale, 104 * scale
        return [SeenLine(tuple(words), ((x0, y0), (x1, y0), (x1, y1), (x0, y1)), 0.93)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "z.pdf").write_bytes(scan([None, np.full((1100, 850), 255, np.uint8)], [READ]))
    return tmp_path


@pytest.fixture
async def recognising(
    database: str, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AsyncVeraz]:
    monkeypatch.setattr(ocr, "installed", lambda: True)
    monkeypatch.setattr(ocr, "engine", Engine)
    settings = {"ingest": IngestConfig(isolated=False, ocr=True), "answer": AnswerConfig(threshold=0)}
    async with await databases.open_engine(database, embedder, **settings) as opened:
        yield opened


async def test_turning_it_on_parses_such_files_again_and_no_others(
    engine: AsyncVeraz, recognising: AsyncVeraz, folder: Path
) -> None:
    (folder / "other.txt").write_text("Plain text stays as it is.")
    first = await engine.ingest([folder], source="s")
    assert first.warnings == (
        f"{folder / 'z.pdf'}: page 2 holds no text; needs OCR: set [ingest] ocr = true",
    )
    plan = await recognising.ingest([folder], source="s", dry_run=True)
    assert [change.external_id for change in plan.changes] == ["z.pdf"]
    second = await recognising.ingest([folder], source="s")
    assert (second.changed, second.unchanged) == (1, 1)
    assert second.warnings == (f"{folder / 'z.pdf'}: text of page 2 was recognised, not read",)
    assert (await recognising.ingest([folder], source="s")).unchanged == 2
    [(text, meta)] = await rows(recognising, "select text, meta from veraz.revision where number = 2")
    assert text == f"{READ}\n\n{SEEN}"
    assert meta == {"recognised": {"pages": [2], "confidence": [0.93], "engine": ocr.VERSION}}


async def test_an_answer_says_what_it_quotes_from_a_picture(recognising: AsyncVeraz, folder: Path) -> None:
    await recognising.ingest([folder], source="s")
    for question, page, recognised in (
        ("Which juice must not be taken together with zolmidine?", 2, True),
        ("Is zolmidine taken with water before breakfast?", 1, False),
    ):
        answer = await recognising.ask(question)
        [cited] = [c for c in answer.citations if c.quote == (SEEN if recognised else READ)]
        assert (cited.page, cited.recognised) == (page, recognised)
        quoted = {c.recognised for c in answer.citations}
        assert any("page 2 is a picture" in note for note in answer.notes) == (True in quoted)


async def test_what_others_state_under_that_name_is_theirs(engine: AsyncVeraz, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nrecognised: {pages: x}\n---\n# Tablets\n\nTake two a day.\n")
    await engine.ingest([tmp_path], source="s")
    shown = await engine.show("a.md")
    assert shown.revisions[0].meta["recognised"]
    await engine.ask("How many tablets a day?")
