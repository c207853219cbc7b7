"""The outcome: figures as JSON, a Markdown table, and one HTML file with plots that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import msgspec
import numpy as np

from peers import arithmetic
from peers.arithmetic import Ratio
from peers.catalogue import BASE, Entry
from peers.corpora import Corpus
from peers.running import Measured
from veraz.evaluation.measures import Measure, score
from veraz.evaluation.reporting import charts
from veraz.evaluation.reporting.markup import Markup, element, joined, text
from veraz.evaluation.statistics import compare
from veraz.nouns.evaluation import Comparison

NDCG, RECALL = "ndcg@10", "recall@20"
MEASURES = (Measure("ndcg", 10), Measure("recall", 20))
BUSY = 0.5
"""Load for each core at the start, above which the figures are called rough."""


@dataclass(frozen=True, slots=True)
class Row:
    """One peer. Without `error` everything else is there; ratios and differences are against Veraz, None for itself."""

    entry: Entry
    error: str
    versions: Mapping[str, str]
    ndcg: float = 0.0
    recall: float = 0.0
    p50: float = 0.0
    p95: float = 0.0
    build_seconds: float = 0.0
    bytes: int = 0
    ratio50: Ratio | None = None
    ratio95: Ratio | None = None
    difference: Comparison | None = None
    recall_difference: Comparison | None = None
    values: Mapping[str, Mapping[str, float]] | None = None
    times: Sequence[Sequence[float]] = ()
    stages: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One corpus."""

    corpus: str
    documents: int
    whole: int
    chunks: int
    questions: int
    k: int
    rounds: int
    surroundings: Mapping[str, Any]
    rows: tuple[Row, ...]

    @property
    def measured(self) -> list[Row]:
        return [row for row in self.rows if not row.error]

    @property
    def is_rough(self) -> bool:
        return self.surroundings["load"] > BUSY * self.surroundings["cores"]


def written(found: Sequence[Outcome]) -> bytes:
    """As JSON, with every time and every value a question."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1)


def read(data: bytes) -> list[Outcome]:
    """What `written` wrote."""
    return msgspec.json.decode(data, type=list[Outcome])


def outcome(
    corpus: Corpus, measured: Sequence[Measured], surroundings: Mapping[str, Any], *, k: int, rounds: int
) -> Outcome:
    base = next(m for m in measured if m.entry.name == BASE)
    if base.error:
        raise RuntimeError(f"Veraz itself: {base.error}")
    ours = score(base.rankings, corpus.qrels, MEASURES).per_query
    rows = tuple(_row(one, base, ours, corpus) for one in measured)
    return Outcome(
        corpus.name, corpus.documents, corpus.whole, corpus.chunks, len(corpus.questions), k, rounds, surroundings, rows
    )  # fmt: skip


def _row(one: Measured, base: Measured, ours: Mapping[str, Mapping[str, float]], corpus: Corpus) -> Row:
    if one.error:
        return Row(one.entry, one.error, one.versions)
    scores = score(one.rankings, corpus.qrels, MEASURES)
    own = one is base
    return Row(
        entry=one.entry,
        error="",
        versions=one.versions,
        ndcg=scores.means[NDCG],
        recall=scores.means[RECALL],
        p50=arithmetic.percentile(one.times, 50),
        p95=arithmetic.percentile(one.times, 95),
        build_seconds=one.build_seconds,
        bytes=one.bytes,
        ratio50=None if own else arithmetic.ratio(one.times, base.times, 50),
        ratio95=None if own else arithmetic.ratio(one.times, base.times, 95),
        difference=None if own else compare(scores.per_query, ours, NDCG),
        recall_difference=None if own else compare(scores.per_query, ours, RECALL),
        values=scores.per_query,
        times=one.times.round(3).tolist(),
        stages=stages_of(one),
    )


def stages_of(one: Measured) -> dict[str, float]:
    """The median of each stage, in milliseconds; `rest` is what no stage names. Nothing of a peer that tells no stages."""
    if not one.stages:
        return {}
    names = [name for name in one.stages[0] if name != "total"]
    found = {name: float(np.median([s.get(name, 0.0) for s in one.stages])) for name in names}
    named = [sum(v for k, v in s.items() if k != "total") for s in one.stages]
    # stages are kept in the order of asking: round by round
    return {**found, "rest": float(np.median(one.times.T.ravel() - np.array(named)))}


# --- words


def verdicts(found: Outcome) -> Iterator[tuple[str, str]]:
    """Where Veraz is slower or worse, each with the reason that is known: peer and sentence."""
    for row in found.measured:
        speed, better = row.ratio50, row.difference
        if speed and speed.verdict == "faster":
            yield row.entry.name, f"faster than Veraz: {speed.said} of its p50. {row.entry.faster}."
        if better and better.low > 0:
            yield row.entry.name, f"better than Veraz: nDCG@10 {_signed(better)}. {row.entry.better}."
        elif better and better.mean_difference > 0:
            yield (
                row.entry.name,
                f"nDCG@10 is {_signed(better)} higher, which may be luck: the interval includes 0. {row.entry.better}.",
            )
        most = row.recall_difference
        if most and most.low > 0:
            yield row.entry.name, f"finds more than Veraz: recall@20 {_signed(most)}. {row.entry.better}."


def losing(found: Outcome) -> list[str]:
    """Peers that are as good as Veraz or better and not slower: what Veraz is to beat and does not."""
    return [
        row.entry.name
        for row in found.measured
        if row.entry.is_peer
        and row.ratio50
        and row.difference
        and row.difference.mean_difference >= 0
        and row.ratio50.value <= 1
    ]


def summary(found: Outcome) -> str:
    peers = [row for row in found.measured if row.entry.is_peer]
    worse = sum(row.difference is not None and row.difference.high < 0 for row in peers)
    lower = sum(row.difference is not None and row.difference.mean_difference < 0 for row in peers)
    told = (
        f"Of {len(peers)} others, {lower} have a lower nDCG@10 than Veraz ({worse} beyond doubt); "
        f"{len(_with_verdict(found, 'faster'))} are faster and {len(_with_verdict(found, 'slower'))} slower, beyond doubt."
    )
    beaten = losing(found)
    return told + (
        f" At least as good and at least as fast: {', '.join(beaten)}."
        if beaten
        else " None is at least as good and at least as fast."
    )


def _with_verdict(found: Outcome, verdict: str) -> list[str]:
    """Peers that are slower or faster than Veraz."""
    return [
        row.entry.name
        for row in found.measured
        if row.entry.is_peer and row.ratio50 and row.ratio50.verdict == verdict
    ]


def colour(found: Outcome) -> str:
    """gain where Veraz is beaten in nothing, loss where somebody beats it in both, else open."""
    return "loss" if losing(found) else "open" if _with_verdict(found, "faster") else "gain"


def conditions(found: Outcome) -> str:
    s = found.surroundings
    part = (
        ""
        if found.documents == found.whole
        else f" of {found.whole:,} (all judged ones, and the first others)"
    )
    return (
        f"{found.documents:,} documents{part}, {found.chunks:,} chunks, {found.questions} judged questions, "
        f"k = {found.k} chunks, {found.rounds} rounds. PostgreSQL {s['postgresql']}, pgvector {s['pgvector']}, "
        f"Python {s['python']}, {s['cores']} cores; "
        f"{', '.join(f'{name} {value}' for name, value in s['server'].items())}. Load when it began: {s['load']:.1f}."
    )


CAPTION = "nDCG@10 by the median time of a search: up and to the left is better."
ROUGH = "Others were working on this machine: latencies and build times are rough, and ratios can be wrong as well."


def stages_said(found: Outcome) -> str:
    """Where Veraz' time goes."""
    base = next(row for row in found.rows if row.entry.name == BASE)
    parts = sorted((base.stages or {}).items(), key=lambda part: -part[1])
    named = ", ".join(f"{name} {ms:.1f} ms" for name, ms in parts if ms >= 0.05)
    return f"Where a search of Veraz spends its time (medians): {named or 'not told'}."


def _signed(c: Comparison) -> str:
    return f"{c.mean_difference:+.3f} ({c.low:+.3f} to {c.high:+.3f})"


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


HEAD = (
    "",
    "nDCG@10",
    "against Veraz",
    "recall@20",
    "p50 ms",
    "p95 ms",
    "p50 as a ratio",
    "p95 as a ratio",
    "build s",
    "size",
)


def cells(row: Row) -> tuple[str, ...]:
    if row.error:
        return (row.entry.name, f"not measured: {row.error}", *("" for _ in HEAD[2:]))
    return (
        row.entry.name,
        f"{row.ndcg:.3f}",
        _signed(row.difference) if row.difference else "",
        f"{row.recall:.3f}",
        f"{row.p50:.1f}",
        f"{row.p95:.1f}",
        row.ratio50.said if row.ratio50 else "1",
        row.ratio95.said if row.ratio95 else "1",
        f"{row.build_seconds:.1f}",
        _size(row.bytes),
    )


# --- Markdown


def markdown(found: Sequence[Outcome]) -> str:
    return "\n".join(line for one in found for line in _section_lines(one)) + "\n"


def _section_lines(found: Outcome) -> Iterator[str]:
    yield f"### {found.corpus}"
    yield ""
    yield conditions(found)
    if found.is_rough:
        yield ""
        yield f"**{ROUGH}**"
    yield ""
    yield "| " + " | ".join(HEAD) + " |"
    yield "|---|" + "---:|" * (len(HEAD) - 1)
    for row in found.rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells(row)) + " |"
    yield ""
    yield summary(found)
    yield ""
    yield stages_said(found)
    yield ""
    told = list(verdicts(found))
    for name, sentence in told:
        yield (
            f"- **{name}** is {sentence}"
            if not sentence.startswith(("nDCG", "finds"))
            else f"- **{name}**: {sentence}"
        )
    if told:
        yield ""


# --- HTML


def html(found: Sequence[Outcome]) -> str:
    style = resources.files("veraz").joinpath("evaluation/reporting/style.css").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    title = "Veraz beside its peers"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element(
            "header",
            element("h1", title),
            element(
                "p",
                "One machine, one run, the same chunks, the same vectors, the same questions in turn. "
                "Embedding is in no figure. A ratio above 1 is slower than Veraz.",
                class_="soft",
            ),
        ),
        element("main", [_corpus(one) for one in found], _settings(found[0])),
    )
    return joined(Markup("<!doctype html>\n"), element("html", head, "\n", body, lang="en"))


def _corpus(found: Outcome) -> Markup:
    told = list(verdicts(found))
    return element(
        "section",
        element("h2", text(found.corpus)),
        element("p", conditions(found), class_="soft"),
        element("p", ROUGH, class_="warning") if found.is_rough else None,
        element("p", summary(found), class_=f"verdict {colour(found)}"),
        element("h3", "Quality and time"),
        element("figure", _scatter(found), element("figcaption", CAPTION), _legend(found)),
        element("h3", "Figures"),
        _table(found),
        element("h3", "nDCG@10 against Veraz"),
        _differences(found),
        element("h3", "Time of a search"),
        _bars(found),
        element("p", stages_said(found)),
        element("h3", "Building"),
        _building(found),
        element("h3", "Where Veraz is slower or worse"),
        element("ul", [element("li", element("strong", name), ": ", sentence) for name, sentence in told])
        if told
        else element("p", "Nowhere, in this run."),
    )  # fmt: skip


def _scatter(found: Outcome) -> Markup:
    rows = found.measured
    times, values = [r.p50 for r in rows], [r.ndcg for r in rows]
    x = charts.Scale(min(times) / 1.3, max(times) * 1.3, logarithmic=True)
    low, high = math.floor(min(values) * 50 - 0.5) / 50, math.ceil(max(values) * 50 + 0.5) / 50
    ticks = [t for e in range(-1, 5) for t in (10.0**e, 2 * 10.0**e, 5 * 10.0**e) if x.low <= t <= x.high]
    steps = [low + (high - low) * i / 4 for i in range(5)]
    # numbers, since names of peers that are alike would lie upon one another
    points = [charts.Point(str(place + 1), r.p50, r.ndcg, place) for place, r in enumerate(rows)]
    return charts.scatter(
        f"nDCG@10 by median milliseconds of a search, {found.corpus}", points, x=x, y=charts.Scale(low, high), x_ticks=ticks,
        y_ticks=steps, x_name="milliseconds (p50)", height=380,
    )  # fmt: skip


def _legend(found: Outcome) -> Markup:
    names = [row.entry.name for row in found.measured]
    return element(
        "ul",
        [element("li", charts.swatch(place), f"{place + 1} {name}") for place, name in enumerate(names)],
        class_="legend",
    )


def _table(found: Outcome) -> Markup:
    head = [element("th", name, scope="col", class_="number" if name else None) for name in HEAD[:-2]]
    return _framed(
        element("thead", element("tr", head)), element("tbody", [_table_row(row) for row in found.rows])
    )


def _table_row(row: Row) -> Markup:
    name, *figures = cells(row)[:-2]  # building has a table of its own
    if row.error:
        told = element("td", text(figures[0]), colspan=len(figures))
    else:
        told = joined([element("td", figure, class_="number") for figure in figures])
    return element("tr", element("th", name, scope="row"), told)


def _framed(*parts: Markup) -> Markup:
    return element("div", element("table", *parts), class_="scroll", tabindex=0)


def _differences(found: Outcome) -> Markup:
    rows = [(r, r.difference) for r in found.measured if r.difference]
    reach = max([abs(v) for _, c in rows for v in (c.low, c.high)] or [0.01]) * 1.05 or 0.01
    return _drawn(
        ("", "difference", "95 % interval; the middle line is Veraz", "questions"),
        [_difference(r.entry.name, c, reach) for r, c in rows],
    )


def _difference(name: str, c: Comparison, reach: float) -> Markup:
    kind = "gain" if c.low > 0 else "loss" if c.high < 0 else "open"
    drawn = charts.interval(f"{name}: {_signed(c)}", c.low, c.mean_difference, c.high, reach, kind)
    return element(
        "tr",
        element("th", name, scope="row"),
        element("td", _signed(c), class_="number"),
        element("td", drawn, class_="drawn"),
        element("td", f"{c.wins} better, {c.losses} worse"),
    )


def _bars(found: Outcome) -> Markup:
    most = max(r.p95 for r in found.measured)
    return _drawn(("", "p50 ms", "p95 ms", "p50, and paler p95"), [_bar(r, most) for r in found.measured])


def _bar(row: Row, most: float) -> Markup:
    name, kind = row.entry.name, 0 if row.entry.name == BASE else 1
    drawn = charts.bar(f"{name}: {row.p50:.1f} ms, {row.p95:.1f} ms", row.p50, most, kind, row.p95)
    return element(
        "tr",
        element("th", name, scope="row"),
        element("td", f"{row.p50:.1f}", class_="number"),
        element("td", f"{row.p95:.1f}", class_="number"),
        element("td", drawn, class_="drawn"),
    )


def _seconds(row: Row, most: float) -> Markup:
    return charts.bar(f"{row.entry.name}: {row.build_seconds:.1f} s", row.build_seconds, most, 2)


def _building(found: Outcome) -> Markup:
    """Seconds and bytes, the bars being of the seconds."""
    most = max(r.build_seconds for r in found.measured)
    return _drawn(
        ("", "seconds", "size on disk", "seconds"),
        [
            element(
                "tr",
                element("th", r.entry.name, scope="row"),
                element("td", f"{r.build_seconds:.1f}", class_="number"),
                element("td", _size(r.bytes), class_="number"),
                element("td", _seconds(r, most), class_="drawn"),
            )
            for r in found.measured
        ],
    )  # fmt: skip


def _drawn(head: Sequence[str], rows: Sequence[Markup]) -> Markup:
    return _framed(
        element("thead", element("tr", [element("th", name, scope="col") for name in head])),
        element("tbody", rows),
    )


def _settings(found: Outcome) -> Markup:
    rows = [
        element(
            "tr",
            element("th", r.entry.name, scope="row"),
            element("td", text(", ".join(f"{name} {version}" for name, version in r.versions.items()))),
            element("td", r.entry.licence),
            element("td", "PostgreSQL" if r.entry.in_database else "in its own process"),
            element("td", [element("p", line) for line in r.entry.settings], class_="why"),
        )
        for r in found.rows
    ]
    head = ("", "version", "licence", "where", "settings")
    return element("section", element("h2", "How each is set up"), _drawn(head, rows))
