"""`veraz ingest` killed while a model writes contexts: a rerun pays for what was under way, and for nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.providers.embedders.fake_server import FakeEmbeddingServer
from tests.support import databases
from tests.support.chat_server import FakeChatServer, answer, said_about, saying
from tests.support.corpus import rows

from veraz.config import EmbedderConfig
from veraz.engine import AsyncVeraz

COMMAND = (sys.executable, "-c", "from veraz.cli.main import main; main()")
PARTS, SIDE_BY_SIDE = 40, 3


def environment(url: str, embeddings: FakeEmbeddingServer, chat: FakeChatServer) -> dict[str, str]:
    options = {"model": embeddings.model, "dimensions": embeddings.dimension, "base_url": embeddings.url}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("VERAZ_")},
        "VERAZ_DATABASE_URL": url,
        "VERAZ_EMBEDDER_NAME": "openai",
        "VERAZ_EMBEDDER_OPTIONS": json.dumps({**options, "api_key": "k"}),
        "VERAZ_INGEST_CONTEXT": "llm",
        "VERAZ_INGEST_CHUNK_TOKENS": "512",
        "VERAZ_INGEST_ISOLATED": "false",
        "VERAZ_CHAT_URL": chat.url,
        "VERAZ_CHAT_MODEL": "m",
        "VERAZ_CHAT_CONCURRENCY": str(SIDE_BY_SIDE),
    }


def start(path: Path, environ: dict[str, str]) -> subprocess.Popen[str]:
    arguments = [*COMMAND, "ingest", str(path), "--source", "s", "--lang", "en", "--json"]
    return subprocess.Popen(arguments, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_killed_run_has_kept_every_answer_that_it_had(empty_database: str, tmp_path: Path) -> None:
    parts = [f"## Part {n}\n\nPart{n} of the whole ends in end{n}." for n in range(PARTS)]
    (tmp_path / "long.md").write_text("\n\n".join(parts))
    with FakeEmbeddingServer() as embeddings, FakeChatServer() as chat:
        environ = environment(empty_database, embeddings, chat)
        config = databases.config(
            empty_database,
            embedder=EmbedderConfig(name="openai", options=json.loads(environ["VERAZ_EMBEDDER_OPTIONS"])),
        )

        async def install() -> None:
            async with await AsyncVeraz.open(config=config) as engine:
                await engine.init()

        asyncio.run(install())
        # every answer takes a while, so that the kill falls between some of them
        chat.behaviour = lambda q: saying(said_about(q.passage), delay=0.1)
        running = start(tmp_path, environ)
        deadline = time.monotonic() + 60
        while len(chat.received) < PARTS // 2:
            assert time.monotonic() < deadline
            assert running.poll() is None, running.communicate()
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.communicate()
        asked_before = len(chat.received)
        assert asked_before < PARTS

        chat.behaviour = answer
        again = start(tmp_path, environ)
        out, err = again.communicate(timeout=120)
        assert again.returncode == 0, err
        report = json.loads(out)
        assert report["contexts"] + report["contexts_reused"] == PARTS
        assert len(set(chat.passages)) == PARTS
        paid_again = len(chat.received) - PARTS
        assert 0 <= paid_again <= SIDE_BY_SIDE
        assert report["contexts_reused"] >= asked_before - SIDE_BY_SIDE

        async def stored() -> list[str]:
            async with await AsyncVeraz.open(config=config) as engine:
                assert await rows(engine, "select count(*) from veraz.context_draft") == [(0,)]
                found = await rows(engine, "select context from veraz.chunk where is_current order by ord")
                return [row[0] for row in found]

        assert asyncio.run(stored()) == [f"Kontext of Part{n} to end{n}." for n in range(PARTS)]
