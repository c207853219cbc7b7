"""`veraz tenant …`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from veraz.cli import interrupt
from veraz.cli.options import WORDS, VerbGroup, subverb
from veraz.cli.output import emit
from veraz.cli.render.console import console, counted, plain_table, text
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import UsageError

if TYPE_CHECKING:
    from veraz.nouns.identity import Tenant


@click.group("tenant", cls=VerbGroup, example="veraz tenant add clinic-north")
def command() -> None:
    """Tenants: list, add, disable, enable, remove. The administrator's."""


@subverb(command, "list", example="veraz tenant list")
@click.pass_obj
def list_(state: State) -> None:
    """List every tenant with its documents and active keys."""
    tenants = with_engine(state, lambda engine: engine.tenants())
    if state.json:
        emit(state, {"tenants": tenants})
        return
    table = plain_table("tenant", "name", "documents", "keys", "since", "", right=("documents", "keys"))
    for tenant in tenants:
        table.add_row(
            text(tenant.slug),
            text(tenant.name or ""),
            f"{tenant.documents:,}",
            f"{tenant.keys:,}",
            f"{tenant.created_at:%Y-%m-%d}",
            _standing(tenant),
        )
    console().print(table)


@subverb(command, "add", example='veraz tenant add clinic-north --name "Clinic North"')
@click.argument("slug", type=WORDS)
@click.option("--name", type=WORDS, metavar="TEXT", help="What people call it.")
@click.pass_obj
def add(state: State, slug: str, name: str | None) -> None:
    """Make a tenant: a corpus of its own, that nothing crosses."""
    _say(state, with_engine(state, lambda engine: engine.add_tenant(slug, name=name)), "made")


@subverb(command, "disable", example="veraz tenant disable clinic-north")
@click.argument("slug", type=WORDS)
@click.pass_obj
def disable(state: State, slug: str) -> None:
    """Let nobody act in a tenant from the next request on: no key, no token, no command. Its documents stay."""
    _say(state, with_engine(state, lambda engine: engine.disable_tenant(slug)), "disabled")


@subverb(command, "enable", example="veraz tenant enable clinic-north")
@click.argument("slug", type=WORDS)
@click.pass_obj
def enable(state: State, slug: str) -> None:
    """Take the disabling of a tenant back."""
    _say(state, with_engine(state, lambda engine: engine.enable_tenant(slug)), "enabled")


@subverb(command, "remove", example="veraz tenant remove clinic-north --yes clinic-north")
@click.argument("slug", type=WORDS)
@click.option("--yes", "confirmed", metavar="SLUG", help="Really erase this tenant: its slug once more.")
@click.pass_obj
def remove(state: State, slug: str, confirmed: str | None) -> None:
    """Erase a tenant and everything in it, for good: documents, vectors, traces, keys.

    It is disabled first, and its rows are deleted in batches. Interrupted, the same command goes on.
    """
    if confirmed != slug:
        raise UsageError(
            f"this erases every document, trace and key of tenant {slug!r}",
            fix=f"veraz tenant remove {slug} --yes {slug}",
        )
    with interrupt.saying(
        lambda: "stopped: the tenant is disabled and partly erased; run veraz tenant remove again to finish"
    ):
        rows = with_engine(state, lambda engine: engine.remove_tenant(slug))
    if state.json:
        emit(state, {"slug": slug, "rows": rows})
    else:
        console().print(text(f"removed {slug}: {counted(rows, 'row')} erased"))


def _say(state: State, tenant: Tenant, done: str) -> None:
    if state.json:
        emit(state, tenant)
    else:
        console().print(text(f"{done} {tenant.slug}"))


def _standing(tenant: Tenant) -> str:
    return f"disabled since {tenant.disabled_at:%Y-%m-%d}" if tenant.disabled_at else ""
