"""Values as the JSON that jsonb takes."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""An escaped NUL, which jsonb refuses; not an escaped backslash before the letters u0000."""


def storable(value: Any) -> str:
    """`value` as JSON; characters NUL become blanks, numbers that are not finite null."""
    return _NUL.sub(r"\1 ", msgspec.json.encode(value).decode())
