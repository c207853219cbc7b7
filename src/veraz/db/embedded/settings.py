"""The server's configuration file, computed from the machine. Pure but for the functions that look at the
machine.

Durability is on (fsync, synchronous_commit and full_page_writes keep their defaults). `wal_level = minimal`
lets index builds on fresh tables skip the log; it rules out replicas and pg_basebackup, so a backup is
pg_dump.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MB = 1024 * 1024
HBA = """\
# Written at each start. Loopback with a password, nothing else.
host  all  all  127.0.0.1/32  scram-sha-256
"""
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@dataclass(frozen=True, slots=True)
class Machine:
    """What the settings depend on. `memory` and `shared_memory_disk` (the size of /dev/shm) in bytes."""

    memory: int
    shared_memory_disk: int
    has_utc_file: bool


def this_machine() -> Machine:
    return Machine(_memory(), _shared_memory_disk(), Path("/usr/share/zoneinfo/UTC").exists())


def _memory() -> int:
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _CGROUP_LIMITS:
        try:
            sizes.append(int(path.read_text()))
        except (OSError, ValueError):  # no such hierarchy, or the word "max"
            continue
    return min(sizes)


def _shared_memory_disk() -> int:
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return 0
    return found.f_blocks * found.f_frsize


def settings_for(machine: Machine) -> dict[str, str]:
    """Settings for a small machine that the server shares with the embedding model and with its clients."""
    shared_buffers = _between(32, machine.memory // MB // 8, 512)
    maintenance = _between(64, machine.memory // MB // 8, 512)
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "max_connections": "60",
        "password_encryption": "scram-sha-256",
        "shared_preload_libraries": "",
        "cluster_name": "veraz",
        "shared_buffers": f"{shared_buffers}MB",
        "maintenance_work_mem": f"{maintenance}MB",
        "work_mem": "32MB" if machine.memory >= 2048 * MB else "8MB",
        "effective_cache_size": f"{max(128, machine.memory // MB // 2)}MB",
        "random_page_cost": "1.1",
        "jit": "off",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_wal_size": "4GB",
        "min_wal_size": "256MB",
        "wal_compression": "lz4",
        "checkpoint_timeout": "15min",
        "default_toast_compression": "lz4",
        "timezone": "UTC" if machine.has_utc_file else "GMT",
        "log_timezone": "UTC" if machine.has_utc_file else "GMT",
        "logging_collector": "on",
        "log_filename": "postgresql-%Y-%m-%d_%H%M%S.log",
        "log_rotation_size": "10MB",
        "log_rotation_age": "0",
        "log_line_prefix": "%m [%p] %q%u@%d ",
        "lc_messages": "C",
    }
    # A parallel index build asks for maintenance_work_mem of shared memory at once; containers give /dev/shm
    # 64 MB.
    if machine.shared_memory_disk < 2 * maintenance * MB:
        settings["dynamic_shared_memory_type"] = "mmap"
    return settings


def _between(low: int, value: int, high: int) -> int:
    return max(low, min(value, high))


def config_text(settings: Mapping[str, str]) -> str:
    lines = [f"{name} = '{_quoted(value)}'" for name, value in settings.items()]
    return "# Written at each start. Lasting changes of your own: ALTER SYSTEM.\n" + "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
