"""The pure rules: days on which a revision held, filters, labels, changes and how they are said."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest

from veraz.config import Config
from veraz.diagnosis import stored
from veraz.diagnosis.asked import Asked, Trial, applied
from veraz.diagnosis.facts import (
    Excluding,
    KnownChunk,
    KnownDocument,
    KnownRevision,
    dropped_why,
    found,
    held_on,
    words_of,
)
from veraz.diagnosis.pipeline import Expected
from veraz.diagnosis.suite import best_remedy, clusters, spread
from veraz.filters.compose import parts_of
from veraz.filters.typed import resolve
from veraz.nouns.corpus import Span
from veraz.nouns.diagnosis import Change, Diagnosis, Missed
from veraz.nouns.question import Filters

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REVISION = KnownRevision(
    uuid4(), 1, "Cool it for\n20 minutes.", "Burns", "en", None, None, None, None, None, None,
    date(2024, 1, 1), "structure/1", [0, 4], ["heading"], NOW,
)  # fmt: skip
DOCUMENT = KnownDocument(
    uuid4(), "burns", "guides", 3, "CC0-1.0", None, None, None, REVISION.revision_id, False, None, False, None,
    ["public"], "any", None, None, None, True,
)  # fmt: skip
CHUNK = KnownChunk(
    uuid4(), 0, "paragraph", [], "Guides", "Cool it for\n20 minutes.", None, [0, 23], "en", True, "en", True
)


def passage(
    document: KnownDocument = DOCUMENT, *revisions: KnownRevision, shown: int | None = 0
) -> stored.Passage:
    kept = revisions or (REVISION,)
    return stored.Passage(
        document, tuple(kept), kept[-1], kept[shown] if shown is not None else None, (CHUNK,), (CHUNK,), None, None, None
    )  # fmt: skip


def excluding(where: str, *unmet: int) -> tuple[Filters, tuple[Excluding, ...]]:
    """Filters, and their conditions, of which the chunk does not meet those with these numbers."""
    filters = resolve(Filters(where=where), {}, NOW.date())
    conditions, _, _ = parts_of(filters)
    has = {"lang": "en", "authority": 3, "license": None, "meta": {"a": {"b": [1, "x"]}}}
    return filters, tuple(
        Excluding(condition, {CHUNK.chunk_id: has} if n in unmet else {})
        for n, condition in enumerate(conditions)
    )


@pytest.mark.parametrize(
    ("where", "unmet", "detail", "rest"),
    [
        ("authority >= 4", (0,), "--filter: authority >= 4 (it has 3)", None),
        (
            "authority >= 4 and lang = 'en' and not lang = 'fr'",
            (0,),
            "--filter: authority >= 4 (it has 3)",
            "lang = 'en' and not lang = 'fr'",
        ),
        (
            "(lang = 'fr' or license = 'it''s') and authority = 3",
            (0,),
            "--filter: lang = 'fr' or license = 'it''s' (it has lang en, license nothing)",
            "authority = 3",
        ),
        ("meta.a.b all ('y') and lang = 'en'", (0,), "meta.a.b all ('y') (it has 1, x)", "lang = 'en'"),
        ("lang = 'fr' and authority = 9", (0, 1), "authority = 9 (it has 3)", None),
    ],
)
def test_the_part_of_an_expression_that_excludes_it_is_named(
    where: str, unmet: tuple[int, ...], detail: str, rest: str | None
) -> None:
    filters, parts = excluding(where, *unmet)
    verdict = stored.filtered(replace(passage(), excluding=parts), filters)
    assert verdict is not None
    assert (verdict.stage, verdict.cause) == ("filtered", "where")
    assert detail in verdict.detail
    [change] = verdict.changes
    assert change.values == {"filters": {"where": rest}}
    assert change.command == (f"--filter {shlex.quote(rest)}" if rest else "leave out --filter")
    trial = applied(Trial(Asked("q", filters=filters), Config()), change)
    assert resolve(trial.asked.filters, {}, NOW.date()) == resolve(Filters(where=rest), {}, NOW.date())


def test_an_expression_that_the_passage_meets_excludes_nothing() -> None:
    filters, parts = excluding("authority >= 3 and lang = 'en'")
    assert stored.filtered(replace(passage(), excluding=parts), filters) is None


def test_a_fact_is_found_whatever_its_case_and_white_space() -> None:
    assert found("cool IT  for 20", REVISION.text) == Span(0, 14)
    assert found("20 hours", REVISION.text) is None
    assert found("  ", REVISION.text) is None
    assert found("a.c", "abc") is None
    assert dropped_why(REVISION, Span(2, 9)) == "heading"
    assert dropped_why(REVISION, Span(4, 9)) is None


def test_words_keep_what_belongs_together() -> None:
    assert words_of("¿Qué dosis de 2.5 mg, E-4021 o l'eau? mg") == [
        "Qué",
        "dosis",
        "de",
        "2.5",
        "mg",
        "E-4021",
        "o",
        "l'eau",
    ]


@pytest.mark.parametrize(
    ("name", "readings"),
    [
        ("a.md", [("a.md", None)]),
        ("a.md#3", [("a.md#3", None), ("a.md", 3)]),
        ("#3", [("#3", None)]),
        ("a#b", [("a#b", None)]),
        ("a#", [("a#", None)]),
        ("a#b#12", [("a#b#12", None), ("a#b", 12)]),
        ("a#٣", [("a#٣", None)]),
        ("a#9999999999", [("a#9999999999", None)]),
    ],
)
def test_an_expected_id_may_end_in_an_order(name: str, readings: list[tuple[str, int | None]]) -> None:
    assert list(Expected(name).readings()) == readings


def test_the_day_is_the_nearest_on_which_a_revision_held() -> None:
    older = replace(REVISION, effective_from=date(2023, 1, 1))
    newer = replace(REVISION, revision_id=uuid4(), number=2, effective_from=date(2024, 3, 1))
    current = replace(DOCUMENT, current_revision_id=newer.revision_id)
    asked = Trial(Asked("q"), Config())
    verdict = stored.not_current(passage(current, newer, older), asked, date(2025, 1, 1))
    assert verdict is not None
    assert verdict.changes[0].values == {"as_of": date(2024, 2, 29)}
    assert held_on((newer, older), date(2024, 2, 29)) == older
    ended = replace(older, valid_to=date(2023, 6, 30))
    verdict = stored.not_current(passage(current, newer, ended), asked, date(2025, 1, 1))
    assert verdict is not None
    assert verdict.changes[0].values == {"as_of": date(2023, 6, 30)}


def test_two_versions_of_one_day_cannot_be_told_by_a_day() -> None:
    newer = replace(REVISION, revision_id=uuid4(), number=2)
    current = replace(DOCUMENT, current_revision_id=newer.revision_id)
    verdict = stored.not_current(
        passage(current, newer, REVISION), Trial(Asked("q"), Config()), date(2025, 1, 1)
    )
    assert verdict is not None
    assert [c.kind for c in verdict.changes] == ["ingest"]


def test_labels_are_added_and_windows_opened() -> None:
    locked = replace(DOCUMENT, may_read=False, acl=["hr", "board"])
    one = stored.not_permitted(locked, ("public",), NOW)
    every = stored.not_permitted(replace(locked, acl_rule="all"), ("public", "hr"), NOW)
    assert one is not None
    assert every is not None
    assert one.changes[0].values == {"roles": ["public", "hr"]}
    assert every.changes[0].values == {"roles": ["public", "hr", "board"]}
    late = replace(locked, acl=["public"], readable_until=NOW - timedelta(days=1))
    window = stored.not_permitted(late, ("public",), NOW)
    assert window is not None
    assert (window.cause, window.changes[0].kind) == ("window", "access")
    assert window.changes[0].values["readable_until"] is None


def test_filters_that_exclude_are_named_and_others_are_not() -> None:
    filters = Filters(sources=("guides",), langs=("fr",), authority=4, revised_from=date(2020, 1, 1))
    verdict = stored.filtered(passage(), filters)
    assert verdict is not None
    assert verdict.changes[0].values == {"filters": {"langs": None, "authority": None, "revised_from": None}}
    assert verdict.changes[0].command == "leave out --doc-lang and --min-authority and --revised-from"
    assert stored.filtered(passage(), Filters(licenses=("CC0-1.0",))) is None


def test_changes_are_applied_to_a_request_and_its_configuration() -> None:
    trial = Trial(Asked("q", filters=Filters(langs=("fr",), authority=2)), Config())
    change = Change("request", {"k": 30, "filters": {"langs": None}}, "", {"search.pool": 400})
    changed = applied(trial, change)
    assert (changed.asked.k, changed.asked.filters, changed.config.search.pool) == (
        30,
        Filters(authority=2),
        400,
    )
    assert (trial.config.search.pool, trial.asked.k) == (100, None)
    assert applied(trial, Change("settings", {"answer.threshold": 0.1}, "")).config.answer.threshold == 0.1
    with pytest.raises(ValueError, match="restore"):
        applied(trial, Change("restore", {}, ""))


def test_the_rank_that_counts_as_found() -> None:
    assert Asked("q", verb="search").limit(12) == 10
    assert Asked("q", verb="ask").limit(12) == 12
    assert Asked("q", verb="ask").limit(5) == 10
    assert Asked("q", k=3, verb="ask").limit(12) == 3


def missed(query: str, stage: str, change: Change | None) -> Missed:
    diagnosis = Diagnosis(
        "q", f"doc-{query}", "s", None, 1, stage, None, "", None, change, (), (), "en", "hybrid", "search"  # type: ignore[arg-type]
    )  # fmt: skip
    return Missed(query, 1, diagnosis)


def test_the_remedy_is_the_single_change_that_mends_most() -> None:
    further = [missed(f"k{n}", "cut_by_k", Change("request", {"k": n}, f"-k {n}")) for n in range(11, 31)]
    gone = [missed(f"d{n}", "deleted", Change("restore", {}, f"veraz restore d{n}")) for n in range(3)]
    lost = [missed("x", "cut", None)]
    found = clusters([*gone, *further, *lost])
    assert [(c.stage, c.count) for c in found] == [("cut_by_k", 20), ("deleted", 3), ("cut", 1)]
    assert (found[0].remedy, found[0].mended) == ("-k 28", 18)
    assert found[1].remedy == "veraz restore what was deleted"
    assert (found[2].remedy, found[2].mended) == (None, 0)
    assert sum(c.share for c in found) == pytest.approx(1)
    assert best_remedy([*gone, *further, *lost]) == ("-k 28", 18)
    assert best_remedy([]) == (None, 0)


def test_what_is_followed_is_spread_over_all() -> None:
    every = [(f"q{n}", "d", 1) for n in range(100)]
    assert spread(every, 200) == every
    assert [q for q, _, _ in spread(every, 4)] == ["q0", "q25", "q50", "q75"]
