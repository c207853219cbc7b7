from __future__ import annotations

from datetime import date
from uuid import uuid4

import pytest

from veraz.answer.render import answer_text, conflict_text, reason_text
from veraz.answer.sufficiency import Shortfall
from veraz.nouns.answer import Citation, Claim, Conflict, ConflictSide


def test_claims_become_a_text_with_markers() -> None:
    claims = [Claim("Cool a burn for 20 minutes.", (1, 3), 0.9), Claim("Do not use ice.", (2,), 0.8)]
    assert answer_text(claims) == "Cool a burn for 20 minutes. [1][3] Do not use ice. [2]"
    assert answer_text([]) == ""


@pytest.mark.parametrize(
    ("lang", "expected"),
    [
        (
            "en",
            "The sources say nothing about “brake” and “bicycle”, so this question cannot be answered from them.",
        ),
        (
            "es",
            "Las fuentes no dicen nada sobre “brake” y “bicycle”, así que esta pregunta no se puede responder con ellas.",
        ),
        (
            "fr",
            "Les sources ne disent rien sur “brake” et “bicycle” ; elles ne permettent pas de répondre à cette question.",
        ),
        (
            "de",
            "The sources say nothing about “brake” and “bicycle”, so this question cannot be answered from them.",
        ),
    ],
)
def test_a_refusal_names_what_is_missing(lang: str, expected: str) -> None:
    assert reason_text(Shortfall("missing_words", ("brake", "bicycle")), lang) == expected


@pytest.mark.parametrize("lang", ["en", "es", "fr"])
def test_every_reason_is_a_sentence(lang: str) -> None:
    reasons = [
        reason_text(Shortfall("no_evidence", ()), lang),
        reason_text(Shortfall("missing_identifiers", ("E-9999",)), lang),
        reason_text(None, lang),
        reason_text(None, lang, otherwise="dropped"),
        reason_text(None, lang, otherwise="unread"),
    ]
    assert len(set(reasons)) == 5
    assert all(reason.endswith(".") and "{" not in reason for reason in reasons)
    assert "E-9999" in reasons[1]


def test_sides_stand_with_their_sources_and_dates() -> None:
    def cited(n: int, title: str, revised_at: date | None) -> Citation:
        return Citation(n, f"d{n}", "demo", title, None, 1, revised_at, uuid4(), 0, (), None, 0, 1, "x", None)

    conflict = Conflict(
        "fever (time)", (ConflictSide("After 5 days.", (1,)), ConflictSide("After 3 days.", (2,)))
    )
    shown = conflict_text([conflict], [cited(1, "New", date(2024, 5, 20)), cited(2, "Old", None)], "en")
    assert shown == (
        "The sources disagree on: fever (time).\n"
        "- After 5 days. [1] (New, demo, 2024-05-20)\n"
        "- After 3 days. [2] (Old, demo)"
    )
