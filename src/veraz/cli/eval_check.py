"""`veraz eval check`"""

from __future__ import annotations

from pathlib import Path

import click

from veraz.cli.eval import command
from veraz.cli.options import subverb
from veraz.cli.output import emit
from veraz.cli.render.bars import open_bars
from veraz.cli.render.console import console
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import CheckFailed


@subverb(
    command,
    "check",
    example="veraz eval check suites/leaflets\nveraz eval check suites/leaflets --source leaflets-2025 --least 0.99",
)
@click.argument("suite", metavar="SUITE", type=click.Path(path_type=Path))
@click.option(
    "--source", metavar="SLUG", help="Look in this source in place of the one that the suite names."
)
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    metavar="0-1",
    help="Fail with exit code 5 where a smaller share of the judgements is bound.",
)
@click.pass_obj
def check(state: State, /, suite: Path, source: str | None, least: float | None) -> None:
    """Read every file of SUITE, and say which judgements can be earned on what is ingested.

    A judged text is looked for in the current revision of its document, at its place or by its hash, and must be covered by a
    chunk. What is not bound counts in every mean all the same, as something that was not found.
    """
    from veraz.cli.render.suites import show_binding

    with open_bars() as bars:
        binding = with_engine(
            state,
            lambda engine: engine.check_suite(
                suite,
                source=source,
                progress=lambda done, total: bars.show(
                    "check", done, total, f"{done:,} of {total:,} documents"
                ),
            ),
            bars=bars,
        )
    if state.json:
        emit(
            state, {"share": binding.share, **{n: getattr(binding, n) for n in binding.__dataclass_fields__}}
        )
    else:
        show_binding(console(), binding)
    if least is not None and binding.share < least:
        raise CheckFailed(
            f"{binding.share:.2%} of the judgements are bound, and {least:.2%} are asked for",
            fix="ingest what is missing, or judge the texts that changed: veraz eval judge SUITE",
        )
