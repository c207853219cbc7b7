"""`veraz key …`"""

from __future__ import annotations

import click

from veraz.cli.options import WORDS, VerbGroup, subverb
from veraz.cli.output import emit
from veraz.cli.render.console import console, plain_table, show_pairs, text
from veraz.cli.session import configuration, with_engine
from veraz.cli.state import State
from veraz.errors import UsageError


@click.group("key", cls=VerbGroup, example="veraz key add portal --roles public,clinical")
def command() -> None:
    """API keys of a tenant: add, list, revoke. The administrator's."""


@subverb(command, "add", example="veraz key add portal --roles public,clinical --expires 90d")
@click.argument("name", type=WORDS)
@click.option(
    "--expires",
    default="365d",
    metavar="90d|DATE|never",
    help="When it ends (default: 365d); a date is its first moment, UTC.",
)
@click.option("--write", "may_write", is_flag=True, help="It may ingest and delete, not only read.")
@click.pass_obj
def add(state: State, name: str, expires: str, may_write: bool) -> None:
    """Make an API key of the tenant (--tenant), opening the labels of --roles, and print it.

    It is shown this once: only its hash is stored. Whoever holds it acts in this tenant with these roles. They must be
    given on the command line: the roles that an operator usually acts with are not a key's.
    """
    if state.roles is None:
        raise UsageError("which roles shall the key hold?", fix=f"veraz key add {name} --roles public")
    roles = configuration(state).roles
    made = with_engine(
        state, lambda engine: engine.add_key(name, roles=roles, expires=expires, may_write=may_write)
    )
    if state.json:
        emit(state, made)
        return
    out = console()
    info = made.info
    show_pairs(
        out,
        [
            ("key", info.prefix),
            ("name", info.name),
            ("tenant", info.tenant),
            ("roles", ", ".join(info.roles)),
            ("may", "read and write" if info.may_write else "read"),
            ("expires", f"{info.expires_at:%Y-%m-%d %H:%M} UTC" if info.expires_at else "never"),
        ],
    )
    out.print("\nShown this once:", style="bold")
    out.print(text(made.key), soft_wrap=True)


@subverb(command, "list", example="veraz key list --tenant default")
@click.pass_obj
def list_(state: State) -> None:
    """List the keys of the tenant, newest first. Of each only the public beginning is known."""
    keys = with_engine(state, lambda engine: engine.keys())
    if state.json:
        emit(state, {"keys": keys})
        return
    table = plain_table("key", "name", "roles", "may", "state", "expires", "last used")
    for key in keys:
        table.add_row(
            key.prefix,
            text(key.name),
            text(", ".join(key.roles)),
            "write" if key.may_write else "read",
            key.state,
            f"{key.expires_at:%Y-%m-%d}" if key.expires_at else "never",
            f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never",
        )
    console().print(table if keys else "no keys")


@subverb(command, "revoke", example="veraz key revoke vz_k3n8q2xw")
@click.argument("prefix", type=WORDS)
@click.pass_obj
def revoke(state: State, prefix: str) -> None:
    """Refuse a key of the tenant from the next request on. There is no way back: add another.

    PREFIX is its public beginning, as listed; a whole key is taken too.
    """
    revoked = with_engine(state, lambda engine: engine.revoke_key(prefix))
    if state.json:
        emit(state, revoked)
    else:
        console().print(text(f"revoked {revoked.prefix} ({revoked.name})"))
