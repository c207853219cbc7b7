"""The suites of suites/: what they hold, and that every judged span is in the documents and says what the question expects."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.support.chunking import by_words
from tests.support.corpus import items
from tests.support.labels import labels

from veraz.ingest.chunkers import ChunkContext, stated_chunker
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for

SUITES = Path(__file__).resolve().parents[2] / "suites"
NAMES = ("medquad-lay", "aemps", "aemps-editions", "cross-language")
FACETS = ("exact-identifier", "paraphrase", "negation", "compound", "table", "recency")
OTHER_FACETS = ("cross-language", "every-language")
LANGUAGES = {"en", "es", "fr", "it"}
COPIED = 8
"""Words in a row that a question may not share with a document."""
WORD = re.compile(r"\w+")

Row = dict[str, Any]


@dataclass(frozen=True)
class Version:
    """A document as Veraz reads it; `since` is the day from which it holds, where there are several versions."""

    document: ParsedDocument
    since: date = date.min


Corpus = Mapping[str, list[Version]]
"""Versions of each document by external id, oldest first."""


def rows(suite: str, file: str) -> list[Row]:
    return [json.loads(line) for line in (SUITES / suite / file).read_text("utf-8").splitlines()]


def questions(suite: str) -> dict[str, Row]:
    return {row["id"]: row for row in rows(suite, "queries.jsonl")}


def spans(suite: str) -> dict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows(suite, "judgements.jsonl"):
        found[row["query_id"]].append(row)
    return found


def every_question() -> list[Row]:
    return [row for name in NAMES for row in rows(name, "queries.jsonl")]


# Without documents


def test_there_are_enough_questions_of_every_facet() -> None:
    asked = every_question()
    facets = Counter(facet for row in asked for facet in row["facets"])
    assert len(asked) >= 160
    assert set(facets) == {*FACETS, *OTHER_FACETS}
    assert {facet: facets[facet] for facet in FACETS if facets[facet] < 15} == {}
    assert facets["cross-language"] >= 40
    for name in NAMES:
        assert all(row["facets"] for row in questions(name).values())


def test_ids_and_questions_are_unique() -> None:
    asked = every_question()
    for field in ("id", "text"):
        counts = Counter(row[field].casefold() for row in asked)
        assert [value for value, count in counts.items() if count > 1] == []


def test_a_fifth_is_private() -> None:
    for name in NAMES:
        asked = questions(name).values()
        private = sum(row.get("split") == "private" for row in asked)
        assert 0.17 < private / len(asked) < 0.23, name
        assert {row.get("split", "tune") for row in asked} == {"tune", "private"}


def test_what_is_to_be_found_is_judged_and_what_is_absent_is_not() -> None:
    absent = 0
    for name in NAMES:
        judged = spans(name)
        for key, row in questions(name).items():
            if row.get("outcome") == "insufficient":
                absent += 1
                assert {span["grade"] for span in judged.get(key, ())} <= {0}, key
                assert "facts" not in row
            else:
                assert max(span["grade"] for span in judged[key]) == 2, key
                assert row["facts"], key
        assert set(judged) <= set(questions(name))
    assert absent >= 8


def test_judgements_are_well_formed() -> None:
    for name in NAMES:
        seen: set[tuple[Any, ...]] = set()
        for row in rows(name, "judgements.jsonl"):
            assert 0 <= row["start"] < row["end"]
            assert row["grade"] in (0, 1, 2)
            place = (
                row["query_id"],
                row["judge"],
                row["external_id"],
                row["start"],
                row["end"],
                row["sha256"],
            )
            assert place not in seen, place
            seen.add(place)


def test_suites_hold_hardly_a_word_of_the_documents() -> None:
    """Facts are a value, a name or a few words."""
    for row in every_question():
        for fact in row.get("facts", ()):
            assert len(fact.split()) <= 6, (row["id"], fact)
            assert len(fact) <= 45, (row["id"], fact)


def test_every_pair_of_languages_is_asked() -> None:
    pairs = {
        (row.get("lang", "en"), lang)
        for row in questions("cross-language").values()
        for lang in row.get("filters", {}).get("langs", ())
    }
    assert {asked for asked, _ in pairs} == LANGUAGES
    assert {found for _, found in pairs} == LANGUAGES
    assert all(asked != found for asked, found in pairs)
    assert len(pairs) >= 10


def test_the_loader_reads_them() -> None:
    if importlib.util.find_spec("veraz.evaluation.suites") is None:
        pytest.skip("suites are not read yet")
    from veraz.evaluation.dataset import load_dataset

    for name in NAMES:
        dataset = load_dataset(SUITES / name)
        assert set(dataset.queries) == set(questions(name))
        assert dataset.unjudged == ()


# On the documents


def parsed(records: Iterable[Row]) -> Iterator[tuple[Row, ParsedDocument]]:
    for row, item in ((row, next(iter(items([row])))) for row in records):
        yield row, parser_for(item).parse(item)


def lines(file: Path) -> Iterator[Row]:
    if not file.is_file():
        pytest.skip(f"the documents are not at {file}")
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def records(file: Path, wanted: set[str]) -> Corpus:
    chosen = (row for row in lines(file) if row["id"] in wanted)
    return {row["id"]: [Version(document)] for row, document in parsed(chosen)}


def files(folder: Path, wanted: set[str]) -> Corpus:
    if not folder.is_dir():
        pytest.skip(f"the documents are not at {folder}")
    named = [(name, folder / name) for name in sorted(wanted)]
    given = [RawItem(name, name, "xml", payload=gzip.decompress(file.read_bytes())) for name, file in named]
    return {item.external_id: [Version(parser_for(item).parse(item))] for item in given}


def dated(folder: Path, wanted: set[str]) -> Corpus:
    if not folder.is_dir():
        pytest.skip(f"the documents are not at {folder}")
    found: defaultdict[str, list[Version]] = defaultdict(list)
    for row, document in parsed(row for row in labels(folder) if row["id"] in wanted):
        found[row["id"]].append(Version(document, date.fromisoformat(row["valid_from"])))
    return found


READ: Mapping[str, Callable[[Path, set[str]], Corpus]] = {
    "medquad-lay": lambda data, wanted: records(data / "medquad" / "corpus.jsonl.gz", wanted),
    "aemps": lambda data, wanted: files(data / "aemps_epi_es" / "xml_2025-06-04", wanted),
    "aemps-editions": lambda data, wanted: dated(data / "aemps_epi_es", wanted),
    "cross-language": lambda data, wanted: records(data / "casimedicos_parallel" / "corpus.jsonl.gz", wanted),
}


@pytest.fixture(scope="module")
def corpora(shared: Path) -> dict[str, Corpus]:
    read: dict[str, Corpus] = {}
    for name in NAMES:
        wanted = {row["external_id"] for row in rows(name, "judgements.jsonl")}
        read[name] = READ[name](shared / "data", wanted)
    return read


def held(versions: list[Version], as_of: str | None) -> ParsedDocument:
    """The version that held on a day; the newest without one."""
    day = date.fromisoformat(as_of) if as_of else date.max
    return max((v for v in versions if v.since <= day), key=lambda v: v.since).document


def judged_texts(suite: str, corpora: Mapping[str, Corpus]) -> Iterator[tuple[Row, Row, ParsedDocument]]:
    asked = questions(suite)
    for key, found in spans(suite).items():
        for span in found:
            versions = corpora[suite][span["external_id"]]
            yield asked[key], span, held(versions, asked[key].get("as_of"))


@pytest.mark.parametrize("suite", NAMES)
def test_every_span_is_where_its_judgement_says(corpora: dict[str, Corpus], suite: str) -> None:
    for _, span, document in judged_texts(suite, corpora):
        text = document.text[span["start"] : span["end"]]
        assert hashlib.sha256(text.encode()).hexdigest() == span["sha256"], span
        assert text == text.strip()


@pytest.mark.parametrize("suite", NAMES)
def test_the_facts_stand_in_what_answers(corpora: dict[str, Corpus], suite: str) -> None:
    read: defaultdict[str, list[str]] = defaultdict(list)
    for row, span, document in judged_texts(suite, corpora):
        if span["grade"] >= 1:
            read[row["id"]].append(document.text[span["start"] : span["end"]])
    for key, row in questions(suite).items():
        told = flat(" ".join(read[key]))
        assert [fact for fact in row.get("facts", ()) if flat(fact) not in told] == [], key


@pytest.mark.parametrize(
    "chunker", ["structure", "recursive", "sentence-window", "fixed:size=200,overlap=40"]
)
def test_nearly_every_span_is_covered_by_a_chunk(corpora: dict[str, Corpus], chunker: str) -> None:
    """A chunk covers a span that it holds half of, or that holds half of it."""
    chunked: dict[int, list[list[tuple[int, int]]]] = {}
    missed, count = [], 0
    for name in NAMES:
        for row, span, document in judged_texts(name, corpora):
            if id(document) not in chunked:
                context = ChunkContext("suite", 256, by_words, document.lang or row.get("lang", "en"))
                chunks = stated_chunker(chunker).chunk(document, context)
                chunked[id(document)] = [[(s.start, s.end) for s in chunk.spans] for chunk in chunks]
            count += 1
            if not any(covers(chunk, span["start"], span["end"]) for chunk in chunked[id(document)]):
                missed.append((row["id"], span["external_id"], span["start"]))
    assert len(missed) <= 0.01 * count, missed


def covers(chunk: list[tuple[int, int]], start: int, end: int) -> bool:
    common = sum(max(0, min(stop, end) - max(begin, start)) for begin, stop in chunk)
    return 0 < 2 * common >= min(sum(stop - begin for begin, stop in chunk), end - start)


def test_no_question_is_copied_from_a_document(corpora: dict[str, Corpus]) -> None:
    """Neither the whole of a short one nor a run of words of a longer one."""
    for name in NAMES:
        runs: dict[tuple[str, ...], str] = {}
        for key, row in questions(name).items():
            said = words(row["text"])
            size = min(COPIED, len(said))
            runs.update({said[i : i + size]: key for i in range(len(said) - size + 1)})
        sizes = {len(run) for run in runs}
        for document in (version.document for versions in corpora[name].values() for version in versions):
            text = words(document.text)
            copied = (text[i : i + size] for size in sizes for i in range(len(text)))
            assert [(runs[run], run) for run in copied if run in runs] == []


def words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in WORD.findall(text))


def flat(text: str) -> str:
    return " ".join(text.split()).casefold()
