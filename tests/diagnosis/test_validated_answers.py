"""What validation drops of an answer is told: planted by making the check object to one sentence."""

from __future__ import annotations

from typing import Any

import pytest
from tests.diagnosis.planting import SOURCE, TOPICS, Topic, bystanders, configured, document, own_tenant
from tests.support.corpus import put

from veraz.answer import validate
from veraz.engine import AsyncVeraz


@pytest.mark.parametrize("topic", [TOPICS[0], TOPICS[1], TOPICS[4]], ids=lambda topic: topic.title)
async def test_a_dropped_claim_is_named(
    field: AsyncVeraz, monkeypatch: pytest.MonkeyPatch, topic: Topic
) -> None:
    objection = validate.objection

    def objecting(claim: Any, *rest: Any) -> str | None:
        return "planted" if topic.fact[:20] in claim.text else objection(claim, *rest)

    engine = configured(await own_tenant(field), answer={"threshold": 0.0})
    await put(engine, document(topic), *bystanders(topic), source=SOURCE)
    assert (await engine.diagnose(topic.question, expect="wanted", fact=topic.fact)).stage == "found"
    monkeypatch.setattr(validate, "objection", objecting)
    found = await engine.diagnose(topic.question, expect="wanted", fact=topic.fact)
    assert found.stage == "dropped_by_validation"
    assert "planted" in found.detail
    assert found.change is not None
    assert found.change.values == {"verb": "search"}
    assert (
        await engine.diagnose(topic.question, expect="wanted", fact=topic.fact, verb="search")
    ).stage == "found"
