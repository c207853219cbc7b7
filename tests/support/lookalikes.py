"""Names that look or sound alike, of which each has passages of its own in a corpus; and those passages as records."""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Pair = tuple[str, str]

PRODUCTS: tuple[Pair, ...] = (
    ("abecma", "abevmy"),
    ("aimovig", "kiovig"),
    ("arava", "xerava"),
    ("emend", "vfend"),
    ("enurev", "onureg"),
    ("onbrez", "onureg"),
    ("ogluo", "oxlumo"),
    ("soliris", "volibris"),
)
"""In the English leaflets."""

SUBSTANCES: tuple[Pair, ...] = (
    ("prednisona", "prednisolona"),
    ("dexametasona", "betametasona"),
    ("betametasona", "beclometasona"),
    ("dapoxetina", "paroxetina"),
    ("clonazepam", "lorazepam"),
    ("eritromicina", "telitromicina"),
    ("lovastatina", "fluvastatina"),
    ("pravastatina", "pitavastatina"),
    ("simvastatina", "pravastatina"),
    ("clotrimazol", "cotrimoxazol"),
    ("ranitidina", "famotidina"),
    ("lopinavir", "indinavir"),
    ("rifabutina", "rifampicina"),
)
"""In the Spanish product information."""

CONDITIONS: tuple[Pair, ...] = (
    ("hyperthyroidism", "hypothyroidism"),
    ("hyperglycemia", "hypoglycemia"),
    ("hypertonia", "hypotonia"),
    ("aphasia", "apraxia"),
    ("apraxia", "ataxia"),
    ("cholera", "chorea"),
    ("anencephaly", "iniencephaly"),
    ("dystonia", "myotonia"),
    ("osteoporosis", "osteopetrosis"),
    ("silicosis", "sialidosis"),
    ("rabies", "scabies"),
    ("cystinosis", "cystinuria"),
    ("lipedema", "lymphedema"),
    ("polymyositis", "pyomyositis"),
    ("triploidy", "tetraploidy"),
    ("meningioma", "meningitis"),
    ("endocarditis", "myocarditis"),
    ("prednisone", "prednisolone"),
    ("quinine", "quinidine"),
    ("vinblastine", "vincristine"),
    ("chlorpromazine", "chlorpropamide"),
    ("azathioprine", "azithromycin"),
)
"""Conditions and medicines in the answers of NIH sites."""


@dataclass(frozen=True, slots=True)
class Collection:
    """`folder` and `file` below the folder of real corpora; `asks` makes the question about a name."""

    lang: str
    folder: str
    pairs: tuple[Pair, ...]
    asks: Callable[[str], str]


COLLECTIONS = {
    "medquad": Collection("en", "medquad", CONDITIONS, "What should I know about {}?".format),
    "ema": Collection("en", "ema_leaflets_en", PRODUCTS, "What are the side effects of {}?".format),
    "aemps": Collection("es", "aemps_epi_es", SUBSTANCES, "¿Qué hay que saber sobre {}?".format),
}
OF_A_NAME = 2
"""Records taken for each name."""
BESIDE = 25
"""Records that have none of the names."""
LONGEST = 800
"""Characters of a record. Longer ones are cut between lines: whole sections of leaflets would be embedded for minutes, and hold
both names of many pairs."""


def has(name: str, text: str) -> bool:
    """As a word of its own, whatever case and accents."""
    return re.search(rf"\b{name}\b", plain(text)) is not None


def plain(text: str) -> str:
    marked = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in marked if not unicodedata.combining(c))


def chosen(data: Path, collection: Collection) -> list[dict[str, Any]]:
    """Of each name the first records that have it and not its twin, those with it in their title first; and others between."""
    wanted: dict[Pair, list[dict[str, Any]]] = {}
    beside: list[dict[str, Any]] = []
    names = sorted({name for pair in collection.pairs for name in pair})
    for line in _pieces(_lines(data / collection.folder / "corpus.jsonl.gz")):
        whole = plain(f"{line['title']}\n{line['text']}")
        held = {name for name in names if name in whole and has(name, whole)}
        if not held and len(beside) < BESIDE:
            beside.append(line)
        for one, other in collection.pairs:
            for name, twin in ((one, other), (other, one)):
                if name in held and twin not in held:
                    wanted.setdefault((name, twin), []).append(line)
    kept = {line["id"]: line for line in beside}
    for (name, _), lines in wanted.items():
        lines.sort(key=lambda line: not has(name, line["title"]))
        kept |= {line["id"]: line for line in lines[:OF_A_NAME]}
    return [
        {"id": line["id"], "title": line["title"], "text": line["text"], "lang": collection.lang}
        for line in kept.values()
    ]


def complete(records: Sequence[dict[str, Any]], pairs: Sequence[Pair]) -> list[Pair]:
    """Those of which each name has a record without the other."""
    texts = [plain(f"{r['title']}\n{r['text']}") for r in records]

    def alone(name: str, twin: str) -> bool:
        return any(has(name, text) and not has(twin, text) for text in texts)

    return [(a, b) for a, b in pairs if alone(a, b) and alone(b, a)]


def _pieces(records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for record in records:
        held: list[str] = []
        parts: list[str] = []
        for line in record["text"].splitlines():
            if held and sum(map(len, held)) + len(line) > LONGEST:
                parts.append("\n".join(held))
                held = []
            held.append(line)
        parts.append("\n".join(held))
        for n, part in enumerate(parts):
            if 0 < len(part.strip()) <= 4 * LONGEST:
                yield {**record, "id": f"{record['id']}/{n}", "text": part}


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
