"""Checks through the engine, as its callers use it: they list what leaked, nothing where it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import product
from typing import Any, Literal

from tests.support.attack.attackers import LABELS
from tests.support.attack.world import QUESTION, WORD, World, alpha_documents, beta_documents, marker
from veraz.engine import AsyncVeraz
from veraz.errors import UsageError, VerazError
from veraz.nouns.corpus import Identity
from veraz.nouns.shown import Shown

Leaks = list[str]
DAYS = (None, date(2024, 6, 1), date(2025, 6, 1), date(9999, 12, 31))
READABLE: Mapping[str, tuple[str, ...]] = {
    "public": ("open", "was", "leaving", "outer", "kept"),
    "hr": ("pay", "next", "inner", "turned"),
    "user:ana": ("owned",),
}
"""What a label opens by itself, by hand; `both` needs two. Nobody reads what is deleted, not yet open or no longer."""


def identities(world: World) -> list[Identity]:
    inside = (
        (),
        ("public",),
        ("public", "legal"),
        ("hr",),
        ("hr", "legal"),
        ("user:ana",),
        ("early",),
        ("late",),
        LABELS,
    )
    return [*(world.identity(*roles) for roles in inside), world.foreigner(), world.foreigner("public")]


def readable(world: World, identity: Identity) -> set[str]:
    if identity.tenant_id == world.beta:
        return {marker(n) for n in ("foreign", "former", "latter")} if "public" in identity.roles else set()
    names = {name for role in identity.roles for name in READABLE.get(role, ())}
    return {marker(n) for n in names | ({"both"} if {"hr", "legal"} <= set(identity.roles) else set())}


def everything() -> set[str]:
    return {str(d["id"]) for d in (*alpha_documents(), *beta_documents())}


def leaked(world: World, identity: Identity, shown: object) -> list[str]:
    text = repr(shown).lower()
    hidden = everything() - readable(world, identity)
    hidden |= set() if "hr" in identity.roles and identity.tenant_id == world.alpha else {QUESTION}
    return sorted(word for word in hidden if word in text)


async def searches(engine: AsyncVeraz, world: World) -> Leaks:
    """One engine, one connection, many identities after one another, one question: nothing of one answer is in another's. What is
    prepared on the connection has run more than five times when it meets another identity."""
    found = []
    modes: tuple[Literal["hybrid", "lexical", "semantic"], ...] = ("hybrid", "lexical", "semantic")
    for day, mode, exact, identity in product(DAYS, modes, (False, True), identities(world)):
        if exact and day is not None:  # another day is exact anyway
            continue
        result = await engine.acting_as(identity).search(
            WORD, lang="en", mode=mode, k=100, exact=exact, explain=True, trace=False, as_of=day
        )
        where = f"search {mode} as of {day} as {identity.tenant} {identity.roles}"
        found += [f"{where}: {word}" for word in leaked(world, identity, result)]
        seen = {h.document.external_id for h in result.hits}
        if day is None and (missing := _current(readable(world, identity)) - seen):
            found.append(f"{where} misses {sorted(missing)}")
    return found


def _current(documents: set[str]) -> set[str]:
    return documents - {marker(n) for n in ("was", "leaving", "inner", "lost", "former")}


async def at_once(engine: AsyncVeraz, world: World) -> Leaks:
    """The same question of every identity at the same moment, answered by one engine."""
    asked = identities(world) * 6
    answers = await asyncio.gather(
        *(engine.acting_as(i).ask(f"What about the {WORD}?", lang="en") for i in asked)
    )
    return [
        f"ask as {identity.tenant} {identity.roles}: {word}"
        for identity, answer in zip(asked, answers, strict=True)
        for word in leaked(world, identity, answer)
    ]


async def shows(engine: AsyncVeraz, world: World) -> Leaks:
    """What exists and may not be read is answered like what does not exist."""
    found = []
    for identity in identities(world)[1::2]:
        acting, own = engine.acting_as(identity), readable(world, identity)
        absent = await told(acting.show("absent"))
        for name in sorted(everything()):
            said = await told(acting.show(name))
            where = f"show {name} as {identity.tenant} {identity.roles}"
            if name in own:
                if isinstance(said, Shown) and said.successor_deleted_at:
                    said = replace(
                        said, superseded_by=None
                    )  # its id is told to who could read it: decision 13
                found += [f"{where}: {word}" for word in leaked(world, identity, said)]
                found += [f"{where} says {said}"] if isinstance(said, str) else []
            elif said != str(absent).replace("absent", name):
                found.append(f"{where} says {said}")
            for day, revision in ((date(2024, 6, 1), None), (None, 1)):
                said = await told(acting.show(name, as_of=day, revision=revision))
                found += (
                    [] if name in own or "no document" in str(said) else [f"{where} on {day} says {said}"]
                )
    return found


async def told(call: Awaitable[Any]) -> Any:
    """The result, or the message of a clean error. Anything else is raised."""
    try:
        return await call
    except VerazError as error:
        return str(error)


async def traces(engine: AsyncVeraz, world: World) -> Leaks:
    """Guessed ids: every first digit, the whole id of a trace that exists, one that does not."""
    found = []
    hidden = world.identity("public", "hr")
    kept = await engine.acting_as(hidden).search(f"{WORD} {QUESTION}", lang="en")
    known = str(kept.trace_id)
    absent = known[:-1] + ("0" if known[-1] != "0" else "1")
    guesses = [*"0123456789abcdef", known[:2], known[:-1], known.upper(), known.replace("-", "")]
    for identity in identities(world):
        acting = engine.acting_as(identity)
        if identity.tenant_id == world.alpha and set(hidden.roles) <= set(identity.roles):
            continue
        for call in (acting.trace, acting.explain_trace):
            for guess in guesses:
                said = await told(call(guess))
                found += [
                    f"{call.__name__} {guess} as {identity.roles}: {w}" for w in leaked(world, identity, said)
                ]
            exists, lacks = [await told(call(i)) for i in (known, absent)]
            found += (
                []
                if exists == str(lacks).replace(absent, known)
                else [f"{call.__name__} says {exists}, not {lacks}"]
            )
    return found


async def deletions(engine: AsyncVeraz, world: World) -> Leaks:
    """Deleting is a right over the tenant; another tenant's documents are as if they were not there."""
    acting = engine.acting_as(world.foreigner())
    deleted = [
        name for name in sorted(everything()) for s in ("s", "absent") if await acting.delete(name, source=s)
    ]
    return [f"a foreigner deleted {name}" for name in deleted]


async def labels_as_given(engine: AsyncVeraz, world: World, roles: Sequence[str]) -> Leaks:
    """Roles that look like array syntax stay what they are: the transaction holds exactly these, and they open what they name."""
    identity = replace(world.identity(), roles=tuple(roles))
    async with engine._database.transaction(identity) as connection:
        row = await (await connection.execute("select veraz.current_roles(), veraz.is_writing()")).fetchone()
        shown = await (await connection.execute("select external_id from veraz.document")).fetchall()
    assert row is not None
    found = [] if row == (list(roles), False) else [f"{roles!r} became {row!r}"]
    opened = {r[0] for r in shown} - readable(world, identity)
    return [*found, f"{roles!r} opened {sorted(opened)}"] if opened else found


CLEAN = (True, None, None, None, "auto", False)


async def leftovers(engine: AsyncVeraz, world: World) -> Leaks:
    """The pool's only connection, looked at after each way in which a transaction can end."""
    found = []
    await engine._database._pool.resize(1, 1)
    hr = world.identity("public", "hr")
    for how, end in (
        ("a commit", None),
        ("an error of the server", "select 1 / 0"),
        ("an error of the caller", "raise"),
    ):
        try:
            async with engine._database.transaction(hr, "write") as connection:
                await connection.execute(end if end and end != "raise" else "select 1")  # type: ignore[arg-type]
                if end == "raise":
                    raise UsageError("by the caller")
        except Exception:
            pass
        async with engine._database.administration() as connection:
            cursor = await connection.execute(REMEMBERED)
            row = await cursor.fetchone()
            await connection.execute("set session authorization veraz_app")
            counted = await (await connection.execute("select count(*) from veraz.source")).fetchone()
            await connection.execute("reset session authorization")
            await connection.execute("discard all")
        assert row is not None
        seen = tuple(value or None if isinstance(value, str) else value for value in row)
        found += [] if seen == CLEAN else [f"after {how} the connection remembers {seen}"]
        found += [] if counted == (0,) else [f"after {how} nobody sees {counted} sources"]
    return found


REMEMBERED = (
    "select current_user = session_user, current_setting('veraz.tenant_id', true), current_setting('veraz.roles', true),"
    " current_setting('veraz.mode', true), current_setting('plan_cache_mode'), pg_my_temp_schema() <> 0"
)

READING: dict[str, Callable[[AsyncVeraz, World], Awaitable[Leaks]]] = {
    check.__name__: check  # type: ignore[attr-defined]
    for check in (searches, at_once, shows, traces, deletions, leftovers)
}
