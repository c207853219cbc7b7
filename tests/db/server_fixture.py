"""One embedded server for all tests of a machine, kept between runs. Durability is off: nothing in it is
worth keeping."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

from veraz.db.embedded import EmbeddedServer
from veraz.errors import DatabaseError

FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum_naptime": "1h",
    "max_connections": "100",
    "shared_buffers": "256MB",
}


def test_home() -> Path:
    return Path(tempfile.gettempdir()) / f"veraz-test-{os.getuid()}"


@cache
def test_server() -> str:
    """The administrator's URL of the server that tests share. It keeps running after the session: stop it
    with `EmbeddedServer(test_home()).destroy()`."""
    home = test_home()
    home.mkdir(mode=0o711, exist_ok=True)
    if home.stat().st_uid != os.getuid():
        raise PermissionError(f"{home} belongs to another user: remove it or set TMPDIR")
    server = EmbeddedServer(home, settings=FAST)
    try:
        return server.ensure_running()
    except DatabaseError:
        # Without durability a power cut may leave a broken cluster. It holds nothing but test databases.
        server.destroy()
        return server.ensure_running()


# pytest would collect both by their names.
test_home.__test__ = False  # type: ignore[attr-defined]
test_server.__test__ = False  # type: ignore[attr-defined]
