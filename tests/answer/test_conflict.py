from __future__ import annotations

from datetime import date

import pytest
from answer_evidence import document, embed, hits_of, key, vector

from veraz.answer.conflict import Statement, conflicts, disagreements
from veraz.answer.select import select
from veraz.demo import CORPUS, DEMO_QUESTIONS
from veraz.nouns.answer import Conflict


def said(text: str, n: int, doc: str, context: str = "", **more: object) -> Statement:
    return Statement(text, context, (n,), ("demo", doc), **more)  # type: ignore[arg-type]


def between(a: str, b: str, context: str = "", other: str | None = None) -> tuple[Conflict, ...]:
    return conflicts([said(a, 1, "a", context), said(b, 2, "b", context if other is None else other)])


DISAGREE = [
    (
        "High blood pressure is diagnosed when the average home blood pressure is 135/85 mmHg or higher.",
        "High blood pressure is diagnosed when the average home blood pressure is 130/80 mmHg or higher.",
    ),
    (
        "See a doctor when a fever in a child lasts for 5 days or more.",
        "See a doctor when a fever in a child lasts for 3 days or more.",
    ),
    (
        "Cool a burn under running water for 20 minutes.",
        "Hold the burn under cool running water for 10 minutes.",
    ),
    ("Tighten the flange bolts to 60 Nm in two steps.", "Tighten the flange bolts to 45 Nm in three steps."),
    (
        "Wash your hands with soap for at least 20 seconds.",
        "Wash your hands with soap for at least 40 seconds.",
    ),
    ("A tetanus booster is given every 10 years.", "A tetanus booster is given every 20 years."),
    (
        "Sponging a feverish child with lukewarm water is recommended.",
        "Sponging a feverish child with lukewarm water is not recommended.",
    ),
    ("Blisters of a burn should be opened early.", "Blisters of a burn should not be opened early."),
    ("La fiebre debe durar 3 días antes de consultar.", "La fiebre debe durar 5 días antes de consultar."),
    ("La diarrhée dure en général 3 jours.", "La diarrhée dure en général 7 jours."),
]

AGREE = [
    # other people
    ("The usual dose for adults is 1000 mg.", "The usual dose for children is 250 mg."),
    ("A fever in children lasts 3 days.", "A fever in babies lasts 1 day."),
    ("Pregnant women should avoid raw fish.", "Adults should eat raw fish."),
    # other ages
    ("Children under 2 years take 5 ml of syrup.", "Children under 12 years take 10 ml of syrup."),
    # other medicines
    ("The largest daily dose of ibuprofen is 1200 mg.", "The largest daily dose of naproxen is 500 mg."),
    ("The largest daily dose of paracetamol is 4000 mg.", "The largest daily dose of aspirin is 3000 mg."),
    # other units, other things measured
    ("Take 5 ml of syrup every day.", "Take 5 mg of syrup every day."),
    ("Rest for 5 minutes before the reading.", "Take two readings one minute apart in the evening."),
    ("Unopened insulin keeps in the fridge for 2 years.", "The tetanus booster is due after 10 years."),
    # ranges that hold each other or meet
    ("A sore throat lasts 3 to 7 days.", "A sore throat lasts about 5 days."),
    ("A sore throat lasts 3 to 7 days.", "A sore throat lasts 5 to 10 days."),
    ("Sleep needs 7 to 9 hours.", "Sleep needs at least 7 hours."),
    # the same in other units
    ("Wait for 24 hours after the last dose.", "Wait for 1 day after the last dose."),
    ("The maximum dose of paracetamol is 4 g.", "The maximum dose of paracetamol is 4000 mg."),
    # advice that points the same way, or at something else
    ("Sponging a child is not recommended.", "Do not sponge a child."),
    ("You should wash the wound with water.", "You should not drive after the injection."),
    ("Ice should not be put on a burn.", "Cling film should be put on a burn."),
    # words in common and nothing to compare
    ("Most fevers pass without treatment.", "Most fevers come from viral infections."),
]


@pytest.mark.parametrize(("a", "b"), DISAGREE)
def test_sources_that_contradict_each_other_are_found(a: str, b: str) -> None:
    (found,) = between(a, b)
    assert {side.text for side in found.sides} == {a, b}
    assert {side.citations for side in found.sides} == {(1,), (2,)}
    assert found.topic


@pytest.mark.parametrize(("a", "b"), AGREE)
def test_sources_about_different_things_or_of_one_mind_are_not(a: str, b: str) -> None:
    assert between(a, b) == ()
    assert between(b, a) == ()


def test_titles_tell_medicines_and_people_apart() -> None:
    a, b = "The maximum dose is 4000 mg in 24 hours.", "The maximum dose is 1200 mg in 24 hours."
    assert between(a, b, "Paracetamol", "Ibuprofen") == ()
    assert between(a, b, "Paracetamol in adults", "Paracetamol in children") == ()
    assert len(between(a, b, "Paracetamol", "Paracetamol")) == 1


def test_one_document_does_not_contradict_itself() -> None:
    statements = [said("Rest for 5 minutes at home.", 1, "a"), said("Rest for 9 minutes at home.", 2, "a")]
    assert conflicts(statements) == ()


def test_sides_come_by_authority_and_then_date_and_equal_values_share_a_side() -> None:
    text = "Cool a burn under running water for {} minutes."
    statements = [
        said(text.format(10), 1, "a", authority=2, revised_at=date(2024, 1, 1)),
        said(text.format(20), 2, "b", authority=5, revised_at=date(2019, 1, 1)),
        said(text.format(10), 3, "c", authority=2, revised_at=date(2025, 1, 1)),
        said(text.format(30), 4, "d", authority=2, revised_at=None),
    ]
    (found,) = conflicts(statements)
    assert [side.citations for side in found.sides] == [(2,), (1, 3), (4,)]
    assert found.sides[1].text == text.format(10)
    assert conflicts(statements[::-1]) == conflicts(statements)


def test_publisher_names_are_no_subject() -> None:
    a = "The Riverside Library recommends that a lasting fever is seen after 5 days."
    b = "Northlake Care Guides recommends that a lasting fever is seen after 3 days."
    found = conflicts(
        [said(a, 1, "a", names="Riverside Library"), said(b, 2, "b", names="Northlake Care Guides")]
    )
    assert len(found) == 1
    assert "riverside" not in found[0].topic


def test_a_topic_is_words_and_the_unit() -> None:
    (found,) = between("Tighten the flange bolts to 60 Nm.", "Tighten the flange bolts to 45 Nm.")
    assert found.topic == "Tighten the flange bolts (Nm)"


def test_only_statements_about_the_question_take_part() -> None:
    a, b = DISAGREE[2]
    assert len(conflicts([said(a, 1, "a"), said(b, 2, "b")], terms={"burn": 2.0, "water": 1.0})) == 1
    assert conflicts([said(a, 1, "a"), said(b, 2, "b")], terms={"insulin": 5.0, "burn": 1.0}) == ()


def test_vectors_that_are_further_apart_than_usual_are_not_compared() -> None:
    near, far = vector("burn water"), vector("insulin fridge")
    texts = [DISAGREE[2][0], DISAGREE[2][1]]
    others = [said(f"Something else entirely number {n}.", 3 + n, f"x{n}", vector=near) for n in range(4)]
    alike = [said(texts[0], 1, "a", vector=near), said(texts[1], 2, "b", vector=near)]
    apart = [said(texts[0], 1, "a", vector=near), said(texts[1], 2, "b", vector=far)]
    assert len(conflicts([*alike, *others])) == 1
    assert conflicts([*apart, *others]) == ()


def test_the_demonstration_pair_is_found_and_cited() -> None:
    question = next(q for q in DEMO_QUESTIONS if q.outcome == "conflicting")
    hits, texts = [], {}
    for name in question.must_cite:
        raw = (CORPUS / name).read_text("utf-8")
        _, head, text = raw.split("---\n", 2)
        about = dict(line.split(": ", 1) for line in head.strip().splitlines())
        ref = document(
            name,
            about["title"],
            publisher=about["publisher"],
            revised_at=date.fromisoformat(about["revised_at"]),
        )
        hits += hits_of(ref, text, first_rank=len(hits) + 1)
        texts[key(ref)] = text
    selection = select(question.question, hits, texts, embed, vector(question.question), lang="en")
    found, cited = disagreements(selection)
    (conflict,) = found
    assert len(conflict.sides) == 2
    assert all(any(value in side.text for side in conflict.sides) for value in question.must_say)
    assert "130/80" in conflict.sides[0].text  # the newer one first
    numbers = {n for side in conflict.sides for n in side.citations}
    assert {cited[n - 1].external_id for n in numbers} == set(question.must_cite)
    assert [c.n for c in cited] == list(range(1, len(cited) + 1))
    assert cited[: len(selection.citations)] == selection.citations


def test_other_questions_of_the_demonstration_meet_no_conflict() -> None:
    hits, texts = [], {}
    for path in sorted(CORPUS.glob("*.md")):
        if path.name == "fever-in-children-2019.md":
            continue
        head, text = path.read_text("utf-8").split("---\n", 2)[1:]
        about = dict(line.split(": ", 1) for line in head.strip().splitlines())
        if about["lang"] != "en":
            continue
        ref = document(path.name, about["title"], publisher=about["publisher"])
        hits += hits_of(ref, text, first_rank=len(hits) + 1)
        texts[key(ref)] = text
    for question in (
        "What is the maximum dose of paracetamol for adults?",
        "How long should a burn be cooled under running water?",
        "After how many days of fever should a child see a doctor?",
        "How long can insulin be kept at room temperature?",
        "When should a sore throat be seen by a doctor?",
        "How much ibuprofen may an adult take?",
        "How often do adults need a tetanus booster?",
        "How many readings of blood pressure should I take?",
    ):
        selection = select(question, hits, texts, embed, vector(question), lang="en")
        assert disagreements(selection)[0] == (), question


def test_nothing_to_compare() -> None:
    assert conflicts([]) == ()
    assert conflicts([said("Rest for 5 minutes.", 1, "a")]) == ()


def row(label: str, dose: str, n: int) -> Statement:
    shown = f"Co-administered drug and dosing regimen: {label}; Atorvastatin Dose (mg): {dose} QD; Change in AUC: up"
    return said(shown, n, f"d{n}", "Atorvastatin", cells=f"| {label} | {dose} QD | up |")


def test_rows_under_the_same_column_names_disagree_only_about_what_their_cells_name() -> None:
    assert conflicts([row("Grapefruit juice", "40 mg", 1), row("Antipyrine tablets", "80 mg", 2)]) == ()
    assert len(conflicts([row("Grapefruit juice", "40 mg", 1), row("Grapefruit juice", "80 mg", 2)])) == 1
