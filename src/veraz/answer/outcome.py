"""The answer that a caller gets: a draft, or the message of a route, with the trace id that explains it later."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import uuid4

from veraz.answer.pipeline import Draft
from veraz.answer.render import changes
from veraz.nouns.answer import Answer, Route, Superseded
from veraz.nouns.corpus import Identity
from veraz.nouns.evidence import SearchResult


def routed(
    question: str, rule: Route, identity: Identity, timings_ms: Mapping[str, float], threshold: float
) -> Answer:
    return Answer(
        trace_id=uuid4(),
        outcome="routed",
        question=question,
        answer=rule.message,
        claims=(),
        citations=(),
        conflicts=(),
        superseded=(),
        route=rule,
        reason=None,
        dropped=(),
        uncertain=False,
        access={"tenant": identity.tenant, "roles": list(identity.roles)},
        sufficiency=None,
        threshold=threshold,
        standalone_question=question,
        sub_questions=(),
        usage={"generator": "none"},
        timings_ms=timings_ms,
    )


def drafted(
    question: str,
    draft: Draft,
    result: SearchResult,
    superseded: tuple[Superseded, ...],
    identity: Identity,
    timings_ms: Mapping[str, float],
    threshold: float,
) -> Answer:
    return Answer(
        trace_id=uuid4(),
        outcome=draft.outcome,
        question=question,
        answer=draft.text,
        claims=draft.claims,
        citations=draft.citations,
        conflicts=draft.conflicts,
        superseded=superseded,
        route=None,
        reason=draft.reason,
        dropped=draft.dropped,
        uncertain=draft.uncertain,
        access={"tenant": identity.tenant, "roles": list(identity.roles)},
        sufficiency=round(draft.sufficiency, 4),
        threshold=threshold,
        standalone_question=question,
        sub_questions=(),
        usage={"generator": "extractive", "evidence": len(result.hits)},
        timings_ms=timings_ms,
        lang=result.lang,
        notes=(*result.notes, *changes(draft.citations, result.lang, datetime.now(UTC).date())),
        as_of=result.as_of,
    )
