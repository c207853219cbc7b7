"""The embedded server killed under a command: said at once, with the fix, and nothing else is on the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from embedded_helpers import MakeServer

ROOT = Path(__file__).resolve().parents[3]
COMMAND = """
import os, signal, sys
from pathlib import Path
from tests.support.hashing import HashingEmbedder
from veraz.cli import session
from veraz.cli.main import main
from veraz.db.embedded import EmbeddedServer
from veraz.engine import AsyncVeraz

class Killer(HashingEmbedder):
    async def embed(self, texts, kind):
        if os.environ.pop("KILL", None):
            os.kill(EmbeddedServer(Path(os.environ["VERAZ_HOME"])).status().pid, signal.SIGKILL)
        return await super().embed(texts, kind)

async def opened(config, bars):
    return await AsyncVeraz.open(config=config, report=bars.say, embedder=Killer())

session.open_engine = opened
main()
"""
"""The command line in a process of its own, with an embedder that kills the server at its first call where KILL is set."""


def test_a_killed_server_is_told_at_once_and_the_same_command_goes_on(
    make_server: MakeServer, tmp_path: Path
) -> None:
    server = make_server()
    server.ensure_running()
    lines = [json.dumps({"id": str(n), "text": f"Text number {n}."}) for n in range(500)]
    (tmp_path / "c.jsonl").write_text("\n".join(lines))
    begun = time.monotonic()
    failed = ingest(server.home, tmp_path, KILL="1")
    seconds = time.monotonic() - begun
    assert failed.returncode == 3, failed.stderr
    told = failed.stderr[failed.stderr.index("error: ") :]
    assert told.startswith("error: the embedded server stopped the work: ")
    assert "\n  fix: run the command again: the server starts by itself" in told
    assert "--database" not in failed.stderr
    assert "error connecting" not in failed.stderr, "a line of the pool's log"
    assert seconds < 20, "the pool alone waits for 30 s"
    again = ingest(server.home, tmp_path)
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert report["new"] + report["unchanged"] == 500


def ingest(home: Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("VERAZ_")}
    path = os.pathsep.join([str(ROOT), own.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", COMMAND, "ingest", "c.jsonl", "--source", "s", "--json"],
        cwd=folder,
        env={**own, **environment, "PYTHONPATH": path, "VERAZ_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
