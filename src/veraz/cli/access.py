"""`veraz access`"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import click

from veraz.cli.options import LIST, WORDS, access_options, verb
from veraz.cli.output import emit, plain
from veraz.cli.render.console import console, show_pairs, text
from veraz.cli.render.shown import readers
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import UsageError
from veraz.nouns.corpus import Access
from veraz.nouns.lifecycle import Standing


@verb(
    "access",
    example="veraz access guides/pay.md --source handbook\nveraz access guides/pay.md --source handbook --acl hr,board",
)
@click.argument("external_id", type=WORDS)
@click.option("--source", required=True, metavar="SLUG", help="The source that holds it.")
@click.option("--acl", type=LIST, metavar="A,B", help="The access labels, in place of those it has.")
@access_options
@click.option("--no-owner", is_flag=True, help="Nobody's label opens it always.")
@click.option("--no-window", is_flag=True, help="Readable at any time.")
@click.pass_obj
def command(
    state: State, /, external_id: str, source: str, no_owner: bool, no_window: bool, **given: Any
) -> None:
    """Show or change who may read a document. A change holds from the next query on.

    Without an option it shows what holds. What no option names stays as it is. A later ingest changes it only where it states
    access itself.
    """
    before = with_engine(state, lambda engine: engine.standing(external_id, source=source))
    access = changed(before.access, no_owner=no_owner, no_window=no_window, **given)
    if access != before.access:
        with_engine(state, lambda engine: engine.set_access(external_id, source=source, access=access))
    if state.json:
        told = {"external_id": external_id, "source": source}
        emit(state, {**told, "access": plain(access), "changed": access != before.access})
    else:
        _show(before, access)


def changed(
    present: Access,
    *,
    acl: tuple[str, ...] | None = None,
    acl_rule: Any = None,
    owner: str | None = None,
    readable_from: datetime | None = None,
    readable_until: datetime | None = None,
    no_owner: bool = False,
    no_window: bool = False,
) -> Access:
    """What is stated over what holds. Raises UsageError for two options that contradict each other."""
    if (no_owner and owner) or (no_window and (readable_from or readable_until)):
        raise UsageError("an option and its opposite are given", fix="leave one of them out")
    if acl and acl_rule == "owner":
        raise UsageError("labels beside the rule 'owner'", fix="leave --acl out, or use the rule any or all")
    base = replace(present, readable_from=None, readable_until=None) if no_window else present
    base = replace(base, owner=None) if no_owner else base
    rule = acl_rule or ("any" if acl and base.rule == "owner" else base.rule)
    named = owner or base.owner
    labels = acl or base.labels
    if rule == "owner" and named is None:
        raise UsageError(
            "the rule 'owner' needs an owner",
            fix="name the owner's label with --owner, or another --acl-rule",
        )
    return Access(
        (named,) if rule == "owner" and named else labels,
        rule,
        named,
        readable_from or base.readable_from,
        readable_until or base.readable_until,
    )


def _show(before: Standing, access: Access) -> None:
    out = console()
    show_pairs(
        out,
        [
            ("document", f"{before.source}/{before.external_id}"),
            ("readable by", readers(access)),
            ("deleted", before.deleted_at),
        ],
    )
    if access != before.access:
        out.print(text("changed; it holds from the next query on", "green"))
