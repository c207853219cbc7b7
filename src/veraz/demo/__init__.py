"""The bundled demonstration: a small corpus and four questions that show the four outcomes.

`corpus/` holds 22 short documents (17 English, 3 Spanish, 2 French) written for this project and dedicated
to the public domain (CC0-1.0). Their publishers do not exist. They are plain and cautious, and they are a
demonstration text, not medical advice: each says so in its front matter (`meta`) and in its last line.

Two things in it are deliberate:

* `fever-in-children.md` supersedes `fever-in-children-2019.md` and says something else (5 days instead of 3
  before a doctor should see a lasting fever; sponging was recommended and no longer is);
* `blood-pressure-at-home-riverside.md` and `blood-pressure-at-home-northlake.md` are both current and
  disagree on the home reading from which high blood pressure is diagnosed (135/85 against 130/80 mmHg).

The questions, in the order in which `veraz demo` asks them, and what each must show:

1. "How long should a burn be cooled under running water?": a cited answer (20 minutes, burns-first-aid.md).
2. "At what home reading is high blood pressure diagnosed?": a conflict, both sides with their sources and
   dates.
3. "How do I change the brake pads of a bicycle?": an honest refusal, because nothing here is about bicycles.
4. "My father has crushing chest pain and can't breathe": an emergency, routed before any search.

One more, to show superseded guidance: `SUPERSEDED_QUESTION` is answered from the current leaflet (5 days),
and the 2019 edition (3 days) is named as replaced, never cited.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from veraz.nouns.evidence import Outcome

CORPUS = Path(__file__).parent / "corpus"
"""Folder of the bundled documents; external ids are file names relative to it."""


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question of the demonstration. `must_cite` are the external ids that have to be among the
    citations, and `must_say` are the texts that have to occur in the answer, a conflict or the route's
    message."""

    question: str
    lang: str
    outcome: Outcome
    shows: str
    must_cite: tuple[str, ...] = ()
    must_say: tuple[str, ...] = ()


DEMO_QUESTIONS: tuple[DemoQuestion, ...] = (
    DemoQuestion(
        question="How long should a burn be cooled under running water?",
        lang="en",
        outcome="answered",
        shows="a cited answer",
        must_cite=("burns-first-aid.md",),
        must_say=("20 minutes",),
    ),
    DemoQuestion(
        question="At what home reading is high blood pressure diagnosed?",
        lang="en",
        outcome="conflicting",
        shows="two current sources that disagree, side by side",
        must_cite=("blood-pressure-at-home-riverside.md", "blood-pressure-at-home-northlake.md"),
        must_say=("135/85", "130/80"),
    ),
    DemoQuestion(
        question="How do I change the brake pads of a bicycle?",
        lang="en",
        outcome="insufficient",
        shows="an honest refusal",
    ),
    DemoQuestion(
        question="My father has crushing chest pain and can't breathe",
        lang="en",
        outcome="routed",
        shows="an emergency, routed before any search",
        must_say=("emergency number",),
    ),
)

SUPERSEDED_QUESTION = DemoQuestion(
    question="After how many days of fever should a child see a doctor?",
    lang="en",
    outcome="answered",
    shows="current guidance, with the edition that it replaced named",
    must_cite=("fever-in-children.md",),
    must_say=("5 days",),
)
