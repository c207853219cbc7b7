"""A server is created, found again, shared, stopped and destroyed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest
from embedded_helpers import START_CLIENT, MakeServer, postmasters_of, query, start_client
from psycopg.conninfo import conninfo_to_dict

from veraz.db.embedded import EmbeddedServer
from veraz.errors import DatabaseError

linux_only = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads /proc")


def test_a_running_server_is_found_again(server: EmbeddedServer) -> None:
    url = server.ensure_running()
    assert EmbeddedServer(server.home).ensure_running() == url
    assert server.url() == url
    assert query(url, "SELECT current_user::text, current_database()::text") == [("postgres", "veraz")]


def test_finding_it_again_is_cheap(server: EmbeddedServer) -> None:
    server.ensure_running()
    begun = time.perf_counter()
    for _ in range(10):
        server.ensure_running()
    assert (time.perf_counter() - begun) / 10 < 0.25


def test_progress_names_each_step_of_a_first_start_and_none_afterwards(make_server: MakeServer) -> None:
    server, said = make_server(), []
    server.ensure_running(said.append)
    assert said == ["unpacking PostgreSQL", "creating the database", "starting the embedded server"]
    server.ensure_running(said.append)
    assert len(said) == 3


def test_the_extensions_that_veraz_needs_can_be_created(server: EmbeddedServer) -> None:
    url = server.ensure_running()
    for extension in ("vector", "pg_trgm", "unaccent"):
        query(url, f"CREATE EXTENSION IF NOT EXISTS {extension}")
    assert query(url, "SELECT '[1,2]'::halfvec(2) <=> '[1,2]'::halfvec(2)") == [(0.0,)]
    assert query(url, "SELECT unaccent('medicación'), 'metformn' % 'metformin'") == [("medicacion", True)]


def test_words_end_at_typographic_punctuation(server: EmbeddedServer) -> None:
    text = "“dosis” máxima—2 g ≥ ÁRBOL"
    [(vector,)] = query(
        server.ensure_running(),
        "SELECT array_to_string(tsvector_to_array(to_tsvector('simple', %s)), ' ')",
        text,
    )
    assert str(vector).split() == ["2", "dosis", "g", "máxima", "árbol"]


def test_committed_rows_survive_the_machine_and_other_settings_fit_a_small_one(
    server: EmbeddedServer,
) -> None:
    url = server.ensure_running()
    expected = {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "jit": "off",
        "random_page_cost": "1.1",
        "max_connections": "60",
        "max_wal_size": "4GB",
        "wal_compression": "lz4",
        "password_encryption": "scram-sha-256",
        "shared_preload_libraries": "",
        "unix_socket_directories": "",
        "listen_addresses": "127.0.0.1",
        "server_encoding": "UTF8",
    }
    found = dict(
        query(
            url, "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY (%s)", list(expected)
        )
    )
    assert found == expected


def test_eight_starters_share_one_postmaster(make_server: MakeServer) -> None:
    server = make_server()
    clients = [start_client(server.home, stdout=subprocess.PIPE) for _ in range(8)]
    urls = {client.communicate(timeout=60)[0].decode().splitlines()[-1] for client in clients}
    assert urls == {server.url()}
    assert [client.returncode for client in clients] == [0] * 8
    if Path("/proc/self/cmdline").exists():
        assert postmasters_of(server.home) == [server.status().pid]


def test_threads_share_one_postmaster(make_server: MakeServer) -> None:
    server, urls = make_server(), []
    threads = [threading.Thread(target=lambda: urls.append(server.ensure_running())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert urls == [server.url()] * 4


def test_a_client_whose_output_is_captured_returns_at_once(make_server: MakeServer) -> None:
    server = make_server()
    command = [sys.executable, "-c", START_CLIENT, str(server.home)]
    done = subprocess.run(command, capture_output=True, timeout=30, check=True)
    assert done.stdout.decode().splitlines()[-1] == server.url()
    assert done.stderr == b""


def test_ctrl_c_and_the_end_of_the_client_leave_the_server_alone(make_server: MakeServer) -> None:
    server = make_server()
    code = START_CLIENT + "\nimport time; time.sleep(60)"
    command = [sys.executable, "-c", code, str(server.home)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as client:
        assert client.stdout is not None
        while not (url := client.stdout.readline().decode().strip()).startswith("postgresql:"):
            assert client.poll() is None
        os.killpg(client.pid, signal.SIGINT)
        assert client.wait(10) != 0
    assert query(url, "SELECT 1") == [(1,)]


def test_two_homes_are_two_servers(server: EmbeddedServer, make_server: MakeServer) -> None:
    first, other = server.ensure_running(), make_server()
    second = other.ensure_running()
    query(first, "CREATE TABLE IF NOT EXISTS only_here ()")
    assert query(second, "SELECT to_regclass('only_here')") == [(None,)]
    assert server.status().port != other.status().port
    assert conninfo_to_dict(first)["password"] != conninfo_to_dict(second)["password"]
    other.stop()
    assert query(first, "SELECT 1") == [(1,)]


def test_stop_status_and_url(make_server: MakeServer) -> None:
    server = make_server()
    before = server.status()
    assert (before.running, before.installed, before.pid, before.url_redacted) == (False, False, None, None)
    assert server.stop() is False
    assert server.logs() == ""
    assert not server.home.exists()

    running = server.start()
    assert (running.running, running.installed, running.version) == (True, True, "18.1.0")
    assert running.pid is not None
    assert running.url_redacted == f"postgresql://postgres:***@127.0.0.1:{running.port}/veraz?sslmode=disable"
    assert running.log_path is not None
    assert running.log_path.is_file()
    assert "ready to accept connections" in server.logs(5)
    assert len(server.logs(2).splitlines()) == 2

    assert server.stop() is True
    assert server.stop() is False
    stopped = server.status()
    assert (stopped.running, stopped.installed, stopped.pid) == (False, True, None)
    assert "database system is shut down" in server.logs(3)
    with pytest.raises(DatabaseError, match="veraz server start"):
        server.url()


def test_the_port_and_the_rows_stay_over_a_restart(make_server: MakeServer) -> None:
    server = make_server()
    url = server.ensure_running()
    query(url, "CREATE TABLE kept AS SELECT 7 AS value")
    server.stop()
    assert server.ensure_running() == url
    assert query(url, "SELECT value FROM kept") == [(7,)]


def test_destroy_leaves_an_empty_home_and_the_next_start_an_empty_database(make_server: MakeServer) -> None:
    server = make_server()
    query(server.ensure_running(), "CREATE TABLE gone ()")
    base = (server.home / "server").resolve()
    server.destroy()
    assert list(server.home.iterdir()) == []
    assert not base.exists()
    assert query(server.ensure_running(), "SELECT to_regclass('gone')") == [(None,)]


def test_settings_of_the_caller_are_laid_over_the_computed_ones(make_server: MakeServer) -> None:
    home = make_server().home
    server = EmbeddedServer(home, settings={"work_mem": "5MB", "port": "1", "cluster_name": "it's \\ here"})
    url = server.ensure_running()
    assert query(url, "SELECT current_setting('work_mem'), current_setting('cluster_name')") == [
        ("5MB", "it's \\ here")
    ]
    assert server.status().port != 1


def test_a_long_and_awkward_path_works(make_server: MakeServer, folder: Path) -> None:
    home = folder / ("long-" * 30) / "it's a home with (spaces) & ü"
    assert query(make_server(home).ensure_running(), "SELECT 1") == [(1,)]


@pytest.mark.parametrize("name", ['"', "$HOME", "`x`", "a\\b", "a\nb", "a:b", "a;b"])
def test_a_path_that_initdb_cannot_quote_is_refused_in_words(folder: Path, name: str) -> None:
    home = folder / "awkward" / name
    with pytest.raises(DatabaseError, match=r"(?s)path contains.*fix: set VERAZ_HOME"):
        EmbeddedServer(home).ensure_running()
    EmbeddedServer(home).destroy()


def test_files_are_closed_to_others(server: EmbeddedServer) -> None:
    server.ensure_running()
    base = (server.home / "server").resolve()
    assert stat.S_IMODE((base / "password").stat().st_mode) == 0o600
    assert (base / "password").stat().st_uid == os.getuid()
    for name in ("data", "log"):
        assert stat.S_IMODE((base / name).stat().st_mode) == 0o700
    # Root's server runs as another user, who must pass through the folder, but nobody may list it.
    assert stat.S_IMODE(base.stat().st_mode) == (0o711 if os.getuid() == 0 else 0o700)


@linux_only
def test_no_command_line_or_environment_ever_shows_the_password(make_server: MakeServer) -> None:
    server, seen, done = make_server(), set(), threading.Event()

    def watch() -> None:
        while not done.is_set():
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    seen.add(path.read_bytes())
                    seen.add(path.with_name("environ").read_bytes())
                except OSError:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        url = server.ensure_running()
    finally:
        done.set()
        watcher.join()
    password = str(conninfo_to_dict(url)["password"]).encode()
    assert len(password) >= 32
    assert any(b"--single" in line for line in seen), "the watcher missed the step that sets the password"
    assert not any(password in line for line in seen)
    assert password.decode() not in server.logs(10_000)


@linux_only
def test_it_listens_on_loopback_only(server: EmbeddedServer) -> None:
    server.ensure_running()
    port = server.status().port
    listening = []
    for table in ("tcp", "tcp6"):
        path = Path("/proc/net") / table
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            address, state = line.split()[1], line.split()[3]
            if state == "0A" and int(address.split(":")[1], 16) == port:
                listening.append(address.split(":")[0])
    assert listening == ["0100007F"]


def test_a_wrong_password_and_none_are_refused(server: EmbeddedServer) -> None:
    right = conninfo_to_dict(server.ensure_running())
    for password in ("postgres", ""):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(**{**right, "password": password, "passfile": os.devnull})


@linux_only
@pytest.mark.skipif(os.getuid() != 0, reason="only for root the server runs as another user")
def test_for_root_the_server_is_unprivileged_and_cannot_change_its_program_or_its_rules(
    server: EmbeddedServer,
) -> None:
    server.ensure_running()
    status, base = server.status(), (server.home / "server").resolve()
    assert Path(f"/proc/{status.pid}").stat().st_uid != 0
    for path in (base, base / "hba.conf", base / "server.conf", *base.glob("postgresql-*/bin/postgres")):
        assert path.stat().st_uid == 0
        assert not path.stat().st_mode & 0o022
