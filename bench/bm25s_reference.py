#!/usr/bin/env python3
"""An independent BM25 to hold the lexical arm against: bm25s, its Lucene variant, with the Snowball English
stemmer.

python bench/bm25s_reference.py FOLDER [--corpus FILE] [--qrels FILE] [--k1 1.2 1.5] [--stop-words postgresql
en]

FOLDER is in BEIR layout; a document is its title and text. Words are lower-cased, stop words go before
stemming, a word that a query repeats counts as often as it stands there, ties break on the document id, and
documents that share no word with the query are not returned. One line of figures per combination, or JSON
with --json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from bm25s.stopwords import STOPWORDS_EN, STOPWORDS_EN_PLUS

from veraz.errors import VerazError
from veraz.evaluation.dataset import load_dataset
from veraz.evaluation.lines import identifier, objects
from veraz.evaluation.measures import measures_for, score
from veraz.evaluation.runfile import write_run
from veraz.nouns.evaluation import RankedItem

DEPTH = 100
SHOWN = ("ndcg@10", "recall@20", "recall@100", "mrr@10", "map", "p@5", "success@5")
PATTERNS = {"words": r"(?u)\b\w+\b", "bm25s": r"(?u)\b\w\w+\b"}
"""`bm25s` is the package's default, which drops single characters; `words` keeps them, as PostgreSQL does."""

# What PostgreSQL installs as english.stop: the English stop words of the Snowball project (BSD licence).
POSTGRESQL = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
herself it its itself they them their theirs themselves what which who whom this that these those am is are
was were be been being have has had having do does did doing a an the and but if or because as until while
of at by for with about against between into through during before after above below to from up down in out
on off over under again further then once here there when where why how all any both each few more most
other some such no nor not only own same so than too very s t can will just don should now
"""


class Analyser:
    """Text to stemmed words. Every distinct word is stemmed once."""

    def __init__(self, stop_words: Sequence[str], pattern: str) -> None:
        self._stemmer = Stemmer.Stemmer("english")
        self._words = re.compile(pattern)
        self._stems: dict[str, str | None] = dict.fromkeys(stop_words)

    def __call__(self, text: str) -> list[str]:
        return [stem for word in self._words.findall(text.lower()) if (stem := self._stem(word)) is not None]

    def _stem(self, word: str) -> str | None:
        if word not in self._stems:
            self._stems[word] = self._stemmer.stemWord(word)
        return self._stems[word]


def documents(path: Path) -> Iterator[tuple[str, str]]:
    for number, record in objects(path):
        yield identifier(path, number, record), f"{record.get('title') or ''}\n{record.get('text') or ''}"


def stop_words(name: str) -> Sequence[str]:
    """A named list, or the words of a file."""
    named = {"postgresql": POSTGRESQL.split(), "en": STOPWORDS_EN, "en_plus": STOPWORDS_EN_PLUS, "none": ()}
    return named[name] if name in named else Path(name).read_text().split()


def search(
    corpus: Mapping[str, str], queries: Mapping[str, str], analyse: Analyser, k1: float, b: float
) -> dict[str, tuple[RankedItem, ...]]:
    ids = np.array(list(corpus))
    retriever = bm25s.BM25(method="lucene", k1=k1, b=b)
    retriever.index([analyse(text) for text in corpus.values()], show_progress=False)
    rankings = {}
    for query_id, text in queries.items():
        known = [word for word in analyse(text) if word in retriever.vocab_dict]
        scores = retriever.get_scores(known) if known else np.zeros(len(ids))
        best = [i for i in np.lexsort((ids, -scores))[:DEPTH] if scores[i] > 0]
        rankings[query_id] = tuple(RankedItem(str(ids[i]), float(scores[i])) for i in best)
    return rankings


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", type=Path, help="documents from elsewhere than FOLDER")
    parser.add_argument("--qrels", type=Path, help="judgements from elsewhere than FOLDER")
    parser.add_argument("--k1", type=float, nargs="+", default=[1.2, 1.5])
    parser.add_argument("--b", type=float, nargs="+", default=[0.75])
    parser.add_argument(
        "--stop-words", nargs="+", default=["postgresql", "en"], metavar="postgresql|en|en_plus|none|FILE"
    )
    parser.add_argument("--pattern", nargs="+", choices=PATTERNS, default=["words"])
    parser.add_argument("--trec-run", type=Path, help="write the run of the last combination")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    args = options()
    dataset = load_dataset(args.folder, qrels=args.qrels)
    path = args.corpus or dataset.corpus_path
    if not path:
        sys.exit(f"{args.folder} has no corpus.jsonl[.gz]: name one with --corpus FILE")
    corpus = dict(documents(path))
    rows = []
    for pattern, words, k1, b in itertools.product(args.pattern, args.stop_words, args.k1, args.b):
        run = search(corpus, dataset.judged, Analyser(stop_words(words), PATTERNS[pattern]), k1, b)
        rankings = {query_id: [item.docid for item in ranking] for query_id, ranking in run.items()}
        means = score(rankings, dataset.qrels, measures_for([5, 10, 20, 100])).means
        rows.append(
            {
                "stop_words": words,
                "pattern": pattern,
                "k1": k1,
                "b": b,
                **{name: means[name] for name in SHOWN},
            }
        )
    if args.trec_run:
        write_run(args.trec_run, run, tag="bm25s")
    judged = (
        f"{len(dataset.judged)} judged queries ({len(dataset.without_relevant)} without a relevant document)"
    )
    print(
        json.dumps(rows) if args.json else f"{dataset.name}: {len(corpus)} documents, {judged}\n{table(rows)}"
    )


def table(rows: Sequence[Mapping[str, object]]) -> str:
    cells = [list(rows[0]), *([f"{v:.4f}" if k in SHOWN else str(v) for k, v in row.items()] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return "\n".join(
        "  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)).rstrip() for line in cells
    )


if __name__ == "__main__":
    try:
        main()
    except VerazError as error:
        sys.exit(str(error))
