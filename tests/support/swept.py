"""A small judged set for sweeps: documents on subjects, some of them copies of one another, and questions that share words."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec

SUBJECTS = ("kidney", "liver", "heart", "lung", "skin", "bone", "nerve", "blood", "ear", "eye")
WORDS = ("pain", "dose", "child", "adult", "week", "risk", "test", "sign", "care", "drug", "food", "sleep")
SHARED = "Ask a doctor before you take any other drug with this one, and keep it away from children."


def judged_set(
    folder: Path, *, documents: int = 60, queries: int = 20, copies: int = 0, seed: int = 7
) -> Path:
    """Writes corpus, queries and qrels; equal arguments, equal files. `copies` further documents say the same."""
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    corpus = []
    for number in range(documents):
        subject = SUBJECTS[number % len(SUBJECTS)]
        sentences = [
            f"The {subject} and {' '.join(chance.choices(WORDS, k=5))} {chance.choice(SUBJECTS)}."
            for _ in range(12)
        ]
        corpus.append({"id": f"d{number}", "title": f"Note {number}", "text": " ".join(sentences)})
    corpus += [{"id": f"c{n}", "title": f"Leaflet {n}", "text": SHARED} for n in range(copies)]
    asked, judged = [], []
    for number in range(queries):
        subject = SUBJECTS[number % len(SUBJECTS)]
        words = " ".join(chance.choices(WORDS, k=3))
        asked.append({"id": f"q{number}", "text": f"{subject} {words} for children {number}"})
        judged += [
            (f"q{number}", f"d{d}", 1 + d % 2)
            for d in range(number % len(SUBJECTS), documents, len(SUBJECTS))
        ]
    (folder / "corpus.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, corpus)))
    (folder / "queries.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, asked)))
    (folder / "qrels.tsv").write_text("".join(f"{q}\t{d}\t{g}\n" for q, d, g in judged), encoding="utf-8")
    return folder
