"""The server's log files: the last lines, what is new since a moment, and how many are kept."""

from __future__ import annotations

import contextlib
from collections import deque
from pathlib import Path

from veraz.db.embedded.layout import Layout

KEPT_FILES = 10  # of 10 MB each, see settings.py


def log_files(layout: Layout) -> list[Path]:
    """Oldest first. A link is not followed: for root the folder belongs to an unprivileged user."""
    files = [path for path in layout.log.glob("*.log") if path.is_file() and not path.is_symlink()]
    return sorted(files, key=lambda path: (path.stat().st_mtime, path.name))


def newest_log(layout: Layout) -> Path:
    files = log_files(layout)
    return files[-1] if files else layout.start_log


def read_logs(layout: Layout, lines: int) -> str:
    """The last lines over all files, preceded by what the last start wrote before it had a log file."""
    kept: deque[str] = deque(maxlen=max(lines, 0))
    for path in [layout.start_log, *log_files(layout)]:
        with contextlib.suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
            kept.extend(file)
    return "".join(kept)


def prune_logs(layout: Layout) -> None:
    for path in log_files(layout)[:-KEPT_FILES]:
        path.unlink(missing_ok=True)


class LogWatch:
    """Remembers how long the log files are; `news` is what was written since."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._sizes = {path: path.stat().st_size for path in log_files(layout)}

    def news(self) -> str:
        parts = [self._layout.start_log.read_text(encoding="utf-8", errors="replace")]
        for path in log_files(self._layout):
            with path.open("rb") as file:
                file.seek(self._sizes.get(path, 0))
                parts.append(file.read().decode(errors="replace"))
        return "".join(parts)
