#!/usr/bin/env python3
"""Checks the contracts of [tool.importlinter] in pyproject.toml; prints them only when one is broken."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = lint_imports(
            config_filename=str(ROOT / "pyproject.toml"), no_cache=True, is_debug_mode=False
        )
    print(said.getvalue() if status != EXIT_STATUS_SUCCESS else "Imports: every contract is kept")
    return status


if __name__ == "__main__":
    sys.exit(main())
