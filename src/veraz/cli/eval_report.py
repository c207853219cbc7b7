"""`veraz eval report`"""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from veraz.cli.eval import command as group
from veraz.cli.options import WORDS, subverb
from veraz.cli.output import emit
from veraz.cli.render.console import console, text
from veraz.cli.state import State
from veraz.cli.stored_runs import read_runs
from veraz.errors import UsageError
from veraz.nouns.evaluation import IndexFigure


class _Measured(msgspec.Struct):
    """What `veraz index measure --json` prints, of which the report takes the figures."""

    figures: tuple[IndexFigure, ...]


@subverb(
    group,
    "report",
    example="veraz eval report runs/after --against runs/before --html report.html\n"
    "veraz eval report 91bc --html report.html --index measured.json",
)
@click.argument("name", metavar="RUN", type=WORDS)
@click.option(
    "--against", "baselines", multiple=True, metavar="RUN",
    help="Compare with this run; the first one named is the baseline of all. May be repeated.",
)  # fmt: skip
@click.option(
    "--html",
    "path",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Where to write it.",
)
@click.option(
    "--measure",
    type=WORDS,
    default="",
    metavar="NAME",
    help="The measure that orders queries (default: ndcg@10).",
)
@click.option(
    "--index", "index", type=click.Path(path_type=Path), metavar="FILE",
    help="Figures of exact and approximate scans, as veraz index measure --json prints them.",
)  # fmt: skip
@click.pass_obj
def report(
    state: State, name: str, baselines: tuple[str, ...], path: Path, measure: str, index: Path | None
) -> None:
    """Write one HTML file about a run: figures, recall by depth, wins and losses by query, facets, latency by stage, settings.

    The file needs nothing else, runs no script and loads nothing. A RUN is the beginning of a stored run's id, or a folder
    that eval run --out wrote.
    """
    from veraz.evaluation.reporting.page import report as page_of
    from veraz.evaluation.reporting.page import write_report

    figures = _figures(index) if index else ()
    runs = read_runs(state, (*baselines, name))
    write_report(path, page_of(runs, measure=measure, index=figures))
    if state.json:
        emit(
            state,
            {
                "html": str(path),
                "run": runs[-1].header.run_id,
                "against": [r.header.run_id for r in runs[:-1]],
            },
        )
    else:
        console().print(text(f"wrote {path}"), soft_wrap=True)


def _figures(path: Path) -> tuple[IndexFigure, ...]:
    """A list of rows, or an object with `figures`."""
    try:
        content = path.read_bytes()
        if content.lstrip().startswith(b"["):
            return msgspec.json.decode(content, type=tuple[IndexFigure, ...])
        return msgspec.json.decode(content, type=_Measured).figures
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: no figures of index scans: {error}",
            fix="give what `veraz index measure --json` printed: rows with method, k, recall, p50_ms, size_bytes, build_seconds",
        ) from error
