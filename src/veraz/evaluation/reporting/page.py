"""The report: one HTML file, without scripts, fonts or anything else from elsewhere.

Its own content security policy allows nothing but the one style sheet in it, by hash: even markup that slipped through could
neither run nor load anything. It follows the reader's light or dark scheme, and prints in light.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from veraz.errors import UsageError
from veraz.evaluation.lines import write_lines
from veraz.evaluation.reporting import sections
from veraz.evaluation.reporting.markup import Markup, element, joined, text
from veraz.evaluation.runs.comparison import compare_runs, label
from veraz.nouns.evaluation import IndexFigure, RunComparison, StoredRun


def write_report(path: Path, page: str) -> None:
    """Writes the file whole or not at all. Raises UsageError where that is not possible."""
    write_lines(path, [page])


def report(
    runs: Sequence[StoredRun],
    *,
    measure: str = "",
    facets: Mapping[str, Sequence[str]] | None = None,
    index: Sequence[IndexFigure] = (),
) -> str:
    """The page about the last of `runs`, against those before it. `measure` orders queries (default: the first that a comparison
    takes); `facets`, query id → facets, replaces what the runs hold; `index` adds figures of index scans to theirs.

    Raises UsageError for runs that cannot be compared, and for a measure that they do not have.
    """
    if not runs:
        raise UsageError("there is no run to report", fix="veraz eval report RUN --html FILE")
    comparisons = compare_runs(runs, measures=()) if len(runs) > 1 else ()
    primary = _primary(runs, comparisons, measure)
    if comparisons and comparisons[0].measure != primary:
        names = tuple(dict.fromkeys((primary, *(c.measure for c in comparisons[0].comparisons))))
        comparisons = compare_runs(runs, measures=names)
    about = sections.About(
        runs=tuple(runs),
        names=tuple(label(run) for run in runs),
        primary=primary,
        comparisons=comparisons,
        facets=facets if facets is not None else {q: f for run in runs for q, f in run.facets.items()},
        index=(*sections.index_figures(runs[-1]), *index),
    )
    return _page(about)


def _primary(runs: Sequence[StoredRun], comparisons: Sequence[RunComparison], measure: str) -> str:
    shared = [name for name in runs[-1].header.metrics if all(name in run.header.metrics for run in runs)]
    if measure and measure not in shared:
        raise UsageError(f"{measure} is not in every run", fix=f"one of {', '.join(shared)}")
    if measure:
        return measure
    if comparisons:
        return comparisons[0].measure
    if not shared:
        raise UsageError(
            "the run has no measure to report",
            fix="report a run over judged queries, not over outcomes alone",
        )
    return "ndcg@10" if "ndcg@10" in shared else shared[0]


def _page(about: sections.About) -> str:
    style = resources.files("veraz").joinpath("evaluation/reporting/style.css").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    title = f"Evaluation of {about.run.header.dataset}"
    parts = [part for part in sections.all_of(about) if part is not None]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element(
            "header", element("h1", "Evaluation of ", text(about.run.header.dataset)), sections.opening(about)
        ),
        element(
            "nav", [element("a", part.title, href=f"#{part.key}") for part in parts], aria_label="Sections"
        ),
        element("main", [_section(part) for part in parts]),
    )
    return joined(Markup("<!doctype html>\n"), element("html", head, "\n", body, lang="en"))


def _section(part: sections.Section) -> Markup:
    return element(
        "section", element("h2", part.title, id=part.key), part.content, "\n", aria_labelledby=part.key
    )
