"""What these tests share: clients in other processes, queries, an independent count of postmasters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg

from veraz.db.embedded import EmbeddedServer

MakeServer = Callable[..., EmbeddedServer]

START_CLIENT = """
import sys
from pathlib import Path
from veraz.db.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
print(server.ensure_running(lambda step: print(step, flush=True)), flush=True)
"""


def query(url: str, statement: str, *parameters: object) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, parameters or None)  # type: ignore[call-overload]
        return cursor.fetchall() if cursor.description else []


def start_client(home: Path, **options: object) -> subprocess.Popen[bytes]:
    """Another process that makes sure that the server runs; it prints its steps, then the URL, and exits."""
    command = [sys.executable, "-c", START_CLIENT, str(home)]
    return subprocess.Popen(command, env=dict(os.environ), **options)  # type: ignore[call-overload,no-any-return]


def postmasters_of(home: Path) -> list[int]:
    """Every postmaster whose data directory belongs to the home, counted independently of pid files."""
    data = str((home / "server").resolve() / "data")
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if arguments[0].endswith(b"/postgres") and data.encode() in arguments:
            found.append(int(entry.name))
    return found
