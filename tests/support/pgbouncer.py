"""PgBouncer in front of the test server: written and started in a temporary folder, as a user without rights."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from veraz.db.session import RUNTIME_ROLE, login_url

Mode = Literal["transaction", "session"]
INI = """
[databases]
* = host={server_host} port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/userlist.txt
logfile = {folder}/log
pool_mode = {mode}
default_pool_size = {pool_size}
max_client_conn = 200
admin_users = {administrator}
server_login_retry = 1
"""
USERS = ("postgres", "nobody")
MISSING = "pgbouncer is not installed: apt-get install pgbouncer"


def program() -> str:
    """Its path; the test is skipped where there is none."""
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip(MISSING)
    return found


@dataclass(frozen=True, slots=True)
class PgBouncer:
    """`server`: the administrator's URL of the server behind; `secret`: the runtime login's password there."""

    port: int
    mode: Mode
    server: str = field(repr=False)
    secret: str = field(repr=False)
    folder: Path

    def administrator(self, url: str) -> str:
        """The way to the database of `url` through the pooler, as the administrator."""
        return make_conninfo(url, host="127.0.0.1", port=self.port)

    def runtime(self, url: str) -> str:
        """The same as the unprivileged login."""
        renew_runtime_login(self.server, self.secret)
        return login_url(self.administrator(url), RUNTIME_ROLE, self.secret)

    def console(self) -> psycopg.Connection[Any]:
        """PgBouncer's own commands: SHOW POOLS, KILL, RECONNECT."""
        connection = psycopg.connect(
            make_conninfo(self.server, host="127.0.0.1", port=self.port, dbname="pgbouncer"), autocommit=True
        )
        connection.prepare_threshold = None
        return connection

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")


@contextmanager
def running(server: str, mode: Mode, *, pool_size: int = 4) -> Iterator[PgBouncer]:
    """PgBouncer with at most `pool_size` connections to the server for each database and login."""
    command, folder = program(), Path(tempfile.mkdtemp(prefix="veraz-pgbouncer-"))
    parts, port = conninfo_to_dict(server), _free_port()
    secret = runtime_secret(server)
    values = {
        "server_host": parts.get("host", "127.0.0.1"),
        "server_port": parts.get("port", "5432"),
        "administrator": parts["user"],
        "port": port,
        "folder": folder,
        "mode": mode,
        "pool_size": pool_size,
    }
    (folder / "pgbouncer.ini").write_text(INI.format(**values), encoding="utf-8")
    logins = {str(parts["user"]): str(parts["password"]), RUNTIME_ROLE: secret}
    (folder / "userlist.txt").write_text(
        "".join(f'"{name}" "{word}"\n' for name, word in logins.items()), encoding="utf-8"
    )
    account = _give(folder)
    process = Supervised([command, str(folder / "pgbouncer.ini")], folder, account)
    try:
        _wait(process.current, port, folder)
        process.start()
        yield PgBouncer(port, mode, server, secret, folder)
    finally:
        process.end()
        shutil.rmtree(folder)


class Supervised(threading.Thread):
    """Starts the program again when it ends by itself, as an init system would: version 1.18 gives up now and then when many
    cancels meet many closed sockets ("bad client state")."""

    def __init__(self, command: list[str], folder: Path, account: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self._command, self._folder, self._account = command, folder, account
        self._ending = threading.Event()
        self.current = self._launch()

    def _launch(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            **self._account,
        )

    def run(self) -> None:
        while not self._ending.wait(0.05):
            if self.current.poll() is not None:
                self.current = self._launch()

    def end(self) -> None:
        self._ending.set()
        self.join()
        self.current.send_signal(signal.SIGTERM)
        self.current.wait(timeout=10)


def runtime_secret(server: str) -> str:
    """The runtime login belongs to the whole server: every run of the tests on it must mean the same password."""
    return hashlib.sha256(f"{conninfo_to_dict(server)['password']} {RUNTIME_ROLE}".encode()).hexdigest()[:32]


def renew_runtime_login(server: str, secret: str) -> None:
    """Sets that password where it is another one."""
    try:
        psycopg.connect(login_url(server, RUNTIME_ROLE, secret)).close()
    except psycopg.OperationalError:
        with psycopg.connect(server, autocommit=True) as admin:
            role = sql.Identifier(RUNTIME_ROLE)
            admin.execute(sql.SQL("alter role {} password {}").format(role, sql.Literal(secret)))


def _give(folder: Path) -> dict[str, Any]:
    """PgBouncer refuses to run as root: an unprivileged user gets the folder."""
    for file in folder.iterdir():
        file.chmod(0o600)
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = next(names[name] for name in USERS if name in names)
    for path in (folder, *folder.iterdir()):
        os.chown(path, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    log = folder / "log"
    raise RuntimeError(f"pgbouncer did not start: {log.read_text() if log.exists() else 'no log'}")
