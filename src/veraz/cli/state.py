"""What the global options said, for the verb that runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class State:
    """One per invocation. `emitted` is set once a JSON document is on stdout, so that no second one follows."""

    config: Path | None = None
    database: str | None = None
    tenant: str | None = None
    roles: str | None = None
    debug: bool = False
    json: bool = False
    emitted: bool = False
    settings: dict[str, Any] = field(
        default_factory=dict
    )  # keys of the configuration that a verb's own flags set
