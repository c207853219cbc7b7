"""Who runs the server, and where its files lie when that user cannot enter the home."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from embedded_helpers import MakeServer, query

from veraz.db.embedded import EmbeddedServer
from veraz.db.embedded import layout as layouts
from veraz.errors import DatabaseError

pytestmark = pytest.mark.usefixtures("system_directory")
root_only = pytest.mark.skipif(os.getuid() != 0, reason="needs root")

AS_USER = """
import os, sys
from pathlib import Path
import psycopg, encodings.idna
from veraz.db.embedded import EmbeddedServer
from veraz.errors import VerazError
uid = int(sys.argv[1])
os.setgroups([]); os.setgid(uid); os.setuid(uid)
try:
    print(getattr(EmbeddedServer(Path(sys.argv[2])), sys.argv[3])())
except VerazError as error:
    print("refused:", error)
"""


@pytest.fixture
def system_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In place of /var/lib/veraz, which a test must not touch."""
    place = folder / "system"
    monkeypatch.setattr(layouts, "SYSTEM_DIRECTORY", place)
    return place


@pytest.fixture
def user() -> Iterator[pwd.struct_passwd]:
    """A throw-away ordinary user."""
    name = "veraztest"
    if shutil.which("useradd") is None:
        pytest.skip("there is no useradd")
    subprocess.run(["useradd", "--no-create-home", name], check=True, capture_output=True)
    try:
        entry = pwd.getpwnam(name)
        _skip_unless_reachable(entry)
        yield entry
    finally:
        subprocess.run(["userdel", "--force", name], check=True, capture_output=True)


def _skip_unless_reachable(user: pwd.struct_passwd) -> None:
    spec = find_spec("pg0")
    binary = Path(str(spec.origin)).parent / "bin" / "pg0" if spec else Path()
    tried = (
        subprocess.run(
            [binary, "--version"],
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            check=False,
            capture_output=True,
            cwd="/",
        )
        if os.access(binary, os.X_OK)
        else None
    )
    if tried is None or tried.returncode != 0:
        pytest.skip("an ordinary user cannot reach this virtualenv")


def _as(user: pwd.struct_passwd, home: Path, method: str) -> str:
    command = [sys.executable, "-c", AS_USER, str(user.pw_uid), str(home), method]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@pytest.fixture
def home_of_user(user: pwd.struct_passwd, folder: Path) -> Iterator[Path]:
    home = folder / "ordinary"
    home.mkdir(mode=0o700)
    os.chown(home, user.pw_uid, user.pw_gid)
    yield home
    EmbeddedServer(home).destroy()
    shutil.rmtree(home)


@root_only
def test_an_ordinary_user_runs_it_as_herself(user: pwd.struct_passwd, home_of_user: Path) -> None:
    url = _as(user, home_of_user, "ensure_running")
    assert query(url, "SELECT 1") == [(1,)]
    base = home_of_user / "server"
    assert not base.is_symlink()
    assert stat.S_IMODE(base.stat().st_mode) == 0o700
    assert {path.stat().st_uid for path in [base, *base.iterdir()]} == {user.pw_uid}
    assert stat.S_IMODE((base / "password").stat().st_mode) == 0o600
    assert _as(user, home_of_user, "stop") == "True"


@root_only
def test_root_may_use_the_server_of_an_ordinary_user_without_taking_it_over(
    user: pwd.struct_passwd, home_of_user: Path
) -> None:
    url = _as(user, home_of_user, "ensure_running")
    query(url, "CREATE TABLE kept ()")
    root = EmbeddedServer(home_of_user)
    assert root.ensure_running() == url
    root.stop()
    assert root.ensure_running() == url
    owners = {path.stat().st_uid for path in (home_of_user / "server").iterdir()}
    assert owners == {user.pw_uid}
    assert _as(user, home_of_user, "ensure_running") == url
    assert query(url, "SELECT to_regclass('kept')::text") == [("kept",)]


@root_only
def test_the_first_start_by_root_in_the_home_of_a_user_leaves_it_to_the_user(
    user: pwd.struct_passwd, home_of_user: Path
) -> None:
    url = EmbeddedServer(home_of_user).ensure_running()
    assert {path.stat().st_uid for path in (home_of_user / "server").iterdir()} == {user.pw_uid}
    assert _as(user, home_of_user, "ensure_running") == url
    assert _as(user, home_of_user, "stop") == "True"
    assert _as(user, home_of_user, "ensure_running") == url


@root_only
def test_the_server_of_root_is_refused_to_others_in_words(
    user: pwd.struct_passwd, make_server: MakeServer
) -> None:
    server = make_server()
    server.ensure_running()
    answer = _as(user, server.home, "ensure_running")
    assert answer.startswith("refused:")
    assert "fix: " in answer
    assert "VERAZ_HOME" in answer


@root_only
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_for_a_closed_home_of_root_the_files_lie_behind_a_link(
    make_server: MakeServer, folder: Path, system_directory: Path, umask: int
) -> None:
    home = folder / f"closed-{umask:o}" / "home"
    home.mkdir(parents=True)
    home.parent.chmod(0o700)
    before = os.umask(umask)
    try:
        server = make_server(home)
        url = server.ensure_running()
    finally:
        os.umask(before)
    assert query(url, "SELECT 1") == [(1,)]
    target = (home / "server").readlink()
    assert target.parent == system_directory
    assert stat.S_IMODE(target.stat().st_mode) == 0o711
    assert stat.S_IMODE((target / "data").stat().st_mode) == 0o700
    assert EmbeddedServer(home).ensure_running() == url
    server.destroy()
    assert not target.exists()
    assert list(home.iterdir()) == []


@root_only
def test_a_copied_home_does_not_share_the_server_unnoticed(make_server: MakeServer, folder: Path) -> None:
    home = folder / "original" / "home"
    home.mkdir(parents=True)
    home.parent.chmod(0o700)
    server = make_server(home)
    url = server.ensure_running()
    copy = home.with_name("copy")
    shutil.copytree(home, copy, symlinks=True)
    with pytest.raises(DatabaseError, match=r"(?s)looks like a copy.*fix: remove"):
        EmbeddedServer(copy).ensure_running()
    shutil.rmtree(copy)
    moved = home.rename(home.with_name("moved"))
    assert make_server(moved).ensure_running() == url


def test_a_link_to_files_that_are_gone_is_never_replaced_by_an_empty_database(folder: Path) -> None:
    home = folder / "dangling"
    home.mkdir()
    (home / "server").symlink_to(folder / "was-here")
    with pytest.raises(DatabaseError, match=r"(?s)files are gone.*fix: restore"):
        EmbeddedServer(home).ensure_running()


@root_only
def test_without_a_system_user_root_is_told_what_to_do(
    make_server: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "SYSTEM_USERS", ("no-such-user",))
    with pytest.raises(DatabaseError, match="useradd --system"):
        make_server().ensure_running()


@root_only
def test_each_of_the_stock_system_users_will_do(
    make_server: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "SYSTEM_USERS", ("nobody",))
    server = make_server()
    url = server.ensure_running()
    assert query(url, "SELECT 1") == [(1,)]
    monkeypatch.setattr(layouts, "SYSTEM_USERS", ("daemon", "nobody"))
    server.stop()
    assert server.ensure_running() == url, "an existing data directory stays with its owner"
