"""Which sentences are about what a question names."""

from __future__ import annotations

import pytest
from tests.answer.answer_evidence import document, hits_of, key

from veraz.answer.measures import implied, names_unit
from veraz.answer.named import about
from veraz.answer.sentences import candidates
from veraz.answer.sufficiency import Shortfall, heavy_terms, shortfall
from veraz.answer.words import Terms


def kept(question: str, text: str, title: str = "Faults") -> list[str]:
    ref = document("d", title)
    return [c.shown for c in about(question, candidates(hits_of(ref, text), {key(ref): text}))]


ONE = "## Fault E-4021\n\nReplace the relay K3 now.\n\n## Fault E-4102\n\nClose the guard door first."


@pytest.mark.parametrize(
    ("question", "text", "title", "expected"),
    [
        ("relay for E-4021?", ONE, "Faults", ["Replace the relay K3 now."]),
        ("relay for E4102?", ONE, "Faults", ["Close the guard door first."]),
        ("relay for E 4102?", ONE, "Faults", ["Close the guard door first."]),
        ("E-4021 or E-4102?", ONE, "Faults", ["Replace the relay K3 now.", "Close the guard door first."]),
        ("is K3 for E-4102?", ONE, "Faults", ["Close the guard door first."]),
        (
            "relay for E-4021?",
            "Replace the relay right now.",
            "Fault E-4021",
            ["Replace the relay right now."],
        ),
        ("relay for E-4102?", "Replace the relay right now.", "Fault E-4021", []),
        ("relay for E-4102?", "Replace the relay right now.", "Faults", []),
        (
            "what of E-4102?",
            "E-4021 is the relay fault. Replace the relay right now. E-4102 is the door fault. Close the guard door first.",
            "Faults E-4021 and E-4102",
            ["E-4102 is the door fault.", "Close the guard door first."],
        ),
        (
            "what of E-4102?",
            "| Code | Part to replace |\n|---|---|\n| E-4021 | the relay K3 |\n| E-4102 | no part at all |",
            "Faults E-4021 and E-4102",
            ["Code: E-4102; Part to replace: no part at all"],
        ),
        (
            "Can I take ibuprofen 800 mg?",
            "Take ibuprofen 400 mg after a meal. Take ibuprofen 800 mg at night only.",
            "Ibuprofen",
            ["Take ibuprofen 800 mg at night only."],
        ),
        (
            "How is type 2 diabetes treated?",
            "In type 1 diabetes insulin is needed. In type 2 diabetes diet comes first. Ask your doctor about it.",
            "Diabetes",
            ["In type 2 diabetes diet comes first.", "Ask your doctor about it."],
        ),
        (
            "What is the maximum daily dose of ibuprofen tablets?",
            "Dose range: 10 to 80 mg once daily.",
            "LIPITOR (atorvastatin calcium) tablets",
            [],
        ),
        (
            "How should the dose of warfarin be adjusted?",
            "Consider a starting dose of 25 mg in older patients.",
            "VIAGRA (sildenafil citrate) tablets",
            [],
        ),
        (
            "Which dose is taken with warfarin?",
            "Halve the dose in patients on warfarin.",
            "VIAGRA (sildenafil citrate) tablets",
            ["Halve the dose in patients on warfarin."],
        ),
        (
            "¿Cuál es la dosis de atorvastatina?",
            "The dose range is 10 to 80 mg daily.",
            "LIPITOR (atorvastatin calcium) tablets",
            ["The dose range is 10 to 80 mg daily."],
        ),
        (
            "What is the dose of ibuprofen?",
            "Take one tablet every six hours.",
            "Advil leaflet",
            ["Take one tablet every six hours."],
        ),
        (
            "What lowers cholesterol in adults?",
            "Take 10 mg once a day with water.",
            "LIPITOR (atorvastatin calcium) tablets",
            ["Take 10 mg once a day with water."],
        ),
        ("Which relay is it?", "Replace the relay K3 now.", "Faults", ["Replace the relay K3 now."]),
    ],
)
def test_a_sentence_belongs_to_the_name_that_stands_nearest(
    question: str, text: str, title: str, expected: list[str]
) -> None:
    assert kept(question, text, title) == expected


def test_what_is_only_said_of_another_name_is_not_together() -> None:
    chunks = ["Fault E-4021: replace relay K3.", "Fault E-7730: wait until it is cool."]
    terms = {"relay": 3.0, "replaced": 2.0, "fault": 0.1, "7730": 2.0}
    assert shortfall("Which relay is replaced for fault E-7730?", terms, chunks, chunks[1:]) == Shortfall(
        "not_together", ("E-7730", "relay")
    )
    assert shortfall("How is fault E-7730 mended?", {"fault": 0.1, "mended": 3.0}, chunks, chunks[1:]) is None


@pytest.mark.parametrize(
    ("missing", "sentence", "is_said"),
    [
        ("torque", "Tighten the flange bolts to 45 Nm.", True),
        ("torque", "Tighten the flange bolts to 45 mm.", False),
        ("torque", "Tighten the flange to 45 Nm.", False),
        ("couple", "Flange: bolts to 45 N·m.", True),
        ("nitrogen", "Tighten the flange bolts to 45 Nm.", False),
    ],
)
def test_a_unit_states_its_measure(missing: str, sentence: str, is_said: bool) -> None:
    assert implied([missing], Terms({missing: 3.0, "flange": 1.0, "bolts": 1.0}), [sentence]) is is_said


def test_a_missing_measure_that_is_stated_by_its_unit_is_no_shortfall() -> None:
    terms = {"torque": 3.0, "flange": 1.0, "bolts": 1.0}
    said = ["Tighten the flange bolts to 45 Nm in three steps."]
    assert shortfall("What torque for the flange bolts?", terms, said, said) is None
    assert shortfall(
        "What torque for the flange bolts?", terms, said, ["Tighten the flange bolts."]
    ) == Shortfall("missing_words", ("torque",))


@pytest.mark.parametrize(
    "word",
    [
        "say",
        "tells",
        "described",
        "mentions",
        "according",
        "article",
        "document",
        "allowed",
        "permitted",
        "possible",
    ],
)
def test_words_that_report_are_no_subject(word: str) -> None:
    assert heavy_terms({word: 9.0, "relay": 1.0}) == ("relay",)


@pytest.mark.parametrize(
    "word", ["dice", "segun", "disent", "selon", "sagt", "laut", "volgens", "secondo", "diz"]
)
def test_nor_are_they_in_other_languages(word: str) -> None:
    assert heavy_terms({word: 9.0, "relay": 1.0}) == ("relay",)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is the limit in Fahrenheit?", True),
        ("To how many Nm are they tightened?", True),
        ("¿Cuántos mg son?", True),
        ("How many days does it take?", False),
        ("What is the limit?", False),
    ],
)
def test_a_unit_that_is_asked_for(question: str, named: bool) -> None:
    assert names_unit(question) is named
