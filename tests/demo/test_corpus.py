"""The bundled corpus keeps the promises that the demonstration makes about it."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from veraz.demo import CORPUS, DEMO_QUESTIONS, SUPERSEDED_QUESTION

FILES = sorted(CORPUS.glob("*.md"))
REQUIRED = {
    "title",
    "url",
    "lang",
    "publisher",
    "published_at",
    "revised_at",
    "license",
    "jurisdiction",
    "document_type",
    "meta",
}


def front_matter(path: Path) -> tuple[dict[str, str], str]:
    _, head, body = path.read_text("utf-8").split("---\n", 2)
    return dict(line.split(": ", 1) for line in head.strip().splitlines()), body


def test_twenty_two_documents_in_three_languages() -> None:
    langs = [front_matter(path)[0]["lang"] for path in FILES]
    assert {lang: langs.count(lang) for lang in sorted(set(langs))} == {"en": 17, "es": 3, "fr": 2}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_each_document_is_complete_and_marked_as_a_demonstration(path: Path) -> None:
    head, body = front_matter(path)
    assert set(head) - {"supersedes"} == REQUIRED
    assert head["url"] == f"https://example.org/demo/{path.stem}"
    assert head["license"] == "CC0-1.0"
    assert date.fromisoformat(head["published_at"]) <= date.fromisoformat(head["revised_at"])
    assert "Demonstration text, not medical advice" in head["meta"]
    assert "Demonstration text, not medical advice" in body.strip().splitlines()[-1]
    assert body.strip().startswith(f"# {head['title']}\n")
    assert 4 <= len(re.findall(r"^## ", body, re.M)) <= 7
    assert 250 <= len(body.split()) <= 500


def test_the_superseded_leaflet_exists_and_says_something_else() -> None:
    pairs = {p.name: front_matter(p)[0].get("supersedes") for p in FILES}
    assert {name: old for name, old in pairs.items() if old} == {
        "fever-in-children.md": "fever-in-children-2019.md"
    }
    assert "lasts for 3 days or more" in (CORPUS / "fever-in-children-2019.md").read_text("utf-8")
    assert "lasts for 5 days or more" in (CORPUS / "fever-in-children.md").read_text("utf-8")


def test_questions_show_each_outcome_once_and_rest_on_the_documents() -> None:
    assert sorted(q.outcome for q in DEMO_QUESTIONS) == ["answered", "conflicting", "insufficient", "routed"]
    for question in (*DEMO_QUESTIONS, SUPERSEDED_QUESTION):
        text = " ".join((CORPUS / name).read_text("utf-8") for name in question.must_cite)
        if question.must_cite:
            assert all(said in text for said in question.must_say), question.question
