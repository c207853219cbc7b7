"""Small tenants beside large ones: never fewer rows than they own, and about as fast as if they were alone.

A quarter of an hour; part of `make proof`. Times are compared with each other within one run, never with the clock.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import pytest
from tests.support import databases, many
from tests.support.many import Questions, Tenant, found, found_by_index, in_turn, p50

from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import Mode

pytestmark = pytest.mark.slow

CROWD, EACH = 1000, 200
DATABASES = {
    "alone": [Tenant("small", 50)],
    "beside": [Tenant("small", 50), Tenant("middle", 2000), Tenant("big", 20_000, close=True)],
    "single": [Tenant("t0", EACH)],
    "crowd": [Tenant(f"t{n}", EACH) for n in range(CROWD)],
    "giant": [Tenant("giant", CROWD * EACH, close=True), Tenant("middle", 5000)],
}
Open = Callable[[str], Awaitable[AsyncVeraz]]


@pytest.fixture(scope="module")
def urls(server: str, template: str) -> Iterator[Callable[[str], str]]:
    """The URL of each database by its name, filled when it is asked for first."""
    made: dict[str, str] = {}
    with ExitStack() as stack:

        def url(name: str) -> str:
            if name not in made:
                made[name] = stack.enter_context(databases.fresh(server, template))
                asyncio.run(many.fill(made[name], DATABASES[name]))
            return made[name]

        yield url


@pytest.fixture
async def opened(urls: Callable[[str], str]) -> AsyncIterator[Open]:
    async with AsyncExitStack() as stack:

        async def open_one(name: str) -> AsyncVeraz:
            url = await asyncio.to_thread(urls, name)
            return await stack.enter_async_context(await many.open_engine(url))

        yield open_one


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "lexical"])
async def test_a_small_tenant_gets_its_own_rows_in_the_order_of_an_exact_scan(
    opened: Open, mode: Mode
) -> None:
    engine, questions = await opened("beside"), Questions()
    identity = await engine.ensure_tenant("small")
    for k in (1, 10, 50, 100):
        for _ in range(10):
            question = questions.next()
            rows = await found(engine, identity, question, k, mode)
            assert rows == await found(engine, identity, question, k, mode, exact=True)
            if mode != "lexical":
                assert len(rows) == len(set(rows)) == min(k, 50)


@pytest.mark.parametrize(
    ("name", "slug", "own"), [("beside", "small", 50), ("beside", "middle", 2000), ("giant", "middle", 5000)]
)
async def test_the_shared_index_never_gives_fewer_rows_than_a_tenant_owns(
    opened: Open, name: str, slug: str, own: int
) -> None:
    """Every row of the large tenant is nearer to the question than any of this one."""
    engine, questions = await opened(name), Questions(2)
    identity = await engine.ensure_tenant(slug)
    for k in (1, 10, 100):
        for _ in range(5):
            question = questions.next()
            exact = await found(engine, identity, question, k, "semantic", exact=True)
            assert len(exact) == min(k, own)
            assert await found(engine, identity, question, k, "semantic") == exact, "so few are compared"
            walked = await found_by_index(engine, identity, question, k)
            assert len(set(walked)) == len(walked) == min(k, own)


async def test_a_small_tenant_beside_a_large_one_is_nearly_as_fast_as_alone(
    opened: Open, capsys: Any
) -> None:
    alone, beside = (
        await asker(await opened("alone"), ["small"]),
        await asker(await opened("beside"), ["small"]),
    )
    times = await in_turn({"alone": alone, "beside": beside}, 300)
    say(capsys, times)
    assert p50(times["beside"]) <= 3 * p50(times["alone"])


async def test_one_of_a_thousand_tenants_is_nearly_as_fast_as_a_single_one(opened: Open, capsys: Any) -> None:
    times = await in_turn(
        {
            "crowd": await asker(await opened("crowd"), [f"t{n}" for n in range(CROWD)]),
            "single": await asker(await opened("single"), ["t0"]),
            "giant": await asker(await opened("giant"), ["giant"]),
        },
        300,
    )
    say(capsys, times)
    assert p50(times["crowd"]) <= 2 * p50(times["single"])
    assert p50(times["crowd"]) <= 2 * p50(times["giant"])


async def asker(engine: AsyncVeraz, slugs: list[str]) -> Callable[[], Awaitable[None]]:
    """Asks as one of these tenants, another one each time."""
    await engine.space()
    engines = [engine.acting_as(await engine.ensure_tenant(slug)) for slug in slugs]
    questions, chance = Questions(3), random.Random(3)

    async def ask() -> None:
        result = await chance.choice(engines).search(questions.next(), lang="en", trace=False)
        assert len(result.hits) == 10

    return ask


def say(capsys: Any, times: dict[str, list[float]]) -> None:
    with capsys.disabled():
        print("\n" + ", ".join(f"{name} p50 {p50(taken):.1f} ms" for name, taken in times.items()))
