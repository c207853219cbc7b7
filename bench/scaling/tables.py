"""The figures as text: for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from scaling.verdicts import RATIOS, Bound, Figures, interval


def shown(run: Figures) -> Iterator[str]:
    yield f"{run.chunks:,} chunks, {run.real:,} of them real"
    for way in run.times:
        processor = f", processor {np.median(run.processor[way]):8.1f} ms" if run.processor else ""
        yield f"  {way:<16} p50 {run.p(way):9.1f} ms, p95 {run.p(way, 95):9.1f} ms{processor}"
    for way, base in RATIOS:
        processor = (
            f", of the processor {run.against(way, base, processor=True).said}" if run.processor else ""
        )
        yield f"  {way + ' / ' + base:<34} {run.against(way, base).said}{processor}"
    for name, values in run.found.items():
        low, high = interval(values)
        yield f"  {name:<20} {np.mean(values):.4f} ({low:.4f} to {high:.4f}), least {min(values):.2f}"
    yield (
        f"  postings of a question: {run.postings:,.0f} in the median; all read for {run.read_all:.0%}; "
        f"{run.proven:.0f} candidates proved"
    )
    for budget, found in run.budgets.items():
        yield "  budget {:>9,}: {}".format(
            budget, ", ".join(f"{name} {value:.3f}" for name, value in found.items())
        )
    yield f"  posting blocks: {run.posting_bytes[0]:.0f} bytes a chunk, their table {run.posting_bytes[1]:.0f}"
    yield "  built in seconds: " + ", ".join(f"{name} {taken:.1f}" for name, taken in run.seconds.items())
    for name, size in sorted(run.sizes.items(), key=lambda entry: -entry[1])[:14]:
        yield f"  {name:<48} {size / 2**20:9.1f} MiB"
    for row in run.methods:
        mebibytes = row["size_bytes"] / 2**20
        yield f"  {_method(row):<52} recall@{row['k']} {row['recall']:.4f}, p50 {row['p50_ms']:.1f} ms, {mebibytes:.1f} MiB"
    for oversampling, found in run.signs.items():
        state = {True: "refused", False: "built", None: "not tried"}[run.refused.get(oversampling)]
        yield f"  signs × {oversampling}, asked chunks: least recall {found:.4f}, {state}"


def _method(row: dict[str, Any]) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in row["settings"].items())
    return f"{row['method']} {settings}".strip()


def markdown(runs: Sequence[Figures], required: Sequence[Bound]) -> Iterator[str]:
    yield from _bounds(required)
    yield from _times(runs)
    yield from _recalls(runs)
    yield from _budgets(runs)
    yield from _sizes(runs)
    yield from _methods(runs)


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _head(*cells: str) -> Iterator[str]:
    yield _row(*cells)
    yield "|" + "---|" * len(cells)


def _bounds(required: Sequence[Bound]) -> Iterator[str]:
    yield from _head("chunks", "what", "figure", "must be", "")
    for bound in required:
        limit = f"{'at least' if bound.least else 'at most'} {bound.limit:.3g}"
        verdict = "holds" if bound.holds else "**falls short**"
        yield _row(f"{bound.size:,}", bound.what, f"{bound.figure:.3f} {bound.more}".strip(), limit, verdict)
    yield ""


def _times(runs: Sequence[Figures]) -> Iterator[str]:
    yield from _head("p50 / p95, ms", *(f"{run.chunks:,}" for run in runs))
    for way in runs[0].times:
        yield _row(way, *(f"{run.p(way):.1f} / {run.p(way, 95):.1f}" for run in runs))
    yield ""
    if all(run.processor for run in runs):
        yield from _head("processor's p50, ms", *(f"{run.chunks:,}" for run in runs))
        for way in runs[0].processor:
            yield _row(way, *(f"{np.median(run.processor[way]):.1f}" for run in runs))
        yield ""
        yield from _head("p50 as a ratio: clock; processor", *(f"{run.chunks:,}" for run in runs))
        for way, base in RATIOS:
            both = [(run.against(way, base), run.against(way, base, processor=True)) for run in runs]
            yield _row(f"{way} / {base}", *(f"{clock.said}; {cpu.said}" for clock, cpu in both))
        yield ""


def _recalls(runs: Sequence[Figures]) -> Iterator[str]:
    yield from _head("", *(f"{run.chunks:,}" for run in runs))
    for name in runs[0].found:
        yield _row(name, *(f"{np.mean(run.found[name]):.4f}" for run in runs))
    yield _row("postings of a question, median", *(f"{run.postings:,.0f}" for run in runs))
    yield _row("questions of which all were read", *(f"{run.read_all:.0%}" for run in runs))
    yield ""


def _budgets(runs: Sequence[Figures]) -> Iterator[str]:
    yield from _head("budget of postings: recall@10, recall@50, p50", *(f"{run.chunks:,}" for run in runs))
    for budget in runs[0].budgets:
        found = [run.budgets[budget] for run in runs]
        yield _row(
            f"{budget:,}", *(f"{b['recall@10']:.3f}, {b['recall@50']:.3f}, {b['p50']:.1f} ms" for b in found)
        )
    yield ""


def _sizes(runs: Sequence[Figures]) -> Iterator[str]:
    yield from _head("MiB", *(f"{run.chunks:,}" for run in runs))
    for name in sorted(runs[-1].sizes, key=lambda name: -runs[-1].sizes[name]):
        yield _row(f"`{name}`", *(f"{run.sizes.get(name, 0) / 2**20:,.1f}" for run in runs))
    yield _row("posting blocks, bytes a chunk", *(f"{run.posting_bytes[0]:.0f}" for run in runs))
    yield _row("… with their pages", *(f"{run.posting_bytes[1]:.0f}" for run in runs))
    yield ""
    yield from _head("built in seconds", *(f"{run.chunks:,}" for run in runs))
    for name in runs[0].seconds:
        yield _row(name, *(f"{run.seconds.get(name, 0):,.0f}" for run in runs))
    yield ""


def _methods(runs: Sequence[Figures]) -> Iterator[str]:
    yield from _head("chunks", "index", "recall@10", "recall@50", "p50, ms", "MiB", "built in s")
    for run in runs:
        by_method: dict[str, dict[int, dict[str, Any]]] = {}
        for row in run.methods:
            by_method.setdefault(_method(row), {})[int(str(row["k"]))] = row
        for name, rows in by_method.items():
            one = rows[max(rows)]
            built = "–" if one["build_seconds"] is None else f"{one['build_seconds']:.0f}"
            recalls = [f"{rows[k]['recall']:.4f}" if k in rows else "–" for k in (10, 50)]
            size = f"{one['size_bytes'] / 2**20:.1f}"
            yield _row(f"{run.chunks:,}", name, *recalls, f"{one['p50_ms']:.1f}", size, built)
    yield ""
