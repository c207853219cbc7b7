"""Many clients at once: searches with ready query vectors, against pgbench running the very same statements, in one run.

python bench/concurrency.py [--clients 32] [--seconds 60] [--chunks 50000] [--processes 2] [--json FILE]

Every client asks hybrid questions one after another, as fast as they are answered: `run_search` without trace and without an
embedding model, over connections of its own. What one search of each question sends is recorded, reading the hits included, and
given to pgbench with as many clients, twice: prepared, with the values as parameters, so that the server plans each statement as
often as it does for Veraz; and as plain text, where it parses and plans every statement each time.

Shows searches per second of the three and their ratio, errors, and how evenly the clients were served: the fewest and the most
searches of one client, and the longest wait. Fails on any error, where a client got less than half of the mean, where a search
waited ten times the median, and below 0.6 of pgbench with prepared statements. On the server that tests share, or
$VERAZ_TEST_SERVER; a fresh database, dropped afterwards. pgbench is taken from the embedded server, or from the PATH.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.db.server_fixture import test_home, test_server
from tests.support import databases, many
from tests.support.hashing import HashingEmbedder
from tests.support.many import Questions, Tenant, near_axis

from veraz.config import DatabaseConfig
from veraz.engine import AsyncVeraz
from veraz.search.pipeline import run_search
from veraz.search.request import SearchRequest

Sent = tuple[Any, Any]
"""A statement and its parameters."""
QUESTIONS = 40
LEAST_RATIO, LEAST_SHARE, MOST_WAIT = 0.6, 0.5, 10.0


@dataclass(frozen=True, slots=True)
class Client:
    """What one client saw: seconds of each search, and what went wrong."""

    seconds: tuple[float, ...]
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Per second, milliseconds, and searches of single clients."""

    veraz: float
    pgbench_plain: float
    pgbench_prepared: float
    errors: int
    fewest: int
    mean: float
    most: int
    p50: float
    p95: float
    longest: float

    def faults(self) -> list[str]:
        found = [f"{self.errors} errors"] if self.errors else []
        if self.fewest < LEAST_SHARE * self.mean:
            found.append(f"a client got {self.fewest} searches, the mean is {self.mean:.0f}")
        if self.longest > MOST_WAIT * self.p50:
            found.append(f"a search waited {self.longest:.0f} ms, the median is {self.p50:.0f}")
        if self.veraz < LEAST_RATIO * self.pgbench_prepared:
            found.append(f"{self.veraz / self.pgbench_prepared:.2f} of pgbench, below {LEAST_RATIO}")
        return found


def questions() -> list[str]:
    made = Questions()
    return [made.next() for _ in range(QUESTIONS)]


async def open_engine(url: str, connections: int) -> AsyncVeraz:
    """With vectors that are ready: computing them would be measured otherwise."""
    embedder = HashingEmbedder(place=cache(near_axis))
    database = DatabaseConfig(url=url, pool_size=connections)
    config = msgspec.structs.replace(databases.config(url), database=database)
    return await AsyncVeraz.open(config=config, embedder=embedder)


class Searcher:
    """One hybrid search, as the engine runs it, without a trace."""

    def __init__(self, engine: AsyncVeraz) -> None:
        self.engine = engine

    async def __aenter__(self) -> Searcher:
        self.identity = await self.engine.ensure_tenant("bench")
        self.space = (await self.engine.space()).space_id
        self.embedder = await self.engine._open_embedder()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.engine.close()

    async def search(self, question: str) -> int:
        request = SearchRequest(question, "en", "en", own=10**9, indexed=10**9)
        run = await run_search(
            self.engine._database,
            self.identity,
            self.embedder,
            self.space,
            self.engine.config.search,
            request,
        )
        return len(run.result.hits)


# --- through Veraz


def ask_in_process(url: str, clients: int, seconds: float, first: int, start: Any) -> list[Client]:
    return asyncio.run(_ask(url, clients, seconds, first, start))


async def _ask(url: str, clients: int, seconds: float, first: int, start: Any) -> list[Client]:
    asked = questions()
    async with Searcher(await open_engine(url, clients)) as searcher:
        await asyncio.gather(*(searcher.search(asked[n % QUESTIONS]) for n in range(clients)))
        for question in asked:
            await searcher.search(question)
        await asyncio.to_thread(start.wait)
        until = time.perf_counter() + seconds
        return list(await asyncio.gather(*(_client(searcher, first + n, until) for n in range(clients))))


async def _client(searcher: Searcher, number: int, until: float) -> Client:
    asked, taken, errors = questions(), list[float](), list[str]()
    at = number
    while (started := time.perf_counter()) < until:
        try:
            if not await searcher.search(asked[at % QUESTIONS]):
                errors.append("nothing was found")
        except Exception as error:  # whatever it is, it is counted
            errors.append(repr(error)[:200])
        taken.append(time.perf_counter() - started)
        at += 1
    return Client(tuple(taken), tuple(errors))


def through_veraz(url: str, clients: int, seconds: float, processes: int) -> list[Client]:
    """The clients shared out among so many processes, which begin together."""
    shares = [clients // processes + (n < clients % processes) for n in range(processes)]
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(processes) as pool:
        start = manager.Barrier(processes)
        calls = [
            pool.apply_async(ask_in_process, (url, share, seconds, sum(shares[:n]), start))
            for n, share in enumerate(shares)
        ]
        return [client for call in calls for client in call.get(seconds + 300)]


# --- through pgbench


@contextmanager
def recording() -> Any:
    """Every statement that any connection sends, with its parameters."""
    sent: list[Sent] = []
    execute = psycopg.AsyncCursor.execute  # a connection's own makes a cursor

    async def recorded(self: Any, query: Any, params: Any = None, **more: Any) -> Any:
        sent.append((query, params))
        return await execute(self, query, params, **more)

    with mock.patch.object(psycopg.AsyncCursor, "execute", recorded):
        yield sent


@dataclass(frozen=True, slots=True)
class Script:
    """The transaction of one search: with its values in the text, and with names for them (`variables`)."""

    plain: Path
    bound: Path
    variables: Mapping[str, str]


async def scripts(url: str, folder: Path) -> list[Script]:
    """One for each question: what its search sends, in a transaction like its own."""
    made = []
    async with Searcher(await open_engine(url, 1)) as searcher:
        for number, question in enumerate(questions()):
            with recording() as sent:
                await searcher.search(question)
            with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as connection:
                made.append(script(connection, sent, folder, number))
    return made


def script(connection: Any, sent: Sequence[Sent], folder: Path, number: int) -> Script:
    plain, bound = folder / f"plain{number}.sql", folder / f"bound{number}.sql"
    cursor, variables = connection.cursor(), dict[str, str]()
    plain.write_text(_transaction(cursor.mogrify(query, params) for query, params in sent), "utf-8")
    bound.write_text(
        _transaction(
            named(connection, query, params or {}, f"q{number}_{at}", variables)
            for at, (query, params) in enumerate(sent)
        ),
        "utf-8",
    )
    return Script(plain, bound, variables)


def named(
    connection: Any, query: Any, params: Mapping[str, Any], prefix: str, variables: dict[str, str]
) -> str:
    """The statement with pgbench's variables for its values, which are sent as parameters; a variable cannot be null."""
    text = query if isinstance(query, str) else query.as_string(connection)
    adapted = psycopg.adapt.Transformer(connection)

    def place(match: re.Match[str]) -> str:
        value = params[match[1]]
        if value is None:
            return "null"
        name = f"{prefix}_{match[1]}"
        variables[name] = bytes(adapted.get_dumper(value, psycopg.adapt.PyFormat.TEXT).dump(value)).decode()
        return f":{name}"

    return re.sub(r"%\((\w+)\)s", place, text).replace("%%", "%")


def _transaction(statements: Iterable[str]) -> str:
    whole = ["begin isolation level repeatable read", *map(_without_comments, statements), "commit"]
    return ";\n".join(whole) + ";\n"


def _without_comments(statement: str) -> str:
    return "\n".join(line for line in statement.splitlines() if not re.match(r"\s*--", line))


def pgbench() -> str:
    own = sorted((test_home() / "server").glob("*/bin/pgbench"))
    found = str(own[-1]) if own else shutil.which("pgbench")
    if found is None:
        raise SystemExit("pgbench is not installed: it is part of PostgreSQL's contrib package")
    return found


def through_pgbench(
    url: str, made: Sequence[Script], clients: int, seconds: int, threads: int, protocol: str
) -> float:
    """Transactions per second."""
    prepared = protocol == "prepared"
    files = [part for one in made for part in ("-f", str(one.bound if prepared else one.plain))]
    values = [f"--define={name}={value}" for one in made for name, value in one.variables.items()]
    arguments = ["-n", "-M", protocol, "-c", str(clients), "-j", str(threads), "-T", str(seconds)]
    command = [pgbench(), *arguments, *files, *(values if prepared else []), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rate = re.search(r"^tps = ([0-9.]+)", done.stdout, re.MULTILINE)
    if done.returncode or rate is None:
        raise SystemExit(f"pgbench failed: {done.stderr[-2000:]}")
    return float(rate[1])


def measure(url: str, options: argparse.Namespace) -> Outcome:
    asyncio.run(many.fill(url, [Tenant("bench", options.chunks)]))
    with tempfile.TemporaryDirectory() as folder:
        made = asyncio.run(scripts(url, Path(folder)))
        threads = min(options.processes, options.clients)
        run = [url, made, options.clients, options.seconds, threads]
        plain = through_pgbench(*run, "simple")
        clients = through_veraz(url, options.clients, options.seconds, options.processes)
        prepared = through_pgbench(*run, "prepared")
    errors = [error for client in clients for error in client.errors]
    for error in sorted(set(errors))[:5]:
        print("error:", error)
    counts = [len(client.seconds) for client in clients]
    taken = sorted(seconds * 1000 for client in clients for seconds in client.seconds)
    return Outcome(
        veraz=sum(counts) / options.seconds,
        pgbench_plain=plain,
        pgbench_prepared=prepared,
        errors=len(errors),
        fewest=min(counts),
        mean=statistics.mean(counts),
        most=max(counts),
        p50=statistics.median(taken),
        p95=taken[int(len(taken) * 0.95)],
        longest=taken[-1],
    )


def show(outcome: Outcome, clients: int, seconds: int) -> None:
    for name, rate in (("plain", outcome.pgbench_plain), ("prepared", outcome.pgbench_prepared)):
        print(f"pgbench, {name:<8} {rate:8.1f}/s; Veraz has {outcome.veraz / rate:.2f} of it")
    print(
        f"Veraz             {outcome.veraz:8.1f}/s by {clients} clients in {seconds} s, {outcome.errors} errors"
    )
    print(f"searches of a client: {outcome.fewest} to {outcome.most}, mean {outcome.mean:.1f}")
    print(f"milliseconds: p50 {outcome.p50:.0f}, p95 {outcome.p95:.0f}, longest {outcome.longest:.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    server = os.environ.get("VERAZ_TEST_SERVER") or test_server()
    with databases.fresh(server, databases.schema_template(server)) as made:
        outcome = measure(made, options)
    show(outcome, options.clients, options.seconds)
    if options.json:
        options.json.write_text(json.dumps(asdict(outcome)) + "\n", encoding="utf-8")
    for fault in outcome.faults():
        print("FAILS:", fault)
    return 1 if outcome.faults() else 0


if __name__ == "__main__":
    sys.exit(main())
