"""What front matter says about who may read, and says wrongly, must not make a document public."""

from __future__ import annotations

from pathlib import Path

import pytest

from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Identity


def written(folder: Path, front: str) -> str:
    file = folder / "pay.md"
    file.write_text(f"---\n{front}\n---\n\n# Pay\n\nThe board is paid on the ninth of each month.\n", "utf-8")
    return str(file)


@pytest.mark.parametrize(
    "front", ["access: hr", "readable_until: 2020-01-01", "acl_rule: all", "owner: [a]", "acl: null"]
)
async def test_a_misnamed_restriction_is_refused(engine: AsyncVeraz, tmp_path: Path, front: str) -> None:
    report = await engine.ingest(written(tmp_path, front), source="s")
    assert report.documents == 0
    assert [(e.stage, "acl" in e.reason) for e in report.errors] == [("parse", True)]


async def test_upper_case_restricts_as_well(engine: AsyncVeraz, tmp_path: Path) -> None:
    report = await engine.ingest(written(tmp_path, "ACL: hr"), source="s")
    assert report.errors == ()
    tenant = await engine.identity()
    for roles, shown in ((("hr",), 1), (("public",), 0)):
        reader = engine.acting_as(Identity(tenant.tenant_id, tenant.tenant, roles))
        assert len((await reader.search("when is the board paid")).hits) == shown
