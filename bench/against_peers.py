# make bench
"""Veraz beside what people would pick instead, on one machine in one run: quality, latency as a ratio, size and time to build.

python bench/against_peers.py [--corpus NAME|FOLDER …] [--documents N] [--k 50] [--rounds 5] [--peers NAME …]
                              [--json FILE] [--html FILE] [--markdown FILE] [--again FILE …]

Corpora: folders in BEIR layout, or names below $VERAZ_SHARED/data (default: med; it skips, saying so, where that is not there).
Everybody gets the same chunks (cut by Veraz), the same vectors (multilingual-e5-small with Veraz' prefixes) and, where it uses
one, the same PostgreSQL: the server that tests share, or $VERAZ_TEST_SERVER. Peers run in a process each, in a virtualenv that is
made of bench/peers/requirements.txt on the first run. Time to embed is in no figure. Questions are asked in turn, the peers
interleaved. How each peer is set up: bench/peers/catalogue.py. Vectors and the virtualenv are kept in --cache.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import corpora, report, running
from peers.catalogue import BASE, ENTRIES, Entry
from platformdirs import user_cache_dir
from tests.db.server_fixture import test_server
from tests.support import databases


def shared() -> Path:
    return Path(os.environ.get("VERAZ_SHARED") or Path(__file__).resolve().parents[2] / "shared")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", nargs="+", default=["med"], metavar="NAME|FOLDER")
    parser.add_argument("--documents", type=int, help="the judged ones, and others up to so many")
    parser.add_argument("--k", type=int, default=50, help="chunks that a search returns")
    parser.add_argument("--rounds", type=int, default=5, help="times that each question is timed")
    parser.add_argument("--peers", nargs="+", choices=[e.name for e in ENTRIES if e.name != BASE])
    parser.add_argument("--cache", type=Path, default=Path(user_cache_dir("veraz")) / "peers")
    parser.add_argument("--again", type=Path, nargs="+", help="measure nothing: report what --json wrote")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--html", type=Path)
    parser.add_argument("--markdown", type=Path)
    return parser.parse_args()


def chosen(names: list[str] | None) -> tuple[Entry, ...]:
    return tuple(e for e in ENTRIES if names is None or e.name == BASE or e.name in names)


def run(given: argparse.Namespace, named: str, server: str) -> report.Outcome:
    folder = Path(named) if Path(named).is_dir() else shared() / "data" / named
    dataset, path = corpora.read(folder)
    before = running.surroundings(server)
    with tempfile.TemporaryDirectory(prefix="veraz-peers-") as scratch:
        work = Path(scratch)
        with databases.fresh(server) as url:
            corpus = asyncio.run(corpora.prepare(dataset, path, work, url, given.cache, given.documents))
        print(f"{corpus.name}: {corpus.documents:,} documents, {corpus.chunks:,} chunks", flush=True)
        measured = running.measure(
            chosen(given.peers), corpus, server, given.cache, work, given.k, given.rounds
        )
    return report.outcome(corpus, measured, before, k=given.k, rounds=given.rounds)


def main() -> None:
    given = options()
    if given.again:
        show(given, [one for path in given.again for one in report.read(path.read_bytes())])
        return
    missing = [n for n in given.corpus if not (Path(n).is_dir() or (shared() / "data" / n).is_dir())]
    if missing:
        print(f"skipped: no {', '.join(missing)} in {shared() / 'data'} (set VERAZ_SHARED, or name a folder)")
        return
    given.cache.mkdir(parents=True, exist_ok=True)
    server = os.environ.get("VERAZ_TEST_SERVER") or test_server()
    outcomes = [run(given, name, server) for name in given.corpus]
    if given.json:
        given.json.write_bytes(report.written(outcomes))
    show(given, outcomes)


def show(given: argparse.Namespace, outcomes: list[report.Outcome]) -> None:
    print(report.markdown(outcomes))
    if given.markdown:
        given.markdown.write_text(report.markdown(outcomes), encoding="utf-8")
    if given.html:
        given.html.write_text(report.html(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()
