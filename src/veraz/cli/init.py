"""`veraz init`"""

from __future__ import annotations

import click

from veraz.cli import interrupt
from veraz.cli.options import verb
from veraz.cli.output import emit
from veraz.cli.render.console import console, show_pairs, text
from veraz.cli.session import with_engine
from veraz.cli.state import State


@verb("init", example="veraz init --database postgresql://admin@db.example.org/health")
@click.option(
    "--renew-runtime-login",
    is_flag=True,
    help="Give the unprivileged login a new password, and print its URL.",
)
@click.pass_obj
def command(state: State, renew_runtime_login: bool) -> None:
    """Create or upgrade the schema, the roles, the embedding space and the tenant.

    Safe to repeat, and to run twice at once. When it makes the unprivileged login that serves requests, it prints the
    login's URL once: keep it as VERAZ_RUNTIME_URL.
    """
    with interrupt.saying(
        lambda: "stopped: finished migrations are committed; run veraz init again to continue"
    ):
        made = with_engine(state, lambda engine: engine.init(renew_runtime_login=renew_runtime_login))
    if state.json:
        emit(state, made)
        return
    out = console()
    show_pairs(
        out,
        [
            ("schema", f"version {made.schema_version}"),
            ("migrations", ", ".join(made.migrations) or "none needed"),
            ("functions, policies", "replayed" if made.replayed else "current"),
            ("embedding space", made.space),
            ("tenant", made.tenant),
        ],
    )
    for note in made.notes:
        out.print(text(f"note: {note}"), soft_wrap=True)
    if made.runtime_url:
        out.print("\nThe login that serves requests, shown this once (VERAZ_RUNTIME_URL):", style="bold")
        out.print(made.runtime_url, soft_wrap=True)
