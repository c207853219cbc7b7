"""What many documents say alike is one hit, and hides nothing else, however many say it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.support import databases
from tests.support.hashing import HashingEmbedder

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import Mode
from veraz.search.replay import DEEPER

SHARED = (
    "Do not take this medicine with grapefruit juice, and tell your doctor about grapefruit at every visit."
)
COPIES = 40
OTHERS = (
    "Grapefruit raises the level of some medicines in the blood, often for longer than a day.",
    "A doctor may ask whether you take juice of any fruit in the morning with your medicine.",
    "Keep the medicine away from children, and take the rest of it back to the pharmacy.",
)


@pytest.fixture
async def shelf(database: str, embedder: HashingEmbedder, tmp_path: Path) -> AsyncIterator[AsyncVeraz]:
    """Forty leaflets that say the same, three notes that do not, and pools of twenty candidates."""
    records = [{"id": f"copy-{n}", "title": f"Leaflet {n}", "text": SHARED} for n in range(COPIES)]
    records += [{"id": f"other-{n}", "title": "Notes", "text": text} for n, text in enumerate(OTHERS)]
    (tmp_path / "c.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, records)))
    async with await databases.open_engine(database, embedder, search=SearchConfig(pool=20)) as engine:
        await engine.ingest([tmp_path / "c.jsonl"], source="s")
        yield engine


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
async def test_all_else_is_found_behind_the_copies(shelf: AsyncVeraz, mode: Mode) -> None:
    found = await shelf.search("grapefruit juice and the doctor", mode=mode, k=3)
    bodies = [hit.body for hit in found.hits]
    assert sorted(bodies) == sorted({SHARED, *bodies})
    assert len(bodies) == 3
    if mode == "lexical":
        assert set(OTHERS[:2]) <= set(bodies)
    [shared] = [hit for hit in found.hits if hit.body == SHARED]
    assert len({d.external_id for d in (shared.document, *shared.also)}) == COPIES
    assert found.config["pool"] == 20 * DEEPER


async def test_a_result_that_is_not_short_of_copies_asks_once(shelf: AsyncVeraz) -> None:
    assert (await shelf.search("grapefruit", k=1)).config["pool"] == 20
    found = await shelf.search("pharmacy", mode="lexical", k=4)
    assert [hit.body for hit in found.hits] == [OTHERS[2]]
    assert found.config["pool"] == 20
