"""Who attacks: what a transaction of the runtime login has been told about who acts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from tests.support.attack.world import World

LABELS = ("public", "hr", "legal", "user:ana", "early", "late")


@dataclass(frozen=True, slots=True)
class Attacker:
    """Settings as text, None where unset; `tenant_id` and `held` are what they rightly mean."""

    name: str
    tenant: str | None
    roles: str | None
    mode: Literal["read", "write"] | str | None = "read"
    tenant_id: UUID | None = None
    held: frozenset[str] = frozenset()

    @property
    def settings(self) -> Iterator[tuple[str, str]]:
        named = (("veraz.tenant_id", self.tenant), ("veraz.roles", self.roles), ("veraz.mode", self.mode))
        return ((name, value) for name, value in named if value is not None)

    @property
    def writes(self) -> bool:
        return self.mode == "write"


def _of(name: str, tenant: UUID, *held: str, mode: str = "read") -> Attacker:
    literal = "{" + ",".join(f'"{label}"' for label in held) + "}"
    return Attacker(name, str(tenant), literal, mode, tenant, frozenset(held))


def reader(world: World) -> Attacker:
    """No attacker: holds every label of the tenant. What it cannot read, nobody can: it keeps the checks from being blind."""
    return _of("reader", world.alpha, *LABELS)


def insiders(world: World) -> list[Attacker]:
    """Of the tenant, without the label, with one of two labels, and on the wrong side of a time window."""
    return [
        _of("roleless", world.alpha),
        _of("insider", world.alpha, "public"),
        _of("all_of", world.alpha, "public", "legal"),
        _of("early", world.alpha, "early"),
        _of("late", world.alpha, "late"),
    ]


def foreigners(world: World) -> list[Attacker]:
    """Of another tenant, with every label there is, reading and writing."""
    return [_of("foreigner", world.beta, *LABELS), _of("foreign_writer", world.beta, *LABELS, mode="write")]


def nobodies() -> list[Attacker]:
    return [
        Attacker("nobody", None, None, None),
        Attacker("empty", "", "", ""),
        Attacker("writing_nobody", None, None, "write"),
        Attacker("every_label", None, "{public,hr,legal,user:ana,early,late}", "write"),
    ]


def malformed(world: World) -> list[Attacker]:
    """Settings that no code of ours makes: each must be refused, or mean nothing."""
    alpha, beta = str(world.alpha), str(world.beta)
    tenants = [
        f"{alpha}' or true --",
        f"{alpha},{beta}",
        f"{{{alpha},{beta}}}",
        f"{alpha[:-1]}%",
        "*",
        "null",
        "0",
        "a" * 100_000,
    ]
    roles = [
        "{public",
        "public",
        "{hr}}",
        "{hr},{x}",
        "{{hr},{legal,x}}",
        '{"hr',
        "{,}",
        "*",
        "hr' or true --",
    ]
    modes = ["Write", "write ", "'write'", "read' or true --", "{write}"]
    told = "{public}"
    return [
        *(Attacker(f"tenant {t[:60]!r}", t, "{public,hr}") for t in tenants),
        *(Attacker(f"roles {r!r}", alpha, r, tenant_id=world.alpha) for r in roles),
        *(Attacker(f"mode {m!r}", alpha, told, m, world.alpha, frozenset({"public"})) for m in modes),
    ]


def everybody(world: World) -> list[Attacker]:
    return [*nobodies(), *foreigners(world), *insiders(world), *malformed(world)]
