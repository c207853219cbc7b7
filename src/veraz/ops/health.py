"""Judging what `veraz status` measured. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from veraz.nouns.status import Check, DeadRows, LexicalState

LARGE_DELTA = 50_000
"""Postings that may wait in deltas however small the merged part is."""


def checks(
    broken: Sequence[str],
    lexical: Sequence[LexicalState],
    dead: Sequence[DeadRows],
    *,
    replayed: bool,
    missing: Sequence[str],
) -> tuple[Check, ...]:
    """`broken` are names of invalid indexes, `dead` tables that vacuum has fallen behind on; `replayed`: functions and policies
    are those of this version; `missing`: extensions that are not installed. Without pg_trgm misspelt words are not read as
    others, and nothing else tells."""
    heavy = [s for s in lexical if s.delta > max(LARGE_DELTA, s.merged)]
    tenants = dict.fromkeys(s.tenant for s in heavy)
    return (
        _check(
            "functions and policies",
            [] if replayed else ["those of another version of Veraz"],
            "of this version",
            ["veraz init"],
        ),
        _check(
            "extensions",
            [f"{name} is not installed" for name in missing],
            "all installed",
            [f"create extension {name}" for name in missing],
        ),
        _check(
            "indexes", broken, "all valid", [f"reindex index concurrently veraz.{name}" for name in broken]
        ),
        _check(
            "lexical deltas",
            [f"{s.tenant}/{s.analyser}: {s.delta:,}" for s in heavy],
            "merged",
            [f"veraz index build --tenant {tenant}" for tenant in tenants],
        ),
        _check(
            "vacuum",
            [f"{d.table}: {d.dead:,} dead rows" for d in dead],
            "no bloat",
            ["vacuum analyze, or let autovacuum run"],
        ),
    )


def _check(name: str, wrong: Sequence[str], fine: str, fixes: Sequence[str]) -> Check:
    return Check(name, not wrong, ", ".join(wrong) or fine, "; ".join(fixes) if wrong else None)
