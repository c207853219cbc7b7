"""Peers as processes: their virtualenv, their databases, and asking them in turn."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from tests.support import databases

from peers import arithmetic
from peers.catalogue import Entry
from peers.corpora import Corpus

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"


class PeerError(Exception):
    """A peer that cannot be measured, and why."""


def environment(cache: Path) -> Path:
    """The Python of the peers' virtualenv, made where requirements.txt has no such one yet. Raises PeerError."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = cache / f"venv-{digest}"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        print(f"installing the peers into {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        run = subprocess.run(
            [str(python), "-m", "pip", "install", "-q", "-r", str(REQUIREMENTS)],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            last = (run.stderr.strip() or "no message").splitlines()[-1]
            raise PeerError(f"its packages could not be installed: {last}")
        done.touch()
    return python


class Process:
    """One peer. Answers come one for each request; what it logs goes to `log`."""

    def __init__(self, python: Path, entry: Entry, url: str, folder: Path, log: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        command = [str(python), str(HERE / "worker.py"), entry.adapter, url, str(folder)]
        source = HERE.parents[1] / "src"
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        if not entry.venv:
            env["PYTHONPATH"] = str(source)
        with log.open("w", encoding="utf-8") as messages:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, text=True, env=env
            )
        try:
            self.versions: Mapping[str, str] = self._answer()["versions"]
        except PeerError:
            self.close()
            raise

    def ask(self, **request: Any) -> dict[str, Any]:
        """Raises PeerError for what the peer could not do."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerError("its process ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer


@dataclass(slots=True)
class Measured:
    """`times`: milliseconds (questions, rounds). `rankings`: question → documents. `stages`: of each timed
    search the milliseconds by stage, of a peer that tells them. `error`: why it could not be measured."""

    entry: Entry
    versions: Mapping[str, str] = field(default_factory=dict)
    stages: list[dict[str, float]] = field(default_factory=list)
    build_seconds: float = 0.0
    bytes: int = 0
    rankings: dict[str, list[str]] = field(default_factory=dict)
    times: arithmetic.Times = field(default_factory=lambda: np.zeros((0, 0)))
    error: str = ""


def database_bytes(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")
        connection.execute("checkpoint")
        row = connection.execute("select pg_database_size(current_database())").fetchone()
    return int(row[0]) if row else 0


def measure(
    entries: tuple[Entry, ...], corpus: Corpus, server: str, cache: Path, work: Path, k: int, rounds: int
) -> list[Measured]:
    """Everybody loads one after the other, then all are asked in turn. The first pass warms up and gives the rankings; it is not
    timed."""
    found = {entry.name: Measured(entry) for entry in entries}
    with ExitStack() as stack:
        running: dict[str, Process] = {}
        for entry in entries:
            kept = found[entry.name]
            try:
                running[entry.name] = _loaded(stack, entry, kept, corpus, server, cache, work)
            except PeerError as error:
                kept.error = str(error)
            print(f"  {entry.name}: {kept.error or f'loaded in {kept.build_seconds:.1f} s'}", flush=True)
        _rankings(running, found, corpus, k)
        asked = [name for name in running if not found[name].error]
        for name in asked:
            found[name].times = np.zeros((len(corpus.questions), rounds))
        for number in range(rounds):
            for place, (query_id, text) in enumerate(corpus.questions.items()):
                for name in arithmetic.turns(asked, number + place):
                    answer = running[name].ask(
                        do="search", question=text, vector=corpus.vectors[query_id], k=k
                    )
                    found[name].times[place, number] = answer["ms"]
                    found[name].stages += [answer["stages"]] if answer.get("stages") else []
    return list(found.values())


def _rankings(running: Mapping[str, Process], found: Mapping[str, Measured], corpus: Corpus, k: int) -> None:
    for name, process in running.items():
        try:
            for query_id, text in corpus.questions.items():
                answer = process.ask(do="search", question=text, vector=corpus.vectors[query_id], k=k)
                found[name].rankings[query_id] = arithmetic.documents(answer["ids"])
        except PeerError as error:
            found[name].error = f"a search failed: {error}"
            print(f"  {name}: {found[name].error}", flush=True)


def _loaded(
    stack: ExitStack, entry: Entry, kept: Measured, corpus: Corpus, server: str, cache: Path, work: Path
) -> Process:
    """A process that holds the whole corpus."""
    url = stack.enter_context(databases.fresh(server))
    python = environment(cache) if entry.venv else Path(sys.executable)
    with psycopg.connect(url, autocommit=True) as connection:
        if entry.in_database and entry.is_peer:  # Veraz makes its own
            connection.execute("create extension vector")
    empty = database_bytes(url)
    log = work / f"{entry.adapter}.log"
    process = Process(python, entry, url, work / entry.adapter, log)
    stack.callback(process.close)
    kept.versions = process.versions
    answer = process.ask(do="load", folder=str(corpus.folder))
    kept.build_seconds = answer["seconds"]
    after = database_bytes(url)
    kept.bytes = after - empty if answer["bytes"] is None else answer["bytes"]
    return process


def surroundings(server: str) -> dict[str, Any]:
    """What the figures depend on beside the peers."""
    with psycopg.connect(server, autocommit=True) as connection:
        version = connection.execute("show server_version").fetchone()
        vector = connection.execute(
            "select default_version from pg_available_extensions where name = 'vector'"
        ).fetchone()
        told = {
            name: connection.execute("select current_setting(%s)", [name]).fetchone()[0]  # type: ignore[index]
            for name in ("shared_buffers", "fsync", "synchronous_commit", "max_parallel_workers_per_gather", "jit")
        }  # fmt: skip
    return {
        "python": sys.version.split()[0],
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "postgresql": version[0] if version else "",
        "pgvector": vector[0] if vector else "",
        "server": told,
        "at": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }
