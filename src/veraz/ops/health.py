"""Judging what `veraz status` measured. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from veraz.nouns.status import Check, DeadRows, LexicalState, SpaceIndexed

LARGE_DELTA = 50_000
"""Postings that may wait in deltas however small the merged part is."""


def checks(
    broken: Sequence[str],
    lexical: Sequence[LexicalState],
    dead: Sequence[DeadRows],
    *,
    replayed: bool,
    missing: Sequence[str],
    spaces: Sequence[SpaceIndexed] = (),
) -> tuple[Check, ...]:
    """`broken` are names of invalid indexes, `spaces` the indexes of embedding spaces, `dead` tables that vacuum has fallen
    behind on; `replayed`: functions and policies are those of this version; `missing`: extensions that are not installed. Without
    pg_trgm misspelt words are not read as others, and nothing else tells."""
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
        _of_spaces(spaces),
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


def _of_spaces(spaces: Sequence[SpaceIndexed]) -> Check:
    """An index that is gone is missed by nobody but who waits: the semantic arm compares every vector then."""
    gone = [s for s in spaces if s.kind != "none" and s.bytes is None]
    unplaced = [s for s in spaces if s.unplaced is not None and s not in gone]
    wrong = [
        f"space {s.space} has no valid index of kind {s.kind}, so every vector is compared" for s in gone
    ]
    wrong += [f"{s.unplaced} of space {s.space} was built and never took its place" for s in unplaced]
    fixes = [f"veraz index build --kind {s.kind}" for s in (*gone, *unplaced)]
    return _check("semantic indexes", wrong, "as recorded", list(dict.fromkeys(fixes)))


def _check(name: str, wrong: Sequence[str], fine: str, fixes: Sequence[str]) -> Check:
    return Check(name, not wrong, ", ".join(wrong) or fine, "; ".join(fixes) if wrong else None)
