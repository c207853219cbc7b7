"""Questions in one language over documents in another: what each arm and both together find, for every pair of languages.

python bench/cross_language.py DATA [--cases 100] [--asked 100] [--set cases|medicines] [--cache FOLDER] [--json FILE]

Two sets of DATA, each document a record of its own:

- `cases` (casimedicos_parallel): the explanation that a physician wrote for an examination question is the document, in English,
  Spanish, French and Italian. Asked is the beginning of the case (`case`, up to fifty words), and the right option alone
  (`option`, a few words). Relevant is the explanation of the same case in the language that is searched.
- `medicines` (ema_leaflets_en, aemps_epi_es): sections of the English leaflets and of the Spanish product information of the
  medicines that both have, among others. Asked is what one is for, how it is kept and what is in it: a name decides.

Every language gets a tenant of its own, so that the documents are in that language alone; in one more, `mixed`, all stand
together, and relevant are all translations. The question's language is never stated. Measures are those of `veraz eval`.
Differences are paired, with a bootstrap interval of 95 %. On the server that tests share, or $VERAZ_TEST_SERVER; a fresh
database, dropped afterwards. `--cache` keeps vectors by the text that they are of.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.db.server_fixture import test_server
from tests.support import databases

from veraz.config import load
from veraz.engine import AsyncVeraz
from veraz.evaluation.measures import Measure, score
from veraz.evaluation.statistics import compare
from veraz.nouns.corpus import EmbeddingBatch, SpaceSpec, TextKind
from veraz.providers.embedders.local import LocalE5
from veraz.providers.ports import Embedder

LANGUAGES = ("en", "es", "fr", "it")
MIXED = "mixed"
MEASURES = (Measure("ndcg", 10), Measure("recall", 20))
MODES = ("lexical", "semantic", "hybrid")
K = 20
LONGEST = 160
"""Words of an explanation that is taken; the cases differ in length by a factor of twenty."""


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    about: str  # what its translations have in common
    lang: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    kind: str
    lang: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class Material:
    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(d.lang for d in self.documents))


# The cases

_ANSWER = re.compile(r"^[A-ZÉÈ ]*(?:ANSWER|RÉPONSE|RISPOSTA)[A-ZÉÈ ]*:\s*([1-5])\s*$", re.MULTILINE)
_OPTION = re.compile(r"^\s*([1-5])\s?[-.)]\s*(.+?)\s*$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.?!])\s+")


@dataclass(frozen=True, slots=True)
class Case:
    beginning: str
    option: str
    explanation: str


def read_case(text: str) -> Case | None:
    """None where the text is not laid out like the others."""
    answer, start = _ANSWER.search(text), re.search(r"CLINICAL CASE ?:", text)
    if answer is None or start is None:
        return None
    told = text[start.end() : answer.start()]
    options = {match[1]: match for match in _OPTION.finditer(told)}
    if answer[1] not in options or "1" not in options:
        return None
    option = options[answer[1]][2]
    told, explanation = told[: options["1"].start()].strip(), text[answer.end() :].strip()
    words: list[str] = []
    for sentence in _SENTENCE.split(" ".join(told.split())):
        if words and len(words) + len(sentence.split()) > 50:
            break
        words += sentence.split()[:50]
    return Case(" ".join(words), option, explanation)


def cases(data: Path, most: int, asked: int) -> Material:
    """`asked`: of how many cases questions are asked; the others are there to be confused with."""
    texts: dict[str, dict[str, Case]] = defaultdict(dict)
    for row in _rows(data / "casimedicos_parallel"):
        case = read_case(row["text"])
        if case is not None and 20 <= len(case.explanation.split()) <= LONGEST and case.beginning:
            texts[row["group"]][row["lang"]] = case
    groups = sorted((g for g, found in texts.items() if len(found) == len(LANGUAGES)), key=_digest)[:most]
    documents, questions = [], []
    for number, group in enumerate(groups):
        for lang in LANGUAGES:
            case = texts[group][lang]
            documents.append(Document(f"{group}-{lang}", group, lang, "", case.explanation))
            if number >= asked:
                continue
            questions += [
                Question(f"case-{group}", "case", lang, group, case.beginning),
                Question(f"option-{group}", "option", lang, group, case.option),
            ]
    return Material("cases", tuple(documents), tuple(questions))


# The medicines

SECTIONS = {
    "use": ("4.1.", "1."),
    "kept": ("6.4.", "5."),
    "content": ("6.1.", "6."),
}
"""What is asked → the section of a product information, and of a leaflet, that says it."""
ASKED = {
    "en": {
        "use": "What is {} used for?",
        "kept": "How should {} be stored?",
        "content": "Which other ingredients does {} contain?",
    },
    "es": {
        "use": "¿Para qué se utiliza {}?",
        "kept": "¿Cómo se debe conservar {}?",
        "content": "¿Qué otros componentes contiene {}?",
    },
}


def medicines(data: Path, others: int = 20) -> Material:
    """Those in both languages, and `others` of either beside them."""
    spanish, english = _product_information(data), _leaflets(data)
    both = sorted(spanish.keys() & english.keys())
    documents, questions = [], []
    for lang, found in (("es", spanish), ("en", english)):
        rest = sorted(found.keys() - set(both), key=_digest)[:others]
        for name in [*both, *rest]:
            documents += [
                Document(f"{name}-{what}-{lang}", f"{name}-{what}", lang, title, text)
                for what, (title, text) in found[name].items()
            ]
        questions += [
            Question(f"{what}-{name}", what, lang, f"{name}-{what}", ASKED[lang][what].format(name.title()))
            for name in both
            for what in SECTIONS
        ]
    return Material("medicines", tuple(documents), tuple(questions))


Sections = dict[str, dict[str, tuple[str, str]]]
"""Name of a medicine → what is asked → title and text of the section that says it."""


def _product_information(data: Path) -> Sections:
    newest: dict[str, str] = {}
    rows = [row for row in _rows(data / "aemps_epi_es") if "[SmPC]" in row["title"]]
    for row in rows:
        name = row["title"].split()[0].lower().strip(",")
        newest[name] = max(newest.get(name, ""), f"{row['date']} {row['doc']}")
    found: Sections = defaultdict(dict)
    for row in rows:
        name = row["title"].split()[0].lower().strip(",")
        if newest[name] == f"{row['date']} {row['doc']}":
            _keep(found[name], row, row["title"].partition("[SmPC] ")[2], 0)
    return {name: parts for name, parts in found.items() if len(parts) == len(SECTIONS)}


def _leaflets(data: Path) -> Sections:
    found: Sections = defaultdict(dict)
    for row in _rows(data / "ema_leaflets_en"):
        name, _, heading = row["title"].partition(": ")
        if name.isalpha():
            _keep(found[name.lower()], row, heading, 1)
    return {name: parts for name, parts in found.items() if len(parts) == len(SECTIONS)}


def _keep(parts: dict[str, tuple[str, str]], row: Mapping[str, Any], heading: str, column: int) -> None:
    for what, numbers in SECTIONS.items():
        if heading.startswith(numbers[column] + " "):
            parts.setdefault(what, (row["title"], row["text"]))


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


# Running


class KeptVectors:
    """A model whose vectors are kept in a folder, by the text that they are of."""

    def __init__(self, model: Embedder, folder: Path) -> None:
        self._model, self._folder = model, folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def space(self) -> SpaceSpec:
        return self._model.space

    @property
    def gives_tokens(self) -> bool:
        return False

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._model.count_tokens(texts)

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        files = [self._folder / f"{hashlib.sha256(f'{kind} {t}'.encode()).hexdigest()}.npy" for t in texts]
        new = [n for n, file in enumerate(files) if not file.exists()]
        if new:
            made = await self._model.embed([texts[n] for n in new], kind)
            for n, vector in zip(new, made.vectors, strict=True):
                np.save(files[n], vector)
        return EmbeddingBatch(np.stack([np.load(file) for file in files]), ())


@dataclass(slots=True)
class Asked:
    """What one question found in one tenant: document ids by mode, best first, and what the arms gave."""

    question: Question
    tenant: str
    read_as: str
    found: dict[str, list[str]] = field(default_factory=dict)
    arms: dict[str, list[tuple[str, float]]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.question.id} {self.question.lang} {self.tenant}"


async def index(url: str, embedder: Embedder, material: Material, scratch: Path) -> None:
    for tenant in (*material.languages, MIXED):
        file = scratch / f"{material.name}-{tenant}.jsonl"
        with file.open("w", encoding="utf-8") as out:
            for d in material.documents:
                if tenant in (d.lang, MIXED):
                    record = {"id": d.id, "title": d.title, "text": d.text, "lang": d.lang}
                    out.write(json.dumps(record, ensure_ascii=False) + "\n")
        async with await open_tenant(url, embedder, material, tenant) as engine:
            await engine.ensure_tenant(f"{material.name}-{tenant}")
            done = await engine.ingest([file], source="parallel")
        if done.failed:
            raise SystemExit(f"{done.failed} documents failed, the first: {done.errors[0]}")
        print(f"{material.name}-{tenant}: {done.chunks} chunks, {done.seconds:.0f} s", file=sys.stderr)


async def open_tenant(url: str, embedder: Embedder, material: Material, tenant: str) -> AsyncVeraz:
    return await databases.open_engine(url, embedder, tenant=f"{material.name}-{tenant}")


async def ask(url: str, embedder: Embedder, material: Material) -> list[Asked]:
    """Every question in every tenant. The arms of a hybrid search are what they are alone."""
    asked = []
    for tenant in (*material.languages, MIXED):
        async with await open_tenant(url, embedder, material, tenant) as engine:
            identity = await engine.identity()
            for question in material.questions:
                run = await engine._search(
                    identity, question.text, K, "hybrid", "auto", None, None, False, False
                )
                owners = await owners_of(engine, [c.chunk_id for arm in run.arms.values() for c in arm])
                one = Asked(question, tenant, run.result.lang)
                one.found["hybrid"] = unique(h.document.external_id for h in run.result.hits)
                for arm, candidates in run.arms.items():
                    ordered = sorted(candidates, key=lambda c: (-c.score, c.chunk_id))
                    one.found[arm] = unique(owners[c.chunk_id] for c in ordered)[:K]
                    one.arms[arm] = [(owners[c.chunk_id], c.score) for c in ordered]
                asked.append(one)
    return asked


OWNERS = """
select c.chunk_id, d.external_id from veraz.chunk c join veraz.document d using (tenant_id, document_id)
 where c.chunk_id = any(%(chunks)s)
"""


async def owners_of(engine: AsyncVeraz, chunks: Sequence[Any]) -> dict[Any, str]:
    async with engine._database.transaction(await engine.identity()) as connection:
        rows = await connection.execute(OWNERS, {"chunks": list(chunks)})
        return dict(await rows.fetchall())


def unique(ids: Any) -> list[str]:
    return list(dict.fromkeys(ids))


# Figures


@dataclass(frozen=True, slots=True)
class Row:
    """`figures`: mode → measure → mean; `best`: the better arm on nDCG; `change`: hybrid beside it, with its interval."""

    material: str
    kind: str
    asked: str
    searched: str
    questions: int
    read: float
    figures: Mapping[str, Mapping[str, float]]
    best: str
    change: tuple[float, float, float]


def row(material: Material, asked: Sequence[Asked], named: tuple[str, str, str]) -> Row:
    qrels = {
        a.key: {
            d.id: 1 for d in material.documents if d.about == a.question.about and a.tenant in (d.lang, MIXED)
        }
        for a in asked
    }
    scores = {mode: score({a.key: a.found.get(mode, []) for a in asked}, qrels, MEASURES) for mode in MODES}
    first = MEASURES[0].name
    best = max(("semantic", "lexical"), key=lambda arm: scores[arm].means[first])
    compared = compare(scores["hybrid"].per_query, scores[best].per_query, first)
    return Row(
        material.name,
        *named,
        questions=len(asked),
        read=sum(a.read_as == a.question.lang for a in asked) / len(asked),
        figures={mode: found.means for mode, found in scores.items()},
        best=best,
        change=(compared.mean_difference, compared.low, compared.high),
    )


def rows(material: Material, asked: Sequence[Asked]) -> list[Row]:
    """By kind of question, and for each: one row a pair of languages, then those across languages together, and those within
    one."""
    found = []
    kinds = ("case", "option") if material.name == "cases" else (None,)
    for kind in kinds:
        own = [a for a in asked if kind is None or a.question.kind == kind]
        groups: dict[tuple[str, str], list[Asked]] = defaultdict(list)
        for a in own:
            groups[a.question.lang, a.tenant].append(a)
            if a.tenant == MIXED:
                groups["all", MIXED].append(a)
            else:
                groups["all", "the same" if a.tenant == a.question.lang else "another"].append(a)
        for (spoken, searched), members in groups.items():
            found.append(row(material, members, (kind or "name", spoken, searched)))
    return found


def shown(found: Sequence[Row]) -> Iterator[str]:
    """Markdown. Each cell: nDCG@10 / recall@20."""
    yield "| set | asked | in | over | questions | read right | lexical | semantic | hybrid | beside the better arm |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for r in found:
        cells = [" / ".join(f"{r.figures[mode][m.name]:.3f}" for m in MEASURES) for mode in MODES]
        difference, low, high = r.change
        change = f"{difference:+.3f} ({low:+.3f} to {high:+.3f}) {r.best}"
        place = (r.material, r.kind, r.asked, r.searched, str(r.questions), f"{r.read:.0%}")
        yield f"| {' | '.join((*place, *cells, change))} |"


async def main(url: str, given: argparse.Namespace) -> None:
    model = LocalE5(load().model_cache)
    materials = (cases(given.data, given.cases, given.asked), medicines(given.data))
    found: list[Row] = []
    kept: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        embedder = KeptVectors(model, given.cache or Path(scratch) / "vectors")
        async with await databases.open_engine(url, embedder) as engine:
            await engine.init()
        for material in materials:
            if given.set in (None, material.name):
                await index(url, embedder, material, Path(scratch))
                started = time.perf_counter()
                asked = await ask(url, embedder, material)
                print(f"{len(asked)} searches, {time.perf_counter() - started:.0f} s", file=sys.stderr)
                found += rows(material, asked)
                kept += [asdict(a) for a in asked]
    if given.json:
        given.json.write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
    print("\n".join(shown(found)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--asked", type=int, default=100)
    parser.add_argument("--set", choices=("cases", "medicines"), help="one set alone")
    parser.add_argument("--cache", type=Path, help="keeps vectors between runs")
    parser.add_argument("--json", type=Path, help="what every question found, by mode and arm")
    arguments = parser.parse_args()
    server = os.environ.get("VERAZ_TEST_SERVER") or test_server()
    with databases.fresh(server) as made:
        asyncio.run(main(made, arguments))
