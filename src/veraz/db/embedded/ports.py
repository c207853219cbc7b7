"""The server's TCP port: chosen once, kept, and chosen again when somebody else has taken it."""

from __future__ import annotations

import random
import socket

from veraz.db.embedded.layout import Layout
from veraz.errors import DatabaseError

# Below the range from which Linux and macOS take the ports of outgoing connections.
_LOWEST, _HIGHEST = 20_000, 32_000


def recorded_port(layout: Layout) -> int | None:
    try:
        return int(layout.port.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def choose_port(layout: Layout) -> int:
    """The recorded port if it is free, else a free one, which is recorded."""
    recorded = recorded_port(layout)
    if recorded is not None and is_free(recorded):
        return recorded
    port = _free_port()
    layout.write(layout.port, f"{port}\n")
    return port


def forget_port(layout: Layout) -> None:
    layout.port.unlink(missing_ok=True)


def _free_port() -> int:
    for _ in range(200):
        port = random.SystemRandom().randint(_LOWEST, _HIGHEST)
        if is_free(port):
            return port
    raise DatabaseError(
        f"no free TCP port between {_LOWEST} and {_HIGHEST} on 127.0.0.1",
        fix="check that this machine has a loopback interface (`ip addr show lo`)",
    )


def is_free(port: int) -> bool:
    """Whether PostgreSQL could listen there: bound with the same option that it sets, so a port in TIME_WAIT
    is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError:
            return False
    return True
