"""What a chunker does for retrieval: the same questions over the same documents, cut by each, with contextual header and without.

VERAZ_HOME=FOLDER python bench/chunkers.py DATA --out RAW.jsonl [--markdown PAGE] [--precision int8] [--suite aemps]
                                                [--chunker NAME …] [--header on|off] [--others 200] [--documents N]
python bench/chunkers.py --from RAW.jsonl --markdown PAGE
python bench/chunkers.py DATA --check

DATA holds aemps_epi_es and medquad. Every configuration gets a tenant of its own on the embedded server, removed afterwards, so
that none reuses another's vectors. Both arms are exact. RAW.jsonl holds what each question found; a run goes on where an
earlier one stopped. `--check` counts the judged facts in the documents and indexes nothing. int8 is another embedding space,
so it needs another VERAZ_HOME.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).parent))

import chunker_tables as report
from chunker_tables import Asked, Configuration, Indexed

from veraz.config import load
from veraz.engine import AsyncVeraz
from veraz.errors import ItemError, UsageError
from veraz.ingest.chunkers import token_embedder
from veraz.ingest.discover import discover
from veraz.nouns.corpus import EmbeddingBatch, SpaceSpec, Span, TextKind, Vectors
from veraz.nouns.evidence import Hit, Mode
from veraz.nouns.question import Filters
from veraz.providers.embedders.local import LocalE5
from veraz.providers.parsers import parser_for
from veraz.providers.ports import Embedder, TokenEmbedder

SUITES = Path(__file__).resolve().parents[1] / "suites" / "chunkers"
CHUNKERS = (
    "structure",
    "parent-child",
    "recursive",
    "sentence-window",
    "fixed:size=200,overlap=40",
    "fixed:size=400,overlap=80",
    "semantic",
    "late",
)
HEADERS = {"on": (True,), "off": (False,), "both": (True, False)}
NAMES = {"aemps": "AEMPS", "medquad": "MedQuAD"}
HITS = 50
COUNT = "select count(*), coalesce(sum(token_count), 0) from veraz.chunk where tenant_id = %(tenant)s"


@dataclass(frozen=True, slots=True)
class Question:
    """`facts` are regular expressions, all of which the shown body of one hit of one of `documents` must match."""

    id: str
    half: str
    kind: str
    lang: str
    question: str
    documents: tuple[str, ...]
    facts: tuple[str, ...]


def questions(suite: str) -> list[Question]:
    lines = (SUITES / f"{suite}.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Question(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
        for row in map(json.loads, lines)
    ]


# Judging


def plain(text: str) -> str:
    """One space for any white space but line breaks, which `.` does not cross."""
    return re.sub(r"[^\S\n]+", " ", text)


def complete(facts: Sequence[str], text: str) -> float | None:
    """The share of `text` after which all facts have been read; None where one is missing."""
    body = plain(text)
    found = [re.search(fact, body, re.IGNORECASE) for fact in facts]
    ends = [match.end() for match in found if match]
    return max(ends) / max(len(body), 1) if len(ends) == len(facts) else None


def judged(question: Question, hits: Sequence[Hit], sizes: Sequence[int]) -> tuple[int | None, float | None]:
    """Rank of the first hit that answers, and the tokens read until then. `sizes`: tokens of each shown body."""
    read = 0
    for hit, size in zip(hits, sizes, strict=True):
        owners = {hit.document.external_id, *(document.external_id for document in hit.also)}
        share = complete(question.facts, hit.body) if owners & set(question.documents) else None
        if share is not None:
            return hit.rank, round(read + share * size, 1)
        read += size
    return None, None


# Documents


def texts(suite: str, data: Path) -> dict[str, str]:
    """Of every document of the collection, as parsed, by external id."""
    if suite == "medquad":
        return {row["id"]: row["text"] for row in _medquad(data)}
    items = discover([str(data / "aemps_epi_es" / "xml_2025-06-04")])
    return {
        item.external_id: parser_for(item).parse(item).text
        for item in items
        if not isinstance(item, ItemError)
    }


def paths(suite: str, data: Path, scratch: Path, asked: Sequence[Question], others: int) -> list[Path]:
    """The judged documents; of medquad, others besides."""
    wanted = {document for question in asked for document in question.documents}
    if suite == "aemps":
        return [data / "aemps_epi_es" / "xml_2025-06-04" / name for name in sorted(wanted)]
    chosen = _chosen(list(_medquad(data)), wanted, others)
    file = scratch / "medquad.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for row in chosen:
            out.write(json.dumps({key: row[key] for key in ("id", "title", "text", "lang")}) + "\n")
    return [file]


def _chosen(rows: Sequence[dict[str, Any]], wanted: set[str], others: int) -> list[dict[str, Any]]:
    """Judged rows and `others` fixed ones, up to half of which are about the same subjects: the likeliest mistakes."""
    rows = sorted(rows, key=lambda row: hashlib.sha256(row["id"].encode()).digest())
    subjects = {row["focus"].casefold() for row in rows if row["id"] in wanted}
    rest = [row for row in rows if row["id"] not in wanted]
    near = [row for row in rest if row["focus"].casefold() in subjects][: others // 2]
    far = [row for row in rest if row["focus"].casefold() not in subjects]
    return [row for row in rows if row["id"] in wanted] + near + far[: others - len(near)]


def _medquad(data: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(data / "medquad" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def check(suite: str, data: Path) -> int:
    """Prints how often each fact stands in each judged document, and in how many others all do; returns how many are missing."""
    held, missing = {key: plain(text) for key, text in texts(suite, data).items()}, 0
    for question in questions(suite):
        counts = [
            [len(re.findall(fact, held.get(document, ""), re.IGNORECASE)) for fact in question.facts]
            for document in question.documents
        ]
        elsewhere = sum(
            complete(question.facts, text) is not None
            for key, text in held.items()
            if key not in question.documents
        )
        missing += not all(map(all, counts))
        print(f"{question.id} {counts} elsewhere {elsewhere}: {question.question}")
    return missing


# Running


class CountingEmbedder:
    """A model; `tokens` counts what went through it as passages."""

    def __init__(self, model: Embedder) -> None:
        self._model, self.tokens = model, 0

    @property
    def space(self) -> SpaceSpec:
        return self._model.space

    @property
    def gives_tokens(self) -> bool:
        return isinstance(self._model, TokenEmbedder) and self._model.gives_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._model.count_tokens(texts)

    def shown(self, texts: Sequence[str]) -> list[int]:
        """Tokens of the texts alone, without prefix and special tokens."""
        fixed = self._model.count_tokens(["a"])[0] - 1
        return [max(0, tokens - fixed) for tokens in self._model.count_tokens(texts)] if texts else []

    async def embed(self, texts: Sequence[str], kind: TextKind) -> EmbeddingBatch:
        if kind == "passage":
            self.tokens += sum(self._model.count_tokens(texts))
        return await self._model.embed(texts, kind)

    async def embed_spans(self, text: str, groups: Sequence[Sequence[Span]]) -> Vectors:
        self.tokens += sum(self._model.count_tokens([text]))
        return await token_embedder(self._model).embed_spans(text, groups)


@dataclass(frozen=True, slots=True)
class Run:
    embedder: CountingEmbedder
    precision: str
    out: Path
    setting: str = ""

    def keep(self, *rows: Asked | Indexed) -> None:
        with self.out.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)


async def configuration(
    run: Run, suite: str, named: Configuration, files: Sequence[Path], asked: Sequence[Question]
) -> None:
    """Indexes a suite's documents in a tenant of their own, asks, keeps what was found, and removes the tenant."""
    chunker, header = named
    tenant = f"chunkers-{suite}-{time.time_ns()}"
    flags: Mapping[str, Any] = {
        "tenant": tenant,
        "ingest.chunker": chunker,
        "ingest.header": header,
        "ingest.isolated": False,
        "embedder.options": {"precision": run.precision},
    }
    async with await AsyncVeraz.open(config=load(flags=flags), embedder=run.embedder, report=print) as veraz:
        await veraz.ensure_tenant(tenant)
        try:
            made = await index(run, veraz, suite, named, files)
            answers = await ask(run, veraz, suite, named, asked)
        finally:
            await veraz.remove_tenant(tenant)
    run.keep(*answers, made)
    hybrid = [row for row in answers if row.mode == "hybrid"]
    print(
        f"  {made.chunks:,} chunks, {made.embedded:,} tokens in {made.seconds:.0f} s; hybrid fact@5"
        f" {report.mean(hybrid, report.at(5)):.3f}, in {report.BUDGET:,} tokens {report.mean(hybrid, report.within):.3f}"
    )


async def index(
    run: Run, veraz: AsyncVeraz, suite: str, named: Configuration, files: Sequence[Path]
) -> Indexed:
    before = run.embedder.tokens
    done = await veraz.ingest(list(files), source=suite, name=NAMES[suite])
    if done.failed:
        raise SystemExit(f"{done.failed} documents failed, the first: {done.errors[0]}")
    async with veraz._database.maintenance() as connection:
        tenant = (await veraz.identity()).tenant_id
        row = await (await connection.execute(COUNT, {"tenant": tenant})).fetchone()
    assert row
    return Indexed(
        suite=suite,
        chunker=named[0],
        header=named[1],
        documents=done.documents,
        chunks=row[0],
        stored=row[1],
        embedded=run.embedder.tokens - before,
        seconds=done.seconds,
        precision=run.precision,
        setting=run.setting,
    )


async def ask(
    run: Run, veraz: AsyncVeraz, suite: str, named: Configuration, asked: Sequence[Question]
) -> list[Asked]:
    rows, identity = [], await veraz.identity()
    for question in asked:
        for mode in get_args(Mode):
            found = await veraz._search(
                identity, question.question, HITS, mode, question.lang, Filters(), None, True, False
            )
            hits = found.result.hits
            rank, tokens = judged(question, hits, run.embedder.shown([hit.body for hit in hits]))
            rows.append(Asked(suite, *named, mode, question.id, question.half, question.kind, rank, tokens))
    return rows


def limited(asked: list[Question], documents: int | None) -> list[Question]:
    """The questions on the first `documents` judged ones."""
    kept = list(dict.fromkeys(document for question in asked for document in question.documents))[:documents]
    return [question for question in asked if set(question.documents) <= set(kept)]


def setting(arguments: argparse.Namespace) -> str:
    """Results of different questions, documents or precisions must not meet in one file."""
    digest = hashlib.sha256(repr((arguments.others, arguments.documents)).encode())
    for suite in NAMES:
        digest.update((SUITES / f"{suite}.jsonl").read_bytes())
    return f"{arguments.precision} {digest.hexdigest()[:12]}"


def earlier(run: Run) -> set[tuple[str, str, bool]]:
    """What the raw file holds already. Raises SystemExit for one of another study."""
    kept = report.read(run.out).indexed if run.out.exists() else ()
    if any(row.setting != run.setting for row in kept):
        raise SystemExit(f"{run.out} holds results of other questions, documents or precision: name another")
    return {(row.suite, row.chunker, row.header) for row in kept}


async def main(arguments: argparse.Namespace) -> None:
    model = LocalE5(load().model_cache, precision=arguments.precision)
    run = Run(CountingEmbedder(model), arguments.precision, arguments.out, setting(arguments))
    done = earlier(run)
    todo = [(s, c, h) for s in arguments.suite for c in arguments.chunker for h in HEADERS[arguments.header]]
    with tempfile.TemporaryDirectory() as scratch:
        for number, (suite, chunker, header) in enumerate(todo, 1):
            known = (suite, chunker, header) in done
            said = f"{suite}: {chunker}, header {'on' if header else 'off'}{': kept' if known else ''}"
            print(f"[{number}/{len(todo)}] {said}", flush=True)
            if known:
                continue
            asked = limited(questions(suite), arguments.documents)
            files = paths(suite, arguments.data, Path(scratch), asked, arguments.others)
            try:
                await configuration(run, suite, (chunker, header), files, asked)
            except UsageError as error:  # this model cannot do what the chunker needs
                print(f"  left out: {error}")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, help="raw results, one line a question; a run goes on with it")
    parser.add_argument("--from", dest="earlier", type=Path, help="make tables of these raw results alone")
    parser.add_argument("--markdown", type=Path, help="the page whose tables are written")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--precision", choices=("fp32", "int8"), default="fp32")
    parser.add_argument("--suite", nargs="+", choices=tuple(NAMES), default=list(NAMES))
    parser.add_argument("--chunker", nargs="+", default=list(CHUNKERS))
    parser.add_argument("--header", choices=tuple(HEADERS), default="both")
    parser.add_argument("--others", type=int, default=200, help="documents of medquad beside the judged ones")
    parser.add_argument("--documents", type=int, help="only so many judged documents a suite, to try it out")
    arguments = parser.parse_args()
    if arguments.data is None and not arguments.earlier:
        parser.error("give DATA, or --from RAW.jsonl")
    if arguments.data and not arguments.check and not arguments.out:
        parser.error("--out is needed: the raw results are kept there")
    return arguments


if __name__ == "__main__":
    given = parsed()
    if given.check:
        raise SystemExit(sum(check(suite, given.data) for suite in given.suite))
    if given.data:
        asyncio.run(main(given))
    if given.markdown:
        report.write(given.markdown, report.read(given.earlier or given.out))
