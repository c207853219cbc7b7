"""The recall of sampled searches, day by day and over a period. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from veraz.nouns.measure import Arm, LiveRecall, RecallDay
from veraz.ops.measure.store import SeriesRow

GATED = ("recall", "worst", "lexical.recall", "semantic.recall", "samples", "dropped")
"""What gates can name."""


def summary(rows: Sequence[SeriesRow], *, tenant: str, since: datetime, share: float) -> LiveRecall:
    """Means over searches, not over days: a quiet day counts as little as it has."""
    days = tuple(_day(row) for row in rows if row.arm is not None)
    named = dict.fromkeys(d.arm for d in days)
    arms: dict[str, float] = {arm: _mean([d for d in days if d.arm == arm]) for arm in named}
    worst = [d.worst for d in days if d.worst is not None]
    sampled = bool(days)
    return LiveRecall(
        tenant=tenant,
        since=since,
        share=share,
        recall=min(arms.values()) if sampled else None,
        worst=min(worst, default=1.0) if sampled else None,
        samples=sum(d.samples for d in days),
        approximated=sum(d.approximated for d in days),
        dropped=sum(row.dropped for row in rows),
        arms=arms,
        days=days,
    )


def values(live: LiveRecall) -> dict[str, float | None]:
    """The figures of `GATED`; None where nothing was sampled."""
    named: dict[str, float | None] = {"recall": live.recall, "worst": live.worst}
    for arm in ("lexical", "semantic"):
        named[f"{arm}.recall"] = live.arms.get(arm)
    return {**named, "samples": float(live.samples), "dropped": float(live.dropped)}


def _mean(days: Sequence[RecallDay]) -> float:
    approximated = sum(d.approximated for d in days)
    if not approximated:
        return 1.0
    return round(sum(d.approximated * d.mean for d in days if d.mean is not None) / approximated, 6)


def _day(row: SeriesRow) -> RecallDay:
    return RecallDay(
        row.day, cast("Arm", row.arm), row.samples, row.approximated, row.mean, row.worst, row.exact_ms
    )
