"""`veraz server …`: the embedded PostgreSQL of this home."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from veraz.cli.options import VerbGroup, subverb
from veraz.cli.output import emit
from veraz.cli.render.bars import open_bars
from veraz.cli.render.console import clean, console, show_pairs
from veraz.cli.session import configuration
from veraz.cli.state import State
from veraz.errors import UsageError

if TYPE_CHECKING:
    from veraz.db.embedded import EmbeddedServer, ServerStatus


@click.group(
    "server", cls=VerbGroup, example="veraz server start\npsql $(veraz server url)\nveraz server stop"
)
def command() -> None:
    """The embedded PostgreSQL of this home (VERAZ_HOME): it starts on first use and outlives the command."""


def _server(state: State) -> EmbeddedServer:
    from veraz.db.embedded import EmbeddedServer

    return EmbeddedServer(configuration(state).home_path)


def _show(state: State, status: ServerStatus) -> None:
    if state.json:
        emit(state, asdict(status))
        return
    running = (
        f"running (process {status.pid})"
        if status.running
        else "stopped"
        if status.installed
        else "never started"
    )
    rows = [
        ("server", running),
        ("version", status.version),
        ("url", status.url_redacted),
        ("home", status.home),
        ("log", status.log_path),
    ]
    show_pairs(console(), rows)


@subverb(command, "start", example="veraz server start")
@click.pass_obj
def start(state: State) -> None:
    """Start it, creating it on first use. Does nothing when it runs."""
    with open_bars() as bars:
        status = _server(state).start(bars.say)
    _show(state, status)


@subverb(command, "stop", example="veraz server stop")
@click.pass_obj
def stop(state: State) -> None:
    """Stop it. What it stores is kept."""
    stopped = _server(state).stop()
    if state.json:
        emit(state, {"stopped": stopped})
    else:
        console().print("stopped" if stopped else "it was not running")


@subverb(command, "logs", example="veraz server logs --lines 20")
@click.option(
    "--lines",
    type=click.IntRange(1),
    default=100,
    metavar="N",
    help="How many of the last lines (default: 100).",
)
@click.pass_obj
def logs(state: State, lines: int) -> None:
    """Print the last lines of its log, oldest first."""
    written = _server(state).logs(lines)
    if state.json:
        emit(state, {"lines": written.splitlines()})
    else:
        click.echo(clean(written), nl=False)


@subverb(command, "url", example="psql $(veraz server url)")
@click.pass_obj
def url(state: State) -> None:
    """Print the operator's connection URL, password included. The server must be running."""
    found = _server(state).url()
    if state.json:
        emit(state, {"url": found})
    else:
        click.echo(found)


@subverb(command, "destroy", example="veraz server destroy --yes")
@click.option("--yes", is_flag=True, help="Really delete everything that it stores.")
@click.pass_obj
def destroy(state: State, yes: bool) -> None:
    """Stop it and delete everything that it stores. There is no way back."""
    server = _server(state)
    status = server.status()
    if not yes:
        raise UsageError(
            f"this deletes every document in {status.data_dir or server.home}",
            fix="veraz server destroy --yes",
        )
    server.destroy()
    if state.json:
        emit(state, {"destroyed": status.installed})
    else:
        console().print("deleted" if status.installed else "there was nothing to delete")
