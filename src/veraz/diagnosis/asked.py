"""A question with everything that decides what it finds, and changes applied to it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import msgspec

from veraz.config import Config
from veraz.nouns.diagnosis import Change, Verb
from veraz.nouns.evidence import Mode
from veraz.nouns.question import Filters

SEARCH_K = 10
"""Hits that a search gives where nothing is said, and the least that `ask` is expected to read."""


@dataclass(frozen=True, slots=True)
class Asked:
    """As `AsyncVeraz.search` and `ask` take it. `k` None: 10, or for `ask` the configured evidence where that is more. `roles`
    None: those of who asks."""

    question: str
    k: int | None = None
    mode: Mode = "hybrid"
    lang: str = "auto"
    filters: Filters = field(default_factory=Filters)
    fusion: str | None = None
    exact: bool = False
    as_of: date | None = None
    verb: Verb = "ask"
    roles: tuple[str, ...] | None = None
    rerank: str | None = None

    def limit(self, evidence: int) -> int:
        """The rank down to which a passage counts as found by the search."""
        if self.k is not None:
            return self.k
        return SEARCH_K if self.verb == "search" else max(SEARCH_K, evidence)


@dataclass(frozen=True, slots=True)
class Trial:
    """A question under a configuration."""

    asked: Asked
    config: Config

    @property
    def limit(self) -> int:
        return self.asked.limit(self.config.answer.evidence)


def applied(trial: Trial, change: Change) -> Trial:
    """The same with a change of kind request or settings made. Raises ValueError for one that changes the store."""
    if change.kind not in ("request", "settings"):
        raise ValueError(f"a change of kind {change.kind} is made to the store")
    values = dict(change.values) if change.kind == "request" else {}
    settings = {**(change.values if change.kind == "settings" else {}), **change.settings}
    if "filters" in values:
        values["filters"] = replace(trial.asked.filters, **values["filters"])
    if "roles" in values:
        values["roles"] = tuple(values["roles"])
    return Trial(replace(trial.asked, **values), configured(trial.config, settings))


def configured(config: Config, settings: Mapping[str, Any]) -> Config:
    """The configuration with dotted keys set: `search.pool`, `answer.threshold`."""
    for dotted, value in settings.items():
        section, _, key = dotted.partition(".")
        changed = msgspec.structs.replace(getattr(config, section), **{key: value})
        config = msgspec.structs.replace(config, **{section: changed})
    return config
