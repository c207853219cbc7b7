"""What a crash leaves behind at any moment, the next command puts right, and no committed row is lost."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from embedded_helpers import MakeServer, postmasters_of, query, start_client

from veraz.db.embedded import EmbeddedServer, process
from veraz.db.embedded.layout import find_layout
from veraz.errors import ConfigError, DatabaseError

RECOVERY_SECONDS = 30


@pytest.fixture
def rows(server: EmbeddedServer) -> Iterator[str]:
    """A running server with 1,000 committed rows, checked to be complete when the test is over."""
    url = server.ensure_running()
    query(url, "DROP TABLE IF EXISTS kept")
    query(url, "CREATE TABLE kept AS SELECT g AS id FROM generate_series(1, 1000) g")
    yield url
    begun = time.monotonic()
    assert query(server.ensure_running(), "SELECT count(*), sum(id) FROM kept") == [(1000, 500500)]
    assert time.monotonic() - begun < RECOVERY_SECONDS


def _kill_postmaster(server: EmbeddedServer) -> int:
    pid = server.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


def test_a_killed_postmaster_comes_back(server: EmbeddedServer, rows: str) -> None:
    pid = _kill_postmaster(server)
    assert server.ensure_running() == rows
    assert server.status().pid != pid


@pytest.mark.skipif(sys.platform != "linux", reason="finds orphans through /proc")
def test_a_killed_postmaster_comes_back_although_a_backend_is_stuck(
    server: EmbeddedServer, rows: str
) -> None:
    with psycopg.connect(rows, autocommit=True) as connection:
        os.kill(connection.info.backend_pid, signal.SIGSTOP)
        _kill_postmaster(server)
        assert query(server.ensure_running(), "SELECT 1") == [(1,)]
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def test_stop_ends_what_a_killed_postmaster_left(server: EmbeddedServer, rows: str) -> None:
    with psycopg.connect(rows, autocommit=True) as connection:
        os.kill(connection.info.backend_pid, signal.SIGSTOP)
        _kill_postmaster(server)
        assert server.stop() is True
        assert server.status().running is False


def test_a_killed_backend_restarts_the_server_by_itself(server: EmbeddedServer, rows: str) -> None:
    pid = server.status().pid
    with psycopg.connect(rows, autocommit=True) as connection:
        os.kill(connection.info.backend_pid, signal.SIGKILL)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT pg_sleep(5)")
    assert server.ensure_running() == rows
    assert server.status().pid == pid


def test_rows_committed_during_kills_are_all_there(server: EmbeddedServer) -> None:
    url = server.ensure_running()
    query(url, "DROP TABLE IF EXISTS ledger")
    query(url, "CREATE TABLE ledger (id int PRIMARY KEY)")
    acknowledged = []
    for number in range(60):
        try:
            query(url, "INSERT INTO ledger VALUES (%s)", number)
        except psycopg.OperationalError:
            url = server.ensure_running()
        else:
            acknowledged.append(number)
        if number % 20 == 10:
            _kill_postmaster(server)
    stored = {row[0] for row in query(server.ensure_running(), "SELECT id FROM ledger")}
    assert stored >= set(acknowledged)
    assert 50 <= len(acknowledged) < 60


@pytest.mark.parametrize("owner", ["same user", "another user"])
def test_a_pid_file_that_points_at_a_foreign_process(server: EmbeddedServer, rows: str, owner: str) -> None:
    """As after a reboot, or a restart of a container: the old pid now belongs to somebody else."""
    layout = find_layout(server.home)
    assert layout is not None
    pid_file = layout.data / "postmaster.pid"
    text = pid_file.read_text()
    _kill_postmaster(server)
    process.end_orphans(layout)
    uid = layout.data.stat().st_uid if owner == "same user" else os.getuid()
    switch = {"user": uid} if os.getuid() == 0 else {}
    with subprocess.Popen(["sleep", "60"], **switch) as foreign:
        try:
            pid_file.write_text("\n".join([str(foreign.pid), *text.splitlines()[1:]]) + "\n")
            assert server.status().running is False
            assert server.ensure_running() == rows
            assert foreign.poll() is None, "the foreign process must be left alone"
            assert server.status().pid != foreign.pid
        finally:
            foreign.kill()


@pytest.mark.usefixtures("rows")
def test_stop_spares_a_foreign_process_that_wears_the_pid(server: EmbeddedServer) -> None:
    layout = find_layout(server.home)
    assert layout is not None
    text = (layout.data / "postmaster.pid").read_text()
    server.stop()
    with subprocess.Popen(["sleep", "60"]) as foreign:
        (layout.data / "postmaster.pid").write_text(text.replace(text.split()[0], str(foreign.pid), 1))
        assert server.stop() is False
        assert foreign.poll() is None
        foreign.kill()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.usefixtures("rows")
def test_a_port_taken_by_somebody_else_is_given_up(server: EmbeddedServer, host: str) -> None:
    port = server.status().port
    server.stop()
    with socket.create_server((host, port or 0), reuse_port=False):
        url = server.ensure_running()
        assert server.status().port != port
        assert query(url, "SELECT count(*) FROM kept") == [(1000,)]
    server.stop()
    assert server.ensure_running() == url, "the new port is kept"


@pytest.mark.parametrize("stage", ["unpacking", "creating", "starting"])
@pytest.mark.parametrize("longest_delay", [0.0, 0.2, 0.7])
def test_a_client_killed_during_the_first_start(
    make_server: MakeServer, stage: str, longest_delay: float
) -> None:
    """Killed at a random moment after it says which step begins; the longest delay reaches into the next step."""
    server = make_server()
    with start_client(server.home, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        while not client.stdout.readline().startswith(stage.encode()):
            assert client.poll() is None
        time.sleep(random.uniform(0, longest_delay))
        client.kill()
    begun = time.monotonic()
    url = server.ensure_running()
    assert time.monotonic() - begun < RECOVERY_SECONDS
    assert query(url, "SELECT current_database()::text") == [("veraz",)]
    base = (server.home / "server").resolve()
    assert not (base / "data.new").exists()
    assert not (base / "unpacking").exists()
    if sys.platform == "linux":
        assert postmasters_of(server.home) == [server.status().pid]


@pytest.mark.usefixtures("rows")
def test_a_client_killed_again_and_again_during_crash_recovery(server: EmbeddedServer) -> None:
    for _ in range(4):
        _kill_postmaster(server)
        with start_client(server.home, stdout=subprocess.DEVNULL) as client:
            time.sleep(random.uniform(0.15, 0.5))
            client.kill()
        server.ensure_running()


def test_a_half_made_cluster_is_made_anew(make_server: MakeServer) -> None:
    server = make_server()
    server.ensure_running()
    layout = find_layout(server.home)
    assert layout is not None
    server.stop()
    layout.data.rename(layout.half_made_data)
    assert query(server.ensure_running(), "SELECT 1") == [(1,)]
    assert not layout.half_made_data.exists()


def test_a_lost_password_is_replaced_at_the_next_start(server: EmbeddedServer, rows: str) -> None:
    layout = find_layout(server.home)
    assert layout is not None
    layout.password.unlink()
    with pytest.raises(DatabaseError, match="veraz server stop"):
        server.ensure_running()
    server.stop()
    url = server.ensure_running()
    assert url != rows
    assert query(url, "SELECT count(*) FROM kept") == [(1000,)]


def test_another_major_version_is_refused_and_left_as_it_is(server: EmbeddedServer, rows: str) -> None:
    assert rows
    server.stop()
    version = (server.home / "server").resolve() / "data" / "PG_VERSION"
    version.write_text("17\n")
    try:
        with pytest.raises(DatabaseError, match=r"(?s)made by PostgreSQL 17.*fix: .*VERAZ_HOME"):
            server.ensure_running()
        assert version.read_text() == "17\n"
    finally:
        version.write_text("18\n")


def test_a_broken_setting_names_itself_and_the_log(make_server: MakeServer) -> None:
    home = make_server().home
    with pytest.raises(DatabaseError, match=r"(?s)no_such_setting.*fix: .*server logs"):
        EmbeddedServer(home, settings={"no_such_setting": "1"}).ensure_running()
    assert query(EmbeddedServer(home).ensure_running(), "SELECT 1") == [(1,)]


def test_a_home_that_cannot_be_made_is_named_with_the_fix(folder: Path) -> None:
    blocked = folder / "a-file"
    blocked.touch()
    with pytest.raises(DatabaseError, match=r"(?s)a-file.*fix: set VERAZ_HOME"):
        EmbeddedServer(blocked / "home").ensure_running()


def test_a_disk_too_full_for_a_new_server_is_refused_before_anything_is_unpacked(
    make_server: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = make_server()
    monkeypatch.setattr("veraz.db.embedded.space.FREE_BYTES_NEEDED", 1 << 60)
    with pytest.raises(DatabaseError, match=r"(?s)disk .* is full.*fix: free some space"):
        server.ensure_running()
    assert not list((server.home / "server").resolve().glob("postgresql-*"))


@pytest.mark.skipif(os.getuid() != 0 or sys.platform != "linux", reason="mounts a small file system")
@pytest.mark.parametrize("megabytes", [30, 90])
def test_a_disk_that_fills_up_during_the_first_start(
    make_server: MakeServer, folder: Path, monkeypatch: pytest.MonkeyPatch, megabytes: int
) -> None:
    """30 MB are too few for the programs, 90 MB too few for the data."""
    home = folder / f"small-{megabytes}"
    home.mkdir(mode=0o711)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "tmpfs", str(home)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        monkeypatch.setattr("veraz.db.embedded.space.FREE_BYTES_NEEDED", 0)
        with pytest.raises(DatabaseError, match=r"(?s)is full.*fix: free some space"):
            make_server(home).ensure_running()
        subprocess.run(["mount", "-o", "remount,size=400m", str(home)], check=True)
        server = make_server(home)
        assert query(server.ensure_running(), "SELECT 1") == [(1,)]
        server.destroy()
    finally:
        subprocess.run(["umount", str(home)], check=True)


def test_a_missing_system_library_is_named_with_its_package(
    make_server: MakeServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = folder / "pg0-without-libraries"
    program.write_text("#!/bin/sh\necho 'Error:  libgssapi_krb5.so.2 => not found'\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr("veraz.db.embedded.runtime._pg0_binary", lambda: str(program))
    with pytest.raises(
        DatabaseError, match=r"(?s)libgssapi_krb5.so.2 is missing.*apt-get install libgssapi-krb5-2"
    ):
        make_server().ensure_running()


def test_without_the_extra_the_fix_is_named(make_server: MakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import PackageNotFoundError

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("veraz.db.embedded.runtime.version", missing)
    with pytest.raises(ConfigError, match=r"(?s)not installed.*pip install 'veraz\[local\]'"):
        make_server().ensure_running()
