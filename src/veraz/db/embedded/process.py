"""Locks and processes: who may start the server, whether it lives, and how its remains are cleared.

Two advisory file locks carry the truth. `start.lock` is held by the one command that creates, starts or
stops the server, and by the programs it runs meanwhile. `run.lock` is inherited by the postmaster and all
its children: it is free exactly when no process of the server is left, whatever the pid file says and
whoever wears the old pid now.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from psycopg import pq

from veraz.db.embedded.layout import Account, Layout
from veraz.db.embedded.runtime import Runtime
from veraz.errors import DatabaseError

Progress = Callable[[str], None]
_PAUSE = 0.02
_FIRST_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class PidFile:
    """What postmaster.pid says. `status` is starting, stopping, ready or standby; empty in the first
    instants."""

    pid: int
    port: int
    status: str


def read_pid_file(layout: Layout) -> PidFile | None:
    try:
        lines = (layout.data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
        return PidFile(int(lines[0]), int(lines[3]), lines[7].strip() if len(lines) > 7 else "")
    except (OSError, ValueError, IndexError):
        return None


def still_there(layout: Layout, lock: int) -> bool:
    """False when `destroy` removed the lock file that we waited for: then it protects nothing."""
    try:
        return os.path.samestat(os.fstat(lock), layout.start_lock.stat())
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def start_lock(layout: Layout, timeout: float, waiting: Callable[[], None]) -> Iterator[int]:
    """Hold the start lock; yields its descriptor. `waiting` is called once when another command holds it."""
    descriptor = layout.open_lock(layout.start_lock)
    try:
        if not _try_lock(descriptor, fcntl.LOCK_EX):
            waiting()
            _wait_for_lock(descriptor, layout, timeout)
        yield descriptor
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, layout: Layout, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not _try_lock(descriptor, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            raise DatabaseError(
                f"another command has held {layout.start_lock} for {timeout:.0f} s",
                fix=f"see which one with `fuser {layout.start_lock}`, wait for it or end it, and try again",
            )
        time.sleep(_PAUSE)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_alive(layout: Layout) -> bool:
    """Whether any process of the server lives, a backend that outlived its postmaster included."""
    if not layout.run_lock.exists():
        return False
    descriptor = layout.open_lock(layout.run_lock)
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def postmaster(layout: Layout) -> PidFile | None:
    """The living postmaster of this data directory, or None. A pid that now belongs to another program is
    None."""
    found = read_pid_file(layout)
    if found is None or not is_alive(layout):
        return None
    return found if str(layout.data) in _command_line(found.pid) else None


def _command_line(pid: int) -> str:
    """The arguments of a process, empty for a dead one and for a zombie."""
    if Path("/proc/self/cmdline").exists():
        try:
            return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" "))
        except OSError:
            return ""
    listed = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
    return os.fsdecode(listed.stdout)


def answers(port: int) -> bool:
    """Whether a PostgreSQL accepts connections on the port. Needs no password and no free connection slot."""
    conninfo = f"host=127.0.0.1 port={port} sslmode=disable gssencmode=disable connect_timeout=2"
    return pq.PGconn.ping(conninfo.encode()) == pq.Ping.OK


def launch(layout: Layout, account: Account, runtime: Runtime) -> None:
    """Start a postmaster that outlives the caller. Returns at once; `await_ready` tells how it went.

    The shell in between makes it a child of init: no zombie in a long-lived caller. It runs in a session of
    its own, so that Ctrl-C does not reach it, and holds no descriptor of the caller's but the run lock.
    """
    descriptor = layout.open_lock(layout.run_lock)
    try:
        if not _wait_until(lambda: _try_lock(descriptor, fcntl.LOCK_EX), 5):
            raise _still_in_use(layout)
        with layout.open_start_log() as log:
            subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", *_command(layout, runtime)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=runtime.environment(),
                cwd="/",
                umask=0o077,
                pass_fds=(descriptor,),
                start_new_session=True,
                check=True,
                **account.popen_options(),
            )
    finally:
        os.close(descriptor)


def _command(layout: Layout, runtime: Runtime) -> list[str]:
    return [runtime.program("postgres"), "-D", str(layout.data), "-c", f"config_file={layout.config}"]


def await_ready(layout: Layout, port: int, timeout: float, recovering: Callable[[], None]) -> bool:
    """True when the server accepts connections, False when it ended. `recovering` is called once if it takes
    long."""
    begun = seen = time.monotonic()
    told = False
    while (now := time.monotonic()) < begun + timeout:
        found = postmaster(layout)
        if found and found.port == port and found.status == "ready" and answers(port):
            return True
        seen = now if found else seen
        # A server without a postmaster is either in its first instants or an orphan that will never be ready.
        if not is_alive(layout) or now > seen + _FIRST_SECONDS:
            return False
        if not told and now > begun + 2:
            told = True
            recovering()
        time.sleep(_PAUSE)
    raise DatabaseError(
        f"the embedded server has not accepted connections within {timeout:.0f} s",
        fix=f"it may still be recovering: read {layout.log}, then run the command again",
    )


def stop_postmaster(layout: Layout, timeout: float) -> None:
    """Ask for a fast shutdown, then for an immediate one. Returns when no process of the server is left."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        found = find_starting(layout)
        if found is None:
            break
        with contextlib.suppress(ProcessLookupError):
            os.kill(found.pid, number)
        if _wait_until(lambda: postmaster(layout) is None, timeout):
            break
    end_orphans(layout)


def find_starting(layout: Layout) -> PidFile | None:
    """The living postmaster; one that was launched a moment ago is given time to write its pid file."""
    _wait_until(lambda: not is_alive(layout) or postmaster(layout) is not None, _FIRST_SECONDS)
    return postmaster(layout)


def end_orphans(layout: Layout) -> None:
    """End processes that outlived their postmaster. They leave by themselves unless busy or stuck."""
    if _wait_until(lambda: not is_alive(layout), 1):
        return
    for number in (signal.SIGQUIT, signal.SIGKILL):
        _signal_all(_processes_in(layout.data), number)
        if _wait_until(lambda: not is_alive(layout), 3):
            return
    raise _still_in_use(layout)


def _still_in_use(layout: Layout) -> DatabaseError:
    return DatabaseError(
        f"the data directory {layout.data} is in use by a process that cannot be ended from here",
        fix=f"another container or user may run it: find it with `fuser {layout.run_lock}` and stop it there",
    )


def _processes_in(directory: Path) -> list[int]:
    """PostgreSQL processes whose working directory is the data directory. Linux only, elsewhere none."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cwd").readlink() == directory and "postgres" in _command_line(int(entry.name)):
                found.append(int(entry.name))
    return found


def _signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE)
    return True
