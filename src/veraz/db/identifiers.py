"""Finding a row by the beginning of its id."""

from __future__ import annotations

from string import hexdigits
from uuid import UUID


def ids_from(prefix: str) -> dict[str, UUID] | None:
    """The lowest and the highest id that begin so, as parameters of a statement; None where none can."""
    digits = prefix.strip().lower().replace("-", "")
    if not digits or len(digits) > 32 or not set(digits) <= set(hexdigits):
        return None
    return {"lowest": UUID(digits.ljust(32, "0")), "highest": UUID(digits.ljust(32, "f"))}
