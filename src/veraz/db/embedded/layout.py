"""Where a home's server keeps its files, and which system user runs it.

    VERAZ_HOME/server/          or a link to /var/lib/veraz/<hash of VERAZ_HOME>, see below
        start.lock              held by whoever starts, stops or creates the server
        run.lock                held by the server itself, as long as one of its processes lives
        password  port          the superuser's password (0600) and the port, chosen once
        runtime_password        that of the login which serves (0600)
        server.conf  hba.conf   written anew at each start
        postgresql-18.1.0-…/    the unpacked binaries
        data/  log/             owned by the system user that runs the server, mode 0700

PostgreSQL refuses to run as root, so for root the server runs as the owner of an existing data directory,
else as `veraz`, `postgres` or `nobody`, whichever exists first. That user often cannot enter root's home;
then the files go to /var/lib/veraz and VERAZ_HOME/server is a symbolic link there. Everything that root
writes lies in directories of root's own, never in one that the unprivileged user could fill with links; the
password stays readable by root alone.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from veraz.errors import DatabaseError

SYSTEM_DIRECTORY = Path("/var/lib/veraz")
SYSTEM_USERS = ("veraz", "postgres", "nobody")
OWNER_FILE = "home"


@dataclass(frozen=True, slots=True)
class Account:
    """The system user that owns the cluster. `switch` says that the caller is root and must become this
    user."""

    uid: int
    gid: int
    switch: bool

    def popen_options(self) -> dict[str, Any]:
        if not self.switch:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def give(self, path: Path) -> None:
        if self.switch:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths below one server directory."""

    base: Path

    @property
    def start_lock(self) -> Path:
        return self.base / "start.lock"

    @property
    def run_lock(self) -> Path:
        return self.base / "run.lock"

    @property
    def password(self) -> Path:
        return self.base / "password"

    @property
    def runtime_password(self) -> Path:
        return self.base / "runtime_password"

    @property
    def port(self) -> Path:
        return self.base / "port"

    @property
    def config(self) -> Path:
        return self.base / "server.conf"

    @property
    def hba(self) -> Path:
        return self.base / "hba.conf"

    @property
    def data(self) -> Path:
        return self.base / "data"

    @property
    def half_made_data(self) -> Path:
        return self.base / "data.new"

    @property
    def unpacking(self) -> Path:
        return self.base / "unpacking"

    @property
    def log(self) -> Path:
        return self.base / "log"

    @property
    def start_log(self) -> Path:
        return self.base / "start.log"

    def write(self, path: Path, text: str, mode: int = 0o644) -> None:
        """Replace a file of the server directory as one step; it belongs to the directory's owner."""
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            self._give_to_owner(file.fileno())
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def open_lock(self, path: Path) -> int:
        """A descriptor of a lock file, made when absent. The caller closes it."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._give_to_owner(descriptor)
        return descriptor

    def open_start_log(self) -> BinaryIO:
        """The file for what the server says before it has its log file; emptied, the caller closes it."""
        file = self.start_log.open("wb")
        self._give_to_owner(file.fileno())
        return file

    def _give_to_owner(self, descriptor: int) -> None:
        if os.geteuid() == 0:
            owner = self.base.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)


def find_layout(home: Path) -> Layout | None:
    """The layout of a home whose server directory exists, else None. Creates nothing."""
    link = home / "server"
    if link.is_symlink() and not link.exists():
        raise DatabaseError(
            f"the embedded server's files are gone: {link} points to {link.readlink()}, which does not exist",
            fix=f"restore that directory, or remove {link} to begin with an empty database",
        )
    if not link.is_dir():
        return None
    layout = Layout(link.resolve())
    if link.is_symlink():
        _refuse_copy(home, layout)
    return layout


def _refuse_copy(home: Path, layout: Layout) -> None:
    """A copied home brings the link along: two homes would share one server, and destroy one another."""
    try:
        owner = Path((layout.base / OWNER_FILE).read_text(encoding="utf-8").rstrip("\n"))
    except FileNotFoundError:
        return
    if owner != home.resolve() and (owner / "server").exists() and (owner / "server").samefile(layout.base):
        raise DatabaseError(
            f"{home} looks like a copy of {owner}: both lead to the embedded server in {layout.base}",
            fix=f"remove {home / 'server'} to give this home a server of its own",
        )


def make_layout(home: Path) -> tuple[Layout, Account]:
    """The layout and account of a home, its server directory made on first use."""
    layout = find_layout(home) or _make_base(home)
    _refuse_characters(layout.base)
    account = account_of(layout)
    if not layout.log.exists():
        layout.log.mkdir(mode=0o700, exist_ok=True)
        account.give(layout.log)
    return layout, account


def _refuse_characters(base: Path) -> None:
    """initdb puts its own path between double quotes in a shell command; : and ; end a library path."""
    if found := sorted(set(str(base)) & set('"$`\\\n:;')):
        raise DatabaseError(
            f"PostgreSQL cannot work below {base}: the path contains {' '.join(map(repr, found))}",
            fix="set VERAZ_HOME to a directory without such characters in its name",
        )


def account_of(layout: Layout) -> Account:
    """The account that runs this server: the caller, or for root the owner of the existing files or a system
    user."""
    if os.geteuid() != 0:
        _refuse_foreign(layout)
        return Account(os.geteuid(), os.getegid(), switch=False)
    for path in (layout.data, layout.log, layout.base):
        if path.exists() and (owner := path.stat()).st_uid != 0:
            return Account(owner.st_uid, owner.st_gid, switch=True)
    return _system_account()


def _refuse_foreign(layout: Layout) -> None:
    owner = layout.base.stat().st_uid
    if owner != os.geteuid():
        raise DatabaseError(
            f"the embedded server in {layout.base} belongs to {_user_name(owner) or f'user {owner}'}",
            fix="run the command as that user, or set VERAZ_HOME to a directory of your own",
        )


def _user_name(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def _system_account() -> Account:
    for name in SYSTEM_USERS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid, switch=True)
    raise DatabaseError(
        f"PostgreSQL does not run as root, and none of the system users {', '.join(SYSTEM_USERS)} exists",
        fix="create one (`useradd --system veraz`), run as an ordinary user, or give --database URL",
    )


def _make_base(home: Path) -> Layout:
    if os.geteuid() != 0:
        base = home / "server"
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Layout(base.resolve())
    return _make_base_as_root(home)


def _make_base_as_root(home: Path) -> Layout:
    """Inside the home when the server's user can reach it there, else in /var/lib/veraz behind a link."""
    _make_passable(home)
    owner = home.stat()
    if owner.st_uid != 0 and _user_name(owner.st_uid) is not None:
        return _make_base_for(home, Account(owner.st_uid, owner.st_gid, switch=True))
    account = _system_account()
    if can_enter(account, home):
        base = home / "server"
        _make_passable(base)
        return Layout(base.resolve())
    return _make_linked_base(home, account)


def _make_passable(directory: Path) -> None:
    """Make a directory that others may enter but not list, whatever the umask; keep an existing one."""
    if not directory.exists():
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o711)


def _make_base_for(home: Path, owner: Account) -> Layout:
    base = home / "server"
    base.mkdir(mode=0o700, exist_ok=True)
    owner.give(base)
    return Layout(base.resolve())


def _make_linked_base(home: Path, account: Account) -> Layout:
    name = hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:16]
    base = SYSTEM_DIRECTORY / name
    _make_passable(SYSTEM_DIRECTORY)
    _make_passable(base)
    if not can_enter(account, base):
        raise DatabaseError(
            f"user {_user_name(account.uid)}, who would run PostgreSQL, can enter neither {home} nor {base}",
            fix="set VERAZ_HOME to a directory that every user may enter, or give --database URL",
        )
    layout = Layout(base)
    layout.write(base / OWNER_FILE, f"{home.resolve()}\n")
    try:
        (home / "server").symlink_to(base)
    except FileExistsError:
        return Layout((home / "server").resolve())
    return layout


def can_enter(account: Account, directory: Path) -> bool:
    """Whether the account can change into a directory; tried for real, so access lists count as well."""
    if not account.switch:
        return os.access(directory, os.X_OK)
    command = ["/bin/sh", "-c", 'cd "$1"', "sh", str(directory)]
    tried = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd="/",
        check=False,
        **account.popen_options(),
    )
    return tried.returncode == 0


def remove_base(home: Path, layout: Layout) -> None:
    """Delete a server directory with everything in it, and the link that led there."""
    if layout.data.exists():
        # Killed half-way, this must leave what the next start throws away, not a broken data directory.
        shutil.rmtree(layout.half_made_data, ignore_errors=True)
        layout.data.rename(layout.half_made_data)
    shutil.rmtree(layout.base)
    link = home / "server"
    if link.is_symlink():
        link.unlink()
