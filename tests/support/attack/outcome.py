"""What the checks share."""

from __future__ import annotations

Leaks = list[str]
REFUSED = "42501"
