"""How rankings are made one: the names that `--fusion` and `[search] fusion` take."""

from __future__ import annotations

from typing import Literal

Fusion = Literal["minmax", "rrf", "zscore", "dbsf", "convex"]
