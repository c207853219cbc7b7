"""Grid files: a veraz.toml whose values are lists. Every combination of them is a configuration.

    [ingest]
    chunk_tokens = [256, 512]

    [search]
    fusion = ["minmax", "rrf"]
    semantic_weight = [0.4, 0.5, 0.6, 0.7]

A key that is not there keeps the configured value. Beside those of veraz.toml there are `size` and `overlap`, given to the
chunkers that take them, and `mode`, `k`, `exact` and `reranker`, as `veraz search` has them.
"""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import msgspec

from veraz.config import IngestConfig, SearchConfig, reach
from veraz.errors import UsageError
from veraz.nouns.fusion import Fusion
from veraz.nouns.sweep import ArmSetting, IndexSetting, Setting, Value

MODES = ("hybrid", "lexical", "semantic")
MOST = 20_000
"""Configurations of one sweep: more would take hours to fuse, and choose by luck."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "ingest": ("chunker", "size", "overlap", "chunk_tokens", "header"),
    "search": (
        "mode",
        "fusion",
        "semantic_weight",
        "rrf_k",
        "k",
        "pool",
        "ef_search",
        "max_scan_tuples",
        "exact",
        "budget",
        "rescored",
        "reranker",
    ),
}
MEANT = {
    "alpha": "semantic_weight",
    "weight": "semantic_weight",
    "chunk_size": "chunk_tokens",
    "tokens": "chunk_tokens",
    "rerank": "reranker",
    "rrf": "rrf_k",
    "top_k": "k",
}
"""What others call them."""

WithOptions = Callable[[str, Mapping[str, int]], str]
"""A chunker as stated, with these options where it takes them, all of them spelled out: equal chunkers, equal texts. Raises
UsageError for one that cannot be."""


@dataclass(frozen=True, slots=True)
class Grid:
    """`axes`: key → its values, in the order of the file; none is empty."""

    name: str
    axes: Mapping[str, tuple[Value, ...]]

    @property
    def cuts(self) -> bool:
        """Whether it varies what documents are cut and embedded by."""
        return any(key in self.axes for key in SECTIONS["ingest"])


def read_grid(path: Path, rerankers: Collection[str] = ("none",)) -> Grid:
    """Reads a grid file. Raises UsageError naming file, key and value, with the known ones."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such grid file", fix="check --grid") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}", fix="mend the file; it must be TOML in UTF-8") from error
    return parse_grid(content, str(path), rerankers, name=path.stem)


def parse_grid(
    content: Mapping[str, Any], place: str, rerankers: Collection[str] = ("none",), *, name: str = "grid"
) -> Grid:
    """The same for what was read already; `place` names it in errors."""
    axes: dict[str, tuple[Value, ...]] = {}
    for section, keys in content.items():
        if not isinstance(keys, dict):
            raise UsageError(
                f"{place}: {section!r} stands outside a section", fix=f"write {_home(section)} and it below"
            )
        if section not in SECTIONS:
            raise UsageError(
                f"{place}: unknown section [{section}]", fix=f"known: {', '.join(f'[{s}]' for s in SECTIONS)}"
            )
        for key, stated in keys.items():
            if key not in SECTIONS[section]:
                raise UsageError(f"{place}: unknown key {key!r} in [{section}]", fix=_meant(key, section))
            axes[key] = _values(place, key, stated, rerankers)
    if not axes:
        raise UsageError(f"{place}: nothing to try", fix="give a key a list: semantic_weight = [0.4, 0.6]")
    return Grid(name, axes)


def _home(key: str) -> str:
    return next((f"[{section}]" for section, keys in SECTIONS.items() if key in keys), "[search]")


def _meant(key: str, section: str) -> str:
    elsewhere = next((s for s, keys in SECTIONS.items() if key in keys and s != section), None)
    if elsewhere:
        return f"it belongs into [{elsewhere}]"
    near = MEANT.get(key) or next(iter(difflib.get_close_matches(key, SECTIONS[section], n=1)), None)
    meant = f"did you mean {near!r}? " if near else ""
    return f"{meant}known: {', '.join(SECTIONS[section])}"


def _values(place: str, key: str, stated: Any, rerankers: Collection[str]) -> tuple[Value, ...]:
    values = stated if isinstance(stated, list) else [stated]
    if not values:
        raise UsageError(f"{place}: {key} = [] tries nothing", fix="give it values, or leave it out")
    return tuple(dict.fromkeys(_value(place, key, value, rerankers) for value in values))


def _value(place: str, key: str, value: Any, rerankers: Collection[str]) -> Value:
    where = f"{place}: {key} = {value!r}"
    if key in CHOICES or key == "reranker":
        known = CHOICES.get(key, tuple(rerankers))
        if value not in known:
            raise UsageError(f"{where}: no such {key}", fix=f"one of {', '.join(known)}")
        return str(value)
    if key == "exact":
        if not isinstance(value, bool):
            raise UsageError(f"{where}: neither true nor false", fix="exact = [false, true]")
        return value
    if key in LEAST:
        if type(value) is not int or value < LEAST[key]:
            raise UsageError(
                f"{where}: not a whole number from {LEAST[key]}", fix=f"{key} = [{LEAST[key] + 10}]"
            )
        return value
    form = SearchConfig if key in SearchConfig.__struct_fields__ else IngestConfig
    try:
        checked = getattr(msgspec.convert({key: value}, form), key)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{where}: {str(error).partition(' - at')[0]}", fix="see docs/reference/configuration.md"
        ) from error
    return checked  # type: ignore[no-any-return]


CHOICES: Mapping[str, tuple[str, ...]] = {"mode": MODES, "fusion": get_args(Fusion)}
LEAST = {"k": 1, "size": 1, "overlap": 0}


@dataclass(frozen=True, slots=True)
class Base:
    """What is configured, of which a grid varies a part: `search` holds every key of [search], and `mode`, `exact` and
    `reranker`."""

    index: IndexSetting
    search: Mapping[str, Any]

    @property
    def setting(self) -> Setting:
        return setting_of(self.search, self.index)

    def differences(self, setting: Setting) -> dict[str, Value]:
        """What one would change of it to have that configuration. A key that has no effect there is no change."""
        index = self.index
        cut = {"chunker": index.chunker, "chunk_tokens": index.chunk_tokens, "header": index.header}
        before = {**cut, **self.search}
        return {
            key: value
            for key, value in setting.values().items()
            if value is not None and value != before.get(key)
        }

    def name(self, setting: Setting) -> str:
        """Its differences in words: `semantic_weight 0.5, pool 200`; `current` has none."""
        changed = self.differences(setting)
        return ", ".join(f"{key} {_said(value)}" for key, value in changed.items()) or "current"


def expand(grid: Grid, base: Base, with_options: WithOptions) -> tuple[Setting, ...]:
    """Every configuration of the grid once, the current one first: what differs in keys without effect is one. With each fused
    one come its arms alone, which it has to beat. Raises UsageError for a chunker that cannot be, and for too many."""
    found: dict[Setting, None] = dict.fromkeys(_with_arms(base.setting))
    for values in itertools.product(*grid.axes.values()):
        stated = dict(zip(grid.axes, values, strict=True))
        found.update(dict.fromkeys(_with_arms(_setting(stated, base, with_options))))
        if len(found) > MOST:
            raise UsageError(
                f"{grid.name}: more than {MOST:,} configurations",
                fix="try fewer values, or one key after another",
            )
    return tuple(found)


def _with_arms(setting: Setting) -> Iterator[Setting]:
    yield setting
    if setting.mode == "hybrid":
        yield setting.alone("lexical")
        yield setting.alone("semantic")


def _setting(stated: Mapping[str, Any], base: Base, with_options: WithOptions) -> Setting:
    options = {key: stated[key] for key in ("size", "overlap") if key in stated}
    index = IndexSetting(
        chunker=with_options(stated.get("chunker", base.index.chunker), options),
        chunk_tokens=stated.get("chunk_tokens", base.index.chunk_tokens),
        header=stated.get("header", base.index.header),
    )
    return setting_of({**base.search, **stated}, index)


def setting_of(values: Mapping[str, Any], index: IndexSetting) -> Setting:
    """The configuration that these values of [search], and `mode`, `k`, `exact` and `reranker`, describe: with pools that reach
    as far as a search for k hits."""
    exact, fusion = values["exact"], values["fusion"]
    pool, ef_search = reach(values["pool"], values["ef_search"], values.get("k") or 0)
    limits: dict[str, Any] = (
        dict.fromkeys(("budget", "ef_search", "max_scan_tuples"))
        if exact
        else {**values, "ef_search": ef_search}
    )
    both = Setting(
        index=index,
        mode="hybrid",
        lexical=ArmSetting(
            "lexical", pool, exact, budget=limits["budget"], rescored=None if exact else values["rescored"]
        ),
        semantic=ArmSetting(
            "semantic",
            pool,
            exact,
            ef_search=limits["ef_search"],
            max_scan_tuples=limits["max_scan_tuples"],
        ),
        fusion=fusion,
        semantic_weight=float(values["semantic_weight"]),
        rrf_k=values["rrf_k"] if fusion == "rrf" else None,
        k=values.get("k"),
        reranker=values["reranker"],
    )
    return both if values["mode"] == "hybrid" else both.alone(values["mode"])


def _said(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def base_arms(settings: Sequence[Setting]) -> tuple[tuple[IndexSetting, ArmSetting], ...]:
    """Each way of asking an arm once, for each way of cutting."""
    return tuple(dict.fromkeys((s.index, arm) for s in settings for arm in s.arms))


def deeper(arm: ArmSetting) -> ArmSetting:
    return replace(arm, deeper=True)
