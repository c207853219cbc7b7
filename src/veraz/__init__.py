"""Hybrid retrieval and cited answers on PostgreSQL.

    from veraz import Veraz

    with Veraz.open() as vz:
        vz.ingest("docs/", source="handbook")
        answer = vz.ask("How long should a burn be cooled?")

`Veraz` blocks, `AsyncVeraz` awaits. Names are loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from veraz.config import Config
    from veraz.engine import AsyncVeraz
    from veraz.errors import VerazError
    from veraz.nouns.answer import Answer, Citation, Claim
    from veraz.nouns.corpus import IngestReport
    from veraz.nouns.evidence import Hit, SearchResult
    from veraz.nouns.question import Filters
    from veraz.sync import Veraz

__all__ = [
    "Answer",
    "AsyncVeraz",
    "Citation",
    "Claim",
    "Config",
    "Filters",
    "Hit",
    "IngestReport",
    "SearchResult",
    "Veraz",
    "VerazError",
    "__version__",
]

_HOMES = {
    "Answer": "veraz.nouns.answer",
    "AsyncVeraz": "veraz.engine",
    "Citation": "veraz.nouns.answer",
    "Claim": "veraz.nouns.answer",
    "Config": "veraz.config",
    "Filters": "veraz.nouns.question",
    "Hit": "veraz.nouns.evidence",
    "IngestReport": "veraz.nouns.corpus",
    "SearchResult": "veraz.nouns.evidence",
    "Veraz": "veraz.sync",
    "VerazError": "veraz.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'veraz' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
