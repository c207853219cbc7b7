"""Every planted fault is real, is named, and is mended by what the diagnosis suggests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.diagnosis import plants_index, plants_search, plants_stored
from tests.diagnosis.judging import judge
from tests.diagnosis.planting import PLANTS

from veraz.engine import AsyncVeraz

assert plants_index
assert plants_search
assert plants_stored


def test_there_are_plants_enough() -> None:
    kinds = Counter(name.split("/")[0] for name in PLANTS)
    faults = {kind: count for kind, count in kinds.items() if kind != "found"}
    assert sum(faults.values()) >= 150
    assert len(faults) >= 12
    assert min(faults.values()) >= 3


@pytest.mark.parametrize("name", sorted(PLANTS))
async def test_a_planted_fault_is_named_and_mended(field: AsyncVeraz, tmp_path: Path, name: str) -> None:
    planted = await PLANTS[name](field, tmp_path)
    judged = await judge(planted)
    assert judged.was_real, "the plant is no fault: the passage comes without any change"
    told = [f"{d.stage}: {d.detail} => {d.change}" for d in judged.diagnoses]
    assert tuple(judged.named) == judged.wanted, told
    assert judged.is_back, told
    if planted.cause is not None:
        assert judged.causes[0] == planted.cause, told
