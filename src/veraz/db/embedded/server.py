from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from veraz.db.embedded import cluster, ports, process
from veraz.db.embedded.layout import Account, Layout, find_layout, make_layout, remove_base
from veraz.db.embedded.logs import LogWatch, newest_log, prune_logs, read_logs
from veraz.db.embedded.runtime import Runtime, find_runtime, unpack_runtime
from veraz.db.embedded.settings import HBA, config_text, settings_for, this_machine
from veraz.db.embedded.space import check_space, is_full, no_space
from veraz.errors import DatabaseError

START_SECONDS = 600.0
STOP_SECONDS = 60.0
LOCK_SECONDS = 900.0
_ATTEMPTS = 5
_BIND_ERRORS = ("Address already in use", "could not create any TCP/IP sockets")

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of a home's server. Nothing here is secret; `url_redacted` has *** for the password.

    `installed` says that a data directory exists. `pid`, `port` and `url_redacted` are None unless it runs.
    """

    running: bool
    installed: bool
    pid: int | None
    port: int | None
    version: str | None
    home: Path
    data_dir: Path | None
    log_path: Path | None
    url_redacted: str | None


class EmbeddedServer:
    """One PostgreSQL per home, started on first use, found again by later commands, outliving the one that
    started it.

    Every method blocks; call it through `asyncio.to_thread` in async code. Objects hold no state of the
    server, so any number of them, in any number of processes, may work on one home. Raises DatabaseError
    with the fix when the server cannot be had, ConfigError when the `local` extra is not installed.

    `settings` are PostgreSQL settings laid over the computed ones; they count from the next start on.
    """

    def __init__(self, home: Path, *, settings: Mapping[str, str] | None = None) -> None:
        self.home = Path(home).absolute()
        self._settings = dict(settings or {})

    def ensure_running(self, progress: Progress | None = None) -> str:
        """The administrator's URL of the running server, which is created and started as needed.

        A running server costs a few milliseconds, a stopped one a third of a second, a new one about two
        seconds. `progress` receives one line for each step that takes time.
        """
        with _explained(self.home):
            return self._running_url() or self._start(progress or _ignore)

    def start(self, progress: Progress | None = None) -> ServerStatus:
        self.ensure_running(progress)
        return self.status()

    def stop(self) -> bool:
        with _explained(self.home):
            layout = find_layout(self.home)
            if layout is None:
                return False
            with process.start_lock(layout, LOCK_SECONDS, _nothing):
                if not process.is_alive(layout):
                    return False
                process.stop_postmaster(layout, STOP_SECONDS)
            return True

    def status(self) -> ServerStatus:
        with _explained(self.home):
            layout = find_layout(self.home)
            if layout is None:
                return ServerStatus(False, False, None, None, None, self.home, None, None, None)
            return self._status(layout)

    def url(self) -> str:
        """The administrator's URL, password included. DatabaseError when the server does not run."""
        with _explained(self.home):
            found = self._running_url()
        if found is None:
            raise DatabaseError(
                f"the embedded server of {self.home} is not running", fix="veraz server start"
            )
        return found

    def runtime_password(self) -> str | None:
        """The password of the unprivileged login that serves; None before one was kept here."""
        layout = find_layout(self.home)
        try:
            return layout.runtime_password.read_text(encoding="utf-8").strip() or None if layout else None
        except FileNotFoundError:
            return None

    def keep_runtime_password(self, password: str) -> None:
        """In a file of mode 0600, beside the superuser's. The server must exist."""
        layout = find_layout(self.home)
        assert layout is not None
        layout.write(layout.runtime_password, f"{password}\n", mode=0o600)

    def logs(self, lines: int = 100) -> str:
        """The last lines of the server's log, oldest first; empty when it was never started."""
        with _explained(self.home):
            layout = find_layout(self.home)
            return read_logs(layout, lines) if layout else ""

    def destroy(self) -> None:
        """Stop the server and delete everything it stored. There is no way back."""
        with _explained(self.home):
            layout = find_layout(self.home)
            if layout is None:
                return
            with process.start_lock(layout, LOCK_SECONDS, _nothing):
                if process.is_alive(layout):
                    process.stop_postmaster(layout, STOP_SECONDS)
                remove_base(self.home, layout)

    def _running_url(self) -> str | None:
        layout = find_layout(self.home)
        found = process.postmaster(layout) if layout else None
        if layout is None or found is None or found.status != "ready" or not process.answers(found.port):
            return None
        return _url(layout, found.port)

    def _status(self, layout: Layout) -> ServerStatus:
        found = process.postmaster(layout)
        running = found is not None and process.answers(found.port)
        return ServerStatus(
            running=running,
            installed=layout.data.exists(),
            pid=found.pid if found else None,
            port=found.port if found else None,
            version=_version(layout),
            home=self.home,
            data_dir=layout.data,
            log_path=newest_log(layout),
            url_redacted=_format_url("***", found.port) if found else None,
        )

    def _start(self, progress: Progress) -> str:
        waiting = "waiting for another command that is starting the embedded server"
        while True:
            layout, account = make_layout(self.home)
            with process.start_lock(layout, LOCK_SECONDS, lambda: progress(waiting)) as lock:
                if process.still_there(layout, lock):
                    return self._running_url() or self._start_locked(layout, account, lock, progress)

    def _start_locked(self, layout: Layout, account: Account, lock: int, progress: Progress) -> str:
        if (url := self._join_starting(layout, progress)) is not None:
            return url
        if not layout.data.exists():
            check_space(layout)
        runtime = _runtime(layout, account, lock, progress)
        if not layout.data.exists():
            progress("creating the database")
            cluster.create_cluster(layout, account, runtime, lock)
        cluster.check_version(layout, runtime)
        if cluster.read_password(layout) is None:
            cluster.reset_password(layout, account, runtime, lock)
        progress("starting the embedded server")
        return self._launch(layout, account, runtime, progress)

    def _join_starting(self, layout: Layout, progress: Progress) -> str | None:
        """Wait for a server that another command started and did not live to see ready; clear away a dead
        one."""
        found = process.find_starting(layout)
        if found is not None and process.await_ready(
            layout, found.port, START_SECONDS, lambda: progress("waiting for the embedded server to recover")
        ):
            return _url(layout, found.port)
        process.end_orphans(layout)
        # No process of this server is left, so whoever has the recorded pid is somebody else. Left in place,
        # the file would keep PostgreSQL from starting as long as that other process lives.
        (layout.data / "postmaster.pid").unlink(missing_ok=True)
        return None

    def _launch(self, layout: Layout, account: Account, runtime: Runtime, progress: Progress) -> str:
        prune_logs(layout)
        for _ in range(_ATTEMPTS):
            port = ports.choose_port(layout)
            self._configure(layout, port)
            watch = LogWatch(layout)
            process.launch(layout, account, runtime)
            if process.await_ready(
                layout, port, START_SECONDS, lambda: progress("recovering after an unclean shutdown")
            ):
                return _url(layout, port)
            said = watch.news()
            if not any(error in said for error in _BIND_ERRORS):
                raise _ended(layout, said)
            ports.forget_port(layout)
        raise DatabaseError(
            f"the embedded server found its port taken {_ATTEMPTS} times in a row",
            fix="run the command again",
        )

    def _configure(self, layout: Layout, port: int) -> None:
        layout.write(layout.hba, HBA)
        places = {"port": str(port), "hba_file": str(layout.hba), "log_directory": str(layout.log)}
        layout.write(layout.config, config_text({**settings_for(this_machine()), **self._settings, **places}))


def _runtime(layout: Layout, account: Account, lock: int, progress: Progress) -> Runtime:
    found = find_runtime(layout)
    if found is not None:
        return found
    progress("unpacking PostgreSQL")
    return unpack_runtime(layout, account, lock)


def _url(layout: Layout, port: int) -> str:
    password = cluster.read_password(layout)
    if password is None:
        raise DatabaseError(
            f"the embedded server runs, but its password file {layout.password} is gone",
            fix="veraz server stop, then run the command again: the next start sets a new password",
        )
    return _format_url(password, port)


def _format_url(password: str, port: int) -> str:
    return f"postgresql://{cluster.SUPERUSER}:{password}@127.0.0.1:{port}/{cluster.DATABASE}?sslmode=disable"


def _version(layout: Layout) -> str | None:
    runtime = find_runtime(layout)
    return runtime.version if runtime else None


def _ended(layout: Layout, said: str) -> DatabaseError:
    if is_full(layout.base, said):
        return no_space(layout.base)
    reason = " / ".join(said.splitlines()[-4:]) or "it wrote no message"
    return DatabaseError(
        f"the embedded server ended while it started: {reason}",
        fix=f"read `veraz server logs` ({layout.log})",
    )


@contextlib.contextmanager
def _explained(home: Path) -> Iterator[None]:
    """Turn what the operating system refuses into an error that names the directory and the fix."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what, fix = (
                "the disk is full",
                "free some space, or set VERAZ_HOME to a directory on another disk",
            )
        else:
            what = error.strerror or str(error)
            fix = "set VERAZ_HOME to a directory that you may write to"
        where = error.filename or home
        raise DatabaseError(f"the embedded server of {home} cannot use {where}: {what}", fix=fix) from error


def _ignore(_message: str) -> None:
    return None


def _nothing() -> None:
    return None
