"""Asks real questions of an ingested health corpus, and checks every claim against what is stored.

python bench/answers.py --database URL --source medquad --data DIR [--out FILE.jsonl]

DIR holds liveqa_medquad and medquad. Asked are all consumer questions of LiveQA, titles of the corpus up to 200 questions in
all, and five off-topic questions. Reported: quotes that differ from text[start:end] of the stored revision (must be none), how
many of the questions with a good answer in the corpus (a judgement of 2 or 3) are answered with a citation of a judged document,
and which off-topic questions were not refused.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from veraz.config import load
from veraz.engine import AsyncVeraz
from veraz.nouns.answer import Answer
from veraz.search.store import Filters

OFF_TOPIC = (
    "Who won the football world cup in 1998?",
    "How do I change the brake pads of a bicycle?",
    "What is the boiling point of nitrogen?",
    "Which composer wrote The Magic Flute?",
    "How many moons does Saturn have?",
)
STORED = """
select substr(r.text, %(start)s + 1, %(end)s - %(start)s)
  from veraz.revision r join veraz.document d using (tenant_id, document_id) join veraz.source s using (tenant_id, source_id)
 where s.slug = %(source)s and d.external_id = %(external_id)s and r.number = %(revision)s
"""


def asked(data: Path, count: int) -> list[tuple[str, str]]:
    """(id, question): all of LiveQA, then titles of the corpus."""
    folder = data / "liveqa_medquad"
    found = [
        (q["id"], q["text"]) for q in map(json.loads, (folder / "queries.jsonl").read_text().splitlines())
    ]
    with gzip.open(data / "medquad" / "corpus.jsonl.gz", "rt") as file:
        titles = [(f"title {r['id']}", r["title"]) for r in map(json.loads, file)]
    return found + random.Random(7).sample(titles, max(0, count - len(found)))


def judged(data: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (data / "liveqa_medquad" / "qrels_open_subset.tsv").read_text().splitlines():
        query, document, grade = line.split("\t")
        grades[query][document] = int(grade)
    return grades


async def misquoted(veraz: AsyncVeraz, answer: Answer) -> list[str]:
    wrong = []
    async with veraz._database.maintenance() as connection:
        for citation in answer.citations:
            place: dict[str, Any] = {
                n: getattr(citation, n) for n in ("start", "end", "source", "external_id", "revision")
            }
            row = await (await connection.execute(STORED, place)).fetchone()
            if row is None or row[0] != citation.quote:
                wrong.append(f"{citation.external_id} {citation.start}-{citation.end}")
    return wrong + [c.text for c in answer.claims if not c.citations]


async def main(arguments: argparse.Namespace) -> None:
    grades = judged(arguments.data)
    good = {q for q, documents in grades.items() if max(documents.values()) >= 2}
    filters = Filters(sources=(arguments.source,))
    outcomes: Counter[str] = Counter()
    cited: Counter[str] = Counter()
    claims, wrong, rows = 0, list[str](), []
    async with await AsyncVeraz.open(config=load(flags={"database.url": arguments.database})) as veraz:
        for key, question in [
            *asked(arguments.data, arguments.count),
            *(("off-topic", q) for q in OFF_TOPIC),
        ]:
            answer = await veraz.ask(question, filters=filters)
            outcomes[
                f"{key.split()[0] if key.startswith(('title', 'off')) else 'liveqa'} {answer.outcome}"
            ] += 1
            claims += len(answer.claims)
            wrong += await misquoted(veraz, answer)
            best = max((grades.get(key, {}).get(c.external_id, -1) for c in answer.citations), default=-1)
            if key in good:
                for least in (0, 1, 2):
                    cited[f"cites a document judged >= {least}"] += best >= least
                cited["answered"] += answer.outcome in ("answered", "conflicting")
            rows.append(
                {
                    "id": key,
                    "question": question,
                    "outcome": answer.outcome,
                    "best": best,
                    "good": key in good,
                    "sufficiency": answer.sufficiency,
                    "reason": answer.reason,
                    "answer": answer.answer,
                }
            )
    print(f"{len(rows)} questions, {claims} claims, misquoted: {wrong or 'none'}")
    print(dict(sorted(outcomes.items())))
    print(f"of {len(good)} questions with a good answer in the corpus: {dict(cited)}")
    if arguments.out:
        arguments.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--out", type=Path)
    asyncio.run(main(parser.parse_args()))
