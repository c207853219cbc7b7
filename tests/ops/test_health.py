"""What `veraz status` calls unhealthy, and what it says to do about it."""

from __future__ import annotations

import pytest

from veraz.nouns.corpus import IndexKind
from veraz.nouns.status import Check, DeadRows, LexicalState, SpaceIndexed
from veraz.ops.health import LARGE_DELTA, checks


def lexical(tenant: str, *, merged: int, delta: int) -> LexicalState:
    return LexicalState(tenant, "en", chunks=1, merged=merged, delta=delta, reference_length=100.0)


def found(**measured: object) -> dict[str, Check]:
    given = {"broken": (), "lexical": (), "dead": (), "replayed": True, "missing": (), **measured}
    return {c.check: c for c in checks(**given)}  # type: ignore[arg-type]


def test_a_healthy_database_has_nothing_to_fix() -> None:
    states = [lexical("a", merged=0, delta=LARGE_DELTA), lexical("b", merged=90_000, delta=90_000)]
    assert [(c.ok, c.fix) for c in found(lexical=states).values()] == [(True, None)] * 6


def test_every_tenant_whose_deltas_outgrew_its_index_is_named_with_its_command() -> None:
    states = [lexical("a", merged=0, delta=50_001), lexical("b", merged=10**6, delta=50_001)]
    check = found(lexical=states)["lexical deltas"]
    assert (check.ok, check.detail, check.fix) == (False, "a/en: 50,001", "veraz index build --tenant a")


def test_a_broken_index_is_built_again_by_postgresql_and_not_by_a_merge() -> None:
    check = found(broken=["embedding_1_hnsw"])["indexes"]
    assert (check.detail, check.fix) == (
        "embedding_1_hnsw",
        "reindex index concurrently veraz.embedding_1_hnsw",
    )


def space(kind: IndexKind, size: int | None, unplaced: str | None = None) -> SpaceIndexed:
    return SpaceIndexed("e5", kind, {}, None, size, unplaced)


@pytest.mark.parametrize("kind", ["hnsw", "ivfflat", "binary"])
def test_a_semantic_index_that_is_gone_is_named_with_its_command(kind: IndexKind) -> None:
    check = found(spaces=[space(kind, None), space("none", None), space("hnsw", 8192)])["semantic indexes"]
    assert (check.ok, check.detail, check.fix) == (
        False,
        f"space e5 has no valid index of kind {kind}, so every vector is compared",
        f"veraz index build --kind {kind}",
    )


def test_an_index_that_never_took_its_place_is_named() -> None:
    check = found(spaces=[space("ivfflat", 8192, "embedding_1_next")])["semantic indexes"]
    assert not check.ok
    assert check.detail == "embedding_1_next of space e5 was built and never took its place"
    assert check.fix == "veraz index build --kind ivfflat"


def test_a_missing_extension_is_named_with_its_command() -> None:
    check = found(missing=["pg_trgm"])["extensions"]
    assert (check.ok, check.detail, check.fix) == (
        False,
        "pg_trgm is not installed",
        "create extension pg_trgm",
    )


def test_dead_rows_are_counted_by_table() -> None:
    check = found(dead=[DeadRows("posting", 10_000, 20_000)])["vacuum"]
    assert (check.ok, check.detail) == (False, "posting: 20,000 dead rows")
