"""`veraz ingest` killed at random moments, and the server under it: nothing half is visible, nothing committed is lost.

Minutes; part of `make proof`. The command is the real one; its embedder is a loopback server in this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.providers.embedders.fake_server import FakeEmbeddingServer, delayed
from tests.support import databases, oracle

from veraz.config import EmbedderConfig
from veraz.db.embedded import EmbeddedServer
from veraz.engine import AsyncVeraz

pytestmark = pytest.mark.slow

DOCUMENTS, SECTIONS = 150, 4
COMMAND = (sys.executable, "-c", "from veraz.cli.main import main; main()")


def options(server: FakeEmbeddingServer) -> dict[str, Any]:
    return {
        "model": server.model,
        "dimensions": server.dimension,
        "base_url": server.url,
        "api_key": "k",
        "batch_size": 32,
    }


@pytest.fixture
def embeddings() -> Iterator[FakeEmbeddingServer]:
    with FakeEmbeddingServer() as server:
        server.behaviour = delayed(-1, 0)
        yield server


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return tmp_path / "collection.jsonl"


def write(collection: Path, version: int, *, documents: int = DOCUMENTS) -> None:
    """Every document in its `version`: each chunk says so, so that a mixture would show."""
    records = []
    for n in range(documents):
        sections = [
            f"## Part {i}\n\nRule {n} part {i} of edition{version}. It closes the valve."
            for i in range(SECTIONS)
        ]
        text = {"text": "\n\n".join(sections), "format": "markdown", "lang": "en"}
        records.append(json.dumps({"id": f"d{n}", "title": f"Rule {n}", **text}))
    collection.write_text("\n".join(records), encoding="utf-8")


def start_ingest(
    url: str, embeddings: FakeEmbeddingServer, path: Path, source: str = "s"
) -> subprocess.Popen[str]:
    environ = {
        **{k: v for k, v in os.environ.items() if not k.startswith("VERAZ_")},
        "VERAZ_DATABASE_URL": url,
        "VERAZ_EMBEDDER_NAME": "openai",
        "VERAZ_EMBEDDER_OPTIONS": json.dumps(options(embeddings)),
    }
    arguments = [*COMMAND, "ingest", str(path), "--source", source, "--lang", "en", "--json"]
    return subprocess.Popen(arguments, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def engine_on(url: str, embeddings: FakeEmbeddingServer) -> AsyncVeraz:
    config = databases.config(url, embedder=EmbedderConfig(name="openai", options=options(embeddings)))
    return await AsyncVeraz.open(config=config)


def install(url: str, embeddings: FakeEmbeddingServer) -> None:
    async def run() -> None:
        async with await engine_on(url, embeddings) as engine:
            await engine.init()

    asyncio.run(run())


HALF_REVISIONS = """
with counted as (
    select c.revision_id, count(*) as chunks, count(l.chunk_id) as lexical, count(e.chunk_id) as vectors,
           count(distinct substring(c.body from 'edition[0-9]+')) as editions,
           count(*) filter (where c.is_current) as current_chunks,
           count(*) filter (where l.is_current) as current_lexical,
           count(*) filter (where e.is_current) as current_vectors
      from veraz.chunk c
      left join veraz.chunk_lexical l using (tenant_id, chunk_id)
      left join veraz.embedding_1 e using (tenant_id, chunk_id) group by 1
), wanted as (
    select r.revision_id, case when r.revision_id = d.current_revision_id then %s else 0 end as current,
           (select count(*) from veraz.section s where s.revision_id = r.revision_id) as sections
      from veraz.revision r join veraz.document d using (tenant_id, document_id)
)
select * from wanted left join counted using (revision_id)
 where (chunks, lexical, vectors, editions) is distinct from (%s::bigint, %s::bigint, %s::bigint, 1::bigint) or sections < %s
    or (current_chunks, current_lexical, current_vectors) is distinct from (current::bigint, current::bigint, current::bigint)
"""
PUBLISHED = """
select d.external_id, r.number, substring(r.text from 'edition([0-9]+)')::integer
  from veraz.document d left join veraz.revision r on r.tenant_id = d.tenant_id and r.revision_id = d.current_revision_id
"""


def published(url: str) -> dict[str, tuple[int, int]]:
    """External id to revision number and edition, as a reader finds them now."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(PUBLISHED).fetchall()
    assert all(number is not None for _, number, _ in found), "a document without a revision is visible"
    return {external_id: (number, edition) for external_id, number, edition in found}


def half_revisions(url: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(HALF_REVISIONS, [SECTIONS] * 5).fetchall()


def check_whole(url: str) -> None:
    assert half_revisions(url) == []


def check_kept(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> None:
    assert before.keys() <= after.keys(), "a committed document is gone"
    for external_id, (number, edition) in before.items():
        assert after[external_id][0] >= number
        assert after[external_id][1] >= edition


def check_index(url: str, embeddings: FakeEmbeddingServer) -> None:
    async def run() -> None:
        async with await engine_on(url, embeddings) as engine:
            await oracle.check_postings(engine, merged=False)
            await oracle.check_scores(engine, [("close the valve", "en"), ("rule part of edition", "en")])

    asyncio.run(run())


def finish(url: str, embeddings: FakeEmbeddingServer, collection: Path, version: int) -> None:
    """The rerun takes what is left, and then there is nothing left."""
    done = start_ingest(url, embeddings, collection)
    out, err = done.communicate(timeout=300)
    assert done.returncode == 0, err
    report = json.loads(out)
    assert report["failed"] == 0
    assert report["documents"] + report["unchanged"] == DOCUMENTS
    found = published(url)
    assert len(found) == DOCUMENTS
    assert {edition for _, edition in found.values()} == {version}
    again = start_ingest(url, embeddings, collection)
    out, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    assert (json.loads(out)["unchanged"], json.loads(out)["documents"]) == (DOCUMENTS, 0)
    check_whole(url)
    check_index(url, embeddings)


def wait_for_progress(url: str, running: subprocess.Popen[str], version: int, documents: int) -> None:
    """Until so many documents of the version are published, or the process has ended."""
    deadline = time.monotonic() + 60
    while running.poll() is None and time.monotonic() < deadline:
        if sum(edition == version for _, edition in published(url).values()) >= documents:
            return
        time.sleep(0.02)


DAMAGE = {
    "a vector is missing": "delete from veraz.embedding_1 where chunk_id = (select chunk_id from veraz.chunk limit 1)",
    "a lexical row is missing": "delete from veraz.chunk_lexical where chunk_id = (select chunk_id from veraz.chunk limit 1)",
    "a chunk is missing": "delete from veraz.chunk where chunk_id = (select chunk_id from veraz.chunk limit 1)",
    "a chunk is not current": "update veraz.chunk set is_current = false where ord = 2",
    "a vector is not current": "update veraz.embedding_1 set is_current = false",
    "two editions are mixed": "update veraz.chunk set body = 'edition99' where ord = 0",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_check_sees_a_half_revision(
    server: str, embeddings: FakeEmbeddingServer, collection: Path, damage: str
) -> None:
    with databases.fresh(server) as url:
        install(url, embeddings)
        write(collection, 1, documents=1)
        running = start_ingest(url, embeddings, collection)
        running.communicate(timeout=60)
        assert running.returncode == 0
        check_whole(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(DAMAGE[damage])
        assert half_revisions(url) != []


def test_twenty_kills_at_random_moments(
    server: str, embeddings: FakeEmbeddingServer, collection: Path
) -> None:
    chance = random.Random(20)
    with databases.fresh(server) as url:
        install(url, embeddings)
        seen: dict[str, tuple[int, int]] = {}
        killed = 0
        for version in range(1, 21):
            write(collection, version)
            running = start_ingest(url, embeddings, collection)
            wait_for_progress(url, running, version, chance.choice((0, 1, 5, 40, 100)))
            time.sleep(chance.uniform(0, 0.3))
            running.kill()
            running.communicate()
            killed += running.returncode == -signal.SIGKILL
            check_whole(url)
            now = published(url)
            check_kept(seen, now)
            seen = now
        assert killed >= 15, "most kills must have met a running ingest"
        assert len(seen) > 0
        finish(url, embeddings, collection, 20)
        check_kept(seen, published(url))


@pytest.fixture
def own_server() -> Iterator[EmbeddedServer]:
    """A server with durability on, which may be killed."""
    folder = Path(tempfile.mkdtemp(prefix="veraz-proof-"))
    folder.chmod(0o711)
    server = EmbeddedServer(folder)
    try:
        server.ensure_running()
        yield server
    finally:
        server.destroy()
        shutil.rmtree(folder)


def test_the_postmaster_killed_in_the_middle_twice(
    own_server: EmbeddedServer, embeddings: FakeEmbeddingServer, collection: Path
) -> None:
    url = own_server.ensure_running()
    install(url, embeddings)
    seen: dict[str, tuple[int, int]] = {}
    for version, enough in ((1, 20), (2, 60)):
        write(collection, version)
        running = start_ingest(url, embeddings, collection)
        wait_for_progress(url, running, version, enough)
        committed = published(url)
        pid = own_server.status().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        _, err = running.communicate(timeout=120)
        assert running.returncode == 3, err
        assert "Traceback" not in err
        assert "run the command again" in err or "cannot reach PostgreSQL" in err
        url = own_server.ensure_running()
        check_whole(url)
        seen = published(url)
        check_kept(committed, seen)
        assert len(seen) >= enough
    finish(url, embeddings, collection, 2)
    check_kept(seen, published(url))


@pytest.mark.parametrize("same", [True, False], ids=["one content", "eight contents"])
def test_eight_processes_ingest_one_document_at_once(
    server: str, embeddings: FakeEmbeddingServer, tmp_path: Path, same: bool
) -> None:
    """Records cannot be read again, so of several contents without dates a process keeps its own, or says whose was kept."""
    with databases.fresh(server) as url:
        install(url, embeddings)
        files = [tmp_path / f"{n}.jsonl" for n in range(8)]
        for n, file in enumerate(files):
            write(file, 1 if same else n + 1, documents=1)
        running = [start_ingest(url, embeddings, file) for file in files]
        ended = [(process, *process.communicate(timeout=300)) for process in running]
        reports = [json.loads(out) for _, out, _ in ended]
        reasons = [error["reason"] for report in reports for error in report["errors"]]
        assert all(reason.startswith("already written by another ingest") for reason in reasons)
        assert [process.returncode for process, _, _ in ended] == [4 if r["failed"] else 0 for r in reports]
        assert sum(r["failed"] for r in reports) == len(reasons) <= (0 if same else 7)
        assert sum(r["new"] for r in reports) == 1
        check_whole(url)
        found = published(url)
        assert list(found) == ["d0"]
        if same:
            assert found["d0"] == (1, 1)
        check_index(url, embeddings)
