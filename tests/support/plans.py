"""The plans of what the engine really ran: nested ones too, read through auto_explain on the engine's own connection."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from veraz.engine import AsyncVeraz


@dataclass(slots=True)
class Plans:
    """`found`: one (query, root node) per executed statement, statements inside functions included."""

    found: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def take(self, notice: psycopg.errors.Diagnostic) -> None:
        _, _, plan = (notice.message_primary or "").partition("plan:\n")
        if plan:
            read = json.loads(plan)
            self.found.append((read["Query Text"], read["Plan"]))

    def of(self, words: str) -> dict[str, Any]:
        """The plan of the only statement whose text holds `words`."""
        matching = [plan for query, plan in self.found if words in query]
        assert len(matching) == 1, f"{len(matching)} of {len(self.found)} statements hold {words!r}"
        return matching[0]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def on(plan: dict[str, Any], relation: str) -> list[dict[str, Any]]:
    """The nodes that read `relation`, a table or an index."""
    return [n for n in nodes(plan) if relation in (n.get("Relation Name"), n.get("Index Name"))]


def shown(plan: dict[str, Any]) -> str:
    """What a reader needs of a plan when a test fails."""
    keys = (
        "Node Type",
        "Index Name",
        "Relation Name",
        "Index Cond",
        "Order By",
        "Filter",
        "Sort Key",
        "Actual Rows",
        "Plan Rows",
    )

    def lines(node: dict[str, Any], depth: int) -> Iterator[str]:
        yield "  " * depth + ", ".join(f"{k}: {node[k]}" for k in keys if k in node)
        for child in node.get("Plans", ()):
            yield from lines(child, depth + 1)

    return "\n".join(lines(plan, 0))


@asynccontextmanager
async def explained(engine: AsyncVeraz) -> AsyncIterator[Plans]:
    """Collects plans while it is open. The engine's pool must have one connection."""
    plans = Plans()
    async with engine._database.administration() as connection:
        await connection.execute("load 'auto_explain'")
        for name, value in ON.items():
            await connection.execute("select set_config(%s, %s, false)", [name, value])
        connection.add_notice_handler(plans.take)
    try:
        yield plans
    finally:
        async with engine._database.administration() as connection:
            connection.remove_notice_handler(plans.take)
            await connection.execute("set auto_explain.log_min_duration = -1")


ON = {
    "auto_explain.log_format": "json",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_analyze": "on",
    "client_min_messages": "log",
    "auto_explain.log_min_duration": "0",
}
