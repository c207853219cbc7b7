"""The sections of a report, in the order of what its reader asks: better, where, for which queries, how fast, made how?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from veraz.evaluation.reporting import charts
from veraz.evaluation.reporting.markup import Child, Markup, element, joined, text
from veraz.evaluation.runs.comparison import setting_changes
from veraz.evaluation.runs.figures import recall_at
from veraz.nouns.evaluation import (
    Comparison,
    EvalReport,
    IndexFigure,
    QueryResult,
    RunComparison,
    SettingChange,
    StoredRun,
)

QUERIES_SHOWN = 20
ROWS_SHOWN = 500
PRIVATE = ("ndcg@10", "recall@10")
"""What is said of the private split: more would invite choosing by it."""
"""Of a table of all queries: beyond that a browser becomes slow, and the per-query file is the better place."""
METHODS = ("exact", "hnsw", "ivfflat", "binary")
SAME = 1e-6
MEANS = (
    "Measures lie between 0 and 1, and higher is better. Every judged query counts in every mean, as 0 where it found nothing"
    " or failed."
)
INTERVALS = (
    "95 % bootstrap intervals of the mean difference; p of a paired randomisation test, and corrected (Holm) for all comparisons"
    " here"
)
STAGES = (
    "Wall time of a query in each stage: the full bar is p50, the paler one p95. Percentiles of stages do not add up to those of"
    " the whole."
)


@dataclass(frozen=True, slots=True)
class About:
    """What a page is about: the last run, against those before it. `names` are those of `runs`; `comparisons` are of the further
    runs against the first."""

    runs: tuple[StoredRun, ...]
    names: tuple[str, ...]
    primary: str
    comparisons: tuple[RunComparison, ...]
    facets: Mapping[str, Sequence[str]]
    index: tuple[IndexFigure, ...]

    @property
    def run(self) -> StoredRun:
        return self.runs[-1]


@dataclass(frozen=True, slots=True)
class Section:
    key: str
    title: str
    content: Markup


def all_of(about: About) -> Iterator[Section | None]:
    """None where the runs hold nothing for a section."""
    yield Section("figures", "Figures", _figures(about))
    yield _gates(about)
    yield Section("recall", "Recall by depth", _recall(about))
    yield from (_comparison(about, one, place) for place, one in enumerate(about.comparisons))
    yield _facets(about)
    yield _spread(about)
    yield _latency(about)
    yield _index(about)
    yield Section("settings", "How the runs were made", _settings(about))


def opening(about: About) -> Markup:
    """What was measured, the runs with their signs, and the verdict in one sentence."""
    header = about.run.header
    said = f"{_counted(header.queries, 'judged query', 'judged queries')}, made {header.started_at:%Y-%m-%d %H:%M} UTC"
    legend = [
        element(
            "li",
            charts.swatch(place),
            text(name),
            " (baseline)" if place == 0 and about.comparisons else None,
        )
        for place, name in enumerate(about.names)
    ]
    verdicts = [_verdict(one) for one in about.comparisons]
    warnings = dict.fromkeys(
        [
            *(w for one in about.comparisons for w in one.warnings),
            *(w for run in about.runs for w in run.header.warnings),
        ]
    )
    return joined(
        element("p", said, class_="soft"),
        element("ul", legend, class_="legend", aria_label="Runs"),
        verdicts,
        [element("p", "Warning: ", text(warning), class_="warning") for warning in warnings],
    )


def index_figures(run: StoredRun) -> tuple[IndexFigure, ...]:
    """Figures of `veraz index measure` that a run holds in its settings; rows of another shape are left out."""
    index = run.header.config.get("index")
    rows = index.get("figures", ()) if isinstance(index, Mapping) else ()
    found = []
    for row in rows:
        try:
            found.append(msgspec.convert(row, IndexFigure))
        except msgspec.ValidationError:
            continue
    return tuple(found)


# --- is it better?


def _verdict(one: RunComparison) -> Markup:
    first = one.comparisons[0]
    kind = first.proven(corrected=True) or "open"
    moved = "rose" if first.mean_difference > 0 else "fell" if first.mean_difference < 0 else "did not change"
    by = f" by {abs(first.mean_difference):.4f}" if first.mean_difference else ""
    beyond = {
        "gain": "a gain beyond chance",
        "loss": "a loss beyond chance",
        "open": "not beyond chance" if first.mean_difference else "no difference at all",
    }[kind]
    return element(
        "p",
        element("strong", first.measure, " ", moved, by),
        f" to {first.mean:.4f}: {beyond} (95 % interval {_signed(first.low)} to {_signed(first.high)}, {_p(first)}). ",
        f"{_counted(first.wins, 'query', 'queries')} gained, {first.losses:,} lost: ",
        text(one.run),
        " against ",
        text(one.baseline),
        ".",
        class_=f"verdict {kind}",
    )


def _figures(about: About) -> Markup:
    counts = [_row(name, *map(_number, values)) for name, values in _counts(about.runs)]
    note, head = "Counts, and latency of the whole search", ("figure", *about.names)
    return joined(element("p", MEANS), _means(about), _table(note, head, counts, numbers=len(about.runs)))


def _means(about: About) -> Markup:
    """A row for each measure and run, a column for each cut-off; what has none is of the whole ranking."""
    names = [name for name in about.run.header.metrics if all(name in r.header.metrics for r in about.runs)]
    cutoffs = sorted({int(k) for name in names if (k := name.partition("@")[2])})
    whole = any("@" not in name for name in names)
    rows = []
    for kind in dict.fromkeys(name.partition("@")[0] for name in names):
        for place, run in enumerate(about.runs):
            figures = [run.header.metrics.get(f"{kind}@{k}") for k in cutoffs]
            figures += [run.header.metrics.get(kind)] if whole else []
            rows.append(
                _row(
                    kind if place == 0 else "",
                    *([_cell(text(about.names[place]))] if len(about.runs) > 1 else []),
                    *(_number("" if value is None else f"{value:.4f}") for value in figures),
                )
            )
    run_head = ("run",) if len(about.runs) > 1 else ()
    head = ("measure", *run_head, *(f"@{k}" for k in cutoffs), *(["whole"] if whole else []))
    return _table("Means over all queries", head, rows, right=range(1 + len(run_head), len(head)))


def _counts(runs: Sequence[StoredRun]) -> Iterator[tuple[str, list[str]]]:
    headers = [run.header for run in runs]
    for name in dict.fromkeys(name for h in headers for name in h.latency_ms):
        yield f"latency {name}", [_ms(h.latency_ms.get(name)) for h in headers]
    yield "queries that found nothing", [f"{h.empty:,}" for h in headers]
    yield "queries that failed", [f"{h.failed:,}" for h in headers]
    yield "repeated exactly, as the approximate scan came up short", [f"{h.shortfall:,}" for h in headers]
    for arm in dict.fromkeys(arm for h in headers for arm in h.empty_arms):
        yield f"{arm} arm with nothing", [f"{h.empty_arms.get(arm, 0):,}" for h in headers]
    yield "relevant documents that may be read", [_share(h.authorised_fraction) for h in headers]
    if any(h.bound for h in headers):
        yield "judgements that are bound", [_share(h.bound.share if h.bound else None) for h in headers]
    if any(h.outcome_agreement is not None for h in headers):
        yield "outcomes as expected", [_share(h.outcome_agreement) for h in headers]
    private = [h.private.metrics if h.private else {} for h in headers]
    for name in PRIVATE:
        if any(name in metrics for metrics in private):
            yield f"{name} of the private split", [f"{m[name]:.4f}" if name in m else "–" for m in private]


def _gates(about: About) -> Section | None:
    gates = about.run.header.gates
    if not gates:
        return None
    rows = [
        _row(
            gate.gate,
            _number("none" if gate.value is None else f"{gate.value:.4f}"),
            _number("–" if gate.baseline is None else f"{gate.baseline:.4f}"),
            _cell("pass" if gate.passed else "FAIL", "pass" if gate.passed else "fail"),
            _cell(gate.why, "why"),
        )
        for gate in gates
    ]
    return Section(
        "gates",
        "Gates",
        _table("What the run had to hold", ("gate", "figure", "baseline", "", ""), rows, numbers=2),
    )


def _recall(about: About) -> Markup:
    series, rows = [], []
    depth = max(max((len(r.ranked) for r in run.results), default=1) for run in about.runs)
    marks = sorted({k for run in about.runs for k in _cutoffs(run.header)})
    last = max([*marks, min(depth, 100), 2])
    for name, run in zip(about.names, about.runs, strict=True):
        points = _recall_points(run, last)
        marked = tuple((float(k), points[k]) for k in marks if k in points)
        series.append(charts.Line(name, tuple((float(k), v) for k, v in sorted(points.items())), marked))
        rows.append(_row(text(name), *(_number(f"{points[k]:.4f}" if k in points else "–") for k in marks)))
    ticks = [k for k in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if k <= last]
    plot = charts.lines(
        "Recall by depth: mean share of a query's relevant documents among the first k",
        series, x=charts.Scale(1, last, logarithmic=True), y=charts.Scale(0, 1), x_ticks=ticks,
        y_ticks=(0, 0.25, 0.5, 0.75, 1), x_name="first k documents",
    )  # fmt: skip
    return joined(
        element(
            "figure",
            plot,
            element("figcaption", "Mean share of a query's relevant documents among the first k."),
        ),
        _table(
            "Recall at the cut-offs of the runs", ("run", *(f"@{k}" for k in marks)), rows, numbers=len(marks)
        ),
    )


def _cutoffs(header: EvalReport) -> list[int]:
    return [int(name.split("@")[1]) for name in header.metrics if name.startswith("recall@")]


def _recall_points(run: StoredRun, last: int) -> dict[int, float]:
    """At every depth where the run holds what was missed, else where it was measured."""
    measured = {k: run.header.metrics[f"recall@{k}"] for k in _cutoffs(run.header)}
    ks = sorted({*range(1, min(last, 30) + 1), *range(30, last + 1, max(1, last // 60)), last, *measured})
    computed = recall_at(run.results, ks)
    whole = all(math.isclose(computed[k], value, abs_tol=SAME) for k, value in measured.items())
    return computed if whole and any(r.ranked for r in run.results) else measured


# --- where, and for which queries?


def _comparison(about: About, one: RunComparison, place: int) -> Section:
    several = len(about.comparisons) > 1
    title = f"Differences {place + 1}" if several else "Differences"
    ordered = sorted(one.differences.items(), key=lambda row: -row[1])
    most = max((abs(value) for _, value in ordered), default=0.0) or 1.0
    first = one.comparisons[0]
    even = first.queries - first.wins - first.losses
    plot = charts.columns(
        f"Win and loss on {one.measure}: {first.wins} queries gained, {first.losses} lost, {even} stayed",
        ordered, low=-most, high=most,
    )  # fmt: skip
    counts = element(
        "figcaption", f"Each query's difference on {one.measure}, from the largest gain to the largest loss. ",
        _key("gain"), f"{first.wins:,} gained  ", _key("loss"), f"{first.losses:,} lost  ", _key("even"), f"{even:,} stayed",
    )  # fmt: skip
    content = joined(
        element("p", text(one.run), " against ", text(one.baseline), "."),
        _intervals(one.comparisons),
        element("h3", "Win and loss by query"),
        element("figure", plot, counts),
        _changed(one) if one.changed else element("p", "No query changed."),
        _all_differences(about, one, ordered),
    )
    return Section(f"differences-{place + 1}", title, content)


def _intervals(comparisons: Sequence[Comparison]) -> Markup:
    reach = max([abs(end) for c in comparisons for end in (c.low, c.high)] or [0.0]) or 0.01
    rows = [
        _row(
            c.measure,
            _number(f"{c.baseline_mean:.4f}"),
            _number(f"{c.mean:.4f}"),
            _number(_signed(c.mean_difference)),
            _cell(
                charts.interval(
                    f"{c.measure}: {_signed(c.low)} to {_signed(c.high)}",
                    c.low,
                    c.mean_difference,
                    c.high,
                    reach,
                    c.proven(corrected=True) or "open",
                ),
                "drawn",
            ),
            _number(f"{_signed(c.low)} … {_signed(c.high)}"),
            _number(f"{c.p:.3f}"),
            _number("–" if c.p_holm is None else f"{c.p_holm:.3f}"),
        )
        for c in comparisons
    ]
    note = INTERVALS
    head = ("measure", "before", "after", "difference", "", "interval", "p", "p (Holm)")
    return _table(note, head, rows, numbers=3, right=(5, 6, 7))


def _changed(one: RunComparison) -> Markup:
    rows = [
        _row(
            text(c.query_id),
            _cell(text(c.text), "question"),
            _number(f"{c.before:.4f}"),
            _number(f"{c.after:.4f}"),
            _number(_signed(c.difference)),
            _number(f"{_rank(c.rank_before)} → {_rank(c.rank_after)}"),
        )
        for c in one.changed[:QUERIES_SHOWN]
    ]
    head = ("query", "", "before", "after", "difference", "first relevant rank")
    return _table(f"The queries that changed most on {one.measure}", head, rows, right=(2, 3, 4, 5))


def _all_differences(about: About, one: RunComparison, ordered: Sequence[tuple[str, float]]) -> Markup:
    before = about.runs[0].values
    shown = ordered
    note = f"All {len(ordered):,} queries"
    if len(ordered) > ROWS_SHOWN:
        half = ROWS_SHOWN // 2
        shown = [*ordered[:half], *ordered[-half:]]
        note = f"The {ROWS_SHOWN} queries at both ends, of {len(ordered):,}"
    rows = [
        _row(
            text(query_id),
            _number(f"{before[query_id][one.measure]:.4f}"),
            _number(f"{before[query_id][one.measure] + value:.4f}"),
            _number(_signed(value)),
        )
        for query_id, value in shown
    ]
    return _folded(
        note, _table(f"{one.measure} by query", ("query", "before", "after", "difference"), rows, numbers=3)
    )


def _facets(about: About) -> Section | None:
    by_facet: dict[str, list[str]] = {}
    known = {r.query_id for r in about.run.results}
    for query_id, facets in about.facets.items():
        for facet in facets:
            if query_id in known:
                by_facet.setdefault(facet, []).append(query_id)
    if not by_facet:
        return None
    values = [run.values for run in about.runs]
    rows = []
    for facet, queries in sorted(by_facet.items(), key=lambda row: (-len(row[1]), row[0])):
        for place, run in enumerate(values):
            mean = math.fsum(run[q][about.primary] for q in queries) / len(queries)
            name = f"{facet}, {about.names[place]}: {mean:.4f}"
            rows.append(
                _row(
                    text(facet) if place == 0 else "",
                    _number(f"{len(queries):,}" if place == 0 else ""),
                    *([_cell(text(about.names[place]))] if len(values) > 1 else []),
                    _cell(charts.bar(name, mean, 1.0, place), "drawn"),
                    _number(f"{mean:.4f}"),
                )
            )
    run_head = ("run",) if len(values) > 1 else ()
    note = f"Mean {about.primary} of the queries with each facet; a query may have several"
    return Section(
        "facets",
        "By facet",
        _table(note, ("facet", "queries", *run_head, "", about.primary), rows, right=(1, 3 + len(run_head))),
    )


def _spread(about: About) -> Section:
    """Which queries do badly: of the last run, whatever it is compared with."""
    ordered = sorted(about.run.results, key=lambda r: -r.measures[about.primary])
    plot = charts.columns(
        f"{about.primary} of each query, best first",
        [(r.query_id, r.measures[about.primary]) for r in ordered], low=0.0, high=1.0,
    )  # fmt: skip
    nothing = sum(r.measures[about.primary] == 0 for r in ordered)
    answerable = [r for r in reversed(ordered) if _found(r) + len(r.missed)]
    said = (
        f"{about.primary} of each query of {about.names[-1]}, best first. {_counted(nothing, 'query', 'queries')} at 0,"
        f" {len(ordered) - len(answerable):,} of them without anything relevant."
    )
    worst = [r for r in answerable if r.measures[about.primary] < 1][:QUERIES_SHOWN]
    rows = [
        _row(
            text(r.query_id),
            _cell(text(r.text), "question"),
            _number(f"{r.measures[about.primary]:.4f}"),
            _number(_rank(r.first_relevant)),
            _number(f"{_found(r)} of {_found(r) + len(r.missed)}"),
            _cell(text(r.error or r.outcome)),
        )
        for r in worst
    ]
    table = _table(
        "The queries that do worst", ("query", "", about.primary, "first relevant rank", "relevant found", "outcome"),
        rows, right=(2, 3, 4),
    )  # fmt: skip
    return Section(
        "queries",
        "By query",
        joined(element("figure", plot, element("figcaption", text(said))), table if rows else None),
    )


def _found(result: QueryResult) -> int:
    return sum((d.grade or 0) > 0 for d in result.ranked)


# --- how fast?


def _latency(about: About) -> Section | None:
    stages = [s for s in dict.fromkeys(s for run in about.runs for s in run.header.stages_ms) if s != "total"]
    whole = [run.header.latency_ms for run in about.runs]
    if not stages and not any(whole):
        return None
    most = max(
        (run.header.stages_ms.get(s, {}).get("p95", 0.0) for run in about.runs for s in stages), default=0.0
    )
    most = max([most, *(latency.get("p95", 0.0) for latency in whole)])
    rows = []
    for stage in [*stages, "whole search"]:
        for place, run in enumerate(about.runs):
            found = run.header.latency_ms if stage == "whole search" else run.header.stages_ms.get(stage, {})
            p50, p95 = found.get("p50"), found.get("p95")
            drawn = None
            if p50 is not None and p95 is not None:
                title = f"{stage}, {about.names[place]}: p50 {_ms(p50)}, p95 {_ms(p95)}"
                drawn = charts.bar(title, p50, most, place, p95)
            rows.append(
                _row(
                    text(stage) if place == 0 else "",
                    *([_cell(text(about.names[place]))] if len(about.runs) > 1 else []),
                    _cell(drawn, "drawn"),
                    _number(_ms(p50)),
                    _number(_ms(p95)),
                )
            )
    run_head = ("run",) if len(about.runs) > 1 else ()
    note = STAGES
    return Section(
        "latency", "Latency by stage",
        _table(note, ("stage", *run_head, "", "p50", "p95"), rows, right=(2 + len(run_head), 3 + len(run_head))),
    )  # fmt: skip


def _index(about: About) -> Section | None:
    if not about.index:
        return None
    kinds = {
        name: place for place, name in enumerate(dict.fromkeys([*METHODS, *(f.method for f in about.index)]))
    }
    used = [name for name in kinds if any(f.method == name for f in about.index)]
    several = len({f.k for f in about.index}) > 1
    points = [
        charts.Point(
            f"{f.method} @{f.k}" if several else f.method, max(f.p50_ms, 0.001), f.recall, kinds[f.method]
        )
        for f in about.index
    ]
    low = max(0.0, math.floor((min(f.recall for f in about.index) - 0.02) * 20) / 20)
    fast, slow = min(p.x for p in points), max(p.x for p in points)
    ticks = [t for e in range(-3, 6) for t in (10**e, 2 * 10**e, 5 * 10**e) if fast / 1.6 <= t <= slow * 1.6]
    plot = charts.scatter(
        "Recall against the exact scan, by the median time of a query", points,
        x=charts.Scale(fast / 1.6, slow * 1.6, logarithmic=True), y=charts.Scale(low, 1.0), x_ticks=ticks,
        y_ticks=[low + (1 - low) * step / 4 for step in range(5)], x_name="median ms a query",
    )  # fmt: skip
    rows = [
        _row(
            text(f.method), _number(f"{f.k:,}"), _number(f"{f.recall:.4f}"), _number(_ms(f.p50_ms)),
            _number("–" if f.size_bytes is None else _bytes(f.size_bytes)),
            _number("–" if f.build_seconds is None else f"{f.build_seconds:,.1f} s"),
        )
        for f in about.index
    ]  # fmt: skip
    legend = [element("li", charts.swatch(kinds[name]), text(name)) for name in used]
    return Section(
        "index", "Exact and approximate scans",
        joined(
            element("ul", legend, class_="legend", aria_label="Methods"),
            element("figure", plot, element("figcaption", "On one snapshot: up and to the left is better.")),
            _table("One row a method and depth", ("method", "k", "recall", "p50", "size", "build"), rows, right=(1, 2, 3, 4, 5)),
        ),
    )  # fmt: skip


# --- made how?


def _settings(about: About) -> Markup:
    first, last = about.runs[0].header, about.run.header
    parts: list[Markup] = []
    for place, run in enumerate(about.runs[1:], start=1):
        changed = setting_changes(first, run.header)
        note = f"What differs between {about.names[0]} and {about.names[place]}"
        same = element("p", "Made with the same settings, as far as they are recorded.")
        parts.append(_setting_table(note, changed, ("setting", "before", "after")) if changed else same)
    recorded = setting_changes(replace(last, config={}), last)
    table = _setting_table(f"All settings of {about.names[-1]}", recorded, ("setting", "", "value"), one=True)
    parts.append(
        _folded(f"All settings of {about.names[-1]}", table)
        if recorded
        else element("p", "No settings are recorded.")
    )
    identity = [
        ("run", last.run_id or "not recorded"),
        ("dataset", last.dataset),
        ("fingerprint", last.fingerprint or "not recorded"),
    ]
    rows = [_row(name, _cell(text(value), "value")) for name, value in identity]
    return joined(parts, _table("Which run it is", ("", ""), rows))


def _setting_table(
    note: str, changes: Sequence[SettingChange], head: Sequence[str], *, one: bool = False
) -> Markup:
    rows = [
        _row(
            text(c.name),
            *([] if one else [_cell(_value(c.before), "value")]),
            _cell(_value(c.after), "value"),
        )
        for c in changes
    ]
    return _table(note, (head[0], head[2]) if one else head, rows)


def _value(value: Any) -> Markup:
    if value is None:
        return element("span", "none recorded", class_="soft")
    if isinstance(value, list | tuple):
        return text(", ".join(map(str, value)) or "none")
    return text("yes" if value is True else "no" if value is False else value)


# --- pieces


def _table(
    note: str, head: Sequence[Child], rows: Sequence[Markup], *, numbers: int = 0, right: Sequence[int] = ()
) -> Markup:
    """`numbers` counts the columns of figures after the first, `right` names columns from 0."""
    aligned = {*right, *range(1, numbers + 1)}
    cells = [
        element(
            "th",
            text(name) if isinstance(name, str) and name else name,
            scope="col",
            class_="number" if place in aligned else None,
        )
        for place, name in enumerate(head)
    ]
    shown = element("thead", element("tr", cells)) if any(head) else None
    table = element("table", element("caption", text(note)), shown, element("tbody", rows))
    # a region that scrolls must be reachable by keyboard, and named
    return element("div", table, "\n", class_="scroll", tabindex=0, role="region", aria_label=note)


def _row(name: Child, *cells: Markup) -> Markup:
    return element("tr", element("th", name, scope="row"), *cells)


def _cell(content: Child, kind: str | None = None) -> Markup:
    return element("td", content, class_=kind)


def _number(shown: str) -> Markup:
    return element("td", shown, class_="number")


def _folded(summary: str, content: Markup) -> Markup:
    return element("details", element("summary", text(summary)), content)


def _key(kind: str) -> Markup:
    return element("span", "", class_=f"key {kind}")


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "\u2212")


def _p(comparison: Comparison) -> str:
    if comparison.p_holm is None:
        return f"p {comparison.p:.3f}"
    return f"p {comparison.p:.3f}, corrected {comparison.p_holm:.3f}"


def _rank(rank: int | None) -> str:
    return "none" if rank is None else str(rank)


def _share(fraction: float | None) -> str:
    return "unknown" if fraction is None else f"{fraction:.1%}"


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms" if value >= 1 else f"{value:.2f} ms"


def _bytes(size: int) -> str:
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} TiB"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
