"""What a sweep leaves behind: lines of veraz.toml with the evidence beside them, a table for people, figures for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from veraz.evaluation.lines import write_lines
from veraz.evaluation.sweeps.grid import Base
from veraz.nouns.sweep import INDEX_KEYS, Choice, Gate, Interval, Measured, SweepReport, Value

TOML_NAME, TABLE_NAME, JSON_NAME = "veraz.toml", "table.md", "sweep.json"
SEARCH_KEYS = (
    "fusion",
    "semantic_weight",
    "rrf_k",
    "pool",
    "ef_search",
    "max_scan_tuples",
    "budget",
    "rescored",
)
"""Those of [search] in veraz.toml."""
SHOWN = ("ndcg@10", "recall@20", "mrr@10", "map")
REASONS = {
    "kept": "nothing is proven better than the current configuration (p <= 0.05, corrected for having looked at all)",
    "better": "proven better than the current configuration; of what is equal to the best, the fewest changes",
    "arm": "fusion does not beat the better arm alone",
}


def write_outcome(report: SweepReport, base: Base, out: Path) -> SweepReport:
    """Writes veraz.toml, table.md and sweep.json into `out`, and returns the report with the place. Raises UsageError for a place
    that cannot be written."""
    report = replace(report, out=str(out))
    write_lines(out / TOML_NAME, toml_lines(report, base))
    write_lines(out / TABLE_NAME, table_lines(report))
    write_lines(
        out / JSON_NAME, [msgspec.json.format(msgspec.json.encode(sweep_json(report)), indent=1).decode()]
    )
    return report


def sweep_json(report: SweepReport) -> dict[str, Any]:
    """The report as plain values: every configuration under `measured`, with its `values` by key."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(report))
    for place, measured in zip(plain["measured"], report.measured, strict=True):
        place["values"] = measured.setting.values()
        del place["setting"]
    return plain


# veraz.toml


def toml_lines(report: SweepReport, base: Base) -> Iterator[str]:
    """The chosen configuration as `veraz.toml` takes it. What no key sets stands in a comment."""
    yield from (f"# {line}".rstrip() for line in evidence(report))
    yield ""
    changed = base.differences(report.chosen.setting)
    values = {
        **_configured(base),
        **{k: v for k, v in report.chosen.setting.values().items() if v is not None},
    }
    yield "[ingest]"
    yield from _assignments(INDEX_KEYS, values, changed, base)
    yield ""
    yield "[search]"
    if report.choice.why == "arm":
        yield f"# veraz search --mode {report.chosen.setting.mode} asks that arm alone; this weight orders by it."
        values |= {
            "fusion": "minmax",
            "semantic_weight": 1.0 if report.chosen.setting.mode == "semantic" else 0.0,
        }
        changed |= {
            key: values[key] for key in ("fusion", "semantic_weight") if values[key] != base.search[key]
        }
    yield from _assignments(SEARCH_KEYS, values, changed, base)
    was = f"  # was {_toml(base.search['reranker'])}" if "reranker" in changed else ""
    yield f"rerank = {_toml(report.chosen.setting.reranker)}{was}"
    yield from (
        f"# {key} = {_toml(changed[key])}  # stated with each search, not configured"
        for key in ("k", "exact")
        if key in changed
    )


def _configured(base: Base) -> dict[str, Any]:
    index = base.index
    cut = {"chunker": index.chunker, "chunk_tokens": index.chunk_tokens, "header": index.header}
    return {**cut, **{key: base.search[key] for key in SEARCH_KEYS}}


def _assignments(
    keys: Sequence[str], values: Mapping[str, Any], changed: Mapping[str, Value], base: Base
) -> Iterator[str]:
    before = _configured(base)
    for key in keys:
        note = f"  # was {_toml(before[key])}" if key in changed else ""
        yield f"{key} = {_toml(values[key])}{note}"


def _toml(value: Any) -> str:
    """JSON's strings, numbers and truth values are TOML's too."""
    return json.dumps(value)


def evidence(report: SweepReport) -> Iterator[str]:
    """Why this configuration, in lines: figures, folds, intervals, date and settings of the run."""
    chosen, current, held = report.chosen, report.current, report.held_out
    yield f"Chosen by `veraz eval sweep` on {report.started_at} (Veraz {report.veraz}, embedding space {report.space})."
    for of in report.sets:
        private = (
            f", {of.queries - of.choosing} private ones that chose nothing"
            if of.queries > of.choosing
            else ""
        )
        where = f" of source {of.source}" if of.source else ""
        yield (
            f"Set {of.name} ({of.fingerprint[:12]}): {of.choosing} queries{private}, "
            f"{of.chunks:,} chunks{where}, tenant {', '.join(of.tenants[:3])}{', …' if len(of.tenants) > 3 else ''}."
        )
    yield "Each set weighs the same." if len(report.sets) > 1 else "One set."
    for key, values in report.grid.items():
        yield f"Tried {key} = {json.dumps(values)}."
    yield f"{len(report.measured)} configurations, arms alone included; the measure that decides is {report.measure}."
    yield ""
    yield f"Chosen: {chosen.name}: {REASONS[report.choice.why]}."
    yield f"  all queries:      {_figures(chosen)}"
    if not chosen.is_current:
        yield f"  current:          {_figures(current)}"
        yield f"  against current:  {said(chosen.against_current)}, corrected p {chosen.beats:.3f}"
    if report.choice.best != chosen.number:
        best = report.measured[report.choice.best]
        yield f"  best mean:        {best.name}: {_figures(best)}"
        yield f"    against current: {said(best.against_current)}, corrected p {best.beats:.3f}"
    yield from _gate_lines(report.choice.gate, "all queries")
    yield (
        f"Held out ({len(held.folds)} folds, seed {report.seed}): {held.measure} {held.mean:.4f}, current {held.current:.4f}, "
        f"difference {said(held.against_current)}; optimism {held.optimism:+.4f}; "
        f"{held.agree} of {len(held.folds)} folds choose the same. {'It holds.' if held.holds else 'It does not hold.'}"
    )
    yield from _gate_lines(held.gate, "held out")
    for name, means in report.private.items():
        yield f"Private queries, {name}: " + ", ".join(f"{m} {means[m]:.4f}" for m in SHOWN) + "."


def _gate_lines(gate: Gate | None, where: str) -> Iterator[str]:
    if gate is not None:
        figures = "; ".join(f"{measure} {said(found)}" for measure, found in gate.by_measure.items())
        yield f"Gate, {where}: fused less the {gate.arm} arm alone: {figures}: {'passed' if gate.passed else 'NOT passed'}."


def said(found: Interval) -> str:
    """`+0.0123 [+0.0010, +0.0240], p 0.031`."""
    return f"{found.difference:+.4f} [{found.low:+.4f}, {found.high:+.4f}], p {found.p:.3f}"


def _figures(measured: Measured) -> str:
    return ", ".join(f"{name} {measured.means[name]:.4f}" for name in SHOWN)


# The table


def table_lines(report: SweepReport) -> Iterator[str]:
    """A Markdown page: the evidence, each fold, and every configuration by falling mean."""
    yield "# Sweep of " + " and ".join(of.name for of in report.sets)
    yield ""
    yield from (f"- {line.strip()}" for line in evidence(report) if line)
    yield ""
    yield from _table(
        ["fold", "queries", "chose", "training", "held out"],
        (
            [
                str(f.number),
                str(f.queries),
                _chose(report, f.choice),
                f"{f.training:.4f}",
                f"{f.held_out:.4f}",
            ]
            for f in report.held_out.folds
        ),
    )
    yield ""
    names = [of.name for of in report.sets]
    several = [f"{name} {report.measure}" for name in names] if len(names) > 1 else []
    yield from _table(
        ["configuration", *SHOWN, *several, f"{report.measure} less current, 95 %", "corrected p", "arms ms"],
        (_row(report, measured, names) for measured in by_mean(report)),
    )


def by_mean(report: SweepReport) -> list[Measured]:
    """Best first; of equal means the earlier."""
    return sorted(report.measured, key=lambda m: (-m.means[report.measure], m.number))


def _row(report: SweepReport, measured: Measured, names: Sequence[str]) -> list[str]:
    bold = "**" if measured.number == report.choice.number else ""
    found = measured.against_current
    alike = "" if measured.same_as is None else f" (ranks like: {report.measured[measured.same_as].name})"
    return [
        f"{bold}{measured.name}{bold}{alike}",
        *(f"{measured.means[name]:.4f}" for name in SHOWN),
        *(f"{measured.by_set[name][report.measure]:.4f}" for name in names if len(names) > 1),
        "" if measured.is_current else f"{found.difference:+.4f} [{found.low:+.4f}, {found.high:+.4f}]",
        "" if measured.is_current else f"{measured.beats:.3f}",
        " + ".join(f"{ms:.1f}" for ms in measured.arms_ms.values()),
    ]


def _chose(report: SweepReport, choice: Choice) -> str:
    return report.measured[choice.number].name


def _table(heads: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(row)} |"
