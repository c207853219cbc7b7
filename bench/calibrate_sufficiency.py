"""Fits the coefficients of answer/sufficiency.toml, and says what threshold keeps wrong answers rare.

python bench/calibrate_sufficiency.py --database URL --source medquad --data DIR [--write FILE]

DIR holds the folders medquad, us_labels and selfaware. Three kinds of question are asked, none of them from a test set:

* answerable: lay wordings of a question type about a focus that the corpus has ("how is X treated");
* absent but near: the same wordings about medicines that the corpus does not mention;
* absent and far: general knowledge questions.

A fifth of each kind is held out from the fit; the figures are of that fifth.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from veraz.answer import sufficiency
from veraz.answer.pipeline import assess
from veraz.config import load
from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Identity
from veraz.search.store import Filters

WORDINGS = {
    "symptoms": (
        "what are the signs of {}",
        "how do I know if I have {}",
        "{} symptoms",
        "my mother may have {}, what would we notice?",
    ),
    "treatment": (
        "how is {} treated",
        "what can be done about {}?",
        "is there a cure for {}",
        "best medicine for {}",
    ),
    "causes": ("why do people get {}", "what brings on {}?", "cause of {}"),
    "information": (
        "what is {}?",
        "tell me about {}",
        "explain {} to me please",
        "where can I read about {}",
    ),
    "inheritance": ("does {} run in families?", "is {} genetic", "can I pass {} on to my children?"),
    "prevention": (
        "how can I avoid {}?",
        "what lowers the chance of {}",
    ),
    "outlook": ("what is the outlook for someone with {}", "can you die of {}?"),
    "exams and tests": ("how do doctors test for {}", "how is {} found out?"),
}
ABSENT = (
    "what are the side effects of {}",
    "how much {} can I take?",
    "what is {}?",
    "can I drink alcohol with {}",
    "is {} safe in pregnancy?",
    "does {} cause headaches",
    "how should {} be stored?",
    "how is {} given",
)

AROUND = (
    "{}",
    "{}",
    "I am 65 years old. {}",
    "My doctor mentioned this last week and I forgot to ask: {}",
    "{} And where can my son be tested for it in southern California?",
    "{} I also take a calcium supplement with magnesium.",
    "Re: question from a reader. {} Thank you!",
    "{} Is there current research on this, and which specialist knows most about it?",
)
"""People say more than they ask: what stands around a question must not decide whether it can be answered."""


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def questions(data: Path, count: int, seed: int) -> list[tuple[str, bool, str]]:
    """(question, answerable, kind), shuffled."""
    rng = random.Random(seed)
    records = list(lines(data / "medquad" / "corpus.jsonl.gz"))
    everything = " ".join(r["text"].lower() for r in records)
    known = [(r["focus"], r["qtype"]) for r in records if r["qtype"] in WORDINGS and 3 < len(r["focus"]) < 50]
    near = sorted(
        {r["title"].split(" – ")[0] for r in lines(data / "us_labels" / "tac2017_sections.jsonl.gz")}
    )
    near = [name.title() for name in near if name.lower() not in everything]
    far = [
        r["question"]
        for r in lines(data / "selfaware" / "questions.jsonl.gz")
        if len(r["question"].split()) > 4
    ]
    asked = [
        (rng.choice(WORDINGS[kind]).format(focus), True, "answerable")
        for focus, kind in rng.sample(known, count)
    ]
    asked += [(rng.choice(ABSENT).format(rng.choice(near)), False, "near") for _ in range(count)]
    asked += [(question, False, "far") for question in rng.sample(far, count)]
    rng.shuffle(asked)
    return [(rng.choice(AROUND).format(question), answerable, kind) for question, answerable, kind in asked]


async def measure(
    veraz: AsyncVeraz, identity: Identity, source: str, question: str
) -> tuple[sufficiency.Signals, bool]:
    """The signals, and whether a rule already refuses."""
    filters = Filters(sources=(source,))
    run = await veraz._search(
        identity, question, veraz.config.answer.evidence, "hybrid", "en", filters, None, False, False
    )
    found = assess(await veraz._gather(identity, question, run))
    return sufficiency.Signals(**found.signals), found.lacking is not None


async def main(arguments: argparse.Namespace) -> None:
    asked = questions(arguments.data, arguments.count, arguments.seed)
    samples = []
    async with await AsyncVeraz.open(config=load(flags={"database.url": arguments.database})) as veraz:
        identity = await veraz.identity()
        space = (await veraz.space()).spec.name
        for question, answerable, kind in asked:
            measured, refused = await measure(veraz, identity, arguments.source, question)
            samples.append((measured, answerable, kind, refused, question))
    held_out = samples[: len(samples) // 5]
    training = [(s[0], s[1]) for s in samples[len(held_out) :] if not s[3]]
    coefficients = sufficiency.fit(
        training,
        without=arguments.without.split(","),
        provenance={
            "method": "logistic regression, bench/calibrate_sufficiency.py",
            "questions": "templated questions about foci of a health corpus, absent medicines, general knowledge",
            "space": "any" if arguments.without else space,
            "held_out": len(held_out),
            "seed": arguments.seed,
            "made_at": datetime.now(UTC).date().isoformat(),
        },
    )
    print("as they are:")
    report(samples, sufficiency.load())
    print("fitted, on the held-out fifth:")
    report(held_out, coefficients)
    if arguments.write:
        sufficiency.dump(coefficients, arguments.write)


def report(
    held_out: list[tuple[sufficiency.Signals, bool, str, bool, str]], coefficients: sufficiency.Coefficients
) -> None:
    print(
        {name: round(weight, 3) for name, weight in coefficients.weights.items()},
        round(coefficients.intercept, 3),
    )
    scored = [
        (0.0 if refused else sufficiency.probability(measured, coefficients), kind, question)
        for measured, _, kind, refused, question in held_out
    ]
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        shares = {}
        for kind in ("answerable", "near", "far"):
            values = [p for p, k, _ in scored if k == kind]
            shares[kind] = sum(p >= threshold for p in values) / len(values)
        answered = [k for p, k, _ in scored if p >= threshold]
        risk = sum(k != "answerable" for k in answered) / max(1, len(answered))
        print(f"threshold {threshold}: answered {shares}, wrongly {risk:.3f}")
    for p, kind, question in sorted(scored, reverse=True):
        if (kind != "answerable" and p > 0.5) or (kind == "answerable" and p < 0.5):
            print(f"  {p:.2f} {kind:10s} {question}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--count", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", default="", help="signals to leave out, comma-separated")
    parser.add_argument("--write", type=Path, help="where the coefficients go")
    asyncio.run(main(parser.parse_args()))
